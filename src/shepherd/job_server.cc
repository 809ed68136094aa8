#include "shepherd/job_server.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace spate::shepherd {
namespace {

bool IsInheritedPipe(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  struct stat info;
  return flags >= 0 && (flags & FD_CLOEXEC) == 0 && fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
}

// "3,4"
std::optional<JobServer> ReadPair(std::string_view text) {
  JobServer server;
  const char* end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, server.read);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != ',') return std::nullopt;
  auto write = std::from_chars(read.ptr + 1, end, server.write);
  if (write.ec != std::errc() || write.ptr != end) return std::nullopt;
  // Those below are the task's own.
  if (server.read <= 2 || server.write <= 2) return std::nullopt;
  return server;
}

}  // namespace

// The last one counts, as for make.
std::optional<JobServer> JobServerOf(const char* makeflags) {
  std::string_view left = makeflags == nullptr ? "" : makeflags;
  std::optional<JobServer> found;
  while (!left.empty()) {
    const std::string_view word = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(word.size() + 1, left.size()));
    // Make up to 4.1 said "fds".
    for (std::string_view name : {"--jobserver-auth=", "--jobserver-fds="}) {
      if (word.starts_with(name)) found = ReadPair(word.substr(name.size()));
    }
  }
  return found;
}

std::optional<JobServer> InheritedJobServer() {
  auto server = JobServerOf(std::getenv("MAKEFLAGS"));
  if (!server || !IsInheritedPipe(server->read) || !IsInheritedPipe(server->write)) {
    return std::nullopt;
  }
  return server;
}

}  // namespace spate::shepherd
