// What the event loop costs: a wake-up for a readable descriptor, posts, timers. Prints one line
// for each; the bare figures beside them are the same system calls without a loop.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#include "os/real_loop.h"

namespace {

using spate::Duration;
using spate::Instant;
using spate::os::MonotonicNanos;
using spate::os::RealLoop;

void Print(const char* what, int64_t ns, int64_t count) {
  std::printf("%-58s %8.3f us\n", what, static_cast<double>(ns) / 1e3 / static_cast<double>(count));
}

// `width` eventfds are ready at once; each call reads its own and makes it ready again.
void WatchReadRate(RealLoop& loop, int width, int64_t rounds) {
  std::vector<int> fds(width);
  int64_t left = rounds;
  for (int& fd : fds) {
    fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    loop.WatchRead(fd, [&, fd] {
      uint64_t value = 0;
      if (read(fd, &value, 8) != 8 || write(fd, &value, 8) != 8) std::abort();
      if (--left == 0) loop.Stop();
    });
  }
  int64_t start = MonotonicNanos();
  loop.Run();
  char what[80];
  std::snprintf(what, sizeof what, "WatchRead, %d ready at once (with read and write)", width);
  Print(what, MonotonicNanos() - start, rounds);
  for (int fd : fds) {
    loop.Unwatch(fd);
    close(fd);
  }
}

void BareEpollRate(int width, int64_t rounds) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  std::vector<int> fds(width);
  for (int& fd : fds) {
    fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  }
  int64_t start = MonotonicNanos();
  for (int64_t left = rounds; left > 0;) {
    epoll_event events[128];
    int n = epoll_wait(epoll, events, 128, -1);
    for (int i = 0; i < n; ++i, --left) {
      uint64_t value = 0;
      int fd = events[i].data.fd;
      if (read(fd, &value, 8) != 8 || write(fd, &value, 8) != 8) std::abort();
    }
  }
  char what[80];
  std::snprintf(what, sizeof what, "  bare epoll, %d ready at once (with read and write)", width);
  Print(what, MonotonicNanos() - start, rounds);
  for (int fd : fds) close(fd);
  close(epoll);
}

void PostRate(RealLoop& loop, int64_t rounds) {
  int64_t left = rounds;
  std::function<void()> again = [&] {
    if (--left == 0) return loop.Stop();
    loop.Post(again);
  };
  loop.Post(again);
  int64_t start = MonotonicNanos();
  loop.Run();
  Print("Post from the loop's own thread, one at a time", MonotonicNanos() - start, rounds);
}

void PostBurst(RealLoop& loop, int64_t rounds) {
  int64_t left = rounds;
  int64_t start = MonotonicNanos();
  std::thread thread([&] {
    for (int64_t i = 0; i < rounds; ++i) {
      loop.Post([&] {
        if (--left == 0) loop.Stop();
      });
    }
  });
  loop.Run();
  Print("Post from another thread, as fast as it can", MonotonicNanos() - start, rounds);
  thread.join();
}

void PostRoundTrip(RealLoop& loop, int64_t rounds) {
  auto other = std::move(RealLoop::Create().value());
  std::thread thread([&] { other->Run(); });
  int64_t left = rounds;
  std::function<void()> ping = [&] {
    if (--left == 0) return loop.Stop();
    other->Post([&] { loop.Post(ping); });
  };
  loop.Post(ping);
  int64_t start = MonotonicNanos();
  loop.Run();
  Print("Post round trip between two loops on two threads", MonotonicNanos() - start, rounds);
  other->Stop();
  thread.join();
}

void Timers(RealLoop& loop, int64_t rounds) {
  int64_t left = rounds;
  int64_t late = 0;
  int64_t worst = 0;
  Instant due{};
  std::function<void()> again = [&] {
    int64_t ns = (loop.Now() - due).ns;
    late += ns;
    worst = std::max(worst, ns);
    if (--left == 0) return loop.Stop();
    due = loop.Now() + Duration::Micros(500);
    loop.At(due, again);
  };
  due = loop.Now() + Duration::Micros(500);
  loop.At(due, again);
  loop.Run();
  Print("timers: mean lateness", late, rounds);
  Print("timers: worst lateness", worst, 1);

  int64_t start = MonotonicNanos();
  Instant far = loop.Now() + Duration::Seconds(3600);
  for (int64_t i = 0; i < 1000000; ++i) loop.Cancel(loop.At(far, [] {}));
  Print("At and Cancel of a far timer", MonotonicNanos() - start, 1000000);
}

}  // namespace

int main() {
  auto loop = std::move(RealLoop::Create().value());
  for (int width : {1, 8, 64}) {
    WatchReadRate(*loop, width, 500000);
    BareEpollRate(width, 500000);
  }
  PostRate(*loop, 2000000);
  PostBurst(*loop, 2000000);
  PostRoundTrip(*loop, 50000);
  Timers(*loop, 1000);
}
