// Resources of the machine that this process may use, and the free part of them. All is read from
// files (/proc, /sys, /etc, /dev) below a root that tests can choose, and from an Environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/cgroup.h"
#include "os/environment.h"

namespace spate::os {

struct MachineFacts {
  // Upper bounds for this process: the least of the machine's resources, affinity, cgroup limits
  // of versions 1 and 2, and the grant of a batch system (Slurm, Grid Engine, PBS, LSF).
  uint32_t cores = 1;
  uint64_t memory = 0;  // bytes
  // Origin of each, for people: "this machine", "CPU affinity", "cgroup", "SLURM_CPUS_ON_NODE".
  std::string cores_by, memory_by;

  uint32_t machine_cores = 1;  // online
  uint64_t machine_memory = 0;

  // One name for each usable GPU, as GPU_VARIABLE takes it: usually "0", "1", ...
  std::vector<std::string> gpus;
  // The one variable that selects among them: that of the grant, else of the machine's kind of
  // GPUs, and CUDA_VISIBLE_DEVICES where neither is known.
  std::string gpu_variable;
  bool gpus_granted = false;  // the environment says which GPUs, or that there are none

  std::string host_name;
  std::string boot_id;  // another one after each start of the machine; empty when unknown
  uint32_t user_id = 0;
  std::string user_name;  // from /etc/passwd, else $USER, else "uid-N"
  std::string home;       // $HOME, else from /etc/passwd; may be empty
};

// GPUs that a variable of the environment allows. Several variables: the first that is set, in the
// order CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, ZE_AFFINITY_MASK; with a
// `kind` (the variable of the machine's GPUs), those of its GPUs go first. Empty values of HIP and
// ZE do not count: these libraries then use all GPUs.
struct GpuGrant {
  std::string variable;
  std::vector<std::string> gpus;
};
std::optional<GpuGrant> FindGpuGrant(const Environment& environment, std::string_view kind = "");

class Machine {
 public:
  explicit Machine(const Environment& environment, std::string root = "");

  const MachineFacts& facts() const { return facts_; }
  const CgroupPlaces& cgroups() const { return places_; }
  // Bytes that may be had without swapping, now: by the machine and by the cgroup limits.
  uint64_t FreeMemory() const;
  // Load of the last minute; 0 when unknown.
  double LoadAverage() const;
  // Percent of the last 10 s in which something waited for "cpu", "memory" or "io"; 0 when unknown.
  double Pressure(std::string_view resource) const;

 private:
  void FindCores(const Environment& environment);
  void FindMemory(const Environment& environment);
  void FindGpus(const Environment& environment);
  void FindNames(const Environment& environment);
  // Folders of our cgroup and those above it, as far as they are visible; the innermost first.
  std::vector<std::string> UpFrom(const std::string& dir, const std::string& mount) const;
  std::optional<double> CgroupCores() const;
  std::optional<uint64_t> CgroupMemory() const;

  std::string root_;
  CgroupPlaces places_;
  MachineFacts facts_;
};

// The number of cpus in a list like "0-3,8,10-11"; 0 when it is not one.
uint32_t CountCpuList(std::string_view list);

}  // namespace spate::os
