#include "shepherd/pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/units.h"
#include "os/error.h"
#include "os/file.h"

namespace spate::shepherd {
namespace {

constexpr size_t kPackPiece = 256 * 1024;

}  // namespace

os::Fd OpenNameless(const std::string& folder) {
  std::string path = folder + "/nameless-XXXXXX";
  os::Fd fd(mkostemp(path.data(), O_CLOEXEC));
  if (fd) unlink(path.c_str());
  return fd;
}

void Pack::Begin(const std::string& spool_folder, const AttemptRef& ref) {
  bytes_.clear();
  spool_path_ =
      fmt::format("{}/{}-{}-{}.files", spool_folder, ref.job.value, ref.index, ref.attempt.value);
  spool_.Reset();
  total_ = 0;
  full_ = false;
}

std::string Pack::AddHead(const PackedFile& file) {
  std::string head;
  AppendPackedFile(head, file);
  return Add(head);
}

std::string Pack::Add(std::string_view bytes) {
  total_ += bytes.size();
  if (!spool_ && total_ <= kInlineOutput) {
    bytes_ += bytes;
    return {};
  }
  if (!spool_) {
    constexpr int kHow = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    spool_.Reset(open(spool_path_.c_str(), kHow, 0600));
    if (!spool_) {
      return fmt::format("cannot keep files on their way home in '{}': {}",
                         EscapeForScreen(spool_path_), os::TextOfErrno(errno));
    }
    if (std::string why = WriteSpool(std::exchange(bytes_, {})); !why.empty()) return why;
  }
  return WriteSpool(bytes);
}

std::string Pack::WriteSpool(std::string_view bytes) {
  auto put = os::WriteAll(spool_.get(), bytes, spool_path_);
  full_ = !put && put.error().kind == ErrorKind::kExhausted;
  return put ? "" : put.error().message;
}

std::string Pack::AddFrom(int fd, uint64_t size, const std::string& name) {
  std::string why;
  for (uint64_t at = 0; at < size && why.empty();) {
    auto bytes = os::ReadAt(fd, at, std::min<uint64_t>(kPackPiece, size - at), name);
    if (!bytes) return bytes.error().message;
    if (bytes->empty()) {
      return fmt::format("'{}' shrank while it was read", EscapeForScreen(name));
    }
    at += bytes->size();
    why = Add(*bytes);
    pulse_.Beat();
  }
  return why;
}

void Pack::Drop() {
  if (spool_) unlink(spool_path_.c_str());
  spool_.Reset();
  bytes_.clear();
  total_ = 0;
}

StreamView Pack::view() const {
  if (spool_) return {{}, spool_path_, total_};
  return {bytes_, {}, total_};
}

}  // namespace spate::shepherd
