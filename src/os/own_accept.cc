#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "os/fd.h"
#include "os/socket.h"

namespace spate::os {
namespace {

// The peer's user, from the kernel's table of sockets. nullopt: it is remote, or has closed.
std::optional<uid_t> UserOfPeer(int fd) {
  sockaddr_in peer = {}, self = {};
  socklen_t size = sizeof peer, self_size = sizeof self;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return std::nullopt;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&self), &self_size) != 0) return std::nullopt;
  struct {
    nlmsghdr head = {.nlmsg_len = sizeof(nlmsghdr) + sizeof(inet_diag_req_v2),
                     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                     .nlmsg_flags = NLM_F_REQUEST};
    inet_diag_req_v2 wanted = {};
  } ask;
  ask.wanted.sdiag_family = AF_INET;
  ask.wanted.sdiag_protocol = IPPROTO_TCP;
  ask.wanted.idiag_states = ~0u;
  // Addresses as the peer's socket has them.
  ask.wanted.id = {.idiag_sport = peer.sin_port,
                   .idiag_dport = self.sin_port,
                   .idiag_src = {peer.sin_addr.s_addr},
                   .idiag_dst = {self.sin_addr.s_addr},
                   .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
  struct {
    nlmsghdr head;
    inet_diag_msg told;
    char rest[4096];
  } answer = {};
  const Fd kernel(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (send(kernel.get(), &ask, sizeof ask, 0) < 0) return std::nullopt;
  if (recv(kernel.get(), &answer, sizeof answer, 0) < 0) return std::nullopt;
  if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  return answer.told.idiag_uid;
}

}  // namespace

int AcceptOwn(int fd, void* address, void* size) {
  const int peer =
      accept4(fd, static_cast<sockaddr*>(address), static_cast<socklen_t*>(size), SOCK_CLOEXEC);
  if (peer < 0) return peer;
  const auto user = UserOfPeer(peer);
  if (!user || *user == 0 || *user == geteuid()) return peer;
  close(peer);
  errno = ECONNABORTED;
  return -1;
}

}  // namespace spate::os
