// A look at a task that runs: where it is, and what its node sees of it. The hub finds the node,
// asks it, and passes the answer on; it keeps nothing of it.
#include <optional>

#include "hub/answers/pick.h"
#include "hub/answers/question.h"
#include "hub/answers/run_place.h"
#include "wire/message_bytes.h"

namespace spate::hub {
namespace {

Status Check(const wire::LookAtRun& asked) {
  return asked.wish.most > kLookPiece ? wire::Defect("wish.most", "is out of range") : Status();
}

using Shown = wire::LookAtRun::Answer;

RunLook LookIn(const Result<wire::AnswerPiece>& answer) {
  if (!answer) return {.why = answer.error().message};
  if (answer->kind == wire::AnswerKind::kNotStarted) {
    return {.standing = RunLook::Standing::kNotStarted};
  }
  if (answer->kind == wire::AnswerKind::kEnded) return {.standing = RunLook::Standing::kEnded};
  auto look = wire::DecodeMessage<RunLook>("look", answer->bytes);  // within its bounds
  return look ? std::move(*look) : RunLook{.why = look.error().message};
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::LookAtRun& asked) {
  Jobs& jobs = hub.jobs;
  const Nodes& nodes = hub.nodes;
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
    return asking.EndWhenSettled(std::move(shown));  // its end is in the journal when it is heard
  }
  shown.attempt = ref->attempt.value;
  auto node = TRY(NodeOfRank(engine, nodes, *ref, asked.rank, shown.ranks));
  if (!node || !nodes.all().contains(*node)) {
    shown.look.why = "its node is not known";
    return asking.EndWhenSettled(std::move(shown));
  }
  shown.node = nodes.all().at(*node).row.name;
  auto answer = std::make_shared<Shown>(std::move(shown));
  auto tell = asking.client.Guarded([client = &asking.client, answer] {
    client->SendAnswer(*answer);
    client->End();
  });
  hub.calls.Query(*node, asking.caller().user,
                  {.ref = *ref,
                   .rank = asked.rank,
                   .question = asked.kNumber,
                   .body = wire::BytesOf(asked.wish)},
                  NodeCalls::kLookPatience,
                  [answer, tell, &jobs](const Result<wire::AnswerPiece>& told) {
                    answer->look = LookIn(told);
                    if (told) answer->measured = jobs.loop().Wall();
                    tell();
                  });
  return {};
}

}  // namespace

extern const HubQuestion kLookAtRun = QuestionOf<wire::LookAtRun, Answer, Check>(
    {.who = kOwner, .cost = {.once = 100'000, .node = 250, .named = 20'000}});

}  // namespace spate::hub
