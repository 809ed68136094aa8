#include "os/background.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/error.h"
#include "os/file.h"
#include "os/spawn_child.h"

namespace spate::os {
namespace {

// The first process: gives the child's beginning to whoever started it.
[[noreturn]] void AwaitChild(pid_t child, int ready) {
  char word = 0;
  ssize_t got;
  do {
    got = read(ready, &word, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1) _exit(0);
  const int status = WaitForExit(child);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

}  // namespace

Result<Background> Background::Enter() {
  auto pipe = TRY(MakePipe());
  pid_t child = fork();
  if (child < 0) {
    return FailErrno("go into the background");
  }
  if (child > 0) {
    pipe.write.Reset();
    AwaitChild(child, pipe.read.get());
  }
  setsid();
  return Background(std::move(pipe.write));
}

Status Background::Ready(const std::string& log_path) {
  TRY(LogTo(log_path));
  Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null || dup2(null.get(), 0) < 0 || dup2(null.get(), 1) < 0) {
    return FailErrno("open", "/dev/null");
  }
  char word = 1;
  ssize_t written = write(ready_.get(), &word, 1);
  (void)written;  // nobody waits any more: that is no reason to stop
  ready_.Reset();
  return {};
}

Status LogTo(const std::string& path) {
  auto file = TRY(OpenWrite(path, OpenHow::kAppend, 0600));
  if (dup2(file.get(), 2) < 0) {
    return FailErrno("write", path);
  }
  return {};
}

}  // namespace spate::os
