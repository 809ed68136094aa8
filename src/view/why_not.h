// Why a hub's job does not go on, for people, with what to type next.
#pragma once

#include <string>
#include <string_view>

#include "view/summary.h"
#include "wire/questions.h"

namespace spate::cli {

// "--halt says so", "a person wished it"
const char* HeldWhy(HoldReason reason);
// Data for hints about the job. `reach`: options that make commands mean a job of this hub.
HintContext HintsOf(const wire::JobNow& now, std::string_view reach);
// The reason why the job cannot continue; empty: none, or it only waits for its turn.
// "job 29 is held: its tasks fail one after the other; ..."
std::string WhyNot(const wire::JobNow& now, std::string_view reach);

// Changes when a person has to be told again: not with times and counts.
std::string KeyOfWait(const wire::JobNow& now);

}  // namespace spate::cli
