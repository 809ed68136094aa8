#include "cli/options/retry_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/units.h"
#include "cli/options/values.h"
#include "core/model/limits.h"

namespace spate::cli {
namespace {

constexpr uint32_t kMostExit = 255;
constexpr std::string_view kExitPrefix = "exit:";

constexpr std::pair<std::string_view, CauseSet> kNames[] = {
    {"all", kAllCauses},
    {"exit", CauseBit(Cause::kExit) | CauseBit(Cause::kStart)},
    {"signal", CauseBit(Cause::kSignal)},
    {"time", CauseBit(Cause::kTimeLimit)},
    {"memory", CauseBit(Cause::kMemory)},
    {"excess", CauseBit(Cause::kExcess)},
    {"check", CauseBit(Cause::kCheck)},
    {"node", CauseBit(Cause::kNode)}};

std::unexpected<Error> Unreadable(std::string_view value, std::string_view why) {
  return Fail(ErrorKind::kInvalid, fmt::format("'{}' {}", EscapeForScreen(value), why));
}

std::optional<uint32_t> ExitCode(std::string_view text) {
  uint32_t code = 0;
  if (text.empty() || text.size() > 3) return std::nullopt;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    code = code * 10 + static_cast<uint32_t>(c - '0');
  }
  return code >= 1 && code <= kMostExit ? std::optional(code) : std::nullopt;
}

// "3" or "137-140".
std::optional<ExitRange> Range(std::string_view text) {
  const size_t dash = std::min(text.find('-'), text.size());
  const auto first = ExitCode(text.substr(0, dash));
  const auto last = dash < text.size() ? ExitCode(text.substr(dash + 1)) : first;
  if (!first || !last || *first > *last) return std::nullopt;
  return ExitRange{*first, *last};
}

void SortExits(std::vector<ExitRange>& exits) {
  std::ranges::sort(exits, {}, &ExitRange::first);
  std::vector<ExitRange> joined;
  for (const ExitRange& each : exits) {
    if (!joined.empty() && each.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, each.last);
    } else {
      joined.push_back(each);
    }
  }
  exits = std::move(joined);
}

}  // namespace

Result<RetryCauses> ParseRetryCauses(std::string_view text) {
  RetryCauses wanted;
  bool codes = false;  // a number belongs to the exit: before it
  for (std::string_view part : SplitCommas(text)) {
    const bool begins = part.starts_with(kExitPrefix);
    if (begins || (codes && !part.empty() && part.front() >= '0' && part.front() <= '9')) {
      codes = true;
      const auto range = Range(begins ? part.substr(kExitPrefix.size()) : part);
      if (!range) {
        return Unreadable(part,
                          "is not an exit code; write codes and ranges from 1 to 255, as in "
                          "exit:3,75,137-140");
      }
      wanted.exits.push_back(*range);
      continue;
    }
    codes = false;
    const auto* found =
        std::ranges::find(kNames, part, &std::pair<std::string_view, CauseSet>::first);
    if (found == std::end(kNames)) {
      return Unreadable(part,
                        "is not a cause; write one or more of exit, exit:CODES, signal, time, "
                        "memory, excess, check, node, separated by commas");
    }
    wanted.causes |= found->second;
  }
  if (wanted.causes == 0 && wanted.exits.empty()) {
    return Unreadable(text, "does not name a cause; write for example exit,signal");
  }
  if (!wanted.exits.empty() && (wanted.causes & CauseBit(Cause::kExit)) != 0) {
    return Unreadable(text,
                      "names every exit code (exit, all) and some of them (exit:CODES); write one "
                      "of the two");
  }
  SortExits(wanted.exits);
  return wanted;
}

std::string RetryOnText(const RetryPolicy& policy) {
  std::vector<std::string> parts;
  for (const auto& [name, causes] : kNames) {
    if ((policy.retry_on & causes) != causes) continue;
    parts.emplace_back(name);
    if (causes == kAllCauses) break;
  }
  std::vector<std::string> codes;
  for (const ExitRange& each : policy.exits) {
    codes.push_back(each.first == each.last ? fmt::format("{}", each.first)
                                            : fmt::format("{}-{}", each.first, each.last));
  }
  if (!codes.empty()) parts.push_back(fmt::format("exit:{}", fmt::join(codes, ",")));
  return fmt::format("{}", fmt::join(parts, ","));
}

Result<uint32_t> ParseGrowth(std::string_view text) {
  constexpr double kMostTimes = 100;
  std::optional<double> times;
  if (text.starts_with('x')) times = PlainNumber(text.substr(1));
  if (!times || *times < 1.1 || *times > kMostTimes) {
    return Unreadable(text,
                      "is not a factor; write x and a number from 1.1 to 100, as in x2 or x1.5");
  }
  return static_cast<uint32_t>(std::lround(*times * 100));
}

std::string GrowthText(uint32_t percent) { return fmt::format("x{:g}", percent / 100.0); }

Status CheckRetries(const RetryPolicy& retry, uint64_t memory) {
  if (retry.max_memory > 0 && retry.memory_growth == 0) {
    return Fail(ErrorKind::kInvalid,
                "--max-memory limits --retry-memory; add --retry-memory x2, or leave it out");
  }
  if (retry.memory_growth == 0) return {};
  if (memory == 0) {
    return Fail(ErrorKind::kInvalid,
                "--retry-memory multiplies the tasks' memory; add --memory SIZE");
  }
  if (retry.max_memory > 0 && retry.max_memory < memory) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--max-memory: {} is less than --memory {}; write a larger size",
                            FormatSize(retry.max_memory), FormatSize(memory)));
  }
  if ((retry.retry_on & CauseBit(Cause::kMemory)) == 0) {
    return Fail(ErrorKind::kInvalid,
                "--retry-memory is for tasks that ran out of memory, but --retry-on does not name "
                "memory; add it there");
  }
  return {};
}

}  // namespace spate::cli
