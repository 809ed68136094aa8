#include "cli/options/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/number.h"
#include "base/units.h"
#include "core/model/limits.h"
#include "os/signals.h"

namespace spate::cli {
namespace {

std::unexpected<Error> Bad(std::string_view text, std::string_view rest) {
  return Fail(ErrorKind::kInvalid, fmt::format("'{}' {}", EscapeForScreen(text), rest));
}

bool IsName(std::string_view text, std::string_view more) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           more.find(c) != std::string_view::npos;
  });
}

std::optional<uint32_t> Whole(std::string_view text, uint64_t max) {
  if (text.empty() || text.find_first_not_of("0123456789_") != std::string_view::npos) {
    return std::nullopt;
  }
  auto count = ParseCount(text);
  if (!count || *count > max) return std::nullopt;
  return static_cast<uint32_t>(*count);
}

}  // namespace

std::optional<double> PlainNumber(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  return ReadNumber<double>(text);
}

std::string Unescaped(std::string_view text) {
  constexpr std::string_view kNames = "ntr0'\"\\";
  constexpr std::string_view kBytes("\n\t\r\0'\"\\", 7);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t name = std::string_view::npos;
    if (text[i] == '\\' && i + 1 < text.size()) name = kNames.find(text[i + 1]);
    if (name == std::string_view::npos) {
      out += text[i];
    } else {
      out += kBytes[name];
      ++i;
    }
  }
  return out;
}

std::vector<std::string_view> SplitCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(','), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Result<SlotRule> ParseSlotRule(std::string_view text) {
  SlotRule rule{.form = SlotRule::Form::kCount};
  std::string_view digits = text;
  if (text.starts_with('+') || text.starts_with('-')) {
    rule.form = text.front() == '+' ? SlotRule::Form::kPlus : SlotRule::Form::kMinus;
    digits.remove_prefix(1);
  } else if (text.ends_with('%')) {
    rule.form = SlotRule::Form::kPercent;
    digits.remove_suffix(1);
  }
  uint32_t max = rule.form == SlotRule::Form::kPercent ? 1'000'000 : kLimits.slots;
  auto value = Whole(digits, max);
  if (!value) {
    return Bad(text, fmt::format("is not a number of tasks; write for example 8, 50%, +2, -1 or "
                                 "0 (as many as possible), at most {}",
                                 kLimits.slots));
  }
  rule.value = *value;
  return rule;
}

uint32_t SlotCount(const SlotRule& rule, uint32_t cores) {
  int64_t count = rule.value;
  switch (rule.form) {
    case SlotRule::Form::kCount:
      if (count == 0) count = kLimits.slots;
      break;
    case SlotRule::Form::kPercent:
      count = count * cores / 100;
      break;
    case SlotRule::Form::kPlus:
      count = cores + count;
      break;
    case SlotRule::Form::kMinus:
      count = cores - count;
      break;
  }
  return static_cast<uint32_t>(std::clamp<int64_t>(count, 1, kLimits.slots));
}

Result<TimeLimit> ParseTimeLimit(std::string_view text) {
  if (text.ends_with('%')) {
    auto percent = Whole(text.substr(0, text.size() - 1), 1'000'000);
    if (!percent || *percent <= 100) {
      return Bad(
          text, "is not a valid percentage of the median time; write more than 100%, such as 300%");
    }
    return TimeLimit{.percent = *percent};
  }
  auto limit = ParseDuration(text);
  if (!limit) return Fail(limit.error().kind, limit.error().message + ", or 300% of the median");
  if (limit->ns == 0) return Bad(text, "would terminate every task at once; write a time above 0");
  return TimeLimit{.limit = *limit};
}

Result<WarnSignal> ParseWarnSignal(std::string_view text) {
  size_t at = text.find('@');
  int number = at == text.npos ? 0 : os::SignalNumber(text.substr(0, at));
  if (number == 0) {
    return Bad(text,
               "is not a signal and a time before the time limit; write for example "
               "USR1@60s");
  }
  if (number == os::kSignalKill || number == os::kSignalStop) {
    return Bad(text, "is a signal that no program can catch; write for example USR1@60s");
  }
  auto before = TRY(ParseDuration(text.substr(at + 1)));
  if (before.ns == 0) return Bad(text, "is not before the time limit; write a time above 0");
  return WarnSignal{static_cast<uint32_t>(number), before};
}

Result<LeftoversRule> ParseLeftovers(std::string_view text) {
  auto known = FromWord<Leftovers>(text);
  if (known) return known == Leftovers::kWait ? LeftoversRule{} : LeftoversRule{*known, {}};
  constexpr std::string_view kWaitFor = "wait=";
  if (!text.starts_with(kWaitFor)) {
    return Bad(text, "is not supported; write wait, wait=T (such as wait=5m), end or fail");
  }
  auto wait = TRY(ParseDuration(text.substr(kWaitFor.size())));
  if (wait.ns == 0) return Bad(text, "does not wait at all; write a time above 0, or fail");
  return LeftoversRule{Leftovers::kWait, wait};
}

Result<ExcessRule> ParseExcessRule(std::string_view text) {
  ExcessRule rule;
  const size_t equals = text.find('=');
  if (equals != text.npos) {
    rule.of = FromWord<Resource>(text.substr(0, equals));
    if (!rule.of) {
      return Bad(text, "does not name a resource; write cpu, memory or processes, as in cpu=stop");
    }
  }
  const std::string_view word = equals == text.npos ? text : text.substr(equals + 1);
  auto action = FromWord<OnExcess>(word);
  if (!action || action == OnExcess::kUsual) {
    return Bad(text, "is not supported; write warn, stop or kill, or memory=stop,cpu=warn");
  }
  rule.action = *action;
  return rule;
}

Result<LoadBound> ParseLoadBound(std::string_view text) {
  bool percent = text.ends_with('%');
  auto value = PlainNumber(percent ? text.substr(0, text.size() - 1) : text);
  if (!value || *value <= 0) {
    return Bad(text, "is not a load; write for example 4, 1.5 or 80% (of the cores)");
  }
  return percent ? LoadBound{.percent = *value} : LoadBound{.load = *value};
}

Result<HaltRule> ParseHalt(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"0", "never"},
                                                                      {"1", "soon,fail=1"},
                                                                      {"2", "now,fail=1"},
                                                                      {"-1", "soon,success=1"},
                                                                      {"-2", "now,success=1"}};
  std::string full(text);
  for (auto [brief, expanded] : kShort) {
    if (text == brief) full = expanded;
  }
  std::string_view last = full;
  if (full.find(',') == std::string::npos && full.ends_with('%')) full = "soon,fail=" + full;
  if (full == "never") return HaltRule{};

  HaltRule rule;
  last = full;
  size_t comma = last.find(',');
  size_t equals = last.find('=');
  std::string_view when = last.substr(0, comma);
  bool split = comma != std::string_view::npos && equals != std::string_view::npos;
  std::string_view what = split && equals > comma ? last.substr(comma + 1, equals - comma - 1) : "";
  std::string_view number = split ? last.substr(equals + 1) : "";
  bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  auto value = Whole(number, percent ? 100 : kLimits.tasks_per_job);
  auto known_when = FromWord<HaltRule::When>(when);
  auto known_what = FromWord<HaltRule::What>(what);
  bool never = known_when == HaltRule::When::kNever;
  if (!known_when || never || !known_what || !value || *value == 0) {
    return Bad(text,
               "is not supported; write never, or WHEN,WHAT=N or N% with WHEN soon or now and WHAT "
               "fail, success or done, such as now,fail=1 or soon,done=50%");
  }
  rule.when = *known_when;
  rule.what = *known_what;
  (percent ? rule.percent : rule.count) = *value;
  return rule;
}

Result<uint32_t> ParseMilliCpus(std::string_view text) {
  auto value = PlainNumber(text);
  if (!value || *value > 1'000'000) {
    return Bad(text, "is not a number of cores; write for example 2 or 0.5");
  }
  double milli = *value * kMilliCpu;
  if (milli > 0 && milli < 1)
    return Bad(text, "is less than a thousandth of a core; write 0, or 0.001 or more");
  return static_cast<uint32_t>(std::lround(milli));
}

Result<NamedNeed> ParseNamedNeed(std::string_view text) {
  size_t equals = std::min(text.find('='), text.size());
  std::string_view name = text.substr(0, equals);
  auto count = equals < text.size() ? Whole(text.substr(equals + 1), UINT32_MAX) : std::nullopt;
  if (!IsName(name, ".-") || !count || *count == 0) {
    return Bad(text, "is not NAME=N; write for example licence=1 (letters, digits, _ . -)");
  }
  return NamedNeed{std::string(name), *count};
}

Result<NamedOffer> ParseNamedOffer(std::string_view text) {
  size_t equals = std::min(text.find('='), text.size());
  NamedOffer offer{.name = std::string(text.substr(0, equals))};
  std::string_view pieces = text.substr(std::min(equals + 1, text.size()));
  if (!IsName(offer.name, ".-") || pieces.empty()) {
    return Bad(text,
               "is not an offer; write NAME=N, such as gpus=2, or NAME=A,B, such as gpus=0,3");
  }
  if (auto count = Whole(pieces, kLimits.slots); count && *count > 0) {
    for (uint32_t i = 0; i < *count; ++i) offer.indices.push_back(std::to_string(i));
    return offer;
  }
  for (std::string_view piece : SplitCommas(pieces)) {
    if (std::find(offer.indices.begin(), offer.indices.end(), piece) != offer.indices.end()) {
      return Bad(text, fmt::format("offers '{}' twice; give each piece its own name", piece));
    }
    offer.indices.emplace_back(piece);
  }
  return offer;
}

Result<uint32_t> ParseCountUpTo(std::string_view text, uint32_t max) {
  if (auto value = Whole(text, max)) return *value;
  return Bad(text, fmt::format("is not a whole number from 0 to {}", FormatCount(max)));
}

Result<int> ParseInteger(std::string_view text, int low, int high) {
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  auto value = ReadNumber<int>(digits);
  if (!value || *value < low || *value > high) {
    return Bad(text, fmt::format("is not a whole number from {} to {}", low, high));
  }
  return *value;
}

Result<std::string> ParseAssignment(std::string_view text) {
  size_t equals = text.find('=');
  if (!IsName(text.substr(0, equals), "")) {
    return Bad(text, "does not begin with the name of a variable (letters, digits and _)");
  }
  return std::string(text);
}

Status ParseHistoryBound(std::string_view text, HistoryBound& bound) {
  constexpr std::string_view kHistoryForms =
      "is neither a time nor a size; write for example 90d, 10G or 90d,10G";
  constexpr std::string_view kNumber = "0123456789._";
  const auto parts = SplitCommas(text);
  if (parts.empty()) return Bad(text, kHistoryForms);
  for (std::string_view part : parts) {
    if (part.size() > 1 && part.ends_with('m') &&
        part.find_first_not_of(kNumber) == part.size() - 1) {
      const std::string_view count = part.substr(0, part.size() - 1);
      return Bad(part, fmt::format("could mean minutes or megabytes; write {0}min or {0}M", count));
    }
    bool unit = part.find_first_not_of(kNumber) != std::string_view::npos;
    if (auto size = ParseSize(part); unit && size) {
      // Sizes have a capital letter here, so that no time is taken for one.
      if (part.find_first_of("KMGTP") != std::string_view::npos) {
        bound.bytes = *size;
        continue;
      }
    }
    auto age = ParseDuration(part);
    if (!unit || !age) {
      return Bad(part, kHistoryForms);
    }
    bound.age = *age;
  }
  return {};
}

}  // namespace spate::cli
