#include "format/name_table.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace spate::format {
namespace {

constexpr uint32_t kFree = UINT32_MAX;

}  // namespace

bool NameTable::Add(std::string_view name, TaskIndex task) {
  if (names_.size() * 2 >= slots_.size()) Grow();
  uint32_t& slot = slots_[SlotOf(name)];
  if (slot != kFree) return false;
  slot = static_cast<uint32_t>(names_.size());
  names_.push_back(name);
  tasks_.push_back(task);
  return true;
}

std::optional<TaskIndex> NameTable::Find(std::string_view name) const {
  if (names_.empty()) return std::nullopt;
  uint32_t slot = slots_[SlotOf(name)];
  return slot == kFree ? std::nullopt : std::optional(tasks_[slot]);
}

size_t NameTable::SlotOf(std::string_view name) const {
  size_t mask = slots_.size() - 1;
  size_t at = XXH3_64bits(name.data(), name.size()) & mask;
  while (slots_[at] != kFree && names_[slots_[at]] != name) at = (at + 1) & mask;
  return at;
}

void NameTable::Grow() {
  slots_.assign(std::max<size_t>(slots_.size() * 2, 64), kFree);
  for (uint32_t i = 0; i < names_.size(); ++i) slots_[SlotOf(names_[i])] = i;
}

std::string CircleText(std::span<const TaskIndex> cycle,
                       const std::function<std::string(TaskIndex)>& name_of) {
  constexpr size_t kNamed = 10;
  std::string way;
  for (TaskIndex task : cycle.first(std::min(cycle.size(), kNamed))) way += name_of(task) + " -> ";
  if (cycle.size() > kNamed) way += fmt::format("... {} more ... -> ", cycle.size() - kNamed);
  return "the tasks wait for one another in a circle: " + way + name_of(cycle.front());
}

}  // namespace spate::format
