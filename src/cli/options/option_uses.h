// The fate of each option that `run`, `submit` or `job retry` takes, where a job goes on or
// runs elsewhere: it is obeyed, or it is refused with the reason. None is passed over. The table is
// enforced (CheckUses, CheckKept), documented (docs/user/options.md) and tested for completeness
// (option_uses_test.cc): a new option needs a row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options/words.h"

namespace spate::cli {

enum class Way : uint8_t {
  kResume,    // run --resume
  kRetry,     // job retry of a run on this machine
  kHubRetry,  // job retry of a hub's job
  kSubmit,    // submit, with or without --like
  kHub,       // run --hub
  kPool,      // run --pool
};
inline constexpr Way kWays[] = {Way::kResume, Way::kRetry, Way::kHubRetry,
                                Way::kSubmit, Way::kHub,   Way::kPool};
// The typed form: "run --resume".
std::string_view NameOf(Way way);
const Command& CommandOf(Way way);

enum class Use : uint8_t {
  kNone,  // the command has no such option, and says so
  kObeyed,
  kKept,  // a resumed run keeps what its first run was given; another value is refused
  kRefused,
};

// The use of an option; kNone for an option that the command of the way does not take.
Use UseOf(const Option& opt, Way way);
// True if the table has a row for the option.
bool HasUse(const Option& opt);

// An option that was typed and is refused there: kInvalid, with the reason.
Status CheckUses(Way way, const Words& typed);
// For `run --resume`: also what was typed now and is not what the first run was given. `first` is
// what stands behind "run" in the first run, `typed` the same of now.
Status CheckKept(std::span<const std::string> first, std::span<const std::string> typed);

// The table as Markdown: a line for each option.
std::string OptionUsesTable();

}  // namespace spate::cli
