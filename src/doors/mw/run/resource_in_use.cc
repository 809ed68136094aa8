#include "doors/mw/run/resource_in_use.h"

#include <fmt/format.h>

#include "base/units.h"
#include "doors/mw/formats/resource_file.h"
#include "os/file.h"

namespace spate::mw {

std::unexpected<Error> InUse(const std::string& path) {
  std::string holder = "another master";
  auto text = os::ReadFile(path, kResourceFileBytesMax);
  auto file = text ? ReadResourceFile(*text, path) : std::unexpected(text.error());
  if (file) {
    holder = fmt::format("the master at {}:{} ({}, member id '{}')",
                         SlaveArgument(*file, "--mw-master-host").value_or("?"),
                         SlaveArgument(*file, "--mw-master-port").value_or("?"), file->executable,
                         file->member_id);
  }
  return Fail(ErrorKind::kBusy,
              fmt::format("--mw-resource-file {} is in use: {} writes it. Wait for its end, "
                          "or name another file",
                          EscapeForScreen(path), EscapeForScreen(holder)));
}

}  // namespace spate::mw
