// Why a hub's job does not go on, for people, with what to type next.
#pragma once

#include <string>
#include <string_view>

#include "cli/view/summary.h"
#include "wire/questions.h"

namespace spate::cli {

// "--halt says so", "a person wished it"
const char* HeldWhy(HoldReason reason);
// What hints about the job need to know. `reach`: what makes commands mean a job of this hub.
HintContext HintsOf(const wire::JobNow& now, std::string_view reach);
// The hub knows no more than that no node is there: no pool will bring one.
bool IsForWantOfNodes(uint32_t nodes, std::string_view why);
// What keeps the job from going on; empty: nothing does, or it is its turn that it waits for.
// "job 29 is held: its tasks fail one after the other; ..."
std::string WhyNot(const wire::JobNow& now, std::string_view reach);

}  // namespace spate::cli
