// For tests of a machine that watches no further descriptors: replaces epoll_ctl in the program.
// One source of a program includes it.
#pragma once

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace spate::os {

// Number of descriptors that epoll still takes; negative: there is no such bound.
inline int room_to_watch = -1;

}  // namespace spate::os

extern "C" int epoll_ctl(int epoll, int what, int fd, epoll_event* event) noexcept {
  int& room = spate::os::room_to_watch;
  if (what == EPOLL_CTL_ADD && room == 0) {
    errno = ENOSPC;
    return -1;
  }
  if (what == EPOLL_CTL_ADD && room > 0) --room;
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, what, fd, event));
}
