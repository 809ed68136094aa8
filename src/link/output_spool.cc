#include "link/output_spool.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/units.h"
#include "os/file.h"
#include "wire/limits.h"

namespace spate::link {
namespace {

constexpr uint64_t kReadBytes = 128 * 1024;
// Bytes in memory need no reading, and each piece has a price.
constexpr uint64_t kMemoryPiece = wire::kWireLimits.piece_bytes;
constexpr uint64_t kCheckEvery = 1 << 20;
constexpr size_t kMoreAtOnce = 3;

void DropOutput(const TaskOutput* output) {
  for (const OutputStream* stream : output->streams()) {
    if (!stream->spool.empty()) (void)os::RemoveFile(stream->spool);
  }
  delete output;
}

void AddNotWhole(AttemptEnd& end, int stream, const std::string& why) {
  if (!end.note.empty()) end.note += "; ";
  end.note += fmt::format("{} is not whole: {}", StreamName(stream), why);
}

}  // namespace

// ----------------------------------------------------------------------------------- the sender's

std::string HandoverName(const AttemptRef& ref, int stream) {
  constexpr const char* kWords[] = {"out", "err", "files"};
  return fmt::format("{}-{}-{}.{}", ref.job.value, ref.index, ref.attempt.value,
                     kWords[stream - 1]);
}

bool OutputReader::HandsOver(const wire::Ends& ends, const OutputStream& stream) const {
  if (handover_.empty()) return false;
  const std::string name = HandoverName(ends.ends[end_].ref, stream_);
  const std::string path = os::JoinPath(handover_, name);
  return stream.spool == path || os::Rename(stream.spool, path).has_value();
}

std::optional<wire::OutputPiece> OutputReader::Next(wire::Ends& ends) {
  for (; end_ < ends.ends.size(); ++end_, stream_ = 1) {
    for (; stream_ <= kStreams; ++stream_, offset_ = 0, fd_.Reset()) {
      TaskOutputPtr output = ends.outputs[end_];  // Cut may replace it
      if (!output) continue;
      if (auto piece = Read(ends, *output->streams()[Seat()])) return piece;
    }
  }
  return std::nullopt;
}

std::optional<wire::OutputPiece> OutputReader::Read(wire::Ends& ends, const OutputStream& stream) {
  if (!stream.IsApart() || offset_ == stream.total) return std::nullopt;
  if (offset_ == 0 && !stream.spool.empty() && HandsOver(ends, stream)) return std::nullopt;
  if (offset_ == most_) {
    Cut(ends, fmt::format("the hub is of an older version, which takes {} bytes of {} at most",
                          FormatCount(offset_), FormatCount(stream.total)));
    return std::nullopt;
  }
  const AttemptRef& ref = ends.ends[end_].ref;
  const uint64_t most = std::min(stream.total, most_) - offset_;
  if (stream.spool.empty()) {
    const auto bytes = std::string_view(stream.bytes).substr(offset_, std::min(most, kMemoryPiece));
    return wire::OutputPiece{ref, stream_, std::exchange(offset_, offset_ + bytes.size()), bytes};
  }
  if (!fd_) {
    auto fd = os::OpenRead(stream.spool);
    if (fd) fd_ = std::move(*fd);
    if (!fd) Cut(ends, fd.error().message);
    if (!fd) return std::nullopt;
  }
  auto bytes = os::ReadAt(fd_.get(), offset_, std::min(most, kReadBytes), stream.spool);
  if (!bytes || bytes->empty()) {
    Cut(ends, bytes ? fmt::format("its file ends after {} bytes", offset_) : bytes.error().message);
    return std::nullopt;
  }
  part_ = std::move(*bytes);
  return wire::OutputPiece{ref, stream_, std::exchange(offset_, offset_ + part_.size()), part_};
}

void OutputReader::Cut(wire::Ends& ends, const std::string& why) {
  auto output = std::make_shared<TaskOutput>(*ends.outputs[end_]);
  output->streams()[Seat()]->total = offset_;
  ends.outputs[end_] = std::move(output);
  AttemptEnd& end = ends.ends[end_];
  // Data that cannot be brought home is no success, and no fault of the task.
  if (end.cause == Cause::kSuccess) end.cause = Cause::kNode;
  AddNotWhole(end, stream_, why);
}

// --------------------------------------------------------------------------------- the receiver's

OutputSpool::~OutputSpool() {
  for (Stream& stream : streams_) Drop(stream);
}

bool OutputSpool::IsEmpty() const { return std::ranges::none_of(streams_, &Stream::begun); }

void OutputSpool::RemoveFile(Stream& stream) {
  if (!stream.path.empty()) (void)os::RemoveFile(stream.path);
  stream.path.clear();
  stream.fd.Reset();
}

void OutputSpool::Drop(Stream& stream) {
  RemoveFile(stream);
  stream = {};
}

Status OutputSpool::Open(Stream& stream) {
  for (;;) {
    std::string path = fmt::format("{}{}", prefix_, ++number_);
    auto fd = os::OpenWrite(path, os::OpenHow::kCreateNew, 0600);
    if (!fd && fd.error().kind == ErrorKind::kExists) continue;
    if (!fd) return std::unexpected(std::move(fd.error()));
    stream.path = std::move(path);
    stream.fd = std::move(*fd);
    return {};
  }
}

Status OutputSpool::Add(const wire::OutputPiece& piece, bool is_wanted, bool may_wait) {
  Stream& stream = streams_[static_cast<size_t>(piece.stream) - 1];
  if (IsEmpty()) ref_ = piece.ref;
  if (piece.ref != ref_) {
    return Fail(ErrorKind::kCorrupt, "output_piece.ref is another than the one before");
  }
  if (piece.offset == 0) {
    Drop(stream);
    stream.ignored = !is_wanted;
    stream.begun = true;
  }
  if (!stream.begun || piece.offset != stream.size) {
    return Fail(ErrorKind::kCorrupt, "output_piece.offset is not where the piece before ended");
  }
  stream.size += piece.bytes.size();
  if (stream.ignored || !stream.trouble.empty()) return {};
  if (Status put = Store(stream, piece); !put) {
    if (may_wait && put.error().kind == ErrorKind::kExhausted) {
      stream.size -= piece.bytes.size();
      return put;
    }
    RemoveFile(stream);
    std::string().swap(stream.bytes);
    stream.held.Drop();
    stream.trouble = std::move(put.error().message);
  }
  return {};
}

// True if it has room in memory.
bool OutputSpool::StoreInMemory(Stream& stream, std::string_view bytes) const {
  if (!memory_ || !stream.path.empty()) return false;
  if (stream.bytes.empty()) stream.held = HeldMemory(memory_);
  if (!stream.held.Acquire(bytes.size())) return false;
  // Full pieces: there are more to come.
  const size_t size = stream.bytes.size() + bytes.size();
  const bool more = size > stream.bytes.capacity() && bytes.size() >= kMemoryPiece;
  if (more) stream.bytes.reserve(kMoreAtOnce * size);
  stream.bytes += bytes;
  return true;
}

Status OutputSpool::Store(Stream& stream, const wire::OutputPiece& piece) {
  if (StoreInMemory(stream, piece.bytes)) return {};
  TRY(CheckRoom(stream, stream.path.empty() ? stream.size : piece.bytes.size()));
  if (stream.path.empty()) {
    TRY(Open(stream));
    if (auto put = os::WriteAllAt(stream.fd.get(), stream.bytes, 0, stream.path); !put) {
      RemoveFile(stream);
      return put;
    }
    std::string().swap(stream.bytes);
    stream.held.Drop();
  }
  return os::WriteAllAt(stream.fd.get(), piece.bytes, piece.offset, stream.path);
}

// The file system is asked for each megabyte, not for each piece.
Status OutputSpool::CheckRoom(Stream& stream, uint64_t size) const {
  if (stream.size <= stream.checked) return {};
  auto space = os::SpaceOf(prefix_);
  if (!space) return {};
  const uint64_t reserve = std::min(reserve_.bytes, space->total / reserve_.of_total);
  if (space->free < size + reserve) {
    return Fail(ErrorKind::kExhausted,
                fmt::format("no room to keep it in '{}': {} free, of which {} stay free",
                            EscapeForScreen(os::DirName(prefix_)), FormatSize(space->free),
                            FormatSize(reserve)));
  }
  const uint64_t room = space->free - size - reserve;
  stream.checked = stream.size + std::min(kCheckEvery, room);
  return {};
}

// False: it is not there, or not what the end tells of.
bool OutputSpool::TakeOver(Stream& stream, const AttemptRef& ref, int number, uint64_t size) const {
  if (handover_.empty()) return false;
  std::string path = os::JoinPath(handover_, HandoverName(ref, number));
  auto info = os::Stat(path);
  if (!info || info->kind != os::FileKind::kFile || info->size != size) return false;
  stream.path = std::move(path);
  stream.size = size;
  return true;
}

Status OutputSpool::Claim(wire::Ends& ends) {
  for (size_t i = 0; i < ends.ends.size(); ++i) {
    const TaskOutputPtr& from = ends.outputs[i];
    auto is_apart = [](const OutputStream* s) { return s->bytes.empty() && s->total > 0; };
    if (!from || std::ranges::none_of(from->streams(), is_apart)) continue;
    auto held = std::make_shared<std::vector<HeldMemory>>();
    std::shared_ptr<TaskOutput> output(new TaskOutput(*from),
                                       [held](const TaskOutput* old) { DropOutput(old); });
    auto to = output->streams();
    bool ignored = false;
    for (size_t k = 0; k < streams_.size(); ++k) {
      if (!is_apart(to[k])) continue;
      Stream& stream = streams_[k];
      const bool taken = !stream.begun &&
                         TakeOver(stream, ends.ends[i].ref, static_cast<int>(k) + 1, to[k]->total);
      if (!taken && (!stream.begun || ref_ != ends.ends[i].ref || stream.size != to[k]->total)) {
        return Fail(ErrorKind::kCorrupt, "ends.output is not what came in pieces");
      }
      ignored |= stream.ignored;
      if (!stream.trouble.empty()) {
        // Lost output is no success. Another node could not help.
        AttemptEnd& end = ends.ends[i];
        if (end.cause == Cause::kSuccess) end.cause = Cause::kCheck;
        AddNotWhole(end, static_cast<int>(k) + 1, stream.trouble);
        *to[k] = {};
      } else {
        to[k]->spool = std::move(stream.path);
        to[k]->bytes = std::move(stream.bytes);
        held->push_back(std::move(stream.held));
      }
      stream = {};
    }
    ends.outputs[i] = ignored ? nullptr : std::move(output);
  }
  if (IsEmpty()) return {};
  return Fail(ErrorKind::kCorrupt, "ends.output lacks what came in pieces");
}

}  // namespace spate::link
