#include "shepherd/limit_watch.h"

#include <sys/resource.h>

#include <cmath>

#include "os/clock.h"
#include "os/process.h"
#include "shepherd/nanos.h"

namespace spate::shepherd {
namespace {

constexpr int64_t kCountEvery = 100 * kMilli;
// Between two counts there is so many times what one took.
constexpr int64_t kCountPause = 20;
// Processes in the cgroup that are not the attempt's: this one, its openers, and visits.
constexpr uint32_t kHelpers = 16;

// A cpu is a weight of 100, the kernel's default. Between cgroups the niceness of processes means
// nothing, so it is part of the weight: a step is a quarter, as the kernel has it.
uint32_t WeightOf(uint32_t milli_cpus, int nice) {
  const double cpus = std::max(milli_cpus, 100u) / 1000.0;  // one that asks for none gets a little
  return static_cast<uint32_t>(std::clamp(cpus * 100 * std::pow(1.25, -nice), 1.0, 10'000.0));
}

bool HoldsProcesses(const JobSettings& settings) {
  return settings.max_processes > 0 && ActionOf(settings, Resource::kProcesses) != OnExcess::kWarn;
}

std::optional<LimitOf> NameOf(LimitKind kind) {
  if (kind == LimitKind::kOpenFiles) return LimitOf::kOpenFiles;
  if (kind == LimitKind::kCoreBytes) return LimitOf::kCoreSize;
  if (kind == LimitKind::kStackBytes) return LimitOf::kStackSize;
  return std::nullopt;
}

}  // namespace

// Above memory_high the kernel slows a task down so much that it would never be seen over its limit
// if both were the same.
os::CgroupLimits CgroupLimitsOf(const Start& start, const JobSettings& settings) {
  const Needs& needs = start.needs;
  const OnExcess memory = ActionOf(settings, Resource::kMemory);
  return {.memory = memory == OnExcess::kKill ? needs.memory : 0,
          .memory_high = memory == OnExcess::kStop ? needs.memory + needs.memory / 16 : 0,
          .memory_low = needs.memory,
          .processes = HoldsProcesses(settings) ? uint64_t{settings.max_processes} + kHelpers : 0,
          .cpu_weight = WeightOf(needs.milli_cpus, settings.nice),
          .milli_cpus = settings.on_excess_cpu == OnExcess::kStop ? needs.milli_cpus : 0};
}

std::vector<EnforcedLimit> EnforcedLimits(const Start& start, const JobSettings& settings,
                                          const os::CgroupHolds& holds) {
  const Needs& needs = start.needs;
  std::vector<EnforcedLimit> limits;
  auto add = [&](LimitOf what, bool by_cgroup, LimitBy otherwise, uint64_t most,
                 OnExcess action = OnExcess::kUsual) {
    limits.push_back({what, by_cgroup ? LimitBy::kCgroup : otherwise, most, action});
  };
  if (needs.milli_cpus > 0) {
    add(LimitOf::kCpuShare, holds.cpu_weight, LimitBy::kNothing,
        WeightOf(needs.milli_cpus, settings.nice));
  }
  if (const OnExcess action = settings.on_excess_cpu;
      action != OnExcess::kUsual && needs.milli_cpus > 0) {
    add(LimitOf::kCpu, holds.milli_cpus,
        action == OnExcess::kStop ? LimitBy::kNothing : LimitBy::kWatch, needs.milli_cpus, action);
  }
  if (needs.memory > 0) {
    add(LimitOf::kMemory, holds.memory || holds.memory_high, LimitBy::kWatch, needs.memory,
        ActionOf(settings, Resource::kMemory));
    add(LimitOf::kMemoryGuarantee, holds.memory_low, LimitBy::kNothing, needs.memory);
  }
  if (settings.max_processes > 0) {
    add(LimitOf::kProcesses, holds.processes, LimitBy::kWatch, settings.max_processes,
        ActionOf(settings, Resource::kProcesses));
  }
  for (const ProcessLimit& limit : settings.soft_limits) {
    const bool has_own = std::ranges::any_of(
        settings.limits, [&](const ProcessLimit& own) { return own.kind == limit.kind; });
    if (auto name = NameOf(limit.kind); name && !has_own) {
      add(*name, false, LimitBy::kProcess, limit.most);
    }
  }
  for (const ProcessLimit& limit : settings.limits) {
    if (auto name = NameOf(limit.kind)) add(*name, false, LimitBy::kProcess, limit.most);
  }
  return limits;
}

void LimitWatch::Begin(const Start& start, const JobSettings& settings, int64_t now) {
  Stop();
  most_processes_ = settings.max_processes;
  if (most_processes_ > 0) processes_at_ = now + kCountEvery;
  const OnExcess action = settings.on_excess_cpu;
  judges_cpus_ = action == OnExcess::kWarn || action == OnExcess::kKill;
  SetCpus(start.needs.milli_cpus, now, {}, {});
}

void LimitWatch::SetCpus(uint32_t milli_cpus, int64_t now, Duration ended, Duration still) {
  milli_cpus_ = milli_cpus;
  cpu_at_ = INT64_MAX;
  if (milli_cpus_ == 0 || !judges_cpus_) return;
  window_began_ = now;
  cpu_at_ = now + kCpuWindow;
  used_before_ = CpuTime(ended);
  still_before_ = still;
}

uint64_t LimitWatch::CountProcesses(int64_t now, bool counts_all) {
  const std::optional<uint64_t> in_cgroup = counts_all ? cgroup_.Processes() : std::nullopt;
  uint64_t count = 0;
  if (in_cgroup) {
    count = std::max<uint64_t>(*in_cgroup, 1) - 1;
  } else {
    tree_.EachWhile([&](pid_t pid) {
      auto info = os::InfoOf(pid);
      if (info) count += std::max(info->threads, 1u);
      return count <= most_processes_;
    });
  }
  const int64_t took = os::MonotonicNanos() - now;
  processes_at_ = now + std::max(kCountEvery, took * kCountPause);
  return count;
}

uint64_t LimitWatch::UseOfCpus(int64_t now, Duration ended, Duration still) {
  const Duration used = CpuTime(ended);
  const int64_t wall = now - window_began_ - (still - still_before_).ns;
  const int64_t spent = (used - used_before_).ns;
  window_began_ = now;
  used_before_ = used;
  still_before_ = still;
  cpu_at_ = now + kCpuWindow;
  if (wall < kCpuWindow / 2 || spent <= 0) return 0;
  return static_cast<uint64_t>(spent / (wall / 1000));
}

// A cgroup counts on when processes end; /proc has only those that run, and what they waited for.
Duration LimitWatch::CpuTime(Duration ended) const {
  if (auto used = cgroup_.CpuTime()) return *used;
  Duration sum = ended;
  tree_.Each([&](pid_t pid) {
    if (auto info = os::InfoOf(pid)) sum = sum + info->user + info->system;
  });
  return sum;
}

}  // namespace spate::shepherd
