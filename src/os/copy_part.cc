#include "os/copy_part.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/units.h"
#include "os/error.h"
#include "os/fd.h"

namespace spate::os {
namespace {

constexpr uint64_t kPiece = 1u << 20;

// Used if the system cannot splice: it is no pipe, or a file system without it.
Result<Copied> CopyThrough(int from, uint64_t offset, uint64_t length, int to,
                           std::string_view name) {
  while (length > 0) {
    auto piece = TRY(ReadAt(from, offset, std::min(length, kPiece), name));
    if (piece.empty()) break;
    errno = 0;
    if (auto written = WriteAll(to, piece, "the task's standard input"); !written) {
      if (errno == EPIPE) return Copied::kReaderGone;
      return std::unexpected(written.error());
    }
    offset += piece.size();
    length -= piece.size();
  }
  if (length == 0) return Copied::kAll;
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("'{}' has become shorter since it was cut into parts", EscapeForScreen(name)));
}

}  // namespace

Result<Copied> CopyPart(int from, uint64_t offset, uint64_t length, int to, std::string_view name) {
  (void)fcntl(to, F_SETPIPE_SZ, static_cast<int>(kPiece));  // fewer turns, where it is allowed
  auto at = static_cast<loff_t>(offset);
  while (length > 0) {
    ssize_t moved = splice(from, &at, to, nullptr, std::min(length, kPiece), 0);
    if (moved > 0) {
      length -= static_cast<uint64_t>(moved);
      continue;
    }
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && errno == EPIPE) return Copied::kReaderGone;
    return CopyThrough(from, static_cast<uint64_t>(at), length, to, name);
  }
  return Copied::kAll;
}

}  // namespace spate::os
