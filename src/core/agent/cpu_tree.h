// The processing units of a machine as a tree of packages, NUMA domains and cores, and the best
// place in it for so many of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/topology.h"

namespace spate::agent {

class CpuTree {
 public:
  // Units are named by their position in units().
  struct Choice {
    std::vector<uint32_t> units;
    uint32_t packages = 0, domains = 0, cores = 0;  // of which it has a unit
    uint32_t shared = 0;                            // cores of which it has not all units
    uint32_t left = 0;                              // free units that stay in its domains
  };

  // All are free at first. A NUMA node that reaches over packages is a domain in each of them.
  explicit CpuTree(std::vector<ProcessingUnit> units);

  const std::vector<ProcessingUnit>& units() const { return units_; }
  bool taken(uint32_t unit) const { return taken_[unit]; }
  uint32_t free() const { return levels_[kMachine][0].free; }
  // `taken` must be news.
  void Mark(uint32_t unit, bool taken);
  // From 1 to free() units that are free, in as few packages as can be, and in one domain or core
  // if one has room. Where they need several parts, the freest go first. Of equal places the one
  // that leaves the smallest hole.
  Choice Choose(uint32_t count) const;

  // The units of a domain follow each other.
  struct Range {
    uint32_t first = 0, size = 0;
  };
  Range DomainOf(uint32_t unit) const;

 private:
  enum Level : size_t { kMachine, kPackage, kDomain, kCore, kUnit };
  struct Group {
    Range units;
    Range children;  // in the next level; cores have none
    uint32_t free = 0;
  };

  void Append(uint32_t unit, Level first_new);
  Choice ChooseIn(Level level, const Group& group, uint32_t count) const;
  Choice ChooseUnits(const Group& core, uint32_t count) const;
  Choice ChooseAmong(Level level, std::span<const Group* const> groups, uint32_t count) const;
  std::vector<const Group*> FreeChildren(Level level, const Group& group) const;

  std::vector<ProcessingUnit> units_;  // by package, NUMA node, core, cpu
  std::vector<bool> taken_;
  std::array<std::vector<Group>, kUnit> levels_;
  std::vector<std::array<uint32_t, kUnit>> groups_of_;  // of each unit, by level
};

}  // namespace spate::agent
