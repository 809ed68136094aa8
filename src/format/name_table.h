// Tasks by the names that a list gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace spate::format {

// Open addressing over the names, which the caller keeps.
class NameTable {
 public:
  // False: the name is taken.
  bool Add(std::string_view name, TaskIndex task);
  std::optional<TaskIndex> Find(std::string_view name) const;
  // How many names there are; they are numbered as they were added.
  size_t size() const { return names_.size(); }
  std::string_view NameAt(size_t number) const { return names_[number]; }

 private:
  size_t SlotOf(std::string_view name) const;
  void Grow();

  std::vector<std::string_view> names_;
  std::vector<TaskIndex> tasks_;
  std::vector<uint32_t> slots_;  // numbers of names; a power of two of them
};

// Error text for tasks that wait for one another: "...: A -> B -> A". Of a long circle, only the
// first tasks are named.
std::string CircleText(std::span<const TaskIndex> cycle,
                       const std::function<std::string(TaskIndex)>& name_of);

}  // namespace spate::format
