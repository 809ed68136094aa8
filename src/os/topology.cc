// hwloc finds the objects; what is kept of them is, for each processing unit, the logical index of
// its core, NUMA node and package. Logical ones, since the system's own repeat from package to
// package, and come in any order.
#include "os/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <unordered_map>
#include <utility>

#include "os/error.h"

namespace spate::os {
namespace {

using Handle = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

// Nothing but what the units share. Without the x86 component, which would move this thread from
// processor to processor to ask each of them.
constexpr unsigned long kFlags = HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                                 HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
                                 HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;

Handle NewHandle(unsigned long flags) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {nullptr, hwloc_topology_destroy};
  Handle handle(raw, hwloc_topology_destroy);
  if (hwloc_topology_set_flags(raw, flags) != 0) return {nullptr, hwloc_topology_destroy};
  hwloc_topology_set_cache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  return handle;
}

uint32_t IndexAbove(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t unit,
                    uint32_t otherwise) {
  hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, type, unit);
  return above == nullptr ? otherwise : above->logical_index;
}

// The first node where several have the same units near, as fast memory beside the usual one.
std::unordered_map<int, uint32_t> NumaNodes(hwloc_topology_t topology) {
  std::unordered_map<int, uint32_t> nodes;
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    for (int cpu = hwloc_bitmap_first(node->cpuset); cpu >= 0;
         cpu = hwloc_bitmap_next(node->cpuset, cpu)) {
      nodes.emplace(cpu, node->logical_index);
    }
  }
  return nodes;
}

Topology Units(hwloc_topology_t topology) {
  std::unordered_map<int, uint32_t> nodes = NumaNodes(topology);
  auto cores = static_cast<uint32_t>(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
  Topology found;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != nullptr) {
    auto cpu = static_cast<int>(unit->os_index);
    auto node = nodes.find(cpu);
    found.units.push_back({
        .cpu = cpu,
        // Some systems name no cores, or not for all: then a unit is one.
        .core = IndexAbove(topology, HWLOC_OBJ_CORE, unit, cores + unit->logical_index),
        .numa = node == nodes.end() ? 0 : node->second,
        .package = IndexAbove(topology, HWLOC_OBJ_PACKAGE, unit, 0),
    });
  }
  std::ranges::sort(found.units, {}, &ProcessingUnit::cpu);
  return found;
}

Result<Topology> Load(Handle handle) {
  if (hwloc_topology_load(handle.get()) != 0) return FailErrno("read the topology");
  return Units(handle.get());
}

Result<Topology> LoadMachine(const std::vector<int>& usable) {
  // `usable` already holds what the cpuset allows; hwloc's own look at cgroups could differ.
  Handle handle = NewHandle(kFlags | HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (!handle) return FailErrno("set up hwloc");
  auto topology = Load(std::move(handle));
  if (!topology) return topology;
  std::erase_if(topology->units, [&](const ProcessingUnit& unit) {
    return !std::ranges::binary_search(usable, unit.cpu);
  });
  if (!std::ranges::equal(topology->units, usable, {}, &ProcessingUnit::cpu)) {
    return Fail(ErrorKind::kInvalid, "hwloc does not know all processors that we may use");
  }
  return topology;
}

}  // namespace

Topology FlatTopology(const std::vector<int>& cpus) {
  Topology flat;
  for (int cpu : cpus) {
    flat.units.push_back({.cpu = cpu, .core = static_cast<uint32_t>(cpu), .numa = 0, .package = 0});
  }
  std::ranges::sort(flat.units, {}, &ProcessingUnit::cpu);
  return flat;
}

MachineTopology ReadTopology(const CpuMask& usable) {
  std::vector<int> cpus = usable.Cpus();
  auto topology = LoadMachine(cpus);
  if (topology) return {std::move(*topology), ""};
  return {FlatTopology(cpus), topology.error().message};
}

Result<Topology> TopologyOfSynthetic(const std::string& description) {
  Handle handle = NewHandle(kFlags);
  if (!handle) return FailErrno("set up hwloc");
  if (hwloc_topology_set_synthetic(handle.get(), description.c_str()) != 0) {
    return Fail(ErrorKind::kInvalid,
                "'" + description + "' is not a topology: write it as \"pack:2 core:4 pu:2\"");
  }
  return Load(std::move(handle));
}

Result<Topology> TopologyOfXml(const std::string& xml) {
  Handle handle = NewHandle(kFlags);
  if (!handle) return FailErrno("set up hwloc");
  // Its size counts the zero at the end.
  auto size = static_cast<int>(xml.size() + 1);
  if (hwloc_topology_set_xmlbuffer(handle.get(), xml.c_str(), size) != 0 ||
      hwloc_topology_load(handle.get()) != 0) {
    return Fail(ErrorKind::kInvalid, "this is not a topology: save one with `lstopo --of xml`");
  }
  return Units(handle.get());
}

}  // namespace spate::os
