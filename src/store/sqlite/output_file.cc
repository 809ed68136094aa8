#include "store/sqlite/output_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units.h"

namespace spate::store {
namespace {

constexpr size_t kBuffer = 1 << 20;
constexpr uint64_t kReadBytes = 256 << 10;

// [offset, offset + size) of a spool file; empty when it cannot be read whole.
std::string ReadSpool(const std::string& path, uint64_t offset, uint64_t size) {
  auto fd = os::OpenRead(path);
  if (!fd) return {};
  auto bytes = os::ReadAt(fd->get(), offset, size, path);
  if (!bytes || bytes->size() != size) return {};
  return std::move(*bytes);
}

// Adds a piece of a stream to its checksum, block by block, each seeded with the sum before. All
// pieces but the last are whole blocks.
uint64_t AddToSum(uint64_t sum, std::string_view piece) {
  for (uint64_t size = 0; !piece.empty(); piece.remove_prefix(size)) {
    size = std::min<uint64_t>(piece.size(), kStreamEnd);
    sum = XXH3_64bits_withSeed(piece.data(), size, sum);
  }
  return sum;
}

std::string TextOfSum(uint64_t sum) {
  std::string text;
  for (int i = 0; i < 4; ++i) text.push_back(static_cast<char>(sum >> (8 * i)));
  return text;
}

// The checksum of a stream that has bytes; empty: not known.
std::string SumOf(const KeptOutput& kept, Stream stream) {
  size_t at = stream > Stream::kStdout && kept.stdout_bytes > 0 ? 4 : 0;
  if (stream > Stream::kStderr && kept.stderr_bytes > 0) at += 4;
  return kept.sums.substr(std::min(at, kept.sums.size()), 4);
}

}  // namespace

Status OutputFile::Open(uint64_t end) {
  bool is_new = !os::Exists(path_);
  auto fd = TRY(os::OpenWrite(path_, os::OpenHow::kReadWrite, 0600));
  auto info = TRY(os::StatFd(fd.get(), path_));
  if (info.size != end) {
    TRY(os::Truncate(fd.get(), end, path_));
  }
  if (is_new) {
    TRY(os::FsyncDir(os::DirName(path_)));
  }
  fd_ = std::move(fd);
  written_ = end_ = synced_ = end;
  return {};
}

void OutputFile::Close() {
  CHECK(is_synced());
  fd_.Reset();
  std::string().swap(buffer_);
}

Result<uint64_t> OutputFile::OnDisk() const { return TRY(os::StatFd(fd_.get(), path_)).on_disk; }

Status OutputFile::Flush() {
  if (buffer_.empty()) return {};
  TRY(os::WriteAllAt(fd_.get(), buffer_, written_, path_));
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<uint64_t> OutputFile::AddStream(const OutputStream& stream, std::string& sums) {
  uint64_t before = buffer_.size();
  if (!stream.spool.empty()) {
    if (stream.total <= kWholeStream) {
      buffer_ += ReadSpool(stream.spool, 0, stream.total);
    } else {
      std::string head = ReadSpool(stream.spool, 0, kStreamEnd);
      std::string tail = ReadSpool(stream.spool, stream.total - kStreamEnd, kStreamEnd);
      if (!head.empty() && !tail.empty()) buffer_.append(head).append(tail);
    }
  } else if (stream.bytes.size() <= kWholeStream) {
    buffer_ += stream.bytes;
  } else {
    std::string_view bytes = stream.bytes;
    buffer_.append(bytes.substr(0, kStreamEnd)).append(bytes.substr(bytes.size() - kStreamEnd));
  }
  uint64_t kept = buffer_.size() - before;
  end_ += kept;
  if (kept > 0) sums += TextOfSum(AddToSum(0, std::string_view(buffer_).substr(before)));
  if (buffer_.size() >= kBuffer) {
    TRY(Flush());
  }
  return kept;
}

// In pieces: it may be larger than what memory should hold.
Result<uint64_t> OutputFile::AddWhole(const OutputStream& stream, std::string& sums) {
  if (stream.spool.empty() || stream.total <= kWholeStream) return AddStream(stream, sums);
  TRY(Flush());
  uint64_t sum = 0;
  uint64_t before = end_;
  for (uint64_t at = 0; at < stream.total; at += kBuffer) {
    buffer_ = ReadSpool(stream.spool, at, std::min<uint64_t>(kBuffer, stream.total - at));
    if (buffer_.empty()) {
      written_ = end_ = before;
      return 0;
    }
    end_ += buffer_.size();
    sum = AddToSum(sum, buffer_);
    TRY(Flush());
  }
  sums += TextOfSum(sum);
  return stream.total;
}

Status OutputFile::AddEnds(const TaskOutput& output, KeptOutput& kept) {
  kept.sums.clear();
  auto out = TRY(AddStream(output.out, kept.sums));
  auto err = TRY(AddStream(output.err, kept.sums));
  kept.stdout_bytes = out;
  kept.stderr_bytes = err;
  return {};
}

Status OutputFile::CutBackTo(uint64_t end) {
  buffer_.clear();
  written_ = end_ = end;
  return os::Truncate(fd_.get(), end, path_);
}

Status OutputFile::AddOutput(const TaskOutput& output, KeptOutput& kept) {
  const auto limit = static_cast<uint64_t>(limit_ < 0 ? ~limit_ : limit_);
  bool is_long = std::max(output.out.total, output.err.total) > kWholeStream;
  bool fits = end_ + output.out.total + output.err.total <= limit;
  if (!fits) {
    why_ = limit_ < 0             ? NotKept::kShare
           : limit == kKeepOutput ? NotKept::kDefault
                                  : NotKept::kBound;
  }
  if (end_ + KeptOf(output.out.total) + KeptOf(output.err.total) > limit) return {};
  if (!is_long || !fits) return AddEnds(output, kept);
  TRY(Flush());
  uint64_t before = end_;
  auto out = AddWhole(output.out, kept.sums);
  auto err = out ? AddWhole(output.err, kept.sums) : out;
  if (out && err) {
    kept.stdout_bytes = *out;
    kept.stderr_bytes = *err;
    return {};
  }
  // A disk that is full may have room for the ends, and for the journal.
  Error error = std::move(err.error());
  if (error.kind != ErrorKind::kExhausted) return std::unexpected(std::move(error));
  TRY(CutBackTo(before));
  why_ = NotKept::kDisk;
  return AddEnds(output, kept);
}

Result<KeptOutput> OutputFile::Add(const TaskOutput& output) {
  KeptOutput kept{.position = end_};
  why_ = NotKept::kNone;
  TRY(AddOutput(output, kept));
  if (output.files.total > 0) {
    auto files = TRY(AddWhole(output.files, kept.sums));
    if (files != output.files.total) {
      return Fail(ErrorKind::kIo, fmt::format("cannot read '{}', the files of a task",
                                              EscapeForScreen(output.files.spool)));
    }
    kept.files_bytes = files;
  }
  if (kept.bytes() == 0) kept.position = 0;
  return kept;
}

Status OutputFile::Sync() {
  if (end_ == synced_) return {};
  TRY(Flush());
  TRY(os::Fsync(fd_.get(), path_));
  synced_ = end_;
  return {};
}

Result<OutputExtent> OutputReader::Read(const AttemptEntry& attempt, Stream stream,
                                        const OutputVisitor& visit, OutputPart part) {
  const AttemptEnd& end = attempt.record.end;
  const KeptOutput& kept = attempt.kept;
  OutputExtent extent;
  uint64_t start = kept.position;
  switch (stream) {
    case Stream::kStdout:
      extent = {.total = end.stdout_total, .kept = kept.stdout_bytes};
      break;
    case Stream::kStderr:
      extent = {.total = end.stderr_total, .kept = kept.stderr_bytes};
      start += kept.stdout_bytes;
      break;
    case Stream::kFiles:
      extent = {.total = kept.files_bytes, .kept = kept.files_bytes};
      start += kept.stdout_bytes + kept.stderr_bytes;
      break;
  }
  if (extent.kept == 0) return extent;
  if (!fd_) {
    auto opened = TRY(os::OpenRead(path_));
    fd_ = std::move(opened);
  }
  uint64_t gap_at = extent.kept < extent.total ? kStreamEnd : UINT64_MAX;
  uint64_t end_at =
      part.first + std::min(part.count, extent.kept - std::min(extent.kept, part.first));
  const bool whole = part.first == 0 && end_at == extent.kept;
  const std::string expected = whole ? SumOf(kept, stream) : "";
  uint64_t sum = 0;
  for (uint64_t at = part.first; at < end_at;) {
    uint64_t size = std::min(kReadBytes, end_at - at);
    if (at < gap_at) size = std::min(size, gap_at - at);
    auto bytes = TRY(os::ReadAt(fd_.get(), start + at, size, path_));
    if (bytes.size() != size) {
      return Fail(
          ErrorKind::kCorrupt,
          fmt::format("'{}' is shorter than the journal states: output of task {} is missing",
                      EscapeForScreen(path_), uint64_t{end.ref.index} + 1));
    }
    sum = AddToSum(sum, bytes);
    if (at + size == end_at && !expected.empty() && TextOfSum(sum) != expected) {
      return Fail(ErrorKind::kCorrupt,
                  fmt::format("'{}' is damaged: the output of task {} is not what it wrote",
                              EscapeForScreen(path_), uint64_t{end.ref.index} + 1));
    }
    visit(bytes, at == gap_at ? extent.total - extent.kept : 0);
    at += size;
  }
  return extent;
}

Status OutputReader::Check(const AttemptEntry& attempt) {
  for (Stream stream : {Stream::kStdout, Stream::kStderr, Stream::kFiles}) {
    (void)TRY(Read(attempt, stream, [](std::string_view, uint64_t) {}));
  }
  return {};
}

}  // namespace spate::store
