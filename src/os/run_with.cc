#include "os/run_with.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/units.h"
#include "os/error.h"
#include "os/fd.h"

namespace spate::os {
namespace {

[[noreturn]] void Become(const std::vector<std::string>& argv, int kept, RunWhere where, int told) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  if (where == RunWhere::kBackground) {
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, 0);
  }
  fcntl(kept, F_SETFD, 0);
  execvp(words[0], words.data());
  int error = errno;
  (void)!write(told, &error, sizeof error);
  _exit(error == ENOENT ? 127 : 126);
}

}  // namespace

Result<int> RunWith(const std::vector<std::string>& argv, int kept, RunWhere where) {
  auto failure = TRY(MakePipe());
  pid_t pid = fork();
  if (pid < 0) return FailErrno("start", argv.front());
  if (pid == 0) Become(argv, kept, where, failure.write.get());
  failure.write.Reset();
  int error = 0;
  bool failed = read(failure.read.get(), &error, sizeof error) == sizeof error;
  if (where == RunWhere::kBackground && !failed) return 0;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (failed) {
    errno = error;
    return FailErrno("start", argv.front());
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace spate::os
