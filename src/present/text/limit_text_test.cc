#include "present/text/limit_text.h"

#include <gtest/gtest.h>

namespace spate::present {
namespace {

TEST(LimitText, NamesWhatWasAskedFor) {
  EXPECT_EQ(LimitsText(Needs(), TaskLimits{.on_excess_cpu = OnExcess::kWarn}), "");
  Needs needs{.milli_cpus = 1500, .memory = 2ull << 30};
  TaskLimits limits{.max_processes = 50,
                    .on_excess_memory = OnExcess::kKill,
                    .on_excess_processes = OnExcess::kStop,
                    .on_excess_cpu = OnExcess::kStop,
                    .limits = {{LimitKind::kOpenFiles, 100}, {LimitKind::kCoreBytes, 0}},
                    .soft_limits = {}};
  EXPECT_EQ(LimitsText(needs, limits),
            "2.0 GB of memory (kill), 50 processes (stop), 1.5 cpus (no more than that), "
            "100 open files, core files of 0 B");
}

TEST(LimitText, SaysOnceForAllNodesWhatEnforces) {
  RunningFacts on_a, on_b, also_on_a;
  on_a.node = also_on_a.node = "a";
  on_b.node = "b";
  const std::vector<RunningFacts> running = {on_a, on_b, also_on_a};
  RunUse full{.limits = {{LimitOf::kMemory, LimitBy::kCgroup, 1, OnExcess::kKill},
                         {LimitOf::kProcesses, LimitBy::kWatch, 5, OnExcess::kKill}}};
  RunUse bare{.limits = {{LimitOf::kCpuShare, LimitBy::kNothing, 100},
                         {LimitOf::kMemoryGuarantee, LimitBy::kNothing, 1}}};
  EXPECT_EQ(EnforcedLines(running, std::vector<std::optional<RunUse>>{full, bare, full}),
            (std::vector<std::string>{
                "on a: memory by its cgroup, processes by counting (10 times a second)",
                "on b: cpu share by nothing (no cpu controller), memory guarantee by nothing (no "
                "memory controller)"}));
  EXPECT_TRUE(EnforcedLines(running, std::vector<std::optional<RunUse>>{std::nullopt}).empty());
}

TEST(LimitText, SaysWhatATaskHasUsed) {
  EXPECT_EQ(ExcessText(3, {Resource::kCpu, OnExcess::kWarn, 3900, 1000}),
            "task 3 used 3.9 cpus, but asked for 1 cpu (warned)");
  EXPECT_EQ(ExcessText(1, {Resource::kProcesses, OnExcess::kStop, 51, 50}),
            "task 1 had 51 processes, but asked for 50 processes (stopped)");
}

}  // namespace
}  // namespace spate::present
