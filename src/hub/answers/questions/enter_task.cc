// The way into a running task (core/model/visit.h): the task's shepherd is told a secret by which
// it knows the visitor, and the visitor where the node is reached. Neither is kept.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "access/proof.h"
#include "base/bytes32.h"
#include "base/units.h"
#include "core/model/visit.h"
#include "hub/answers/pick.h"
#include "hub/answers/question.h"
#include "hub/answers/run_place.h"

namespace spate::hub {
namespace {

using Way = EnterTask::Answer;

std::string IdOf(const AttemptRef& ref) {
  return fmt::format("{}.{}", ref.job.value, ref.index + 1);
}

std::unexpected<Error> DoesNotRun(const std::string& task, std::string_view why) {
  return Fail(ErrorKind::kUnavailable, fmt::format("task {} {}", task, why));
}

Result<AttemptRef> FindRunning(const engine::Engine& engine, JobId job, const TasksOfJob& named) {
  const uint32_t number = named.ranges.empty() ? 1 : named.ranges.front().first;
  const std::string task = fmt::format("{}.{}", job.value, number);
  const auto state = number == 0 ? std::nullopt : engine.StateOf(job, number - 1);
  if (!state) return DoesNotRun(task, "has ended, or does not exist");
  if (auto ref = engine.CurrentLease(job, number - 1)) return *ref;
  return DoesNotRun(task, *state == TaskState::kQueued ? "does not run yet" : "has ended");
}

Status TellWay(ClientRequest& client, const Way& way, const Result<wire::AnswerPiece>& told) {
  TRY(told);
  const std::string task = fmt::format("{}.{}", way.job.value, way.task);
  if (told->kind == wire::AnswerKind::kNotStarted) return DoesNotRun(task, "does not run yet");
  if (told->kind == wire::AnswerKind::kEnded) return DoesNotRun(task, "has ended");
  client.SendAnswer(way);
  client.End();
  return {};
}

Status Answer(const AnswerParts& hub, Asking& asking, const EnterTask& asked) {
  Jobs& jobs = hub.jobs;
  const auto job = TRY(PickJob(jobs, asking.caller(), asked.task));
  TRY(CheckIsOwner(jobs, asking.caller(), job, "enter its tasks"));
  const AttemptRef ref = TRY(FindRunning(jobs.engine(), job, asked.task));
  uint32_t ranks = 0;
  const auto node = TRY(NodeOfRank(jobs.engine(), hub.nodes, ref, asked.rank, ranks));
  if (!node || !hub.nodes.all().contains(*node)) return DoesNotRun(IdOf(ref), "is on no node");
  const std::string name = hub.nodes.all().at(*node).row.name;
  const Way way{.job = job,
                .task = ref.index + 1,
                .node = name,
                .secret = ToHex(TRY(access::MakeRandom())),
                .at = jobs.hub().RemoteOf(name)};
  auto told = std::make_shared<Result<wire::AnswerPiece>>();
  auto tell = asking.client.Guarded([client = &asking.client, way, told] {
    if (auto given = TellWay(*client, way, *told); !given) client->Fail(given.error());
  });
  hub.calls.Query(*node, asking.caller().user,
                  {.ref = ref,
                   .rank = asked.rank,
                   .question = OpenVisit::kNumber,
                   .body = wire::BytesOf(OpenVisit{way.secret, name})},
                  NodeCalls::kLookPatience, [told, tell](Result<wire::AnswerPiece> answer) {
                    *told = std::move(answer);
                    tell();
                  });
  return {};
}

}  // namespace

extern const HubQuestion kEnterTask = QuestionOf<EnterTask, Answer>(
    {.who = kOwnerAlone, .cost = {.once = 100'000, .node = 250, .named = 20'000}});

}  // namespace spate::hub
