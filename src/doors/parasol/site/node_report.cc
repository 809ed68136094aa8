#include "doors/parasol/site/node_report.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "format/lines.h"
#include "os/signals.h"

namespace spate::parasol {
namespace {

template <typename T>
bool TakeNumber(std::string_view* line, T* number) {
  std::string_view word = format::TakeWord(line);
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
  return error == std::errc() && end == word.data() + word.size();
}

bool ReadLine(std::string_view line, NodeStatus* status) {
  std::string_view kind = format::TakeWord(&line);
  if (kind == "cpus") return TakeNumber(&line, &status->cpus);
  if (kind == "running") {
    std::string_view what = format::Trim(line);
    status->job_ids.emplace_back(format::TakeWord(&line));
    status->running.emplace_back(what);
    ++status->busy;
    return !what.empty();
  }
  if (kind != "recent") return true;
  NodeStatus::Recent recent;
  if (!TakeNumber(&line, &recent.status) || !TakeNumber(&line, &recent.user_ticks) ||
      !TakeNumber(&line, &recent.system_ticks)) {
    return false;
  }
  recent.run = format::Trim(line);
  status->recent.push_back(std::move(recent));
  return true;
}

}  // namespace

std::string FormatNodeReport(const NodeStatus& status) {
  std::string text = fmt::format("cpus {}\n", status.cpus);
  for (const std::string& run : status.running) text += fmt::format("running {}\n", run);
  for (const NodeStatus::Recent& recent : status.recent) {
    text += fmt::format("recent {} {} {} {}\n", recent.status, recent.user_ticks,
                        recent.system_ticks, recent.run);
  }
  return text;
}

Result<NodeStatus> ParseNodeReport(std::string_view text) {
  NodeStatus status;
  while (auto line = format::TakeLine(&text)) {
    if (ReadLine(*line, &status)) continue;
    return Fail(ErrorKind::kCorrupt,
                fmt::format("the node tells '{}', which nobody understands", *line));
  }
  return status;
}

void RecentEnds::OnEnded(AttemptEnd end, TaskOutputPtr output) {
  ends_.push_back({end.ref, end.cause, end.status, end.user, end.system, what_(end.ref)});
  if (ends_.size() > most_) ends_.pop_front();
  next_.OnEnded(std::move(end), std::move(output));
}

}  // namespace spate::parasol
