// TempDir: a folder of its own that goes with the object. For tests and short-lived needs.
#pragma once

#include <string>

#include "base/result.h"

namespace spate::os {

class TempDir {
 public:
  // Below $TMPDIR, or below /tmp if TMPDIR is not set or no folder can be made there. Ends the
  // process if /tmp has no room for it either. With `other`, the folder is OTHER.XXXXXX if that is
  // on another file system, which has more room.
  explicit TempDir(const std::string& other);
  TempDir() : TempDir("") {}
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // Why it is not below $TMPDIR, for a person; empty if it is, or if TMPDIR is not set.
  const std::string& problem() const { return problem_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file below, with the folders that it needs; returns its path.
  std::string Write(const std::string& name, const std::string& bytes) const;

 private:
  std::string path_;
  std::string problem_;
};

}  // namespace spate::os
