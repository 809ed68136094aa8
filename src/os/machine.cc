// Machine: facts from small files. A file that is missing or odd means "no bound from here"; there
// is no error, because a run on an unusual machine should start and not argue.
//
// Batch systems: a variable counts only together with the one that says that we are inside a job
// of that system, since people export such names by accident.
#include "os/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "os/file.h"

namespace spate::os {
namespace {

std::string Read(const std::string& path) { return ReadFile(path, 1 << 20).value_or(""); }

std::string FirstLine(const std::string& path) {
  std::string text = Read(path);
  return text.substr(0, text.find('\n'));
}

template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc()) return std::nullopt;
  return value;
}

// The words behind "KEY:" or "KEY " at the begin of a line.
std::string_view Behind(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    size_t first = line.find_first_not_of(": \t");
    // "Mem" is not the key of "MemTotal:".
    if (first == 0 || first == std::string_view::npos) continue;
    return line.substr(first);
  }
  return {};
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <typename T>
void TakeLess(std::optional<T> bound, std::string_view by, T* value, std::string* value_by) {
  if (!bound || *bound >= *value) return;
  *value = *bound;
  *value_by = by;
}

std::string ShortHost(std::string_view name) { return std::string(name.substr(0, name.find('.'))); }

// The number behind our host in words like "node1 4 node2 8".
std::optional<uint32_t> OfHost(const std::vector<std::string_view>& words, size_t stride,
                               const std::string& host) {
  for (size_t i = 0; i + 1 < words.size(); i += stride) {
    if (ShortHost(words[i]) == ShortHost(host)) return Number<uint32_t>(words[i + 1]);
  }
  return std::nullopt;
}

struct Grant {
  std::optional<uint32_t> cores;
  std::string by;
};

Grant GridEngineGrant(const Environment& env, const std::string& host) {
  auto slots = Number<uint32_t>(env.GetOr("NSLOTS", ""));
  auto hosts = Number<uint32_t>(env.GetOr("NHOSTS", "1")).value_or(1);
  if (!slots || hosts <= 1) return {slots, "NSLOTS"};
  // Lines of "host slots queue processors".
  std::string file = Read(env.GetOr("PE_HOSTFILE", ""));
  std::vector<std::string_view> words;
  for (std::string_view line : Split(file, "\n")) {
    std::vector<std::string_view> columns = Split(line, " \t");
    if (columns.size() >= 2) words.insert(words.end(), columns.begin(), columns.begin() + 2);
  }
  if (auto here = OfHost(words, 2, host)) return {here, "PE_HOSTFILE"};
  return {std::max(1u, *slots / hosts), "NSLOTS"};
}

Grant BatchGrant(const Environment& env, const std::string& host) {
  if (env.Get("SLURM_JOB_ID")) {
    return {Number<uint32_t>(env.GetOr("SLURM_CPUS_ON_NODE", "")), "SLURM_CPUS_ON_NODE"};
  }
  if (env.Get("PBS_JOBID")) {
    if (auto cores = Number<uint32_t>(env.GetOr("NCPUS", ""))) return {cores, "NCPUS"};
    return {Number<uint32_t>(env.GetOr("PBS_NUM_PPN", "")), "PBS_NUM_PPN"};
  }
  if (env.Get("LSB_JOBID")) {
    std::string hosts = env.GetOr("LSB_MCPU_HOSTS", "");
    return {OfHost(Split(hosts, " "), 2, host), "LSB_MCPU_HOSTS"};
  }
  if (env.Get("JOB_ID") && env.Get("NSLOTS")) return GridEngineGrant(env, host);
  return {};
}

constexpr std::string_view kCuda = "CUDA_VISIBLE_DEVICES", kHip = "HIP_VISIBLE_DEVICES",
                           kRocr = "ROCR_VISIBLE_DEVICES", kZe = "ZE_AFFINITY_MASK";

// Cards, without the graphics of a processor, which always have this place on the bus.
size_t CountIntelGpus(const std::string& drm) {
  size_t count = 0;
  auto entries = ListDir(drm);
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    // card0, card1, ...; not the outputs of a card (card0-DP-1).
    if (!entry.name.starts_with("card") || entry.name.contains('-')) continue;
    std::string device = Read(drm + "/" + entry.name + "/device/uevent");
    if (device.contains("PCI_ID=8086:") && !device.contains("PCI_SLOT_NAME=0000:00:02.")) ++count;
  }
  return count;
}

// v1 says "no limit" as the largest multiple of a page.
std::optional<uint64_t> Limit(std::optional<uint64_t> bytes) {
  return bytes && *bytes < (uint64_t{1} << 60) ? bytes : std::nullopt;
}

std::optional<uint64_t> Less(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(a, b);
}

}  // namespace

uint32_t CountCpuList(std::string_view list) {
  uint32_t count = 0;
  for (std::string_view part : Split(list, ", \n")) {
    size_t dash = part.find('-');
    auto first = Number<uint32_t>(part);
    auto last = dash == std::string_view::npos ? first : Number<uint32_t>(part.substr(dash + 1));
    if (!first || !last || *last < *first) return 0;
    count += *last - *first + 1;
  }
  return count;
}

Machine::Machine(const Environment& environment, std::string root)
    : root_(std::move(root)), places_(FindCgroups(root_)) {
  FindNames(environment);
  FindCores(environment);
  FindMemory(environment);
  FindGpus(environment);
}

std::vector<std::string> Machine::UpFrom(const std::string& dir, const std::string& mount) const {
  std::vector<std::string> dirs;
  if (dir.empty()) return dirs;
  for (std::string at = dir; at.starts_with(mount); at = DirName(at)) {
    dirs.push_back(root_ + at);
    if (at.size() <= mount.size()) break;
  }
  return dirs;
}

// ------------------------------------------------------------------------------------- cores

std::optional<double> Machine::CgroupCores() const {
  std::optional<double> least;
  auto take = [&](std::optional<double> quota, std::optional<double> period) {
    if (!quota || !period || *quota <= 0 || *period <= 0) return;
    least = std::min(least.value_or(*quota / *period), *quota / *period);
  };
  for (const std::string& dir : UpFrom(places_.v2_dir, places_.v2_mount)) {
    std::string text = Read(dir + "/cpu.max");  // "150000 100000" or "max 100000"
    std::vector<std::string_view> words = Split(text, " \n");
    if (words.size() == 2) take(Number<double>(words[0]), Number<double>(words[1]));
  }
  if (const auto* cpu = places_.FindV1("cpu")) {
    for (const std::string& dir : UpFrom(cpu->dir, cpu->mount)) {
      take(Number<double>(FirstLine(dir + "/cpu.cfs_quota_us")),  // -1: none
           Number<double>(FirstLine(dir + "/cpu.cfs_period_us")));
    }
  }
  return least;
}

void Machine::FindCores(const Environment& environment) {
  uint32_t online = CountCpuList(FirstLine(root_ + "/sys/devices/system/cpu/online"));
  std::string status = Read(root_ + "/proc/self/status");
  uint32_t allowed = CountCpuList(Behind(status, "Cpus_allowed_list"));
  facts_.machine_cores = std::max({1u, online, allowed});
  facts_.cores = facts_.machine_cores;
  facts_.cores_by = "this machine";
  if (allowed > 0) {
    TakeLess<uint32_t>(allowed, "CPU affinity", &facts_.cores, &facts_.cores_by);
  }
  if (auto quota = CgroupCores()) {
    // Half a core more than two is used by three tasks, two of them at times waiting.
    auto cores = static_cast<uint32_t>(std::clamp(std::ceil(*quota), 1.0, 1e6));
    TakeLess<uint32_t>(cores, "cgroup", &facts_.cores, &facts_.cores_by);
  }
  Grant grant = BatchGrant(environment, facts_.host_name);
  if (grant.cores.value_or(0) > 0) {
    TakeLess(grant.cores, grant.by, &facts_.cores, &facts_.cores_by);
  }
}

// ------------------------------------------------------------------------------------ memory

std::optional<uint64_t> Machine::CgroupMemory() const {
  std::optional<uint64_t> least;
  for (const std::string& dir : UpFrom(places_.v2_dir, places_.v2_mount)) {
    least = Less(least, Number<uint64_t>(FirstLine(dir + "/memory.max")));
  }
  if (const auto* memory = places_.FindV1("memory")) {
    for (const std::string& dir : UpFrom(memory->dir, memory->mount)) {
      least = Less(least, Limit(Number<uint64_t>(FirstLine(dir + "/memory.limit_in_bytes"))));
    }
  }
  return least;
}

void Machine::FindMemory(const Environment& environment) {
  std::string meminfo = Read(root_ + "/proc/meminfo");
  facts_.machine_memory = Number<uint64_t>(Behind(meminfo, "MemTotal")).value_or(0) * 1024;
  facts_.memory = facts_.machine_memory;
  facts_.memory_by = "this machine";
  TakeLess<uint64_t>(CgroupMemory(), "cgroup", &facts_.memory, &facts_.memory_by);
  if (!environment.Get("SLURM_JOB_ID")) return;
  // Megabytes; 0 is all of the node.
  auto node = Number<uint64_t>(environment.GetOr("SLURM_MEM_PER_NODE", ""));
  auto cpu = Number<uint64_t>(environment.GetOr("SLURM_MEM_PER_CPU", ""));
  auto cpus = Number<uint64_t>(environment.GetOr("SLURM_CPUS_ON_NODE", ""));
  if (node.value_or(0) > 0) {
    TakeLess<uint64_t>(*node << 20, "SLURM_MEM_PER_NODE", &facts_.memory, &facts_.memory_by);
  } else if (cpu.value_or(0) > 0 && cpus.value_or(0) > 0) {
    TakeLess<uint64_t>((*cpu << 20) * *cpus, "SLURM_MEM_PER_CPU", &facts_.memory,
                       &facts_.memory_by);
  }
}

uint64_t Machine::FreeMemory() const {
  std::string meminfo = Read(root_ + "/proc/meminfo");
  auto available = Number<uint64_t>(Behind(meminfo, "MemAvailable"));
  if (!available) available = Number<uint64_t>(Behind(meminfo, "MemFree"));
  uint64_t free = available.value_or(0) * 1024;
  // The system gives back a cgroup's cached files that nobody uses before its limit hurts.
  auto bound = [&](std::optional<uint64_t> limit, std::optional<uint64_t> used,
                   const std::string& stat, std::string_view key) {
    if (!limit || !used) return;
    uint64_t reclaimable = Number<uint64_t>(Behind(stat, key)).value_or(0);
    uint64_t held = *used - std::min(*used, reclaimable);
    free = std::min(free, *limit - std::min(*limit, held));
  };
  for (const std::string& dir : UpFrom(places_.v2_dir, places_.v2_mount)) {
    bound(Number<uint64_t>(FirstLine(dir + "/memory.max")),
          Number<uint64_t>(FirstLine(dir + "/memory.current")), Read(dir + "/memory.stat"),
          "inactive_file");
  }
  if (const auto* memory = places_.FindV1("memory")) {
    for (const std::string& dir : UpFrom(memory->dir, memory->mount)) {
      bound(Limit(Number<uint64_t>(FirstLine(dir + "/memory.limit_in_bytes"))),
            Number<uint64_t>(FirstLine(dir + "/memory.usage_in_bytes")), Read(dir + "/memory.stat"),
            "total_inactive_file");
    }
  }
  return free;
}

double Machine::LoadAverage() const {
  return Number<double>(FirstLine(root_ + "/proc/loadavg")).value_or(0);
}

double Machine::Pressure(std::string_view resource) const {
  // "some avg10=1.23 avg60=..."
  std::string line = FirstLine(root_ + "/proc/pressure/" + std::string(resource));
  size_t at = line.find("avg10=");
  if (!line.starts_with("some ") || at == std::string::npos) return 0;
  std::string_view value = std::string_view(line).substr(at + 6);
  return Number<double>(value.substr(0, value.find(' '))).value_or(0);
}

// -------------------------------------------------------------------------------------- GPUs

std::optional<GpuGrant> FindGpuGrant(const Environment& environment, std::string_view kind) {
  std::string_view order[] = {kCuda, kHip, kRocr, kZe};
  // HIP selects among what ROCR leaves, so its names are the ones to choose from.
  if (kind == kRocr) std::rotate(order, order + 1, order + 3);
  if (kind == kZe) std::rotate(order, order + 3, order + 4);
  for (std::string_view variable : order) {
    auto value = environment.Get(variable);
    if (!value || (value->empty() && (variable == kHip || variable == kZe))) continue;
    GpuGrant grant{std::string(variable), {}};
    // CUDA's rule: the list ends at the first name that is none. "-1" and "NoDevFiles" mean no
    // device at all.
    for (std::string_view name : Split(*value, ", ")) {
      if (name.starts_with('-') || name.starts_with("No")) break;
      grant.gpus.emplace_back(name);
    }
    return grant;
  }
  return std::nullopt;
}

void Machine::FindGpus(const Environment& environment) {
  auto devices = ListDir(root_ + "/dev");
  size_t count = 0;
  for (const DirEntry& entry : devices ? *devices : std::vector<DirEntry>()) {
    std::string_view name = entry.name;
    // nvidia0, nvidia1, ...; not nvidiactl or nvidia-uvm.
    if (!name.starts_with("nvidia") || name.size() == 6) continue;
    name.remove_prefix(6);
    if (name.find_first_not_of("0123456789") == std::string_view::npos) ++count;
  }
  // The default, also for GPUs without a device file (WSL): most programs read it.
  facts_.gpu_variable = kCuda;
  if (count == 0 && Exists(root_ + "/dev/kfd")) {
    const std::string nodes = root_ + "/sys/class/kfd/kfd/topology/nodes";
    auto entries = ListDir(nodes);
    for (const DirEntry& node : entries ? *entries : std::vector<DirEntry>()) {
      // Nodes without SIMD units are the CPUs.
      std::string properties = Read(nodes + "/" + node.name + "/properties");
      if (Number<uint32_t>(Behind(properties, "simd_count")).value_or(0) > 0) ++count;
    }
    if (count > 0) facts_.gpu_variable = kRocr;
  }
  if (count == 0) {
    count = CountIntelGpus(root_ + "/sys/class/drm");
    if (count > 0) facts_.gpu_variable = kZe;
  }
  if (auto grant = FindGpuGrant(environment, facts_.gpu_variable)) {
    facts_.gpu_variable = std::move(grant->variable);
    facts_.gpus = std::move(grant->gpus);
    facts_.gpus_granted = true;
    return;
  }
  for (size_t i = 0; i < count; ++i) facts_.gpus.push_back(fmt::format("{}", i));
}

// ------------------------------------------------------------------------------------- names

void Machine::FindNames(const Environment& environment) {
  facts_.host_name = FirstLine(root_ + "/proc/sys/kernel/hostname");
  if (facts_.host_name.empty()) facts_.host_name = "localhost";
  facts_.boot_id = FirstLine(root_ + "/proc/sys/kernel/random/boot_id");
  facts_.user_id = geteuid();
  facts_.home = environment.GetOr("HOME", "");
  // name:password:uid:gid:comment:home:shell. No getpwuid: static glibc cannot load its modules.
  std::string passwd = Read(root_ + "/etc/passwd");
  for (std::string_view line : Split(passwd, "\n")) {
    std::vector<std::string_view> fields;
    for (size_t at = 0; at <= line.size();) {
      size_t end = std::min(line.find(':', at), line.size());
      fields.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    if (fields.size() < 7 || Number<uint32_t>(fields[2]) != facts_.user_id) continue;
    facts_.user_name = fields[0];
    if (facts_.home.empty()) facts_.home = fields[5];
    break;
  }
  if (facts_.user_name.empty()) facts_.user_name = environment.GetOr("USER", "");
  if (facts_.user_name.empty()) facts_.user_name = environment.GetOr("LOGNAME", "");
  if (facts_.user_name.empty()) facts_.user_name = fmt::format("uid-{}", facts_.user_id);
}

}  // namespace spate::os
