// Questions about the attempt in hand: a look at it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/model/run_look.h"
#include "shepherd/as_user.h"
#include "shepherd/attempt_runner.h"
#include "wire/field_bytes.h"

namespace spate::shepherd {

wire::AnswerPiece AttemptRunner::AnswerTo(const wire::Ask& ask, int64_t now) {
  const bool visits = ask.question == OpenVisit::kNumber && setup_.can_visit;
  if (ask.question != RunWish::kNumber && !visits) return {.kind = wire::AnswerKind::kUnknown};
  if (waits_to_start()) return {.kind = wire::AnswerKind::kNotStarted};
  if (visits) {
    auto visit = wire::FromBytes<OpenVisit>("the question", ask.body);
    Status entered = visit ? Enter(*visit, ask.rank) : std::unexpected(visit.error());
    if (!entered) return wire::AnswerPiece::Failed(entered.error());
    return {.kind = is_working() ? wire::AnswerKind::kDone : wire::AnswerKind::kEnded};
  }
  auto wish = wire::FromBytes<RunWish>("the question", ask.body);
  if (!wish) return wire::AnswerPiece::Failed(wish.error());
  return {.kind = wire::AnswerKind::kDone, .bytes = wire::BytesOf(LookAt(*wish, ask.rank, now))};
}

RunLook AttemptRunner::LookAt(const RunWish& wish, uint32_t rank, int64_t now) {
  RunLook look{.standing = RunLook::Standing::kRunning};
  const auto& first_rank = asked_.view.around.first_rank;
  if (first_rank && rank >= *first_rank + asked_.view.commands.size()) {
    look.standing = RunLook::Standing::kUnknown;
    look.why =
        fmt::format("rank {} was not started by Spate, but by another rank of the gang", rank);
    return look;
  }
  streams_.SoFar(wish, rank, look);
  if (wish.use) look.use = UseSoFar(now);
  return look;
}

// One of a gang's ranks, or the first command, is what the visit is like.
Status AttemptRunner::Enter(const OpenVisit& visit, uint32_t rank) {
  if (!is_working()) return {};
  const auto& first_rank = asked_.view.around.first_rank;
  const size_t index = first_rank && rank >= *first_rank ? rank - *first_rank : 0;
  if (index >= asked_.view.commands.size()) {
    return Fail(ErrorKind::kNotFound, fmt::format("no rank {} was started here", rank));
  }
  AsUser user(asked_.job->opening);
  TRY(user.status());
  return visits_.Open(visit, ProgramOf(index), starter_);
}

// Use by processes that were waited for, and by running ones, with what these have waited for.
RunUse AttemptRunner::UseSoFar(int64_t now) {
  RunUse use{.user = end_.user, .system = end_.system, .memory = Sample(now)};
  tree_.Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    if (!info || pid == files_.pid()) return;
    if (pid == resident_.pid()) resident_.LessEarlier(info->user, info->system);
    use.user.ns += info->user.ns;
    use.system.ns += info->system.ns;
  });
  AttemptEnd so_far;
  memory_.Tell(so_far);
  use.peak = std::max(so_far.peak_memory, use.memory);
  use.source = so_far.memory_source;
  return use;
}

}  // namespace spate::shepherd
