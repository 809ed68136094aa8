// Questions as a hub with broken answers would understand them, and its answers: sabotage
// (sabotage.h). Without sabotage both are as they were.
#pragma once

#include <optional>

#include "sim/hub_client.h"
#include "sim/sabotage.h"
#include "wire/questions.h"

namespace spate::sim {

// The question that the hub answers instead of the one that it was asked.
wire::Question BrokenQuestion(Sabotage sabotage, const wire::Question& asked);
// Changes what the hub answers.
void BreakAnswers(Sabotage sabotage, const wire::Question& asked, Replies& replies);
// An answer that does not wait until what it acknowledges is durable; nullopt: it does.
std::optional<Replies> EarlyAnswer(Sabotage sabotage, const wire::Question& asked);

}  // namespace spate::sim
