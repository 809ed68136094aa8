// The bare loop: how many short programs this machine starts and reaps in a second when nothing
// else is done. It is the measure of every rate that we promise (ratios, since machines differ).
//
//   bare_loop PROGRAM [COUNT] [N] [ROUNDS] [one|many]     COUNT 20000, N = 2, ROUNDS 3
//
// Two loops are measured and the better one counts: one parent with N children in flight, and N
// parents with one each; `one` or `many` measures only that. Children are started vfork-style and
// write to the null device.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace {

double Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void StartOne(const char* program) {
  char* const argv[] = {const_cast<char*>(program), nullptr};
  pid_t pid = vfork();
  if (pid == 0) {
    execve(program, argv, environ);
    _exit(127);
  }
  if (pid < 0) {
    std::perror("bare_loop: vfork");
    std::exit(1);
  }
}

void ReapOne() {
  int status = 0;
  rusage usage;
  if (wait4(-1, &status, 0, &usage) < 0 || status != 0) {
    std::fprintf(stderr, "bare_loop: a child ended with wait status %d\n", status);
    std::exit(1);
  }
}

void OneParent(const char* program, long count, long width) {
  long started = 0;
  for (; started < std::min(count, width); ++started) StartOne(program);
  for (long reaped = 0; reaped < count; ++reaped) {
    ReapOne();
    if (started < count) {
      StartOne(program);
      ++started;
    }
  }
}

void ManyParents(const char* program, long count, long width) {
  for (long i = 0; i < width; ++i) {
    pid_t pid = fork();
    if (pid == 0) {
      OneParent(program, count / width, 1);
      _exit(0);
    }
  }
  for (long i = 0; i < width; ++i) ReapOne();
}

double Rate(void (*loop)(const char*, long, long), const char* program, long count, long width) {
  double start = Now();
  loop(program, count, width);
  return static_cast<double>(count) / (Now() - start);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bare_loop PROGRAM [COUNT] [N] [ROUNDS] [one|many]\n");
    return 2;
  }
  const char* program = argv[1];
  long count = argc > 2 ? std::atol(argv[2]) : 20000;
  long width = argc > 3 ? std::atol(argv[3]) : 2;
  int rounds = argc > 4 ? std::atoi(argv[4]) : 3;
  std::string_view which = argc > 5 ? argv[5] : "";
  int report = dup(STDOUT_FILENO);
  fcntl(report, F_SETFD, FD_CLOEXEC);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  double one = 0;
  double many = 0;
  for (int i = 0; i < rounds; ++i) {
    if (which != "many") one = std::max(one, Rate(OneParent, program, count, width));
    if (which != "one")
      many = std::max(many, Rate(ManyParents, program, count / width * width, width));
  }
  dprintf(report,
          "%s: one parent with %ld in flight %.0f/s, %ld parents with one each %.0f/s; "
          "bare loop %.0f tasks/s\n",
          program, width, one, width, many, std::max(one, many));
  return 0;
}
