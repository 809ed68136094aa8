#include "present/text/running_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "present/json/json_line.h"
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

namespace {

void AddUse(JsonLine& line, const std::optional<RunUse>& use) {
  if (!use) {
    line.Null("user").Null("system").Null("memory").Null("peak_memory").Null("memory_source");
    return;
  }
  line.Seconds("user", use->user.seconds());
  line.Seconds("system", use->system.seconds());
  line.Number("memory", static_cast<int64_t>(use->memory));
  line.Number("peak_memory", static_cast<int64_t>(use->peak));
  line.Text("memory_source", WordOf(use->source));
}

}  // namespace

std::string RunningJson(std::span<const RunningFacts> running, Instant now, Uses uses) {
  std::string list;
  size_t place = 0;
  for (const RunningFacts& each : running) {
    JsonLine one;
    one.Number("task", each.task).Number("attempt", each.attempt);
    TextOrBase64(one, "node", each.node);
    one.Seconds("since", each.since.seconds());
    one.Seconds("elapsed", Elapsed(each, now).seconds());
    if (each.ranks > 0) {
      one.Number("first_rank", each.first_rank).Number("ranks", each.ranks);
    } else {
      one.Null("first_rank").Null("ranks");
    }
    AddUse(one, place < uses.size() ? uses[place] : std::nullopt);
    ++place;
    std::string text = one.Finish();
    text.pop_back();
    list += (list.empty() ? "" : ",") + text;
  }
  return "[" + list + "]";
}

}  // namespace spate::present
