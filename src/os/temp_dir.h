// TempDir: a folder of its own that goes with the object. For tests and short-lived needs.
#pragma once

#include <string>

#include "base/result.h"

namespace spate::os {

class TempDir {
 public:
  // Below $TMPDIR, else /tmp; CHECKs that it can be made.
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file below, with the folders that it needs; returns its path.
  std::string Write(const std::string& name, const std::string& bytes) const;

 private:
  std::string path_;
};

}  // namespace spate::os
