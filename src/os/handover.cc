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

Result<Fd> MakeHandoverSocket() {
  Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FailErrno("make", "a socket");
  return fd;
}

// Datagrams that one Receive looks at: strangers may send on and on.
constexpr int kLooked = 8;

bool IsTrusted(const ucred& sender) { return sender.uid == 0 || sender.uid == geteuid(); }

// A datagram, or what there is room for of it. Errors are errno.
class Datagram {
 public:
  enum class Room : uint8_t { kSender, kAll };
  explicit Datagram(Room room) {
    message_.msg_iov = &data_;
    message_.msg_iovlen = 1;
    message_.msg_control = room_.data();
    // Descriptors without room are not opened.
    message_.msg_controllen = room == Room::kAll ? room_.size() : CMSG_SPACE(sizeof(ucred));
  }
  Datagram(const Datagram&) = delete;
  Datagram& operator=(const Datagram&) = delete;

  bool Receive(int socket, int flags) {
    ssize_t got = -1;
    do {
      got = recvmsg(socket, &message_, flags | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    return got >= 0;
  }
  bool SenderIsTrusted() {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message_); part != nullptr;
         part = CMSG_NXTHDR(&message_, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
      ucred sender;
      if (part->cmsg_len < CMSG_LEN(sizeof(sender))) continue;
      std::memcpy(&sender, CMSG_DATA(part), sizeof(sender));
      return IsTrusted(sender);
    }
    return false;
  }
  // The last one; none of them is left open.
  Fd Descriptor() {
    Fd last;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message_); part != nullptr;
         part = CMSG_NXTHDR(&message_, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
      const size_t bytes = part->cmsg_len - CMSG_LEN(0);
      for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
        last.Reset(fd);
      }
    }
    return last;
  }

 private:
  char byte_ = 0;
  iovec data_{&byte_, 1};
  alignas(
      cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(4 * sizeof(int))> room_{};
  msghdr message_{};
};

}  // namespace

Result<HandoverInbox> HandoverInbox::Open(std::string_view text) {
  auto fd = TRY(MakeHandoverSocket());
  const Name name = NameOf(text);
  int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
    return FailErrno("ask who sends to", text);
  }
  if (bind(fd.get(), name.raw(), name.size) != 0) {
    if (errno == EADDRINUSE) {
      return Fail(ErrorKind::kBusy, "somebody has the name '" + std::string(text) + "'");
    }
    return FailErrno("take the name", text);
  }
  return HandoverInbox(std::move(fd));
}

// Nobody else reads here, so what was looked at is what is received next.
Result<std::optional<Fd>> HandoverInbox::Receive() {
  for (int i = 0; i < kLooked; ++i) {
    Datagram seen(Datagram::Room::kSender);
    if (!seen.Receive(fd_.get(), MSG_PEEK)) {
      if (errno == EAGAIN) return std::nullopt;
      return FailErrno("take", "a descriptor");
    }
    const bool is_trusted = seen.SenderIsTrusted();
    Datagram taken(is_trusted ? Datagram::Room::kAll : Datagram::Room::kSender);
    if (!taken.Receive(fd_.get(), 0)) return FailErrno("take", "a descriptor");
    if (!is_trusted) continue;
    if (Fd fd = taken.Descriptor()) return std::optional(std::move(fd));
  }
  return std::nullopt;
}

Status HandOver(std::string_view text, int fd) {
  auto socket = TRY(MakeHandoverSocket());
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
  while (sendmsg(socket.get(), &message, MSG_NOSIGNAL) < 0) {
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
