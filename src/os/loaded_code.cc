#include "os/loaded_code.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "os/file.h"

namespace spate::os {
namespace {

// The program is the first one to be visited.
int Look(dl_phdr_info* info, size_t, void* to) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers.
    const auto* bytes = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    static_cast<std::vector<std::string_view>*>(to)->emplace_back(bytes, segment.p_filesz);
  }
  return 1;
}

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

std::vector<std::string_view> ProgramCode() {
  std::vector<std::string_view> code;
  dl_iterate_phdr(Look, &code);
  return code;
}

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
