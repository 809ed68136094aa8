// Bytes that this machine's TCP connections have carried, as the kernel counts them for each.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "os/process.h"

namespace spate::os {

// Sent (and acknowledged) and received bytes of each connection of this network namespace, by the
// inode of its socket. By NETLINK_SOCK_DIAG (sock_diag(7)); kUnavailable where the kernel has no
// inet_diag. May take milliseconds for thousands of connections. From any thread.
Result<std::unordered_map<uint64_t, uint64_t>> TcpTraffic();

// Inodes of the sockets that a process has open, from at most `most` of its descriptors. Empty when
// it has ended or belongs to others.
std::vector<uint64_t> SocketsOf(Pid pid, size_t most, const std::string& proc = "/proc");

// Bytes that a process has read and written so far by system calls, whatever they were to or from
// (/proc/PID/io). kNotFound when it has ended or belongs to others.
Result<uint64_t> BytesMovedBy(Pid pid, const std::string& proc = "/proc");

}  // namespace spate::os
