#include "os/find_program.h"

#include <algorithm>

#include "os/environment.h"
#include "os/file.h"

namespace spate::os {

std::string FindProgram(std::string_view name, std::string_view path, const std::string& cwd) {
  while (!path.empty()) {
    const std::string folder(path.substr(0, path.find(':')));
    path.remove_prefix(std::min(folder.size() + 1, path.size()));
    std::string file = JoinPath(JoinPath(cwd, folder), std::string(name));
    if (!MayAccess(file, "x")) continue;
    if (auto info = Stat(file); info && info->kind == FileKind::kFile) return file;
  }
  return "";
}

std::string FindBash() {
  std::string usual = FindProgram("bash", "/bin");
  if (!usual.empty()) return usual;
  return FindProgram("bash", Environment::OfProcess().GetOr("PATH", ""), "/");
}

}  // namespace spate::os
