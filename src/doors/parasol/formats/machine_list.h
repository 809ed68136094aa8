// The machine list of Parasol's hub and of the programs that start, stop and ask its nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/fields.h"

namespace spate::parasol {

struct ParasolMachine {
  std::string name;
  uint32_t cpus = 0;
  uint64_t ram_megabytes = 0;
  std::string temp_dir;
  // Nobody looks at these.
  std::string local_dir, local_size, network_switch;
  SPATE_FIELDS(1, name, 2, cpus, 3, ram_megabytes, 4, temp_dir, 5, local_dir, 6, local_size,
               7, network_switch);
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
