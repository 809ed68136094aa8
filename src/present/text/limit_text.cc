#include "present/text/limit_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/units.h"

namespace spate::present {
namespace {

void Add(std::string& list, const std::string& part) { list += (list.empty() ? "" : ", ") + part; }

std::string ProcessLimitText(const ProcessLimit& limit) {
  const bool is_size = limit.kind != LimitKind::kOpenFiles;
  const std::string most = limit.most == UINT64_MAX ? "unlimited"
                           : is_size                ? FormatSize(limit.most)
                                                    : fmt::format("{}", limit.most);
  switch (limit.kind) {
    case LimitKind::kOpenFiles:
      return most + " open files";
    case LimitKind::kCoreBytes:
      return "core files of " + most;
    default:
      return fmt::format("{} {}", limit.most, WordOf(limit.kind));
  }
}

std::string ByText(const EnforcedLimit& limit) {
  switch (limit.by) {
    case LimitBy::kCgroup:
      return "by its cgroup";
    case LimitBy::kProcess:
      return "by rlimit";
    case LimitBy::kWatch:
      return limit.what == LimitOf::kProcesses ? "by counting (10 times a second)"
             : limit.what == LimitOf::kCpu     ? "by measuring (every 10 seconds)"
                                               : "by measuring (5 times a second)";
    case LimitBy::kNothing:
      break;
  }
  const bool is_memory = limit.what == LimitOf::kMemoryGuarantee;
  return fmt::format("by nothing (no {} controller)", is_memory ? "memory" : "cpu");
}

std::string EnforcedText(const std::vector<EnforcedLimit>& limits) {
  std::string text;
  for (const EnforcedLimit& each : limits) {
    Add(text, fmt::format("{} {}", WordOf(each.what), ByText(each)));
  }
  return text;
}

const char* DoneText(OnExcess done) {
  return done == OnExcess::kStop ? "stopped" : done == OnExcess::kKill ? "killed" : "warned";
}

}  // namespace

std::string LimitsText(const Needs& needs, const TaskLimits& limits) {
  std::string text;
  if (needs.memory > 0) {
    Add(text, fmt::format("{} ({})", AmountText(Resource::kMemory, needs.memory),
                          WordOf(limits.on_excess_memory)));
  }
  if (limits.max_processes > 0) {
    Add(text, fmt::format("{} ({})", AmountText(Resource::kProcesses, limits.max_processes),
                          WordOf(limits.on_excess_processes)));
  }
  const OnExcess cpu = limits.on_excess_cpu;
  if (cpu == OnExcess::kStop || cpu == OnExcess::kKill) {
    Add(text, fmt::format("{} ({})", AmountText(Resource::kCpu, needs.milli_cpus),
                          cpu == OnExcess::kStop ? "no more than that" : WordOf(cpu)));
  }
  for (const ProcessLimit& each : limits.limits) Add(text, ProcessLimitText(each));
  return text;
}

std::vector<std::string> EnforcedLines(std::span<const RunningFacts> running, Uses uses) {
  std::vector<std::pair<std::string, std::vector<std::string>>> ways;  // text, nodes
  for (size_t i = 0; i < std::min(running.size(), uses.size()); ++i) {
    if (!uses[i] || uses[i]->limits.empty()) continue;
    std::string text = EnforcedText(uses[i]->limits);
    auto known = std::ranges::find(ways, text, &decltype(ways)::value_type::first);
    if (known == ways.end()) known = ways.insert(ways.end(), {std::move(text), {}});
    std::vector<std::string>& nodes = known->second;
    const std::string& node = running[i].node;
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  }
  std::vector<std::string> lines;
  for (const auto& [text, nodes] : ways) {
    lines.push_back(
        fmt::format("on {}: {}", EscapeForScreen(fmt::format("{}", fmt::join(nodes, ", "))), text));
  }
  return lines;
}

std::string ExcessText(uint32_t task, const Excess& excess) {
  return fmt::format("task {} {} ({})", task, TextOf(excess), DoneText(excess.done));
}

}  // namespace spate::present
