// Common parts of drivers: specs, options, outcomes and scripts.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pool/driver.h"

namespace spate::pool {

// kInvalid for what no system can do. Every driver's Submit calls it first.
Status CheckSpec(const PilotSpec& spec);

// An option that a user may not give, as it is written: "-N", "--job-name". With `attached`, its
// value may follow without a blank ("-Nname", "--job-name=x").
struct RefusedOption {
  std::string_view name;
  std::string_view why;
  bool attached = true;
};
Status CheckOptions(std::span<const std::string> words, std::span<const RefusedOption> refused);
// The value of NAME in "-l NAME=VALUE,..." or "-lNAME=VALUE"; the last one counts.
std::optional<std::string> ResourceOption(std::span<const std::string> words,
                                          std::string_view name);
// "90", "MM:SS", "HH:MM:SS", "D-HH[:MM[:SS]]"; without colons or days, the unit is `unit`.
std::optional<Duration> ParseLimit(std::string_view text, Duration unit);
std::string WholeSeconds(Duration limit);  // rounded up; at least "1"

// The part before the first `separator` goes out of `rest`, and is returned; all when there is
// none.
std::string_view NextField(std::string_view& rest, char separator);
// Whole lines only: what follows the last newline may be cut off, and is left out. Without CR.
std::vector<std::string_view> WholeLines(std::string_view text);
std::string_view Trimmed(std::string_view text);
bool IsDigits(std::string_view text);
bool ContainsAny(std::string_view text, std::span<const std::string_view> parts);

// "PROGRAM failed (exit code 1): what it said", in one line that a screen may show, cut to 800
// bytes.
std::string Describe(std::string_view program, const Outcome& outcome);
// Timeouts, commands that are not there, and what the texts say, in this order: `limits` (but none
// of `never`), `unavailable`, else refused. `perhaps`: texts after which the batch job may be
// there.
struct FailureTexts {
  std::span<const std::string_view> limits, unavailable, perhaps, never = {};
  int limit_exit = 0;  // the exit code of limits; 0: they have none of their own
};
// The result of a submit that wrote this id, or none.
Submitted ReadId(std::string_view program, const Outcome& outcome,
                 const std::optional<std::string>& id, const FailureTexts& texts);

// PROGRAM EVERYWHERE... ID..., of the ids that are some.
CommandLine CancelCall(std::string_view program, std::span<const std::string> everywhere,
                       std::span<const std::string> ids, bool (*is_id)(std::string_view));

// The listed pilots that a query asked for; drops the rest.
class Listing {
 public:
  explicit Listing(const PilotQuery& query);  // outlives it
  // Replaces what was said of the same id.
  void Add(ListedPilot pilot);
  std::vector<ListedPilot> Take() { return std::move(pilots_); }

 private:
  const PilotQuery& query_;
  std::set<std::string, std::less<>> ids_;
  std::map<std::string, size_t, std::less<>> places_;
  std::vector<ListedPilot> pilots_;
};

std::string Joined(std::span<const std::string> words, std::string_view between);
std::string_view Or(std::string_view path, std::string_view usual);
void Append(std::vector<std::string>& words, std::span<const std::string> more);

}  // namespace spate::pool
