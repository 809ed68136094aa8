// The hosts of an MPI job: each is one node. Its first worker process has the agent, each of its
// worker processes is a slot, and all but the first sleep.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spate::pmc {

// A process's report on its machine.
struct HostFacts {
  std::string name;
  uint64_t memory_mb = 0;
  uint32_t cpus = 0;
};
std::string TextOf(const HostFacts& facts);

struct Host {
  HostFacts facts;         // as its first worker told them
  std::vector<int> ranks;  // of its workers, ascending: slot 1 is the first one
};
// The process of a slot, which counts from 1 (0: unknown, taken for the first).
int RankOf(const Host& host, size_t slot);
// `told` by rank; the process of rank 0 is no worker. In the order of their first workers.
std::vector<Host> HostsOf(std::span<const std::string> told);

}  // namespace spate::pmc
