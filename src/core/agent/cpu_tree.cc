// Best fit, from the top down (ChooseIn): while not even the freest child has room for all, the
// freest one gives all it has, so that there are few parts; what remains goes into one child, and
// each child that has room is asked what it could do (ChooseAmong). A child is asked at most once
// on each level, so the cost is in proportion to the units, but for sorting children.
#include "core/agent/cpu_tree.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace spate::agent {
namespace {

auto PlaceOf(const ProcessingUnit& unit) {
  return std::tuple(unit.package, unit.numa, unit.core, unit.cpu);
}

void Add(CpuTree::Choice& sum, CpuTree::Choice&& more) {
  sum.units.insert(sum.units.end(), more.units.begin(), more.units.end());
  sum.packages += more.packages;
  sum.domains += more.domains;
  sum.cores += more.cores;
  sum.shared += more.shared;
  sum.left += more.left;
}

}  // namespace

CpuTree::CpuTree(std::vector<ProcessingUnit> units) : units_(std::move(units)) {
  std::ranges::sort(units_, {}, PlaceOf);
  taken_.resize(units_.size());
  groups_of_.resize(units_.size());
  levels_[kMachine].emplace_back();
  for (uint32_t i = 0; i < units_.size(); ++i) {
    if (i == 0 || units_[i].package != units_[i - 1].package) {
      Append(i, kPackage);
    } else if (units_[i].numa != units_[i - 1].numa) {
      Append(i, kDomain);
    } else if (units_[i].core != units_[i - 1].core) {
      Append(i, kCore);
    } else {
      Append(i, kUnit);
    }
  }
}

// Each level from `first_new` on begins a new group with this unit.
void CpuTree::Append(uint32_t unit, Level first_new) {
  for (size_t level = first_new; level < kUnit; ++level) {
    auto& children = levels_[level - 1].back().children;
    if (children.size++ == 0) children.first = static_cast<uint32_t>(levels_[level].size());
    levels_[level].push_back({.units = {unit, 0}, .children = {}, .free = 0});
  }
  for (size_t level = 0; level < kUnit; ++level) {
    Group& group = levels_[level].back();
    ++group.units.size;
    ++group.free;
    groups_of_[unit][level] = static_cast<uint32_t>(levels_[level].size() - 1);
  }
}

void CpuTree::Mark(uint32_t unit, bool taken) {
  CHECK(taken_[unit] != taken);
  taken_[unit] = taken;
  for (size_t level = 0; level < kUnit; ++level) {
    uint32_t& free = levels_[level][groups_of_[unit][level]].free;
    free = taken ? free - 1 : free + 1;
  }
}

CpuTree::Range CpuTree::DomainOf(uint32_t unit) const {
  return levels_[kDomain][groups_of_[unit][kDomain]].units;
}

CpuTree::Choice CpuTree::Choose(uint32_t count) const {
  CHECK(count > 0);
  CHECK(count <= free());
  return ChooseIn(kMachine, levels_[kMachine][0], count);
}

CpuTree::Choice CpuTree::ChooseIn(Level level, const Group& group, uint32_t count) const {
  if (level == kCore) return ChooseUnits(group, count);
  uint32_t asked = count;
  auto child_level = static_cast<Level>(level + 1);
  std::vector<const Group*> children = FreeChildren(level, group);
  Choice choice;
  auto next = children.begin();
  for (; (*next)->free < count; ++next) {
    Add(choice, ChooseIn(child_level, **next, (*next)->free));
    count -= (*next)->free;
  }
  auto end = std::partition_point(next, children.end(),
                                  [&](const Group* child) { return child->free >= count; });
  Add(choice, ChooseAmong(child_level, {next, end}, count));
  if (level == kPackage) choice.packages = 1;
  if (level == kDomain) {
    choice.domains = 1;
    choice.left = group.free - asked;
  }
  return choice;
}

// The freest first; of equal ones those that are nearer to be whole.
std::vector<const CpuTree::Group*> CpuTree::FreeChildren(Level level, const Group& group) const {
  std::vector<const Group*> children;
  for (uint32_t i = 0; i < group.children.size; ++i) {
    const Group& child = levels_[level + 1][group.children.first + i];
    if (child.free > 0) children.push_back(&child);
  }
  std::ranges::stable_sort(children, [](const Group* a, const Group* b) {
    return std::tuple(b->free, a->units.size) < std::tuple(a->free, b->units.size);
  });
  return children;
}

// All of them have room.
CpuTree::Choice CpuTree::ChooseAmong(Level level, std::span<const Group* const> groups,
                                     uint32_t count) const {
  // Small numbers are better.
  auto rank = [](const Choice& choice, const Group& group) {
    return std::tuple(choice.packages, choice.domains, choice.cores, choice.shared, choice.left,
                      group.free);
  };
  Choice best = ChooseIn(level, *groups[0], count);
  const Group* best_group = groups[0];
  for (const Group* group : groups.subspan(1)) {
    Choice choice = ChooseIn(level, *group, count);
    if (rank(choice, *group) >= rank(best, *best_group)) continue;
    best = std::move(choice);
    best_group = group;
  }
  return best;
}

CpuTree::Choice CpuTree::ChooseUnits(const Group& core, uint32_t count) const {
  Choice choice{.units = {}, .cores = 1, .shared = count < core.units.size ? 1u : 0u};
  for (uint32_t unit = core.units.first; choice.units.size() < count; ++unit) {
    if (!taken_[unit]) choice.units.push_back(unit);
  }
  return choice;
}

}  // namespace spate::agent
