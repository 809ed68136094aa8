#include "node/forwarder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "os/file.h"

namespace spate::node {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;
constexpr size_t kLengthBytes = 8;
constexpr uint16_t kFirstDescriptor = 3;

void AppendLength(std::string& to, uint64_t length) {
  for (size_t i = 0; i < kLengthBytes; ++i) to += static_cast<char>(length >> (8 * i) & 0xff);
}

uint64_t ReadLength(std::string_view bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return length;
}

}  // namespace

struct Forwarder::Source {
  std::string file;       // what is forwarded when the task has succeeded; empty: the pipe
  std::string given;      // as the task names it
  std::string pipe_path;  // of the pipe
  os::Fd pipe;
  os::Fd writer;  // our own, so that the pipe has no end before the task
  std::string bytes;
  os::Fd spool;  // what came before `bytes`
  std::string spool_path;
  uint64_t spooled = 0;
  std::string trouble;  // why a part is missing
};

Forwarder::Forwarder(os::RealLoop& loop, Executor& under, std::string folder, uint64_t file_bytes)
    : loop_(loop), under_(under), folder_(std::move(folder)), file_bytes_(file_bytes) {}

Forwarder::~Forwarder() {
  for (auto& [ref, sources] : sources_) Drop(sources);
}

void Forwarder::OpenJob(JobId job, std::shared_ptr<const JobSettings> settings, bool inherits) {
  folders_[job] = settings->cwd;
  under_.OpenJob(job, std::move(settings), inherits);
}

void Forwarder::CloseJob(JobId job) {
  folders_.erase(job);
  under_.CloseJob(job);
}

void Forwarder::Start(StartOrder order) {
  if (order.body.forwards.empty()) return under_.Start(std::move(order));
  Sources sources;
  uint16_t descriptor = kFirstDescriptor;
  for (const Link& link : order.body.links) {
    for (const LinkEnd& end : link.writers)
      descriptor = std::max<uint16_t>(descriptor, end.descriptor + 1);
    for (const LinkEnd& end : link.readers)
      descriptor = std::max<uint16_t>(descriptor, end.descriptor + 1);
  }
  const std::string cwd = order.body.cwd.empty() ? folders_[order.ref.job] : order.body.cwd;
  for (const TaskForward& forward : order.body.forwards) {
    Source& source = *sources.emplace_back(std::make_unique<Source>());
    if (forward.variable.empty()) {
      source.file = os::JoinPath(cwd, forward.file);
      source.given = forward.file;
      continue;
    }
    std::string path =
        os::JoinPath(folder_, fmt::format("forward-{}-{}-{}-{}", order.ref.job.value,
                                          order.ref.index, order.ref.attempt.value, descriptor));
    // A task whose pipe cannot be made runs all the same, and fails at its end.
    if (auto opened = OpenPipe(source, path); !opened) {
      source.trouble = opened.error().message;
      path = "/dev/null";
    }
    order.body.links.push_back(
        {.kind = LinkKind::kFile, .writers = {{0, 0, descriptor}}, .readers = {}, .path = path});
    order.body.environment.push_back(fmt::format("{}={}", forward.variable, descriptor++));
  }
  sources_[order.ref] = std::move(sources);
  under_.Start(std::move(order));
}

Status Forwarder::OpenPipe(Source& source, const std::string& path) {
  auto ends = os::MakeNamedPipe(path);
  if (!ends) return std::unexpected(std::move(ends.error()));
  source.pipe_path = path;
  source.pipe = std::move(ends->read);
  source.writer = std::move(ends->write);
  loop_.WatchRead(source.pipe.get(), [this, &source] { Read(source); });
  return {};
}

// All that is there.
void Forwarder::Read(Source& source) {
  for (;;) {
    const size_t had = source.bytes.size();
    source.bytes.resize(had + kPieceBytes);
    auto size = os::ReadNow(source.pipe.get(), source.bytes.data() + had, kPieceBytes);
    source.bytes.resize(had + size.value_or(0));
    if (!size || *size == 0) break;
    if (source.bytes.size() < kForwardMemory) continue;
    if (!source.spool.valid()) {
      source.spool_path = source.pipe_path + ".data";
      auto spool = os::OpenWrite(source.spool_path, os::OpenHow::kTruncate, 0600);
      if (spool) source.spool = std::move(*spool);
      if (!spool) source.trouble = spool.error().message;
    }
    if (source.trouble.empty()) {
      auto kept = os::WriteAll(source.spool.get(), source.bytes, source.spool_path);
      if (!kept) source.trouble = kept.error().message;
    }
    source.spooled += source.bytes.size();
    source.bytes.clear();
  }
}

void Forwarder::Drop(Sources& sources) {
  for (auto& source : sources) {
    if (source->pipe.valid()) loop_.Unwatch(source->pipe.get());
    for (const std::string& path : {source->pipe_path, source->spool_path}) {
      if (!path.empty()) (void)os::RemoveFile(path);
    }
    // Nothing of a try stays for the next one.
    if (!source->file.empty()) (void)os::RemoveFile(source->file);
  }
  sources.clear();
}

Status Forwarder::TakeFile(Source& source) const {
  auto info = os::Stat(source.file);
  if (!info && info.error().kind == ErrorKind::kNotFound) return {};
  if (!info) return std::unexpected(std::move(info.error()));
  if (info->kind != os::FileKind::kFile) {
    return Fail(ErrorKind::kInvalid, fmt::format("{} is not a file", source.given));
  }
  if (file_bytes_ > 0 && info->size > file_bytes_) {
    return Fail(ErrorKind::kInvalid, fmt::format("File {} is too large", source.given));
  }
  auto bytes = os::ReadFile(source.file, SIZE_MAX);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  source.bytes = std::move(*bytes);
  return {};
}

Result<OutputStream> Forwarder::Gather(Sources& sources, const AttemptRef& ref) {
  OutputStream all;
  for (auto& source : sources) {
    if (!source->file.empty()) {
      if (auto taken = TakeFile(*source); !taken) return std::unexpected(taken.error());
    } else if (source->pipe.valid()) {
      Read(*source);  // nobody writes any more
    }
    if (!source->trouble.empty()) return Fail(ErrorKind::kIo, source->trouble);
    all.total += kLengthBytes + source->spooled + source->bytes.size();
  }
  std::string pending;
  os::Fd spool;
  if (all.total > kInlineOutput) {
    all.spool = os::JoinPath(
        folder_, fmt::format("forwards-{}-{}-{}", ref.job.value, ref.index, ref.attempt.value));
    auto file = os::OpenWrite(all.spool, os::OpenHow::kTruncate, 0600);
    if (!file) return std::unexpected(std::move(file.error()));
    spool = std::move(*file);
  }
  auto put = [&](std::string_view bytes) -> Status {
    if (spool.valid()) return os::WriteAll(spool.get(), bytes, all.spool);
    all.bytes += bytes;
    return {};
  };
  for (auto& source : sources) {
    std::string length;
    AppendLength(length, source->spooled + source->bytes.size());
    Status written = put(length);
    os::Fd spooled;
    if (source->spooled > 0) {
      auto file = os::OpenRead(source->spool_path);
      if (!file) return std::unexpected(std::move(file.error()));
      spooled = std::move(*file);
    }
    for (uint64_t at = 0; written && at < source->spooled;) {
      auto piece = os::ReadAt(spooled.get(), at, kForwardMemory, source->spool_path);
      if (!piece) return std::unexpected(std::move(piece.error()));
      if (piece->empty()) return Fail(ErrorKind::kIo, source->spool_path + " has become shorter");
      written = put(*piece);
      at += piece->size();
    }
    if (written) written = put(source->bytes);
    if (!written) return std::unexpected(std::move(written.error()));
  }
  return all;
}

void Forwarder::OnEnded(AttemptEnd end, TaskOutputPtr output) {
  auto found = sources_.find(end.ref);
  if (found == sources_.end()) return events_->OnEnded(std::move(end), std::move(output));
  Sources sources = std::move(found->second);
  sources_.erase(found);
  if (end.cause == Cause::kSuccess) {
    auto forwards = Gather(sources, end.ref);
    if (forwards) {
      // The spool files of what it wrote belong to `output`, that of the forwards to the new one.
      auto* whole = new TaskOutput(output ? *output : TaskOutput());
      whole->files = std::move(*forwards);
      output = TaskOutputPtr(whole, [below = std::move(output)](const TaskOutput* ended) {
        if (!ended->files.spool.empty()) (void)os::RemoveFile(ended->files.spool);
        delete ended;
      });
    } else {
      end.cause = Cause::kCheck;
      end.note = EscapeForScreen(forwards.error().message);
    }
  }
  Drop(sources);
  events_->OnEnded(std::move(end), std::move(output));
}

void Forwarder::OnTakenBack(const AttemptRef& ref) {
  if (auto found = sources_.find(ref); found != sources_.end()) {
    for (auto& source : found->second) source->file.clear();  // it may be another task's still
    Drop(found->second);
    sources_.erase(found);
  }
  events_->OnTakenBack(ref);
}

Result<std::vector<std::string>> ReadForwards(const OutputStream& stream, size_t count) {
  std::string bytes = stream.bytes;
  if (!stream.spool.empty()) {
    auto read = os::ReadFile(stream.spool, SIZE_MAX);
    if (!read) return std::unexpected(std::move(read.error()));
    bytes = std::move(*read);
  }
  std::vector<std::string> parts;
  std::string_view left = bytes;
  while (left.size() >= kLengthBytes && parts.size() < count) {
    uint64_t length = ReadLength(left);
    left.remove_prefix(kLengthBytes);
    if (length > left.size()) break;
    parts.emplace_back(left.substr(0, length));
    left.remove_prefix(length);
  }
  if (parts.size() != count || !left.empty()) {
    return Fail(ErrorKind::kCorrupt, "forwarded data is not whole");
  }
  return parts;
}

}  // namespace spate::node
