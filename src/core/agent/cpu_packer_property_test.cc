// Random machines, tasks that come and go, and a model that only knows which cpus are free.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "base/prng.h"
#include "core/agent/cpu_packer.h"

namespace spate::agent {
namespace {

using Domain = std::pair<uint32_t, uint32_t>;  // package and NUMA node
using Core = std::tuple<uint32_t, uint32_t, uint32_t>;

// Packages, domains and cores of any size, numbered in any order, with holes.
Topology RandomTopology(Prng& prng) {
  std::vector<ProcessingUnit> units;
  uint32_t numa = 0, core = 0;
  uint64_t threads_most = 1 + prng.Below(4);
  for (uint64_t package = 1 + prng.Below(3); package > 0; --package) {
    for (uint64_t nodes = 1 + prng.Below(3); nodes > 0; --nodes, ++numa) {
      for (uint64_t cores = 1 + prng.Below(5); cores > 0; --cores, ++core) {
        for (uint64_t threads = 1 + prng.Below(threads_most); threads > 0; --threads) {
          if (!prng.Chance(10)) units.push_back({0, core, numa, static_cast<uint32_t>(package)});
        }
      }
    }
  }
  for (size_t i = units.size(); i > 1; --i) std::swap(units[i - 1], units[prng.Below(i)]);
  int cpu = 0;
  for (ProcessingUnit& unit : units) unit.cpu = cpu += 1 + static_cast<int>(prng.Below(2));
  return {units};
}

struct Spread {
  std::set<uint32_t> packages;
  std::set<Domain> domains;
  std::set<Core> cores;
};

class World {
 public:
  explicit World(uint64_t seed)
      : prng_(seed),
        topology_(RandomTopology(prng_)),
        packer_(topology_, Binding::kCore),
        again_(topology_, Binding::kCore) {
    for (const ProcessingUnit& unit : topology_.units) {
      units_[unit.cpu] = unit;
      all_.insert(unit.cpu);
    }
    free_ = all_;
  }

  void Take(uint32_t count) {
    auto grant = packer_.Acquire(count);
    auto same = again_.Acquire(count);
    RC_ASSERT(grant.has_value() == (count <= free_.size()));
    RC_ASSERT(grant.has_value() == same.has_value());
    if (!grant) return;
    RC_ASSERT(grant->cpus == same->cpus);
    RC_ASSERT(grant->cpus.size() == count);
    CheckWhole(*grant);
    for (int cpu : grant->cpus) RC_ASSERT(free_.erase(cpu) == 1u);
    given_.push_back(grant->cpus);
    CheckFloating();
  }

  void Give(size_t which) {
    if (given_.empty()) return;
    auto it = given_.begin() + static_cast<std::ptrdiff_t>(which % given_.size());
    packer_.Release(*it);
    again_.Release(*it);
    free_.insert(it->begin(), it->end());
    given_.erase(it);
    CheckFloating();
  }

 private:
  Spread SpreadOf(const std::vector<int>& cpus) const {
    Spread spread;
    for (int cpu : cpus) {
      const ProcessingUnit& unit = units_.at(cpu);
      spread.packages.insert(unit.package);
      spread.domains.insert({unit.package, unit.numa});
      spread.cores.insert({unit.package, unit.numa, unit.core});
    }
    return spread;
  }

  // How many of the largest of these numbers it takes to have so many.
  template <typename Key>
  static size_t Fewest(const std::map<Key, uint32_t>& frees, size_t count) {
    std::vector<uint32_t> sorted;
    for (const auto& [key, free] : frees) sorted.push_back(free);
    std::ranges::sort(sorted, std::greater());
    size_t parts = 0;
    for (size_t sum = 0; sum < count; ++parts) sum += sorted.at(parts);
    return parts;
  }

  // `free_` is still what it was before.
  void CheckWhole(const CpuPacker::Grant& grant) {
    size_t count = grant.cpus.size();
    std::map<uint32_t, uint32_t> packages;
    std::map<Domain, uint32_t> domains;
    std::map<Core, uint32_t> cores, sizes;
    for (const auto& [cpu, unit] : units_) {
      ++sizes[{unit.package, unit.numa, unit.core}];
      if (!free_.contains(cpu)) continue;
      ++packages[unit.package];
      ++domains[{unit.package, unit.numa}];
      ++cores[{unit.package, unit.numa, unit.core}];
    }
    Spread spread = SpreadOf(grant.cpus);
    RC_ASSERT(spread.packages.size() == Fewest(packages, count));
    if (Fewest(domains, count) == 1) RC_ASSERT(spread.domains.size() == 1u);
    if (Fewest(cores, count) == 1) RC_ASSERT(spread.cores.size() == 1u);
    // A core that is free and of just this size is taken whole, or another such one.
    bool core_fits = std::ranges::any_of(cores, [&](const auto& core) {
      return core.second == count && sizes[core.first] == count;
    });
    if (core_fits) RC_ASSERT(sizes[*spread.cores.begin()] == count);

    CpuPacker idle(topology_, Binding::kCore);
    auto best = idle.Acquire(static_cast<uint32_t>(count));
    RC_ASSERT(!best->split);
    Spread ideal = SpreadOf(best->cpus);
    RC_ASSERT(grant.split == (spread.packages.size() > ideal.packages.size() ||
                              spread.domains.size() > ideal.domains.size() ||
                              spread.cores.size() > ideal.cores.size()));
  }

  void CheckFloating() {
    const std::set<int>& expected = free_.empty() ? all_ : free_;
    RC_ASSERT(std::ranges::equal(packer_.floating(), expected));
    RC_ASSERT(packer_.free() == free_.size());
    RC_ASSERT((packer_.generation() != generation_) == (packer_.floating() != floating_));
    generation_ = packer_.generation();
    floating_ = packer_.floating();
  }

  Prng prng_;
  Topology topology_;
  CpuPacker packer_, again_;
  std::map<int, ProcessingUnit> units_;
  std::set<int> all_, free_;
  std::vector<std::vector<int>> given_;
  uint64_t generation_ = packer_.generation();
  std::vector<int> floating_ = packer_.floating();
};

class RandomMachine : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomMachine, NothingIsGivenTwiceAndTasksStayWhole) {
  rc::detail::TestParams params;
  params.seed = GetParam();
  params.maxSuccess = 200;
  using Op = std::pair<bool, uint32_t>;  // take or give
  auto ops = rc::gen::container<std::vector<Op>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange<uint32_t>(1, 25)));
  auto result = rc::detail::checkTestable(
      [&] {
        World world(*rc::gen::noShrink(rc::gen::inRange<uint64_t>(0, 1'000'000)));
        for (auto [take, number] : *ops) take ? world.Take(number) : world.Give(number);
      },
      rc::detail::TestMetadata{}, params);
  std::stringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>())
      << "seed " << GetParam() << ": " << text.str();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMachine, testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace spate::agent
