#include "cli/options/gang_options.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <optional>
#include <string>
#include <tuple>

#include "base/units.h"
#include "base/utc.h"
#include "core/model/limits.h"

namespace spate::cli {
namespace {

std::unexpected<Error> Wrong(std::string why) { return Fail(ErrorKind::kInvalid, std::move(why)); }

// ---- Shapes -------------------------------------------------------------------------------------

// Computes the number of processes and of nodes from two that are given; 0: not given.
Status SetShape(uint32_t per_node, GangShape& gang) {
  if (per_node > 0 && gang.nodes == 0 && gang.procs == 0) {
    return Wrong(
        "--procs-per-node determines how a gang is spread over nodes; add --nodes N or --procs N");
  }
  if (per_node > 0 && gang.nodes == 0) {
    if (gang.procs % per_node != 0) {
      return Wrong(fmt::format(
          "--procs {0} with --procs-per-node {1}: every node must have the same number of "
          "processes; write --procs {2}, or leave out --procs-per-node",
          gang.procs, per_node, (gang.procs / per_node + 1) * per_node));
    }
    gang.nodes = gang.procs / per_node;
    return {};
  }
  if (gang.nodes == 0) return {};
  uint64_t all = uint64_t{gang.nodes} * std::max(per_node, 1u);
  if (gang.procs == 0) {
    if (all > kLimits.gang_procs) {
      return Wrong(
          fmt::format("--nodes {} --procs-per-node {}: a gang can have at most {} processes",
                      gang.nodes, per_node, FormatCount(kLimits.gang_procs)));
    }
    gang.procs = static_cast<uint32_t>(all);
    return {};
  }
  if (per_node > 0 && all != gang.procs) {
    return Wrong(
        fmt::format("--procs {} contradicts --nodes {} --procs-per-node {}, which make {} "
                    "processes; leave out --procs",
                    gang.procs, gang.nodes, per_node, FormatCount(all)));
  }
  if (gang.procs % gang.nodes != 0) {
    uint64_t more = (uint64_t{gang.procs} / gang.nodes + 1) * gang.nodes;
    return Wrong(
        fmt::format("--procs {} with --nodes {}: every node must have the same number of "
                    "processes; write --procs {}, or leave out --nodes",
                    gang.procs, gang.nodes, more));
  }
  return {};
}

// ---- Times --------------------------------------------------------------------------------------

// The numbers of `text` where it looks like `pattern`, in which 0 is a digit.
std::optional<std::array<int, 6>> Match(std::string_view text, std::string_view pattern) {
  if (text.size() != pattern.size()) return std::nullopt;
  std::array<int, 6> numbers{};
  size_t at = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (pattern[i] != '0') {
      if (text[i] != pattern[i]) return std::nullopt;
      at += inside ? 1 : 0;
      inside = false;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    numbers[at] = numbers[at] * 10 + (text[i] - '0');
    inside = true;
  }
  return numbers;
}

struct Clock {
  int hour = 0, minute = 0, second = 0;
};

std::optional<Clock> ParseClock(std::string_view text) {
  for (std::string_view pattern : {"00:00", "00:00:00", "0:00", "0:00:00"}) {
    auto n = Match(text, pattern);
    if (!n || (*n)[0] > 23 || (*n)[1] > 59 || (*n)[2] > 59) continue;
    return Clock{(*n)[0], (*n)[1], (*n)[2]};
  }
  return std::nullopt;
}

// In the local time zone; nullopt: there is no such day.
std::optional<Instant> At(int year, int month, int day, const Clock& clock) {
  std::tm fields{};
  fields.tm_year = year - 1900;
  fields.tm_mon = month - 1;
  fields.tm_mday = day;
  fields.tm_hour = clock.hour;
  fields.tm_min = clock.minute;
  fields.tm_sec = clock.second;
  fields.tm_isdst = -1;
  std::time_t seconds = std::mktime(&fields);
  constexpr std::time_t kLast = Instant::Never().ns / 1'000'000'000 - 1;
  if (seconds < 0 || seconds > kLast) return std::nullopt;
  return Instant() + Duration::Seconds(seconds);
}

std::tm LocalDay(Instant when) {
  auto seconds = static_cast<std::time_t>(when.ns / 1'000'000'000);
  std::tm fields{};
  localtime_r(&seconds, &fields);
  return fields;
}

std::optional<Instant> OnDay(Instant day, int days_later, const Clock& clock) {
  std::tm today = LocalDay(day);
  return At(today.tm_year + 1900, today.tm_mon + 1, today.tm_mday + days_later, clock);
}

std::optional<Instant> ParseDate(std::string_view text) {
  if (text.size() < 11 || (text[10] != 'T' && text[10] != ' ')) return std::nullopt;
  auto date = Match(text.substr(0, 10), "0000-00-00");
  auto clock = ParseClock(text.substr(11));
  if (!date || !clock) return std::nullopt;
  auto [year, month, day] = std::tuple{(*date)[0], (*date)[1], (*date)[2]};
  auto when = At(year, month, day, *clock);
  if (!when) return std::nullopt;
  std::tm really = LocalDay(*when);
  bool same = really.tm_mon + 1 == month && really.tm_mday == day;
  return same ? when : std::nullopt;
}

std::optional<Instant> ParseWhen(std::string_view text, Instant now) {
  if (text.starts_with('+')) {
    auto time = ParseDuration(text.substr(1));
    return time ? std::optional(now + *time) : std::nullopt;
  }
  for (auto [word, days] : {std::pair<std::string_view, int>{"today ", 0}, {"tomorrow ", 1}}) {
    if (!text.starts_with(word)) continue;
    auto clock = ParseClock(text.substr(word.size()));
    return clock ? OnDay(now, days, *clock) : std::nullopt;
  }
  if (auto clock = ParseClock(text)) {
    auto today = OnDay(now, 0, *clock);
    return today && *today <= now ? OnDay(now, 1, *clock) : today;
  }
  if (auto date = ParseDate(text)) return date;
  if (text.ends_with('Z')) {
    std::string utc_text(text);
    constexpr std::string_view kToMinutes = "2027-01-31T18:00Z";
    if (text.size() == kToMinutes.size()) utc_text.insert(text.size() - 1, ":00");
    auto utc = ParseUtc(utc_text);
    return utc ? std::optional(*utc) : std::nullopt;
  }
  // An hour, or seconds from now?
  if (!text.empty() && text.find_first_not_of("0123456789") == text.npos) return std::nullopt;
  if (text.find(':') != std::string_view::npos) return std::nullopt;
  auto time = ParseDuration(text);
  return time ? std::optional(now + *time) : std::nullopt;
}

}  // namespace

Result<uint32_t> ParseProcs(std::string_view value) {
  auto count = ParseCountUpTo(value, kLimits.gang_procs);
  if (count && *count == 0) return Wrong("'0' is not a gang; write 1 or more");
  return count;
}

Status CompleteGang(RunOptions& options) {
  GangShape& gang = options.gang;
  if (!options.deadline_text.empty()) {
    // --resume reads the deadline again, so its use decides whether it is past.
    auto when = ParseDeadline(options.deadline_text, Instant());
    if (!when) return Within("--deadline", when.error());
  }
  TRY(SetShape(options.procs_per_node, gang));
  if (gang.procs == 0 && (gang.whole || options.start_typed)) {
    return Wrong(
        fmt::format("{} is for gangs; state their size, as in --nodes 2 (--nodes 1 for one node)",
                    gang.whole ? "--whole-nodes" : "--start"));
  }
  JobSettings& settings = options.settings;
  bool limited = settings.time_limit.ns > 0 || settings.time_limit_percent > 0;
  if (!gang.empty() && !limited) settings.time_limit = options.needs.time;
  return {};
}

Status CheckGang(const RunOptions& options) {
  if (options.gang.empty()) return {};
  const SourceOptions& sources = options.sources;
  const JobSettings& settings = options.settings;
  constexpr const char* kPieces = "each of its processes has its own standard input";
  constexpr const char* kForward = "the output of its processes is separated by rank";
  for (auto [given, name, why] :
       {std::tuple{sources.input.any(), "--pipe and --pipepart", kPieces},
        {sources.resident, "--resident", "a resident process accepts only tasks of its own"},
        {sources.is_graph(), "--format dag", "tasks of a graph have one process"},
        {!settings.forward_patterns.empty(), "--forward", kForward},
        {!settings.forward_file_patterns.empty(), "--forward-file", kForward},
        {options.show.line_buffer, "--line-buffer",
         "its output is printed by rank when it has ended"}}) {
    if (!given) continue;
    return Wrong(fmt::format("a gang (--procs, --nodes) cannot have {}: {}; leave one of them out",
                             name, why));
  }
  return {};
}

Result<Instant> ParseDeadline(std::string_view text, Instant now) {
  auto when = ParseWhen(text, now);
  if (!when || *when == Instant::Never()) {
    return Wrong(
        fmt::format("'{}' is not a time; write for example 18:00, 'tomorrow 9:30', "
                    "2027-01-31T18:00, 2027-01-31T18:00Z (UTC) or +2h",
                    EscapeForScreen(text)));
  }
  return *when;
}

Status SetDeadline(RunOptions& options, Instant now) {
  if (options.deadline_text.empty()) return {};
  auto when = ParseDeadline(options.deadline_text, now);
  if (!when) return Within("--deadline", when.error());
  const Duration left = *when - now;
  if (left.ns <= 0) {
    return Wrong(fmt::format("--deadline: '{}' was {} ago; write a later time, such as +2h",
                             EscapeForScreen(options.deadline_text),
                             FormatDuration(Duration{} - left)));
  }
  if (left < options.needs.time) {
    return Wrong(
        fmt::format("--deadline: '{}' is in {}, but a task takes {} (--time) and could not end by "
                    "then; write a later --deadline or a shorter --time",
                    EscapeForScreen(options.deadline_text), FormatDuration(left),
                    FormatDuration(options.needs.time)));
  }
  options.deadline = *when;
  return {};
}

}  // namespace spate::cli
