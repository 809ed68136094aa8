#include "os/hard_link.h"

#include <unistd.h>

#include "os/error.h"

namespace spate::os {

Status MakeHardLink(const std::string& target, const std::string& path) {
  if (link(target.c_str(), path.c_str()) != 0) return FailErrno("make the link", path);
  return {};
}

}  // namespace spate::os
