// Environment and processors of each worker process of a host. One process serves all of them, and
// the launcher may have given each its own: CUDA_VISIBLE_DEVICES, a core. Tasks in a slot get what
// the slot's process has.
//
// The first worker of each host describes its environment; the others answer with what differs, and
// it puts the answers together. Every text may hold any byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spate::pmc {

// A variable that the launcher sets for its own use: with it, a task that is an MPI program would
// take itself for a part of our job.
bool IsOfLauncher(std::string_view variable);

struct Surroundings {
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<int> cpus;                 // that it may run on; empty: not of interest
};

// A slot's, compared with those of the process that serves it.
struct SlotSurroundings {
  std::vector<std::string> environment;  // on top of that process's
  std::vector<uint16_t> cpus;            // empty: the same
  friend bool operator==(const SlotSurroundings&, const SlotSurroundings&) = default;
};
struct HostSurroundings {
  std::vector<std::string> missing;  // variables that the serving process must not pass on
  std::vector<SlotSurroundings> slots;
};

// Text of the first worker of a host.
std::string TextOfFirst(const Surroundings& first);
// Text of another one, which has the text of the first.
std::string TextOfOther(const Surroundings& other, std::string_view first);
// `others` by slot, beginning with slot 2.
HostSurroundings Combine(const Surroundings& first, std::span<const std::string> others);

}  // namespace spate::pmc
