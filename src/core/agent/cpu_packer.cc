#include "core/agent/cpu_packer.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace spate::agent {
namespace {

bool IsSplit(const CpuTree::Choice& choice, const CpuTree::Choice& idle) {
  return choice.packages > idle.packages || choice.domains > idle.domains ||
         choice.cores > idle.cores;
}

}  // namespace

CpuPacker::CpuPacker(const Topology& topology, Binding binding)
    : binding_(binding), idle_(topology.units), tree_(idle_), by_cpu_(topology.units.size()) {
  std::iota(by_cpu_.begin(), by_cpu_.end(), 0u);
  std::ranges::sort(by_cpu_, {}, [&](uint32_t unit) { return tree_.units()[unit].cpu; });
  for (uint32_t unit : by_cpu_) floating_.push_back(tree_.units()[unit].cpu);
}

std::optional<CpuPacker::Grant> CpuPacker::Acquire(uint32_t count) {
  CHECK(count > 0);
  if (binding_ == Binding::kNone) return Grant();
  if (count > tree_.free()) return std::nullopt;
  CpuTree::Choice choice = tree_.Choose(count);
  Grant grant{.cpus = {}, .split = IsSplit(choice, idle_.Choose(count))};
  for (uint32_t unit : choice.units) {
    tree_.Mark(unit, true);
    grant.cpus.push_back(tree_.units()[unit].cpu);
  }
  std::ranges::sort(grant.cpus);
  Float();
  return grant;
}

std::vector<int> CpuPacker::Occupy(std::span<const int> cpus) {
  std::vector<int> mine;
  if (binding_ == Binding::kNone) return mine;
  for (int cpu : cpus) {
    auto unit = Find(cpu);
    if (!unit || tree_.taken(*unit)) continue;
    tree_.Mark(*unit, true);
    mine.push_back(cpu);
  }
  std::ranges::sort(mine);
  Float();
  return mine;
}

void CpuPacker::Release(std::span<const int> cpus) {
  for (int cpu : cpus) {
    auto unit = Find(cpu);
    CHECK(unit.has_value());
    tree_.Mark(*unit, false);
  }
  Float();
}

std::vector<int> CpuPacker::RunsOn(std::span<const int> cpus) const {
  std::vector<bool> wanted(tree_.units().size());
  for (int cpu : cpus) {
    auto unit = Find(cpu);
    CHECK(unit.has_value());
    CpuTree::Range range{*unit, 1};
    if (binding_ == Binding::kNuma) range = tree_.DomainOf(*unit);
    // A domain that an earlier cpu brought is not walked again: the cost stays that of the units.
    if (wanted[*unit]) continue;
    std::fill_n(wanted.begin() + range.first, range.size, true);
  }
  std::vector<int> found;
  for (uint32_t unit : by_cpu_) {
    if (wanted[unit]) found.push_back(tree_.units()[unit].cpu);
  }
  return found;
}

std::optional<uint32_t> CpuPacker::Find(int cpu) const {
  auto cpu_of = [&](uint32_t unit) { return tree_.units()[unit].cpu; };
  auto it = std::ranges::lower_bound(by_cpu_, cpu, {}, cpu_of);
  if (it == by_cpu_.end() || cpu_of(*it) != cpu) return std::nullopt;
  return *it;
}

void CpuPacker::Float() {
  std::vector<int> now;
  for (uint32_t unit : by_cpu_) {
    if (tree_.free() == 0 || !tree_.taken(unit)) now.push_back(tree_.units()[unit].cpu);
  }
  if (now == floating_) return;
  floating_ = std::move(now);
  ++generation_;
}

}  // namespace spate::agent
