// Sockets. TCP connections send at once (TCP_NODELAY: who sends has batched already) and find out
// within about a minute that the other machine is gone: by keepalive when nothing is under way, by
// TCP_USER_TIMEOUT when something is. The latter also ends those whose reader takes nothing for a
// minute, so LetReaderWait is without it.
#include "os/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "os/error.h"
#include "os/file.h"
#include "os/send_part.h"

namespace spate::os {
namespace {

const sockaddr* Raw(const SocketAddress& address) {
  return static_cast<const sockaddr*>(address.data());
}

void Set(int fd, int level, int option, int value) {
  // These tune: a kernel that lacks one still carries our bytes.
  (void)setsockopt(fd, level, option, &value, sizeof(value));
}

void Tune(int fd, const SocketAddress& peer) {
  if (peer.is_unix()) return;
  Set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  Set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 60 * 1000);
}

Result<Fd> MakeSocket(const SocketAddress& address) {
  Fd fd(socket(Raw(address)->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FailErrno("make a socket for", address.Text());
  return fd;
}

// A socket file stays when its owner is killed.
bool RemoveDeadSocket(const SocketAddress& at) {
  auto info = StatLink(at.path());
  if (!info || info->kind != FileKind::kSocket || HasListener(at)) return false;
  return unlink(at.path().c_str()) == 0;
}

Status Bind(int fd, const SocketAddress& at, uint32_t permissions) {
  // Set before binding, so that there is no moment in which more may connect.
  if (at.is_unix()) (void)fchmod(fd, permissions);
  int done = bind(fd, Raw(at), at.size());
  if (done != 0 && errno == EADDRINUSE && at.is_unix() && RemoveDeadSocket(at)) {
    done = bind(fd, Raw(at), at.size());
  }
  if (done != 0) return FailErrno("listen at", at.Text());
  // Restores permissions that the umask removed.
  if (at.is_unix() && chmod(at.path().c_str(), permissions) != 0) {
    return FailErrno("set the permissions of", at.path());
  }
  return {};
}

// "::" as IPv4 has it, where the kernel has no IPv6; nullopt for any other address.
std::optional<SocketAddress> AllOfIpv4(const SocketAddress& at) {
  if (Raw(at)->sa_family != AF_INET6 || errno != EAFNOSUPPORT) return std::nullopt;
  const auto* v6 = static_cast<const sockaddr_in6*>(at.data());
  if (!IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)) return std::nullopt;
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = v6->sin6_port};
  return SocketAddress(&v4, sizeof(v4));
}

// A new descriptor gets the lowest free number, so the number tells how many are in use.
bool HasDescriptorsForMore(int fd) {
  const size_t most = MostDescriptors();
  Fd next(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return next && static_cast<size_t>(next.get()) < most - most / 8;
}

}  // namespace

bool HasListener(const SocketAddress& at) {
  auto probe = MakeSocket(at);
  return !probe || connect(probe->get(), Raw(at), at.size()) == 0 ||
         (errno != ECONNREFUSED && errno != ENOENT);
}

Result<Fd> Listen(const SocketAddress& at, int waiting, uint32_t permissions) {
  auto fd = MakeSocket(at);
  if (!fd) {
    auto v4 = AllOfIpv4(at);
    return v4 ? Listen(*v4, waiting, permissions) : std::move(fd);
  }
  if (!at.is_unix()) Set(fd->get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (Raw(at)->sa_family == AF_INET6) Set(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (Status bound = Bind(fd->get(), at, permissions); !bound) {
    return std::unexpected(std::move(bound.error()));
  }
  if (listen(fd->get(), waiting) != 0) return FailErrno("listen at", at.Text());
  return fd;
}

Result<std::optional<Accepted>> Accept(int listener) {
  if (!HasDescriptorsForMore(listener)) {
    errno = EMFILE;
    return FailErrno("accept a connection");
  }
  for (;;) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    Fd fd(
        accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      Accepted accepted{std::move(fd), SocketAddress(&peer, size)};
      Tune(accepted.fd.get(), accepted.peer);
      return accepted;
    }
    switch (errno) {
      case EAGAIN:
        return std::nullopt;
      case EMFILE:
      case ENFILE:
      case ENOMEM:
      case ENOBUFS:
      case EBADF:
      case EINVAL:
      case ENOTSOCK:
        return FailErrno("accept a connection");
      default:
        continue;  // that one connection broke while it waited (accept(2) has the list)
    }
  }
}

// A reader that waits answers the system's probes of its closed window, so it is there.
void LetReaderWait(int fd) { Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 0); }

Result<Fd> StartConnect(const SocketAddress& to) {
  auto fd = MakeSocket(to);
  if (!fd) return fd;
  Tune(fd->get(), to);
  if (connect(fd->get(), Raw(to), to.size()) != 0 && errno != EINPROGRESS) {
    return FailErrno("connect to", to.Text());
  }
  return fd;
}

Status FinishConnect(int fd, const SocketAddress& to) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return std::unexpected(SystemError(error, "connect to", to.Text()));
  return {};
}

namespace {

IoStep ReceiveWith(int fd, char* to, size_t size, int flags) {
  for (;;) {
    ssize_t n = recv(fd, to, size, flags);
    if (n > 0) return {.kind = IoStep::Kind::kDone, .bytes = static_cast<size_t>(n)};
    if (n == 0) return {.kind = IoStep::Kind::kEnd};
    if (errno == EAGAIN) return {.kind = IoStep::Kind::kWouldBlock};
    if (errno != EINTR) return {.kind = IoStep::Kind::kError, .error = errno};
  }
}

IoStep SendWith(int fd, std::string_view bytes, int flags) {
  for (;;) {
    ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | flags);
    if (n >= 0) return {.kind = IoStep::Kind::kDone, .bytes = static_cast<size_t>(n)};
    if (errno == EAGAIN) return {.kind = IoStep::Kind::kWouldBlock};
    if (errno != EINTR) return {.kind = IoStep::Kind::kError, .error = errno};
  }
}

}  // namespace

IoStep Receive(int fd, char* to, size_t size) { return ReceiveWith(fd, to, size, 0); }

IoStep Peek(int fd, char* to, size_t size) { return ReceiveWith(fd, to, size, MSG_PEEK); }

IoStep SendSome(int fd, std::string_view bytes) { return SendWith(fd, bytes, 0); }
IoStep SendPart(int fd, std::string_view bytes) { return SendWith(fd, bytes, MSG_MORE); }

bool HasRoom(int fd) {
  pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0;
}

void ShutdownWrite(int fd) { (void)shutdown(fd, SHUT_WR); }

Result<SocketAddress> LocalAddress(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return FailErrno("tell a socket's address");
  }
  return SocketAddress(&name, size);
}

Result<PeerCredentials> PeerOf(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  auto local = TRY(LocalAddress(fd));
  if (!local.is_unix()) {
    return Fail(ErrorKind::kUnavailable, "only a UNIX socket tells which user is at its other end");
  }
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return FailErrno("ask who is at the other end of a socket");
  }
  return PeerCredentials{.user = peer.uid, .group = peer.gid, .pid = peer.pid};
}

}  // namespace spate::os
