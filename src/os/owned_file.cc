#include "os/owned_file.h"

#include <unistd.h>

#include "os/error.h"
#include "os/fd.h"
#include "os/file.h"

namespace spate::os {

// It has its owner before it has anything to read.
Status WriteFileFor(uint32_t user, const std::string& path, std::string_view bytes) {
  if (Status removed = RemoveFile(path); !removed) return removed;
  auto fd = TRY(OpenWrite(path, OpenHow::kCreateNew, 0600));
  if (user != geteuid() && fchown(fd.get(), user, static_cast<gid_t>(-1)) != 0) {
    return FailErrno("give away", path);
  }
  return WriteAll(fd.get(), bytes, path);
}

Status MakeDirFor(uint32_t user, const std::string& path) {
  if (Status made = MakeDir(path, 0700); !made) return made;
  if (user != geteuid() && lchown(path.c_str(), user, static_cast<gid_t>(-1)) != 0) {
    return FailErrno("give away", path);
  }
  return {};
}

}  // namespace spate::os
