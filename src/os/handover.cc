// One datagram carries one descriptor (SCM_RIGHTS); the receiver's kernel adds who sent it.
#include "os/handover.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/check.h"
#include "os/error.h"

namespace spate::os {
namespace {

struct Name {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t size = 0;
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// It begins with a NUL: no file.
Name NameOf(std::string_view text) {
  Name name;
  CHECK(text.size() < sizeof(name.address.sun_path));
  std::ranges::copy(text, name.address.sun_path + 1);
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

Result<Fd> MakeSocket() {
  Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FailErrno("make", "a socket");
  return fd;
}

struct Received {
  Fd fd;
  bool trusted = false;
};

// Takes in all descriptors, so that none is left open.
Received Unpack(msghdr& message) {
  Received received;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    const size_t bytes = part->cmsg_len - CMSG_LEN(0);
    if (part->cmsg_type == SCM_CREDENTIALS && bytes >= sizeof(ucred)) {
      ucred sender;
      std::memcpy(&sender, CMSG_DATA(part), sizeof(sender));
      received.trusted = sender.uid == 0 || sender.uid == geteuid();
    }
    if (part->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
      received.fd.Reset(fd);
    }
  }
  return received;
}

}  // namespace

Result<HandoverInbox> HandoverInbox::Open(std::string_view text) {
  auto fd = MakeSocket();
  if (!fd) return std::unexpected(std::move(fd.error()));
  const Name name = NameOf(text);
  int on = 1;
  if (setsockopt(fd->get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
    return FailErrno("ask who sends to", text);
  }
  if (bind(fd->get(), name.raw(), name.size) != 0) {
    if (errno == EADDRINUSE) {
      return Fail(ErrorKind::kBusy, "somebody has the name '" + std::string(text) + "'");
    }
    return FailErrno("take the name", text);
  }
  return HandoverInbox(std::move(*fd));
}

Result<std::optional<Fd>> HandoverInbox::Take() {
  while (true) {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(4 * sizeof(int))> room;
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    ssize_t got = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got < 0) return FailErrno("take", "a descriptor");
    Received received = Unpack(message);
    if (received.trusted && received.fd) return std::optional(std::move(received.fd));
  }
}

Status HandOver(std::string_view text, int fd) {
  auto socket = MakeSocket();
  if (!socket) return std::unexpected(std::move(socket.error()));
  const Name name = NameOf(text);
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(name.raw());
  message.msg_namelen = name.size;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(part), &fd, sizeof(fd));
  while (sendmsg(socket->get(), &message, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == ECONNREFUSED) return Fail(ErrorKind::kNotFound, "nobody takes it");
    if (errno == EAGAIN || errno == ETOOMANYREFS || errno == ENOBUFS) {
      return Fail(ErrorKind::kBusy, "too many wait there");
    }
    return FailErrno("hand over", "a descriptor");
  }
  return {};
}

}  // namespace spate::os
