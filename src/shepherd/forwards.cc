#include "shepherd/forwards.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/units.h"
#include "core/model/task_files.h"
#include "os/error.h"
#include "os/file.h"

namespace spate::shepherd {
namespace {

constexpr size_t kForwardRead = 64 * 1024;  // as much as a pipe holds

PackedFile HeadOf(const TaskForward& forward, uint64_t size) {
  return {.name = "/" + forward.to, .mode = 0, .size = size};
}

}  // namespace

void Forwards::Begin(const std::vector<TaskForward>& forwards, const std::string& spool_folder) {
  Clear();
  if (forwards.empty()) return;
  forwards_ = &forwards;
  spool_folder_ = spool_folder;
}

std::optional<StartFailure> Forwards::Open() {
  if (empty() || !pipes_.empty()) return std::nullopt;
  for (const TaskForward& forward : *forwards_) {
    if (forward.descriptor == 0) continue;
    int ends[2];
    int error = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : errno;
    Pipe& pipe = pipes_.emplace_back();
    pipe.forward = &forward;
    if (error == 0) {
      pipe.read.Reset(ends[0]);
      os::Fd write_end(ends[1]);
      // Out of the way of what commands have, and blocking, as they expect it.
      pipe.write.Reset(fcntl(ends[1], F_DUPFD_CLOEXEC, kMostDescriptor + 1));
      if (!pipe.write || fcntl(ends[1], F_SETFL, 0) != 0) error = errno == EINVAL ? EMFILE : errno;
    }
    if (error == 0) continue;
    pipes_.clear();
    return StartFailure::Of(error, "cannot make a pipe for what the task forwards");
  }
  return std::nullopt;
}

void Forwards::GiveTo(std::vector<Descriptor>& descriptors) const {
  for (const Pipe& pipe : pipes_) {
    descriptors.push_back({pipe.write.get(), pipe.forward->descriptor});
  }
}

void Forwards::AddTo(std::vector<pollfd>& polled) const {
  for (const Pipe& pipe : pipes_) polled.push_back({pipe.read.get(), POLLIN, 0});
}

void Forwards::OnPipe(size_t n) { Read(pipes_[n]); }

// All that is there.
void Forwards::Read(Pipe& pipe) const {
  while (true) {
    const size_t had = pipe.bytes.size();
    ssize_t got = 0;
    pipe.bytes.resize_and_overwrite(had + kForwardRead, [&](char* data, size_t) {
      do {
        got = read(pipe.read.get(), data + had, kForwardRead);
      } while (got < 0 && errno == EINTR);
      return had + static_cast<size_t>(got > 0 ? got : 0);
    });
    if (got <= 0) return;
    if (pipe.bytes.size() >= kForwardMemory) Spill(pipe);
  }
}

// On failure the rest is read all the same, so that the task continues, and fails at its end.
void Forwards::Spill(Pipe& pipe) const {
  if (!pipe.spool && pipe.trouble.empty()) {
    pipe.spool = OpenNameless(spool_folder_);
    if (!pipe.spool) {
      pipe.trouble = fmt::format("cannot keep what is forwarded in '{}': {}",
                                 EscapeForScreen(spool_folder_), os::TextOfErrno(errno));
    }
  }
  if (pipe.trouble.empty()) {
    auto put = os::WriteAll(pipe.spool.get(), pipe.bytes, spool_folder_);
    if (!put) pipe.trouble = put.error().message;
  }
  pipe.spooled += pipe.bytes.size();
  pipe.bytes.clear();
}

void Forwards::Drain() {
  for (Pipe& pipe : pipes_) {
    Read(pipe);
    pipe.write.Reset();
  }
}

std::string Forwards::OpenFiles(UserFiles& files) {
  std::string why;
  files_.clear();
  if (empty()) return why;
  for (const TaskForward& forward : *forwards_) {
    auto is_same = [&](const File& file) { return file.forward->file == forward.file; };
    // One that is named twice goes to the first.
    if (forward.descriptor != 0 || std::ranges::any_of(files_, is_same)) continue;
    File file{.forward = &forward, .fd = {}};
    std::string wrong = OpenOne(file, files);
    if (!wrong.empty() && why.empty()) why = std::move(wrong);
    files_.push_back(std::move(file));
  }
  return why;
}

void Forwards::RemoveFiles(UserFiles& files) const {
  std::vector<std::string> names;
  for (const File& file : files_) {
    if (file.exists) names.push_back(file.forward->file);
  }
  if (!names.empty()) files.Unlink(names);
}

std::string Forwards::OpenOne(File& file, UserFiles& files) {
  const std::string& name = file.forward->file;
  file.fd = files.OpenWhole(name.c_str(), file.forward->most);
  file.exists = file.fd.valid();
  struct stat info{};
  if (!file.fd && errno == ENOENT) return {};
  if (!file.fd || fstat(file.fd.get(), &info) != 0) {
    return fmt::format("cannot read '{}', which is to be forwarded: {}", EscapeForScreen(name),
                       os::TextOfErrno(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    file.fd.Reset();
    return fmt::format("{} is not a file", EscapeForScreen(name));
  }
  file.size = static_cast<uint64_t>(info.st_size);
  if (file.forward->most > 0 && file.size > file.forward->most) {
    return fmt::format("File {} is too large", EscapeForScreen(name));
  }
  return {};
}

std::string Forwards::PutInto(Pack& pack) {
  std::string why;
  for (const Pipe& pipe : pipes_) {
    if (!pipe.trouble.empty()) return pipe.trouble;
    if (pipe.spooled + pipe.bytes.size() == 0) continue;
    why = pack.AddHead(HeadOf(*pipe.forward, pipe.spooled + pipe.bytes.size()));
    if (why.empty() && pipe.spooled > 0) {
      why = pack.AddFrom(pipe.spool.get(), pipe.spooled, "what is forwarded");
    }
    if (why.empty()) why = pack.Add(pipe.bytes);
    if (!why.empty()) return why;
  }
  for (const File& file : files_) {
    if (!file.fd || file.size == 0) continue;
    why = pack.AddHead(HeadOf(*file.forward, file.size));
    if (why.empty()) why = pack.AddFrom(file.fd.get(), file.size, file.forward->file);
    if (!why.empty()) return why;
  }
  return why;
}

void Forwards::Clear() {
  forwards_ = nullptr;
  pipes_.clear();
  files_.clear();
}

}  // namespace spate::shepherd
