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

std::string RunningText(const RunningFacts& running, Instant now) {
  std::string text;
  if (running.ranks > 0) text = RanksText(running.first_rank, running.ranks) + " ";
  return text + fmt::format("on node {} since {} ({})", running.node, DateAndTime(running.since),
                            FormatDuration(Elapsed(running, now)));
}

std::vector<std::string> RunningLines(std::span<const RunningFacts> running, Instant now,
                                      bool with_task) {
  std::vector<std::string> lines;
  for (const RunningFacts& each : running.first(std::min(running.size(), kMostLines))) {
    std::string line = RunningText(each, now);
    lines.push_back(with_task ? fmt::format("task {} {}", each.task, line) : line);
  }
  if (running.size() > kMostLines) {
    lines.push_back(fmt::format("and {} more", FormatCount(running.size() - kMostLines)));
  }
  return lines;
}

std::string RunningJson(std::span<const RunningFacts> running, Instant now) {
  std::string list;
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
    std::string text = one.Finish();
    text.pop_back();
    list += (list.empty() ? "" : ",") + text;
  }
  return "[" + list + "]";
}

}  // namespace spate::present
