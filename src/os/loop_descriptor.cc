#include "os/loop_descriptor.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace spate::os {

Status CheckRoomToWatch() {
  constexpr int kRoom = 16;
  const Fd all(epoll_create1(EPOLL_CLOEXEC)), bell(eventfd(0, EFD_CLOEXEC));
  std::vector<Fd> copies;  // one descriptor can be watched once only
  for (int i = 0; i < kRoom; ++i) {
    const Fd& copy = copies.emplace_back(fcntl(bell.get(), F_DUPFD_CLOEXEC, 0));
    epoll_event event{};
    if (epoll_ctl(all.get(), EPOLL_CTL_ADD, copy.get(), &event) != 0 && errno == ENOSPC) {
      return Fail(ErrorKind::kExhausted, std::string(kNoRoomToWatch));
    }
  }
  return {};
}

Result<std::unique_ptr<LoopDescriptor>> LoopDescriptor::Make() {
  Fd all(epoll_create1(EPOLL_CLOEXEC));
  Fd timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  Fd bell(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!all || !timer || !bell) {
    return Fail(ErrorKind::kExhausted,
                "cannot make a descriptor for an event loop; raise the limit of open files "
                "(ulimit -n) and try again");
  }
  std::unique_ptr<LoopDescriptor> made(
      new LoopDescriptor(std::move(all), std::move(timer), std::move(bell)));
  made->Watch(made->timer_.get(), true, false);
  made->Watch(made->bell_.get(), true, false);
  return made;
}

void LoopDescriptor::Watch(int fd, bool read, bool write) {
  epoll_event event{};
  event.events = (read ? EPOLLIN : 0u) | (write ? EPOLLOUT : 0u);
  event.data.fd = fd;
  if (event.events == 0) {
    (void)epoll_ctl(all_.get(), EPOLL_CTL_DEL, fd, &event);
  } else if (epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    // A regular file, which is always ready, cannot be waited for.
    if (errno != EEXIST || epoll_ctl(all_.get(), EPOLL_CTL_MOD, fd, &event) != 0) Ring();
  }
}

void LoopDescriptor::WakeAt(std::optional<int64_t> when) {
  constexpr int64_t kSecond = 1'000'000'000;
  itimerspec spec{};
  if (when) {
    const int64_t at = *when > 0 ? *when : 1;  // 0 would mean never
    spec.it_value = {.tv_sec = at / kSecond, .tv_nsec = at % kSecond};
  }
  (void)timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void LoopDescriptor::Ring() {
  const uint64_t one = 1;
  (void)!write(bell_.get(), &one, sizeof one);
}

void LoopDescriptor::Clear() {
  uint64_t count = 0;
  (void)!read(bell_.get(), &count, sizeof count);
}

}  // namespace spate::os
