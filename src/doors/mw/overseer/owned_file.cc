#include "doors/mw/overseer/owned_file.h"

#include <fmt/format.h>

#include "base/units.h"
#include "os/account.h"
#include "os/file.h"

namespace spate::mw {
namespace {

constexpr uint32_t kRoot = 0;
constexpr uint32_t kOthersWrite = 0022;

Status CheckOwner(const os::FileInfo& info, const std::string& path) {
  std::string shown = EscapeForScreen(path);
  if (info.kind != os::FileKind::kFile) {
    return Fail(ErrorKind::kPermission, fmt::format("'{}' is not a regular file", shown));
  }
  if (info.user != os::EffectiveUser() && info.user != kRoot) {
    return Fail(ErrorKind::kPermission,
                fmt::format("'{}' belongs to user {}; only files of you or root are used, because "
                            "they determine which program runs as you",
                            shown, info.user));
  }
  if ((info.permissions & kOthersWrite) != 0) {
    return Fail(ErrorKind::kPermission,
                fmt::format("'{0}' may be written by others: it says which program runs as you; "
                            "type chmod go-w {1}",
                            shown, ShellQuote(path)));
  }
  return {};
}

Status CheckProgram(const ResourceFile& file, const std::string& path) {
  if (file.finished || file.executable.starts_with('/')) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("{}: :slave-executable must name a program by its absolute path; let the "
                          "master be started with --mw-slave-executable",
                          EscapeForScreen(path)));
}

}  // namespace

Result<ResourceFile> ReadOwnedResourceFile(const std::string& path) {
  auto real = TRY(os::RealPath(path));
  auto info = TRY(os::Stat(real));
  TRY(CheckOwner(info, path));
  // Looks at the owner of what it opens: somebody may have put another file there meanwhile.
  auto text = TRY(os::ReadFileOf(info.user, real, kResourceFileBytesMax + 1));
  auto file = ReadResourceFile(text, path);
  if (!file) return file;
  TRY(CheckProgram(*file, path));
  return file;
}

}  // namespace spate::mw
