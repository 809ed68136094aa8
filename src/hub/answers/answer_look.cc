// A look at a task that runs: where it is, and what its node sees of it. The hub finds the node,
// asks it, and passes the answer on; it keeps nothing of it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "hub/answers/answers.h"
#include "hub/answers/pick.h"
#include "wire/message_bytes.h"

namespace spate::hub {
namespace {

using Shown = wire::LookAtRun::Answer;

// The node that has this attempt; nodes that have told of the job's tasks first. Cost: the nodes.
std::optional<NodeId> NodeOf(const engine::Engine& engine, const Nodes& nodes,
                             const AttemptRef& ref) {
  for (NodeId id : nodes.WithRunsOf(ref.job)) {
    if (engine.Holds(id, ref)) return id;
  }
  for (const auto& [id, node] : nodes.all()) {
    if (engine.Holds(id, ref)) return id;
  }
  return std::nullopt;
}

// The same of the part that has the rank. kInvalid: there is no such rank, and `shown` tells how
// many there are.
Result<std::optional<NodeId>> NodeOfRank(const engine::Engine& engine, const Nodes& nodes,
                                         const AttemptRef& ref, uint32_t rank, Shown& shown) {
  const std::vector<engine::GangLeased::Part> parts = engine.PartsOf(ref.job, ref.index);
  std::optional<NodeId> found;
  for (const engine::GangLeased::Part& part : parts) {
    if (rank >= shown.ranks && rank < shown.ranks + part.procs) found = part.node;
    shown.ranks += part.procs;
  }
  if (rank >= std::max(shown.ranks, 1u)) {
    const std::string task = fmt::format("{}.{}", shown.job.value, shown.task);
    return Fail(ErrorKind::kInvalid,
                parts.empty() ? fmt::format("--rank {}: task {} is not a gang", rank, task)
                              : fmt::format("--rank {}: task {} has ranks 0 to {}", rank, task,
                                            shown.ranks - 1));
  }
  return parts.empty() ? NodeOf(engine, nodes, ref) : found;
}

RunLook LookIn(const Result<wire::AnswerPiece>& answer) {
  if (!answer) return {.why = answer.error().message};
  if (answer->kind == wire::AnswerKind::kNotStarted) {
    return {.standing = RunLook::Standing::kNotStarted};
  }
  if (answer->kind == wire::AnswerKind::kEnded) return {.standing = RunLook::Standing::kEnded};
  auto look = wire::DecodeMessage<RunLook>("look", answer->bytes);  // within its bounds
  return look ? std::move(*look) : RunLook{.why = look.error().message};
}

}  // namespace

Status Answer(Asking& asking, Jobs& jobs, const Nodes& nodes, NodeCalls& calls,
              const wire::LookAtRun& asked) {
  const engine::Engine& engine = jobs.engine();
  auto job = TRY(PickJob(jobs, asking.caller(), asked.task));
  Shown shown{.job = job, .task = asked.task.ranges.empty() ? 1 : asked.task.ranges.front().first};
  auto state = shown.task == 0 ? std::nullopt : engine.StateOf(job, shown.task - 1);
  if (!state) return Fail(ErrorKind::kNotFound, "the journal tells of this task");
  shown.state = *state;
  auto ref = engine.CurrentLease(job, shown.task - 1);
  if (!ref) {
    if (shown.state == TaskState::kQueued) {
      shown.why = nodes.Complete(engine.Explain(job, shown.task - 1, asking.now));
    }
    asking.EndWhenSettled(std::move(shown));  // its end is in the journal when it is heard
    return {};
  }
  shown.attempt = ref->attempt.value;
  auto node = TRY(NodeOfRank(engine, nodes, *ref, asked.rank, shown));
  if (!node || !nodes.all().contains(*node)) {
    shown.look.why = "its node is not known";
    asking.EndWhenSettled(std::move(shown));
    return {};
  }
  shown.node = nodes.all().at(*node).row.name;
  auto answer = std::make_shared<Shown>(std::move(shown));
  auto tell = asking.client.Guarded([client = &asking.client, answer] {
    client->Give(*answer);
    client->End();
  });
  calls.Ask(*node, asking.caller().user,
            {.ref = *ref,
             .rank = asked.rank,
             .question = asked.kNumber,
             .body = wire::BytesOf(asked.wish)},
            NodeCalls::kLookPatience, [answer, tell, &jobs](const Result<wire::AnswerPiece>& told) {
              answer->look = LookIn(told);
              if (told) answer->measured = jobs.loop().Wall();
              tell();
            });
  return {};
}

}  // namespace spate::hub
