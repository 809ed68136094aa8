// Values of options: text to meaning. Every error says what was typed and what is understood; the
// caller puts the option's name in front.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/model/job.h"
#include "core/model/needs.h"

namespace spate::cli {

// -j: how many tasks at once.
struct SlotRule {
  enum class Form : uint8_t { kCount, kPercent, kPlus, kMinus } form = Form::kPercent;
  uint32_t value = 100;  // kCount 0: as many as possible
  friend bool operator==(const SlotRule&, const SlotRule&) = default;
};
Result<SlotRule> ParseSlotRule(std::string_view text);
// Slots on a machine where this process may use `cores`; from 1 to kLimits.slots.
uint32_t SlotCount(const SlotRule& rule, uint32_t cores);

// --time-limit: one of both is zero.
struct TimeLimit {
  Duration limit;
  uint32_t percent = 0;  // of the median
  friend bool operator==(const TimeLimit&, const TimeLimit&) = default;
};
Result<TimeLimit> ParseTimeLimit(std::string_view text);

// --signal USR1@60s
struct WarnSignal {
  uint32_t number = 0;
  Duration before;  // so long before the time limit
  friend bool operator==(const WarnSignal&, const WarnSignal&) = default;
};
Result<WarnSignal> ParseWarnSignal(std::string_view text);

// --leftovers
struct LeftoversRule {
  Leftovers what = Leftovers::kWait;
  Duration wait = kLeftoversWait;  // zero for others than kWait
  friend bool operator==(const LeftoversRule&, const LeftoversRule&) = default;
};
Result<LeftoversRule> ParseLeftovers(std::string_view text);

// --on-excess: an action for every resource, or for one (memory=stop).
struct ExcessRule {
  OnExcess action = OnExcess::kKill;
  std::optional<Resource> of;
  friend bool operator==(const ExcessRule&, const ExcessRule&) = default;
};
Result<ExcessRule> ParseExcessRule(std::string_view text);

// --max-load: a number, or a part of the cores (percent > 0).
struct LoadBound {
  double load = 0;
  double percent = 0;
};
Result<LoadBound> ParseLoadBound(std::string_view text);

// --halt as GNU parallel reads it.
Result<HaltRule> ParseHalt(std::string_view text);
// Digits with at most one point; no sign, no exponent.
std::optional<double> PlainNumber(std::string_view text);
// "1", "0.5": thousandths.
Result<uint32_t> ParseMilliCpus(std::string_view text);
// "licence=2". The count is at least 1.
Result<NamedNeed> ParseNamedNeed(std::string_view text);
// "licence=2" (pieces 0 and 1) or "licence=red,blue".
Result<NamedOffer> ParseNamedOffer(std::string_view text);
// A count no larger than `max`.
Result<uint32_t> ParseCountUpTo(std::string_view text, uint32_t max);
// A whole number from low to high, with a sign.
Result<int> ParseInteger(std::string_view text, int low, int high);
// "NAME=VALUE" with a name that a shell would take.
Result<std::string> ParseAssignment(std::string_view text);

// --keep: parts separated by commas, each a duration or a size.
struct HistoryBound {
  Duration age = Duration::Seconds(90 * 86400);
  uint64_t bytes = uint64_t{10} << 30;
  friend bool operator==(const HistoryBound&, const HistoryBound&) = default;
};
Status ParseHistoryBound(std::string_view text, HistoryBound& bound);

// Text with \n \t \r \0 \\ and quotes with a backslash, as printf has them.
std::string Unescaped(std::string_view text);

// "a,b" to {"a", "b"}; empty parts are dropped.
std::vector<std::string_view> SplitCommas(std::string_view text);

}  // namespace spate::cli
