#include "os/program_code.h"

#include <link.h>

#include <cstddef>

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

}  // namespace

std::vector<std::string_view> ProgramCode() {
  std::vector<std::string_view> code;
  dl_iterate_phdr(Look, &code);
  return code;
}

}  // namespace spate::os
