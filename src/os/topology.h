// Resources that the processors of a machine share, through hwloc.
//
// Any thread. A call takes some milliseconds; it does not move the thread to other processors.
#pragma once

#include <string>

#include "base/result.h"
#include "base/topology.h"
#include "os/affinity.h"

namespace spate::os {

// Each cpu is a core of its own; all are in one NUMA node of one package.
Topology FlatTopology(const std::vector<int>& cpus);

struct MachineTopology {
  Topology topology;    // exactly the usable cpus
  std::string problem;  // why it is a flat one; empty when it is as hwloc sees it
};
// Reads this machine, as far as `usable` goes. Never fails: a machine that hwloc does not
// understand is flat. To see all processors that the machine's cpuset leaves us, whatever a
// launcher bound this process to, give the thread CpuMask::All() before.
MachineTopology ReadTopology(const CpuMask& usable = AllowedCpus());

// Parses another machine, for tests and questions. kInvalid when hwloc does not take the text.
//
// "pack:2 numa:2 core:8 pu:2" as `man lstopo` says under Synthetic. Each machine it can describe
// is regular; units are numbered in order unless it says otherwise.
Result<Topology> TopologyOfSynthetic(const std::string& description);
// Reads the output of `lstopo --of xml`. Cpus that its cpuset did not allow are left out.
Result<Topology> TopologyOfXml(const std::string& xml);

}  // namespace spate::os
