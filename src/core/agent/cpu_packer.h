// Binds a task of several cpus to processing units, so that it stays whole: in one package, NUMA
// domain and core where it can. All other tasks float over what is left.
//
// Acquire and Release cost at most in proportion to the machine's units (Acquire: and to the
// logarithm of how many parts a part of the machine has). The same calls give the same units.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/topology.h"
#include "core/agent/cpu_tree.h"
#include "core/model/needs.h"

namespace spate::agent {

enum class Binding : uint8_t {
  kNone,  // all tasks float
  kCore,  // a task runs on its units and on no others
  kNuma,  // it has its units, and may run on all units of the NUMA domains they are in
};

// How many units a task that asks for so much is bound to; 0: it floats, as tasks of one cpu and
// of fractions do.
constexpr uint32_t UnitsToBind(uint32_t milli_cpus) {
  bool several = milli_cpus > kMilliCpu && milli_cpus % kMilliCpu == 0;
  return several ? milli_cpus / kMilliCpu : 0;
}

class CpuPacker {
 public:
  struct Grant {
    std::vector<int> cpus;  // ascending; empty: the task floats
    // It has parts of more packages, NUMA domains or cores than on an idle machine.
    bool split = false;
  };

  CpuPacker(const Topology& topology, Binding binding);

  // `count` units (from 1) for one task alone; nullopt only when fewer are free: then the task
  // floats, or waits. Under kNone always a grant without cpus.
  std::optional<Grant> Acquire(uint32_t count);
  // Takes cpus that an earlier process had given to a task. Returns those to be given back later,
  // without cpus that no longer exist or are taken.
  std::vector<int> Occupy(std::span<const int> cpus);
  // All cpus of a grant.
  void Release(std::span<const int> cpus);

  // To which cpus the task that has these is to be bound, ascending. It stays the same until the
  // task ends.
  std::vector<int> RunsOn(std::span<const int> cpus) const;
  // To which cpus floating tasks are to be bound, ascending: those that no task has, or all when
  // there are none. With each change of it the generation grows (from 1), and they are to be bound
  // anew.
  const std::vector<int>& floating() const { return floating_; }
  uint64_t generation() const { return generation_; }

  uint32_t free() const { return tree_.free(); }  // units

 private:
  std::optional<uint32_t> Find(int cpu) const;
  void Float();

  const Binding binding_;
  const CpuTree idle_;  // what it would be without tasks
  CpuTree tree_;
  std::vector<uint32_t> by_cpu_;  // the tree's units by ascending cpu
  std::vector<int> floating_;
  uint64_t generation_ = 1;
};

}  // namespace spate::agent
