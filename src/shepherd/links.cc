// A link's descriptors are made here with numbers above those that commands have, so that the child
// can put them in their places one after the other. All are close-on-exec.
#include "shepherd/links.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/units.h"

namespace spate::shepherd {

void Links::Begin(const std::vector<Link>& links, bool in_own_folder, UserFiles& files) {
  Clear();
  if (links.empty()) return;
  links_ = &links;
  files_ = &files;
  in_own_folder_ = in_own_folder;
  highest_ = 2;
  for (const Link& link : links) {
    for (const auto* ends : {&link.writers, &link.readers}) {
      for (const LinkEnd& end : *ends) highest_ = std::max<int>(highest_, end.descriptor);
    }
  }
  memory_.resize(links.size());
  made_.assign(links.size(), false);
}

std::optional<StartFailure> Links::Open(uint16_t step) {
  StepStarted();
  if (empty()) return std::nullopt;
  for (size_t i = 0; i < links_->size(); ++i) {
    if (OpenLink(i, step)) continue;
    StepStarted();
    return failure_;
  }
  return std::nullopt;
}

bool Links::OpenLink(size_t index, uint16_t step) {
  const Link& link = (*links_)[index];
  switch (link.kind) {
    case LinkKind::kPipe:
      return link.writers.front().step != step || OpenPipe(link);
    case LinkKind::kNamedPipe:
      return made_[index] || MakeNamedPipe(index);
    case LinkKind::kBuffer:
      return OpenBuffer(index, step);
    case LinkKind::kFile:
      return OpenFile(index, step);
  }
  return false;
}

bool Links::OpenPipe(const Link& link) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail("make", "pipe", errno);
  os::Fd write_end(ends[1]);
  int from = Retain(os::Fd(ends[0]));
  int to = from < 0 ? -1 : Retain(std::move(write_end));
  if (to < 0) return Fail("make", "pipe", errno);
  for (const LinkEnd& end : link.writers) open_.push_back({end, to});
  for (const LinkEnd& end : link.readers) open_.push_back({end, from});
  return true;
}

bool Links::MakeNamedPipe(size_t index) {
  const std::string& path = (*links_)[index].path;
  if (!in_own_folder_) {
    failure_ = {0, fmt::format("the named pipe '{}' needs a folder of the task's own",
                               EscapeForScreen(path))};
    return false;
  }
  made_[index] = mkfifo(path.c_str(), 0600) == 0;
  return made_[index] || Fail("make", path, errno);
}

// Writers share one place in it; each reader has its own, from the beginning.
bool Links::OpenBuffer(size_t index, uint16_t step) {
  const Link& link = (*links_)[index];
  os::Fd& memory = memory_[index];
  for (const LinkEnd& end : link.writers) {
    if (end.step != step) continue;
    if (!memory) {
      os::Fd fresh(static_cast<int>(syscall(SYS_memfd_create, "spate-buffer", 1U)));
      if (fresh) memory.Reset(fcntl(fresh.get(), F_DUPFD_CLOEXEC, highest_ + 1));
    }
    if (!memory) return Fail("make", "buffer", errno);
    open_.push_back({end, memory.get()});
  }
  for (const LinkEnd& end : link.readers) {
    if (end.step != step) continue;
    std::string path = fmt::format("/proc/self/fd/{}", memory.get());
    int fd = Retain(os::Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)));
    if (fd < 0) return Fail("open", "buffer", errno);
    open_.push_back({end, fd});
  }
  return true;
}

// The first who writes makes it anew, so that it has nothing of an earlier attempt.
bool Links::OpenFile(size_t index, uint16_t step) {
  const Link& link = (*links_)[index];
  for (const LinkEnd& end : link.writers) {
    if (end.step != step) continue;
    int how = O_WRONLY | O_CREAT | O_APPEND | (made_[index] ? 0 : O_TRUNC);
    int fd = Retain(files_->Open(link.path.c_str(), how, "an output"));
    if (fd < 0) return Fail("open", link.path, errno);
    made_[index] = true;
    open_.push_back({end, fd});
  }
  for (const LinkEnd& end : link.readers) {
    if (end.step != step) continue;
    int fd = Retain(files_->Open(link.path.c_str(), O_RDONLY, "an input"));
    if (fd < 0) return Fail("open", link.path, errno);
    open_.push_back({end, fd});
  }
  return true;
}

int Links::Retain(os::Fd fd) {
  if (!fd) return -1;
  if (fd.get() <= highest_) {
    os::Fd moved = files_->Raise(std::move(fd), highest_ + 1);
    if (!moved && errno == EINVAL) errno = EMFILE;  // as the limit is lower than that
    if (!moved) return -1;
    fd = std::move(moved);
  }
  fds_.push_back(std::move(fd));
  return fds_.back().get();
}

bool Links::Fail(const char* what, const std::string& name, int error) {
  failure_ = StartFailure::Of(
      error, fmt::format("cannot {} '{}', which links commands", what, EscapeForScreen(name)));
  return false;
}

const std::vector<Descriptor>& Links::Of(uint16_t step, uint16_t command) {
  descriptors_.clear();
  for (const Opened& one : open_) {
    if (one.end.step == step && one.end.command == command) {
      descriptors_.push_back({one.fd, one.end.descriptor});
    }
  }
  return descriptors_;
}

void Links::StepStarted() {
  open_.clear();
  for (os::Fd& fd : fds_) files_->Close(std::move(fd));
  fds_.clear();
}

void Links::Clear() {
  StepStarted();
  links_ = nullptr;
  memory_.clear();
}

uint64_t Links::BufferBytes() const {
  uint64_t bytes = 0;
  for (const os::Fd& memory : memory_) {
    struct stat info;
    if (memory && fstat(memory.get(), &info) == 0) bytes += uint64_t{512} * info.st_blocks;
  }
  return bytes;
}

}  // namespace spate::shepherd
