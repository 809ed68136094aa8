#include "os/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "os/temp_dir.h"

namespace spate::os {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

struct Row {
  const char* name;
  Files files;  // besides those of BareMachine
  std::vector<std::string> environment;
  uint32_t cores;
  const char* cores_by;
  uint64_t memory_mb;
  const char* memory_by;
  uint64_t free_mb;
};

// 8 cores and 16 GB, 12 GB of it available, no cgroups.
Files BareMachine() {
  return {
      {"proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n"},
      {"sys/devices/system/cpu/online", "0-7\n"},
      {"proc/meminfo",
       "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:   12582912 kB\n"},
      {"proc/loadavg", "1.25 0.50 0.10 2/345 6789\n"},
      {"proc/pressure/io", "some avg10=3.50 avg60=1.00 avg300=0.20 total=99\nfull avg10=9.00\n"},
      {"proc/sys/kernel/hostname", "node7.cluster\n"},
      {"proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n"},
      {"etc/passwd",
       fmt::format("root:x:99999:0::/none:/bin/sh\nada:x:{}:1::/home/ada:/bin/sh\n", geteuid())},
  };
}

const char kUserSlice[] =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const char kV1[] =
    "34 25 0:29 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n"
    "36 25 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n";

std::vector<Row> Rows() {
  return {
      {"bare", {}, {}, 8, "this machine", 16384, "this machine", 12288},
      {"affinity",
       {{"proc/self/status", "Cpus_allowed_list:\t0-1,4\n"}},
       {},
       3,
       "CPU affinity",
       16384,
       "this machine",
       12288},
      {"docker with v2",
       {{"proc/self/mountinfo", "1 2 0:29 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n"},
        {"proc/self/cgroup", "0::/\n"},
        {"sys/fs/cgroup/cpu.max", "150000 100000\n"},
        {"sys/fs/cgroup/memory.max", "1073741824\n"},
        {"sys/fs/cgroup/memory.current", "536870912\n"},
        {"sys/fs/cgroup/memory.stat", "anon 1\nfile 2\ninactive_file 268435456\n"}},
       {},
       2,
       "cgroup",
       1024,
       "cgroup",
       768},
      {"systemd user slice: the limit is two levels up",
       {{"proc/self/mountinfo", kUserSlice},
        {"proc/self/cgroup", "0::/user.slice/user-1.slice/session-3.scope\n"},
        {"sys/fs/cgroup/user.slice/user-1.slice/session-3.scope/cpu.max", "max 100000\n"},
        {"sys/fs/cgroup/user.slice/user-1.slice/session-3.scope/memory.max", "max\n"},
        {"sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n"},
        {"sys/fs/cgroup/user.slice/memory.max", "2147483648\n"},
        {"sys/fs/cgroup/user.slice/memory.current", "2147483648\n"}},
       {},
       4,
       "cgroup",
       2048,
       "cgroup",
       0},
      {"slurm with v1, and its grants",
       {{"proc/self/mountinfo", kV1},
        {"proc/self/cgroup",
         "9:memory:/slurm/uid_1/job_7/step_batch\n4:cpu,cpuacct:/\n0::/system.slice/slurmd\n"},
        {"sys/fs/cgroup/memory/slurm/uid_1/job_7/memory.limit_in_bytes", "3221225472\n"},
        {"sys/fs/cgroup/memory/slurm/uid_1/job_7/memory.usage_in_bytes", "1073741824\n"},
        {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
        {"sys/fs/cgroup/memory/memory.usage_in_bytes", "5368709120\n"},
        {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
        {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}},
       {"SLURM_JOB_ID=7", "SLURM_CPUS_ON_NODE=4", "SLURM_MEM_PER_NODE=2048"},
       4,
       "SLURM_CPUS_ON_NODE",
       2048,
       "SLURM_MEM_PER_NODE",
       2048},
      {"v1 quota below one core",
       {{"proc/self/mountinfo", kV1},
        {"proc/self/cgroup", "4:cpu,cpuacct:/docker/ab\n"},
        {"sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "50000\n"},
        {"sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "100000\n"}},
       {},
       1,
       "cgroup",
       16384,
       "this machine",
       12288},
      {"slurm by cpu",
       {},
       {"SLURM_JOB_ID=7", "SLURM_CPUS_ON_NODE=2", "SLURM_MEM_PER_CPU=1000"},
       2,
       "SLURM_CPUS_ON_NODE",
       2000,
       "SLURM_MEM_PER_CPU",
       12288},
      {"a grant above what there is",
       {},
       {"SLURM_JOB_ID=7", "SLURM_CPUS_ON_NODE=64"},
       8,
       "this machine",
       16384,
       "this machine",
       12288},
      {"a stray variable",
       {},
       {"SLURM_CPUS_ON_NODE=1", "NSLOTS=1"},
       8,
       "this machine",
       16384,
       "this machine",
       12288},
      {"grid engine", {}, {"JOB_ID=5", "NSLOTS=3"}, 3, "NSLOTS", 16384, "this machine", 12288},
      {"pbs", {}, {"PBS_JOBID=5.h", "NCPUS=6"}, 6, "NCPUS", 16384, "this machine", 12288},
      {"torque",
       {},
       {"PBS_JOBID=5.h", "PBS_NUM_PPN=5"},
       5,
       "PBS_NUM_PPN",
       16384,
       "this machine",
       12288},
      {"lsf",
       {},
       {"LSB_JOBID=5", "LSB_MCPU_HOSTS=node6 4 node7 2"},
       2,
       "LSB_MCPU_HOSTS",
       16384,
       "this machine",
       12288},
      {"odd values",
       {{"proc/self/status", "Cpus_allowed_list:\tx\n"}},
       {"SLURM_JOB_ID=7", "SLURM_CPUS_ON_NODE=many"},
       8,
       "this machine",
       16384,
       "this machine",
       12288},
  };
}

TEST(Machine, WhatMayBeUsed) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    TempDir root;
    for (const auto& [name, text] : BareMachine()) root.Write(name, text);
    for (const auto& [name, text] : row.files) root.Write(name, text);
    Machine machine(Environment(row.environment), root.path());
    EXPECT_EQ(machine.facts().cores, row.cores);
    EXPECT_EQ(machine.facts().cores_by, row.cores_by);
    EXPECT_EQ(machine.facts().memory >> 20, row.memory_mb);
    EXPECT_EQ(machine.facts().memory_by, row.memory_by);
    EXPECT_EQ(machine.FreeMemory() >> 20, row.free_mb);
    EXPECT_DOUBLE_EQ(machine.LoadAverage(), 1.25);
    EXPECT_DOUBLE_EQ(machine.Pressure("io"), 3.5);
    EXPECT_DOUBLE_EQ(machine.Pressure("cpu"), 0);
    EXPECT_EQ(machine.facts().host_name, "node7.cluster");
    EXPECT_EQ(machine.facts().user_name, "ada");
    EXPECT_EQ(machine.facts().home, "/home/ada");
  }
}

TEST(Machine, GridEngineOnSeveralHosts) {
  TempDir root;
  for (const auto& [name, text] : BareMachine()) root.Write(name, text);
  std::string hosts =
      root.Write("pe", "node6 4 all.q UNDEFINED\nnode7.cluster 2 all.q UNDEFINED\n");
  Machine machine(Environment({"JOB_ID=5", "NSLOTS=6", "NHOSTS=2", "PE_HOSTFILE=" + hosts}),
                  root.path());
  EXPECT_EQ(machine.facts().cores, 2u);
  EXPECT_EQ(machine.facts().cores_by, "PE_HOSTFILE");
}

TEST(Machine, Gpus) {
  struct GpuRow {
    const char* name;
    Files files;
    std::vector<std::string> environment;
    std::vector<std::string> gpus;
    const char* variable;
    bool granted;
  };
  const Files kNvidia = {
      {"dev/nvidia0", ""}, {"dev/nvidia1", ""}, {"dev/nvidiactl", ""}, {"dev/nvidia-uvm", ""}};
  const Files kAmd = {{"dev/kfd", ""},
                      {"sys/class/kfd/kfd/topology/nodes/0/properties",
                       "cpu_cores_count 8\n"
                       "simd_count 0\n"},
                      {"sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 256\n"}};
  // The graphics of a processor, and a card with an output.
  const Files kIntel = {{"sys/class/drm/card0/device/uevent",
                         "DRIVER=i915\nPCI_ID=8086:4680\nPCI_SLOT_NAME=0000:00:02.0\n"},
                        {"sys/class/drm/card1/device/uevent",
                         "DRIVER=xe\nPCI_ID=8086:56A0\nPCI_SLOT_NAME=0000:03:00.0\n"},
                        {"sys/class/drm/card1-DP-1/device/uevent", "PCI_ID=8086:56A0\n"},
                        {"sys/class/drm/renderD129/device/uevent", "PCI_ID=8086:56A0\n"}};
  const Files kIntegrated = {*kIntel.begin()};
  const std::string cuda = "CUDA_VISIBLE_DEVICES", hip = "HIP_VISIBLE_DEVICES",
                    rocr = "ROCR_VISIBLE_DEVICES", ze = "ZE_AFFINITY_MASK";
  const GpuRow kRows[] = {
      // Without a grant, by what the machine has.
      {"none", {}, {}, {}, "CUDA_VISIBLE_DEVICES", false},
      {"nvidia", kNvidia, {}, {"0", "1"}, "CUDA_VISIBLE_DEVICES", false},
      {"amd", kAmd, {}, {"0"}, "ROCR_VISIBLE_DEVICES", false},
      {"intel", kIntel, {}, {"0"}, "ZE_AFFINITY_MASK", false},
      {"a processor's graphics", kIntegrated, {}, {}, "CUDA_VISIBLE_DEVICES", false},
      // Grants.
      {"cuda", kNvidia, {cuda + "=1"}, {"1"}, "CUDA_VISIBLE_DEVICES", true},
      {"rocr", kAmd, {rocr + "=3"}, {"3"}, "ROCR_VISIBLE_DEVICES", true},
      {"rocr, devices not seen", {}, {rocr + "=2,3"}, {"2", "3"}, "ROCR_VISIBLE_DEVICES", true},
      {"hip", kAmd, {hip + "=2,3"}, {"2", "3"}, "HIP_VISIBLE_DEVICES", true},
      {"hip of what rocr leaves",
       {},
       {rocr + "=4,5", hip + "=0,1"},
       {"0", "1"},
       "HIP_VISIBLE_DEVICES",
       true},
      {"cuda, as hip reads it", kAmd, {cuda + "=1"}, {"1"}, "CUDA_VISIBLE_DEVICES", true},
      {"ze, with tiles", kIntel, {ze + "=0.1,1"}, {"0.1", "1"}, "ZE_AFFINITY_MASK", true},
      // Slurm without AutoDetect sets them all.
      {"all, nvidia",
       kNvidia,
       {ze + "=0,1", rocr + "=0,1", cuda + "=0,1"},
       {"0", "1"},
       "CUDA_VISIBLE_DEVICES",
       true},
      {"all, amd",
       kAmd,
       {cuda + "=0,1", rocr + "=0,1", ze + "=0,1"},
       {"0", "1"},
       "ROCR_VISIBLE_DEVICES",
       true},
      {"all, intel",
       kIntel,
       {cuda + "=0,1", rocr + "=0,1", ze + "=0,1"},
       {"0", "1"},
       "ZE_AFFINITY_MASK",
       true},
      {"uuids",
       kNvidia,
       {cuda + "=GPU-8f6d5d2c-1, GPU-ab"},
       {"GPU-8f6d5d2c-1", "GPU-ab"},
       "CUDA_VISIBLE_DEVICES",
       true},
      {"parts of a card (MIG)",
       kNvidia,
       {cuda + "=MIG-GPU-8f6d/1/0,MIG-3c2e"},
       {"MIG-GPU-8f6d/1/0", "MIG-3c2e"},
       "CUDA_VISIBLE_DEVICES",
       true},
      {"the list ends at -1",
       {},
       {cuda + "=2,GPU-ab,-1,3"},
       {"2", "GPU-ab"},
       "CUDA_VISIBLE_DEVICES",
       true},
      // Grants of none.
      {"empty", kNvidia, {cuda + "="}, {}, "CUDA_VISIBLE_DEVICES", true},
      {"empty, rocr", kAmd, {rocr + "="}, {}, "ROCR_VISIBLE_DEVICES", true},
      {"by Slurm", kNvidia, {cuda + "=NoDevFiles"}, {}, "CUDA_VISIBLE_DEVICES", true},
      {"-1", kAmd, {hip + "=-1"}, {}, "HIP_VISIBLE_DEVICES", true},
      // Not grants.
      {"empty, hip", kAmd, {hip + "="}, {"0"}, "ROCR_VISIBLE_DEVICES", false},
      {"empty, ze", kIntel, {ze + "="}, {"0"}, "ZE_AFFINITY_MASK", false},
  };
  for (const GpuRow& row : kRows) {
    SCOPED_TRACE(row.name);
    TempDir root;
    for (const auto& [name, text] : row.files) root.Write(name, text);
    Machine machine(Environment(row.environment), root.path());
    EXPECT_EQ(machine.facts().gpus, row.gpus);
    EXPECT_EQ(machine.facts().gpu_variable, row.variable);
    EXPECT_EQ(machine.facts().gpus_granted, row.granted);
  }
}

TEST(Machine, NamesWithoutAnyFile) {
  TempDir root;
  Machine machine(Environment({"USER=eve"}), root.path());
  EXPECT_EQ(machine.facts().user_name, "eve");
  EXPECT_EQ(machine.facts().host_name, "localhost");
  EXPECT_EQ(machine.facts().cores, 1u);
  EXPECT_EQ(machine.facts().memory, 0u);
  EXPECT_EQ(Machine(Environment(), root.path()).facts().user_name,
            fmt::format("uid-{}", geteuid()));
}

TEST(Machine, ThisOne) {
  Machine machine(Environment::OfProcess());
  EXPECT_GE(machine.facts().cores, 1u);
  EXPECT_GT(machine.facts().memory, 0u);
  EXPECT_GT(machine.FreeMemory(), 0u);
  EXPECT_LE(machine.FreeMemory(), machine.facts().machine_memory);
  EXPECT_FALSE(machine.facts().boot_id.empty());
}

TEST(CpuList, Counts) {
  EXPECT_EQ(CountCpuList("0-3,8,10-11\n"), 7u);
  EXPECT_EQ(CountCpuList("5"), 1u);
  EXPECT_EQ(CountCpuList(""), 0u);
  EXPECT_EQ(CountCpuList("3-1"), 0u);
  EXPECT_EQ(CountCpuList("a-b"), 0u);
}

TEST(Environment, GetSetUnset) {
  Environment env({"A=1", "AB=2", "E="});
  EXPECT_EQ(env.Get("A"), "1");
  EXPECT_EQ(env.Get("AB"), "2");
  EXPECT_EQ(env.Get("B"), std::nullopt);
  EXPECT_EQ(env.GetOr("E", "x"), "x");
  env.Set("A", "3");
  env.Set("N", "4");
  env.Unset("AB");
  EXPECT_EQ(env.entries(), (std::vector<std::string>{"A=3", "E=", "N=4"}));
  EXPECT_TRUE(Environment::OfProcess().Get("PATH"));
}

}  // namespace
}  // namespace spate::os
