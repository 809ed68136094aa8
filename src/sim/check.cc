#include "sim/check.h"

#include <fmt/format.h>

namespace spate::sim {

std::string NameOf(const AttemptRef& ref) {
  return fmt::format("{}.{}#{}", ref.job.value, ref.index + 1, ref.attempt.value);
}

bool Same(const TaskOutput* a, const TaskOutput* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->out.bytes == b->out.bytes && a->err.bytes == b->err.bytes;
}

Judge::Judge(const Workload& workload, Duration slack, const Options* hub)
    : workload_(workload), slack_(slack), hub_(hub) {
  for (auto make : {MakeAttemptsCheck, MakeDurableCheck, MakeEndsCheck, MakeCompleteCheck,
                    MakeResourcesCheck, MakeReplayCheck, MakeRepeatsCheck, MakeOutputCheck,
                    MakeLimitsCheck, MakeGraphCheck, MakeGangsCheck}) {
    checkers_.push_back(make());
  }
  if (hub == nullptr) return;
  for (auto make : {MakeLossesCheck, MakeStraysCheck, MakeAcksCheck, MakeOrderCheck,
                    MakeBoundsCheck, MakeFairCheck, MakeBlameCheck, MakePoolsCheck,
                    MakeDeadlinesCheck, MakeReservationsCheck, MakeStarvingCheck}) {
    checkers_.push_back(make());
  }
}

void Judge::See(Instant now, const Fact& fact) {
  if (const auto* committed = std::get_if<Committed>(&fact)) {
    if (!book_.Enter(*committed->record)) {
      findings_.Add("book", "a record contradicts those before it");
    }
  }
  Scene scene{now, book_, workload_, hub_, slack_};
  for (auto& checker : checkers_) checker->See(scene, fact, findings_);
}

}  // namespace spate::sim
