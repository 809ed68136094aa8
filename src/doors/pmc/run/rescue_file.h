// The rescue file of a run on disk, from its reading at the start until it is open for appending.
// The file may be a symbolic link, which stays one, or a device or pipe, which is only written to.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace spate::pmc {

class RescueFile {
 public:
  // Resolves links. A missing file is fine; a dangling link names the file to be made.
  static Result<RescueFile> Find(const std::string& path);

  // False: a device, a pipe or a socket, which has nothing to read and cannot be synced.
  bool is_regular() const { return is_regular_; }
  // Its text; empty for a missing file, or one that is not regular.
  Result<std::string> Read() const;
  // Makes it `text`, with its permissions and its owner; after a crash it is the old text or the
  // new one. In a folder where this process may make no file (or not with that owner), the file is
  // cut down to its first `whole` bytes instead, which must be records already.
  Status Rewrite(std::string_view text, uint64_t whole) const;
  // Empties it; its text is kept in `kept`, with the same permissions.
  Status Empty(const std::string& kept) const;
  // Opens it for appending; makes it when it is missing.
  Result<os::Fd> Open() const;

 private:
  explicit RescueFile(std::string path) : path_(std::move(path)) {}

  std::string path_;  // without links
  bool exists_ = false;
  bool is_regular_ = true;
};

}  // namespace spate::pmc
