#include "present/text/start_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "present/json/json_line.h"
#include "present/table/time_text.h"
#include "present/text/end_text.h"

namespace spate::present {
namespace {

std::string LineOf(const GangNews& news) {
  const std::string when = news.at.ns > 0 ? DateAndTime(news.at) + ": " : "";
  return fmt::format(
      "{} ({}{})",
      news.start == Instant::Never() ? "not known" : "expected by " + DateAndTime(news.start), when,
      news.reason.empty() ? "first in line" : EscapeForScreen(news.reason));
}

std::string StartedLine(const GangStory& story, Instant started) {
  std::string text = "started " + DateAndTime(started);
  const Instant first = story.news.front().start;
  if (first == Instant::Never()) return text;
  const Duration late = started - first;
  if (late >= Duration::Seconds(1)) {
    return text + fmt::format(", {} later than first expected", FormatDuration(late));
  }
  return text + ", not later than first expected";
}

void SecondsOrNull(JsonLine& line, std::string_view key, Instant at) {
  if (at.ns > 0 && at != Instant::Never()) {
    line.Seconds(key, at.seconds());
  } else {
    line.Null(key);
  }
}

}  // namespace

std::vector<std::string> StartLines(const GangStory& story, std::optional<Instant> started) {
  std::vector<std::string> lines;
  for (const GangNews& news : story.news) {
    lines.push_back(LineOf(news));
    if (&news != &story.news.front() || story.left_out == 0) continue;
    lines.push_back(fmt::format("{} left out here", CountOf(story.left_out, "change")));
  }
  if (started && !lines.empty()) lines.push_back(StartedLine(story, *started));
  return lines;
}

std::string StartNewsJson(const GangStory& story) {
  std::string list;
  for (const GangNews& news : story.news) {
    JsonLine one;
    SecondsOrNull(one, "at", news.at);
    SecondsOrNull(one, "start", news.start);
    TextOrBase64(one, "reason", news.reason);
    std::string text = one.Finish();
    text.pop_back();
    list += (list.empty() ? "" : ",") + text;
  }
  return "[" + list + "]";
}

}  // namespace spate::present
