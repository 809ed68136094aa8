// The machine list of Parasol's hub and of the programs that start, stop and ask its nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::parasol {

struct ParasolMachine {
  std::string name;
  uint32_t cpus = 0;
  uint64_t ram_megabytes = 0;
  std::string temp_dir;
  // Nobody looks at these.
  std::string local_dir, local_size, network_switch;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "cpus", self.cpus);
    visit(3, "ram_megabytes", self.ram_megabytes);
    visit(4, "temp_dir", self.temp_dir);
    visit(5, "local_dir", self.local_dir);
    visit(6, "local_size", self.local_size);
    visit(7, "network_switch", self.network_switch);
  }
  friend bool operator==(const ParasolMachine&, const ParasolMachine&) = default;
};

// The columns that a program needs; more may follow, and what is there of them is read where it
// makes sense.
inline constexpr size_t kHubColumns = 7;
inline constexpr size_t kNodeStartColumns = 2;
inline constexpr size_t kNodeNameColumns = 1;

// Blank lines and such that begin with # do not count. A name stands in the list once. `name` is
// that of the file, for errors.
Result<std::vector<ParasolMachine>> ReadMachineList(std::string_view text, std::string_view name,
                                                    size_t columns);
// One line, also as the words of a command.
Result<ParasolMachine> ReadMachine(std::string_view line, size_t columns);

}  // namespace spate::parasol
