#include "os/temp_dir.h"

#include <stdlib.h>

#include "base/check.h"
#include "os/file.h"

namespace spate::os {

TempDir::TempDir() {
  const char* base = getenv("TMPDIR");
  path_ = std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/spate.XXXXXX";
  CHECK(mkdtemp(path_.data()) != nullptr);
}

TempDir::~TempDir() { (void)RemoveTree(path_); }

std::string TempDir::Write(const std::string& name, const std::string& bytes) const {
  std::string path = Path(name);
  CHECK(MakeDirs(DirName(path)).has_value());
  CHECK(WriteFile(path, bytes).has_value());
  return path;
}

}  // namespace spate::os
