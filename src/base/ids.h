// Strong ids: distinct integer types that do not mix.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace spate {

template <typename Tag, typename Rep = uint32_t>
struct Id {
  Rep value = 0;

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  friend constexpr auto operator<=>(Id, Id) = default;
};

using JobId = Id<struct JobTag>;                  // from 1; 0 is none
using NodeId = Id<struct NodeTag>;                // from 1; 0 is none
using Epoch = Id<struct EpochTag>;                // counts the lives of a hub, from 1
using Attempt = Id<struct AttemptTag, uint16_t>;  // numbers the executions of a task, from 1

// A task's place in its job, from 0. What people see and type is index + 1.
using TaskIndex = uint32_t;

}  // namespace spate

template <typename Tag, typename Rep>
struct std::hash<spate::Id<Tag, Rep>> {
  size_t operator()(spate::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>()(id.value); }
};
