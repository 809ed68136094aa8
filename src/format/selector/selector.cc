// Selectors are lists of parts between commas; each part is a word, a number or a range.

#include "format/selector/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "base/near.h"
#include "base/units.h"
#include "format/number_range.h"

namespace spate::format {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kWords = {"last"sv, "all"sv};
constexpr std::string_view kJobForms = "write last, all, 3, 1-10, 1-10:2 or 1,3,5-8";
constexpr std::string_view kTaskForms =
    "write for example 12.3, 12.3-9, last.1-10:2, last.NAME or 12";
constexpr std::string_view kNameMark = "name=";

std::unexpected<Error> Bad(std::string_view part, std::string_view what, std::string_view forms) {
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' {}: {}", EscapeForScreen(part.substr(0, 60)), what, forms));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A number from 1 on; nullopt for anything else.
std::optional<uint32_t> Number(std::string_view text) {
  if (text.empty() || !IsDigit(text.front())) return std::nullopt;
  auto count = ParseCount(text);
  if (!count || *count < 1 || *count > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(*count);
}

// The text left of `mark`, removed from *text with the mark; all of it when there is none.
std::string_view NextUntil(std::string_view* text, char mark) {
  size_t at = text->find(mark);
  std::string_view left = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return left;
}

// The parts between the commas; at least one.
std::vector<std::string_view> PartsOf(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// "3", "1-10", "1-10:2"; `what` is "job" or "task".
Result<NumberRange> ParseRange(std::string_view part, std::string_view what,
                               std::string_view forms) {
  if (part == "0") {
    std::string_view named = what == "task" ? "; for a task named 0, write name=0" : "";
    return Bad(part, fmt::format("is no {}", what),
               fmt::format("{}s are numbered from 1{}", what, named));
  }
  bool has_step = part.find(':') != std::string_view::npos;
  std::string_view step = part;
  std::string_view range = NextUntil(&step, ':');
  bool has_last = range.find('-') != std::string_view::npos;
  std::string_view last = range;
  auto first_number = Number(NextUntil(&last, '-'));
  auto last_number = has_last ? Number(last) : first_number;
  auto step_number = has_step ? Number(step) : 1;
  if (!first_number || !last_number || !step_number || (has_step && !has_last)) {
    std::string hint = DidYouMean(part, kWords);
    return Bad(part, fmt::format("names no {}{}", what, hint), forms);
  }
  if (*first_number > *last_number) {
    return Bad(part, "runs backwards", fmt::format("write {}-{}", *last_number, *first_number));
  }
  return NumberRange{*first_number, *last_number, *step_number};
}

Status CheckSteps(std::string_view text) {
  if (static_cast<size_t>(std::ranges::count(text, ':')) <= kMostStepped) return {};
  return Bad(text, fmt::format("has more than {} ranges with steps", kMostStepped),
             "name fewer at once");
}

Status AddTasks(std::string_view part, TasksOfJob& tasks) {
  if (part == "all") {
    tasks.all = true;
    return {};
  }
  if (part.starts_with(kNumberMark) && part.size() > 1 && IsDigit(part[1])) {
    TRY(ParseRange(part.substr(1), "task", kTaskForms));
    tasks.names.emplace_back(part);
    return {};
  }
  if (part.starts_with(kNameMark) && part.size() > kNameMark.size()) {
    tasks.names.emplace_back(part.substr(kNameMark.size()));
    return {};
  }
  bool is_number = !part.empty() && IsDigit(part.front()) &&
                   part.find_first_not_of("0123456789_-:") == std::string_view::npos;
  if (!part.empty() && !is_number && part.front() != '-') {
    tasks.names.emplace_back(part);
    return {};
  }
  auto range = TRY(ParseRange(part, "task", kTaskForms));
  tasks.ranges.push_back(range);
  return {};
}

}  // namespace

Result<JobSelector> ParseJobSelector(std::string_view text) {
  TRY(CheckSteps(text));
  JobSelector selector;
  for (std::string_view part : PartsOf(text)) {
    if (part == "last") {
      selector.last = true;
    } else if (part == "all") {
      selector.all = true;
    } else if (size_t dot = part.find('.'); dot != std::string_view::npos) {
      return Bad(
          part, "names tasks, but a job is needed here",
          fmt::format("write {}", dot == 0 ? "its number" : EscapeForScreen(part.substr(0, dot))));
    } else {
      auto range = TRY(ParseRange(part, "job", kJobForms));
      selector.ranges.push_back(range);
    }
  }
  return selector;
}

Result<std::vector<TasksOfJob>> ParseTaskSelector(std::string_view text) {
  TRY(CheckSteps(text));
  std::vector<TasksOfJob> selected;
  bool open = false;  // the last part named single tasks, so that more may follow
  for (std::string_view part : PartsOf(text)) {
    std::string_view tasks = part;
    std::string_view job = NextUntil(&tasks, '.');
    if (job.size() == part.size() && open) {
      TRY(AddTasks(part, selected.back()));
      continue;
    }
    TasksOfJob& added = selected.emplace_back();
    if (job != "last") {
      added.job = Number(job);
      if (!added.job) {
        return Bad(part, fmt::format("names no job{}", DidYouMean(job, kWords)), kTaskForms);
      }
    }
    open = job.size() != part.size();
    added.all = !open;
    if (!open) continue;
    TRY(AddTasks(tasks, added));
  }
  return selected;
}

}  // namespace spate::format
