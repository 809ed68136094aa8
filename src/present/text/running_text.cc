#include "present/text/running_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "present/json/json_fields.h"
#include "present/table/time_text.h"
#include "present/text/end_text.h"

namespace spate::present {
namespace {

constexpr size_t kMostLines = 8;

Duration Elapsed(const RunningFacts& running, Instant now) {
  return std::max(now - running.since, Duration());  // the node's clock may be ahead
}

}  // namespace

std::string RanksText(uint32_t first, uint32_t count) {
  if (count == 1) return fmt::format("rank {}", first);
  return fmt::format("ranks {}-{}", first, first + count - 1);
}

std::string UseText(const RunUse& use) {
  return fmt::format("CPU {}, memory {}, peak {}", FormatDuration(use.user + use.system),
                     FormatSize(use.memory), FormatSize(use.peak));
}

std::string RunningText(const RunningFacts& running, Instant now,
                        const std::optional<RunUse>& use) {
  std::string text;
  if (running.ranks > 0) text = RanksText(running.first_rank, running.ranks) + " ";
  text += fmt::format("on node {} since {} ({})", running.node, DateAndTime(running.since),
                      FormatDuration(Elapsed(running, now)));
  return use ? text + ", " + UseText(*use) : text;
}

std::vector<std::string> RunningLines(std::span<const RunningFacts> running, Instant now,
                                      bool with_task, Uses uses) {
  std::vector<std::string> lines;
  for (const RunningFacts& each : running.first(std::min(running.size(), kMostLines))) {
    const size_t place = lines.size();
    std::string line = RunningText(each, now, place < uses.size() ? uses[place] : std::nullopt);
    lines.push_back(with_task ? fmt::format("task {} {}", each.task, line) : line);
  }
  if (running.size() > kMostLines) {
    lines.push_back(fmt::format("and {} more", FormatCount(running.size() - kMostLines)));
  }
  return lines;
}

Json RunningJson(std::span<const RunningFacts> running, Instant now, Uses uses) {
  size_t place = 0;
  return ListOf(running, [&](const RunningFacts& each) {
    const bool known = place < uses.size() && uses[place];
    const RunUse use = known ? *uses[place] : RunUse();
    ++place;
    auto of = [&](auto member) { return OrNull(known, use.*member); };
    return ObjectOf("task", each.task, "attempt", each.attempt, "node", each.node, "since",
                    each.since, "elapsed", Elapsed(each, now), "first_rank",
                    OrNull(each.ranks > 0, each.first_rank), "ranks",
                    OrNull(each.ranks > 0, each.ranks), "user", of(&RunUse::user), "system",
                    of(&RunUse::system), "memory", of(&RunUse::memory), "peak_memory",
                    of(&RunUse::peak), "memory_source", of(&RunUse::source), "limits", use.limits);
  });
}

}  // namespace spate::present
