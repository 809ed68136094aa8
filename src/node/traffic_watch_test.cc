#include "node/traffic_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <vector>

#include "os/fd.h"

namespace spate::node {
namespace {

constexpr AttemptRef kVictim{JobId(1), 0, Attempt(1)};
constexpr AttemptRef kOther{JobId(2), 0, Attempt(1)};

// A process in place of a shepherd, with one below it.
class Below {
 public:
  explicit Below(void (*work)(std::atomic<bool>& slow)) {
    slow_ = static_cast<std::atomic<bool>*>(mmap(nullptr, sizeof(std::atomic<bool>),
                                                 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                                 -1, 0));
    pid_ = fork();
    if (pid_ != 0) return;
    setpgid(0, 0);
    if (fork() == 0) work(*slow_);
    for (;;) pause();
  }
  ~Below() {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(slow_, sizeof(*slow_));
  }
  Below(const Below&) = delete;
  Below& operator=(const Below&) = delete;

  int32_t pid() const { return pid_; }
  void SetSlow(bool slow) { *slow_ = slow; }

 private:
  std::atomic<bool>* slow_ = nullptr;
  pid_t pid_ = 0;
};

[[noreturn]] void Write(std::atomic<bool>& slow) {
  static char bytes[1 << 20];
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (;;) {
    if (write(null, bytes, sizeof(bytes)) < 0) _exit(1);
    poll(nullptr, 0, slow ? 20 : 1);
  }
}

[[noreturn]] void Idle(std::atomic<bool>&) {
  for (;;) pause();
}

// The other one comes and goes every few looks. The machine may be so busy that a window shows
// nothing; then the next visit does.
TEST(TrafficWatchTest, AnAttemptThatWritesLessBesideAnother) {
  auto loop = std::move(*os::RealLoop::Create());
  Below victim(Write), other(Idle);
  int looks = 0;
  std::vector<SlowedBeside> found;
  auto roots = [&] {
    const bool beside = looks++ / 6 % 2 == 1;
    victim.SetSlow(beside);
    std::vector<AttemptRoot> all = {{.ref = kVictim, .root = victim.pid()}};
    if (beside) all.push_back({.ref = kOther, .root = other.pid()});
    return all;
  };
  TrafficWatch watch(
      *loop, roots,
      [&](const SlowedBeside& one) {
        found.push_back(one);
        loop->Stop();
      },
      Duration::Millis(100));
  loop->At(loop->Now() + Duration::Seconds(60), [&] { loop->Stop(); });
  loop->Run();
  ASSERT_EQ(found.size(), 1u) << "after " << looks << " looks";
  EXPECT_EQ(found[0].ref, kVictim);
  EXPECT_EQ(found[0].beside, kOther.job);
  EXPECT_EQ(found[0].kind, TrafficKind::kFiles);
  EXPECT_LE(found[0].with, found[0].alone / 4 * 3);
}

}  // namespace
}  // namespace spate::node
