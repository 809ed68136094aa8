#include "present/text/start_text.h"

#include <fmt/format.h>

#include "base/units.h"
#include "present/json/json_fields.h"
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

Json StartNewsJson(const GangStory& story) {
  auto time = [](Instant at) { return OrNull(at.ns > 0 && at != Instant::Never(), at); };
  return ListOf(story.news, [&](const GangNews& news) {
    return ObjectOf("at", time(news.at), "start", time(news.start), "reason", news.reason);
  });
}

}  // namespace spate::present
