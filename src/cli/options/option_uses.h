// The fate of each option that `run`, `submit` or `job retry` takes, where a job goes on or runs
// elsewhere (JobOption::use): it is obeyed, or it is refused with the reason. This is enforced
// (CheckUses, CheckKept), documented (docs/user/options.md) and tested (option_uses_test.cc).
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "cli/options/words.h"

namespace spate::cli {

// Those that the document has.
inline constexpr Way kWays[] = {Way::kResume, Way::kRetry, Way::kHubRetry,
                                Way::kSubmit, Way::kHub,   Way::kPool};
const Command& CommandOf(Way way);
// The use of an option; kNone for an option that the command of the way does not take.
Use UseOf(const Option& opt, Way way);

// An option that was typed and is refused there: kInvalid, with the reason.
Status CheckUses(Way way, const Words& typed);
// For a `run` with neither --hub nor --pool: refuses options that only jobs of a hub have.
Status CheckHubOnly(const Words& typed);
// For `run --resume`: also what was typed now and is not what the first run was given. `first` is
// what stands behind "run" in the first run, `typed` the same of now.
Status CheckKept(std::span<const std::string> first, std::span<const std::string> typed);

}  // namespace spate::cli
