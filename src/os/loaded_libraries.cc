#include "os/loaded_libraries.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "os/file.h"

namespace spate::os {
namespace {

bool IsOfSystem(std::string_view path) {
  constexpr std::array<std::string_view, 6> kFolders = {"/lib/",     "/lib32/",     "/lib64/",
                                                        "/usr/lib/", "/usr/lib32/", "/usr/lib64/"};
  return std::ranges::any_of(kFolders,
                             [&](std::string_view each) { return path.starts_with(each); });
}

int Add(dl_phdr_info* info, size_t, void* to) {
  const std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  // The program itself has no name, and the kernel's part is no file.
  if (name.find('/') != name.npos) static_cast<std::vector<std::string>*>(to)->emplace_back(name);
  return 0;
}

}  // namespace

std::vector<std::string> LoadedLibraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(Add, &paths);
  std::vector<std::string> libraries;
  for (const std::string& each : paths) {
    // A folder of the search path may be relative. The last name stays as it is: a link has the
    // name that programs look for.
    auto folder = RealPath(DirName(each));
    if (!folder) continue;
    std::string path = JoinPath(*folder, BaseName(each));
    if (!IsOfSystem(path)) libraries.push_back(std::move(path));
  }
  return libraries;
}

}  // namespace spate::os
