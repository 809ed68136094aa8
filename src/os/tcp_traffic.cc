#include "os/tcp_traffic.h"

#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/number.h"
#include "os/error.h"
#include "os/fd.h"
#include "os/file.h"

namespace spate::os {
namespace {

using Traffic = std::unordered_map<uint64_t, uint64_t>;

// TCP_ESTABLISHED of netinet/tcp.h, which does not go with linux/tcp.h.
constexpr unsigned kEstablished = 1;
// Kernels before 4.1 do not count, and 4.19 is the oldest that is supported.
constexpr size_t kCounts = offsetof(tcp_info, tcpi_segs_out);

void Add(Traffic& to, const nlmsghdr& header) {
  const auto* socket = static_cast<const inet_diag_msg*>(NLMSG_DATA(&header));
  auto left = static_cast<int>(header.nlmsg_len - NLMSG_LENGTH(sizeof(*socket)));
  const auto* at = reinterpret_cast<const rtattr*>(socket + 1);
  for (; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
    if (at->rta_type != INET_DIAG_INFO || RTA_PAYLOAD(at) < kCounts) continue;
    tcp_info info{};
    std::memcpy(&info, RTA_DATA(at), std::min(sizeof(info), RTA_PAYLOAD(at)));
    to[socket->idiag_inode] += info.tcpi_bytes_acked + info.tcpi_bytes_received;
  }
}

Status Dump(int fd, uint8_t family, Traffic& to) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 asked;
  } request{};
  request.header = {.nlmsg_len = sizeof(request),
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
  request.asked.sdiag_family = family;
  request.asked.sdiag_protocol = IPPROTO_TCP;
  request.asked.idiag_ext = 1 << (INET_DIAG_INFO - 1);
  request.asked.idiag_states = 1 << kEstablished;
  if (send(fd, &request, sizeof(request), 0) < 0) return FailErrno("cannot ask for connections");
  alignas(nlmsghdr) std::array<char, 32 << 10> buffer;
  for (;;) {
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno("cannot read the list of connections");
    auto left = static_cast<unsigned>(got);
    const auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data());
    for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type == NLMSG_DONE) return {};
      if (header->nlmsg_type == NLMSG_ERROR) {
        return Fail(ErrorKind::kUnavailable, "this kernel does not list connections (inet_diag)");
      }
      Add(to, *header);
    }
  }
}

}  // namespace

Result<Traffic> TcpTraffic() {
  Fd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd.valid()) return FailErrno("cannot ask the kernel for connections");
  // A kernel that does not answer costs this one look.
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  Traffic all;
  TRY(Dump(fd.get(), AF_INET, all));
  TRY(Dump(fd.get(), AF_INET6, all));
  return all;
}

std::vector<uint64_t> SocketsOf(Pid pid, size_t most, const std::string& proc) {
  constexpr std::string_view kSocket = "socket:[";
  std::vector<uint64_t> inodes;
  const std::string path = proc + "/" + std::to_string(pid) + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path.c_str()), closedir);
  if (!dir) return inodes;
  while (const dirent* entry = readdir(dir.get())) {
    if (entry->d_name[0] == '.') continue;
    if (most-- == 0) break;
    std::array<char, 64> target;
    const ssize_t length =
        readlinkat(dirfd(dir.get()), entry->d_name, target.data(), target.size());
    if (length <= 0) continue;
    std::string_view text(target.data(), static_cast<size_t>(length));
    if (!text.starts_with(kSocket) || !text.ends_with(']')) continue;
    text.remove_prefix(kSocket.size());
    text.remove_suffix(1);
    if (auto inode = ReadNumber<uint64_t>(text)) inodes.push_back(*inode);
  }
  return inodes;
}

// "rchar: 123\nwchar: 456\n...", since Linux 2.6.20.
Result<uint64_t> BytesMovedBy(Pid pid, const std::string& proc) {
  constexpr size_t kMost = 4096;
  const std::string path = proc + "/" + std::to_string(pid) + "/io";
  const std::string text = TRY(ReadFile(path, kMost));
  uint64_t sum = 0;
  for (std::string_view name : {"rchar: ", "wchar: "}) {
    const size_t at = text.find(name);
    if (at == text.npos) return Fail(ErrorKind::kUnavailable, path + " tells no bytes");
    std::string_view number = std::string_view(text).substr(at + name.size());
    sum += ReadNumber<uint64_t>(number.substr(0, number.find('\n'))).value_or(0);
  }
  return sum;
}

}  // namespace spate::os
