#include "os/temp_dir.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>

#include "base/check.h"
#include "base/units.h"
#include "os/error.h"
#include "os/exhausted.h"
#include "os/file.h"

namespace spate::os {
namespace {

bool HasMoreRoom(const std::string& folder, const std::string& than) {
  auto one = Stat(folder);
  auto two = Stat(than);
  if (!one || !two || one->device == two->device) return false;
  auto more = SpaceOf(folder);
  auto less = SpaceOf(than);
  return more && less && more->free > less->free;
}

}  // namespace

TempDir::TempDir(const std::string& other) {
  const char* named = getenv("TMPDIR");
  const std::string base = named != nullptr && *named == '/' ? named : "/tmp";
  if (!other.empty() && HasMoreRoom(DirName(other), base)) {
    path_ = AbsolutePath(other + ".XXXXXX").value_or("");
    if (mkdtemp(path_.data()) != nullptr) return;
  }
  path_ = base + "/spate.XXXXXX";
  if (mkdtemp(path_.data()) != nullptr) return;
  const auto why = TextOfErrno(errno);
  if (base == "/tmp") EndExhausted(fmt::format("cannot create a folder in /tmp: {}", why));
  problem_ = fmt::format("cannot create a folder in $TMPDIR '{}': {}; using /tmp",
                         EscapeForScreen(base), why);
  path_ = "/tmp/spate.XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) EndExhausted(problem_ + " is not possible either");
}

TempDir::~TempDir() { (void)RemoveTree(path_); }

std::string TempDir::Write(const std::string& name, const std::string& bytes) const {
  std::string path = Path(name);
  CHECK(MakeDirs(DirName(path)).has_value());
  CHECK(WriteFile(path, bytes).has_value());
  return path;
}

}  // namespace spate::os
