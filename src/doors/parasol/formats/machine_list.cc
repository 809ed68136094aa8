#include "doors/parasol/formats/machine_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/number.h"
#include "base/units.h"
#include "core/model/name.h"
#include "format/lines.h"

namespace spate::parasol {
namespace {

constexpr std::array<std::string_view, kHubColumns> kColumns = {
    "name", "cpus", "ram in MB", "tempDir", "localDir", "localSize", "switch"};

template <typename T>
Status ReadCount(std::string_view word, std::string_view what, T* number) {
  if (auto read = ReadNumber<T>(word); read && *read > 0) {
    *number = *read;
    return {};
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a number of {}; write a whole number, 1 or more",
                          EscapeForScreen(word), what));
}

}  // namespace

Result<ParasolMachine> ReadMachine(std::string_view line, size_t columns) {
  std::array<std::string_view, kHubColumns> words;
  size_t found = 0;
  for (; found < words.size(); ++found) {
    words[found] = format::NextWord(&line);
    if (words[found].empty()) break;
  }
  if (found < columns) {
    std::string needed;
    for (size_t i = 0; i < columns; ++i) needed += fmt::format(" {}", kColumns[i]);
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} columns instead of {}: write{}", found, columns, needed));
  }
  ParasolMachine machine;
  machine.name = words[0];
  machine.temp_dir = words[3];
  machine.local_dir = words[4];
  machine.local_size = words[5];
  machine.network_switch = words[6];
  (void)TRY(ReadName(machine.name, "name of a machine"));
  // A column that is not needed may hold anything.
  auto cpus = ReadCount(words[1], "CPUs", &machine.cpus);
  if (!cpus && columns > 1) return std::unexpected(std::move(cpus.error()));
  auto ram = ReadCount(words[2], "MB", &machine.ram_megabytes);
  if (!ram && columns > 2) return std::unexpected(std::move(ram.error()));
  return machine;
}

Result<std::vector<ParasolMachine>> ReadMachineList(std::string_view text, std::string_view name,
                                                    size_t columns) {
  std::vector<ParasolMachine> machines;
  std::unordered_set<std::string> names;
  for (uint64_t number = 1; auto line = format::NextLine(&text); ++number) {
    std::string_view trimmed = format::TrimBlanks(*line);
    if (trimmed.empty() || trimmed.front() == '#') continue;
    auto machine = ReadMachine(trimmed, columns);
    if (machine && !names.insert(machine->name).second) {
      machine = Fail(ErrorKind::kInvalid,
                     fmt::format("machine {} occurs twice; remove this line", machine->name));
    }
    if (!machine) {
      return Within(fmt::format("line {} of {}", number, name), std::move(machine.error()));
    }
    machines.push_back(std::move(*machine));
  }
  return machines;
}

}  // namespace spate::parasol
