#include "core/agent/cpu_packer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::agent {
namespace {

using Cpus = std::vector<int>;

// One package, two cores, no SMT.
Topology Laptop() { return {{{0, 0, 0, 0}, {1, 1, 0, 0}}}; }

// Two packages of four cores of two threads; the siblings are N and N + 8, as Intel numbers.
Topology TwoSockets() {
  Topology made;
  for (int cpu = 0; cpu < 16; ++cpu) {
    auto core = static_cast<uint32_t>(cpu % 8);
    made.units.push_back({cpu, core, core / 4, core / 4});
  }
  return made;
}

// Two packages of two NUMA nodes of two cores; neighbours in number are far from each other.
Topology FourNodes() {
  Topology made;
  for (int cpu = 0; cpu < 8; ++cpu) {
    auto node = static_cast<uint32_t>(cpu % 4);
    made.units.push_back({cpu, static_cast<uint32_t>(cpu), node, node / 2});
  }
  return made;
}

// Two cores of two threads (cpus 0 to 3), four of one (4 to 7).
Topology Hybrid() {
  Topology made;
  for (int cpu = 0; cpu < 4; ++cpu)
    made.units.push_back({cpu, static_cast<uint32_t>(cpu / 2), 0, 0});
  for (int cpu = 4; cpu < 8; ++cpu) made.units.push_back({cpu, static_cast<uint32_t>(cpu), 0, 0});
  return made;
}

// The rest of TwoSockets that a batch system left: a core and two halves of the first package,
// three cores of the second.
Topology WithHoles() {
  Topology all = TwoSockets(), made;
  for (int cpu : {0, 1, 2, 5, 6, 7, 8, 13, 14, 15}) {
    made.units.push_back(all.units[static_cast<size_t>(cpu)]);
  }
  return made;
}

// Two packages of two NUMA nodes of four cores.
Topology LargeNodes() {
  Topology made;
  for (int cpu = 0; cpu < 16; ++cpu) {
    auto node = static_cast<uint32_t>(cpu / 4);
    made.units.push_back({cpu, static_cast<uint32_t>(cpu), node, node / 2});
  }
  return made;
}

// One NUMA node that reaches over two packages of two cores.
Topology SharedMemory() { return {{{0, 0, 0, 0}, {1, 1, 0, 1}, {2, 2, 0, 0}, {3, 3, 0, 1}}}; }

// Three cores of four threads.
Topology FourThreads() {
  Topology made;
  for (int cpu = 0; cpu < 12; ++cpu)
    made.units.push_back({cpu, static_cast<uint32_t>(cpu / 4), 0, 0});
  return made;
}

TEST(CpuPacker, TakesInTurn) {
  struct Step {
    uint32_t count;
    Cpus cpus;  // empty: refused
    bool split = false;
  };
  struct Case {
    std::string name;
    Topology topology;
    std::vector<Step> steps;
    Cpus taken = {};  // at first
  };
  const std::vector<Case> cases = {
      {"all of a small machine", Laptop(), {{2, {0, 1}}, {1, {}}}},
      {"more than there is", Laptop(), {{3, {}}, {2, {0, 1}}}},
      {"a whole core is two siblings", TwoSockets(), {{2, {0, 8}}, {2, {1, 9}}}},
      {"a whole package", TwoSockets(), {{8, {0, 1, 2, 3, 8, 9, 10, 11}}, {2, {4, 12}}}},
      {"small tasks leave the other package whole",
       TwoSockets(),
       {{2, {0, 8}}, {4, {1, 2, 9, 10}}, {8, {4, 5, 6, 7, 12, 13, 14, 15}}, {2, {3, 11}}, {1, {}}}},
      {"the odd ones share a core", TwoSockets(), {{3, {0, 1, 8}}, {3, {2, 9, 10}}}},
      {"one cpu goes into the most used core", TwoSockets(), {{3, {0, 1, 8}}, {1, {9}}, {1, {2}}}},
      {"more than a package: a whole one, and the rest together",
       TwoSockets(),
       {{10, {0, 1, 2, 3, 4, 8, 9, 10, 11, 12}}, {6, {5, 6, 7, 13, 14, 15}}}},
      {"no package is whole any more",
       TwoSockets(),
       {{6, {0, 1, 2, 8, 9, 10}}, {6, {4, 5, 6, 12, 13, 14}}, {4, {3, 7, 11, 15}, true}}},
      {"the smallest hole that fits",
       TwoSockets(),
       {{4, {0, 1, 8, 9}}, {6, {4, 5, 6, 12, 13, 14}}, {2, {7, 15}}}},
      {"a domain, then the one beside it",
       FourNodes(),
       {{2, {0, 4}}, {2, {1, 5}}, {4, {2, 3, 6, 7}}}},
      {"a whole package of two domains, past a used one",
       FourNodes(),
       {{1, {0}}, {4, {2, 3, 6, 7}}, {2, {1, 5}}, {1, {4}}}},
      {"three of four: a domain, and half of the next", FourNodes(), {{3, {0, 1, 4}}, {1, {5}}}},
      {"two halves where no domain is whole",
       FourNodes(),
       {{3, {0, 1, 4}}, {3, {2, 3, 6}}, {2, {5, 7}, true}}},
      {"the large cores first", Hybrid(), {{2, {0, 1}}, {2, {2, 3}}, {2, {4, 5}, true}}},
      {"large cores, then a small one", Hybrid(), {{5, {0, 1, 2, 3, 4}}, {3, {5, 6, 7}, true}}},
      {"a small core is better than half a large one", Hybrid(), {{3, {0, 1, 4}}, {1, {5}}}},
      {"whole cores beside the holes",
       WithHoles(),
       {{2, {0, 8}}, {2, {5, 13}}, {2, {6, 14}}, {2, {7, 15}}, {2, {1, 2}, true}}},
      {"the freest package of a machine with holes",
       WithHoles(),
       {{6, {5, 6, 7, 13, 14, 15}}, {4, {0, 1, 2, 8}, true}}},
      {"a package where the memory is shared", SharedMemory(), {{2, {0, 2}}, {2, {1, 3}}}},
      {"less than a core stays in one",
       FourThreads(),
       {{3, {0, 1, 2}}, {2, {4, 5}}, {2, {6, 7}}, {4, {8, 9, 10, 11}}, {1, {3}}}},
      {"the smallest hole is in the package with more room",
       LargeNodes(),
       {{2, {9, 10}}},
       {4, 5, 6, 8, 12}},
      {"two domains of one package rather than of two",
       LargeNodes(),
       {{3, {1, 2, 4}, true}},
       {0, 3, 6, 7, 8, 9, 10, 13, 14, 15}},
      {"small cores that are whole before halves of large ones",
       Hybrid(),
       {{3, {4, 5, 6}, true}},
       {0, 2}},
      {"no units at all", Topology(), {{1, {}}}},
  };
  for (const Case& each : cases) {
    CpuPacker packer(each.topology, Binding::kNuma);
    packer.Occupy(each.taken);
    for (size_t i = 0; i < each.steps.size(); ++i) {
      auto grant = packer.Acquire(each.steps[i].count);
      EXPECT_EQ(grant ? grant->cpus : Cpus(), each.steps[i].cpus) << each.name << ", step " << i;
      EXPECT_EQ(grant && grant->split, each.steps[i].split) << each.name << ", step " << i;
    }
  }
}

TEST(CpuPacker, WhatIsGivenBackIsTakenAgain) {
  CpuPacker packer(TwoSockets(), Binding::kCore);
  Cpus first = packer.Acquire(8)->cpus;
  Cpus second = packer.Acquire(8)->cpus;
  EXPECT_FALSE(packer.Acquire(1));
  packer.Release(first);
  EXPECT_EQ(packer.free(), 8u);
  EXPECT_EQ(packer.Acquire(8)->cpus, first);
  packer.Release(second);
  EXPECT_EQ(packer.Acquire(2)->cpus, (Cpus{4, 12}));
}

TEST(CpuPacker, OthersFloatOverTheRest) {
  CpuPacker packer(Laptop(), Binding::kCore);
  EXPECT_EQ(packer.floating(), (Cpus{0, 1}));
  EXPECT_EQ(packer.generation(), 1u);
  Cpus one = packer.Acquire(1)->cpus;
  EXPECT_EQ(packer.floating(), Cpus{1});
  EXPECT_EQ(packer.generation(), 2u);
  // They have to run somewhere.
  Cpus other = packer.Acquire(1)->cpus;
  EXPECT_EQ(packer.floating(), (Cpus{0, 1}));
  EXPECT_EQ(packer.generation(), 3u);
  EXPECT_FALSE(packer.Acquire(1));
  EXPECT_EQ(packer.generation(), 3u);
  packer.Release(one);
  EXPECT_EQ(packer.floating(), Cpus{0});
  packer.Release(other);
  EXPECT_EQ(packer.floating(), (Cpus{0, 1}));
  EXPECT_EQ(packer.generation(), 5u);
}

TEST(CpuPacker, RunsOn) {
  for (const auto& [binding, expected] :
       {std::pair(Binding::kCore, Cpus{0, 8}),
        std::pair(Binding::kNuma, Cpus{0, 1, 2, 3, 8, 9, 10, 11})}) {
    CpuPacker packer(TwoSockets(), binding);
    EXPECT_EQ(packer.RunsOn(packer.Acquire(2)->cpus), expected);
    EXPECT_TRUE(packer.RunsOn({}).empty());
  }
}

TEST(CpuPacker, NobodyIsBoundWithoutBinding) {
  CpuPacker packer(Laptop(), Binding::kNone);
  auto grant = packer.Acquire(64);
  ASSERT_TRUE(grant);
  EXPECT_TRUE(grant->cpus.empty());
  EXPECT_TRUE(packer.Occupy(Cpus{0}).empty());
  packer.Release(grant->cpus);
  EXPECT_EQ(packer.floating(), (Cpus{0, 1}));
  EXPECT_EQ(packer.generation(), 1u);
}

TEST(CpuPacker, TasksOfAnEarlierProcessKeepTheirCpus) {
  CpuPacker packer(TwoSockets(), Binding::kCore);
  // Cpu 99 was there before.
  Cpus kept = packer.Occupy(Cpus{8, 0, 99});
  EXPECT_EQ(kept, (Cpus{0, 8}));
  EXPECT_TRUE(packer.Occupy(Cpus{0}).empty());
  EXPECT_EQ(packer.Acquire(2)->cpus, (Cpus{1, 9}));
  packer.Release(kept);
  EXPECT_EQ(packer.Acquire(2)->cpus, (Cpus{0, 8}));
}

TEST(CpuPacker, TasksOfSeveralWholeCpusAreBound) {
  for (auto [milli_cpus, expected] : {std::pair(0u, 0u),
                                      {1u, 0u},
                                      {500u, 0u},
                                      {1000u, 0u},
                                      {1500u, 0u},
                                      {2000u, 2u},
                                      {2001u, 0u},
                                      {64000u, 64u}}) {
    EXPECT_EQ(UnitsToBind(milli_cpus), expected) << milli_cpus;
  }
}

}  // namespace
}  // namespace spate::agent
