// Takes back the waiting tasks of a job.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

// A node gives back what it has not started within a round trip.
constexpr Duration kRecallPatience = Duration::Millis(250);

// Takes back what waits of a job now; how many that is.
uint32_t WithdrawQueued(Hub& hub, JobId job) {
  auto counts = hub.engine().Counts(job);
  uint32_t queued = counts ? counts->queued : 0;
  if (queued > 0) hub.Post(engine::WithdrawTasks{job, {{0, counts->total}}});
  return queued;
}

// Held meanwhile, so that nothing of it is started while nodes give back what they hold.
Status Answer(const AnswerParts& hub, Asking& asking, const wire::Withdraw& asked) {
  Jobs& jobs = hub.jobs;
  TRY(jobs.CheckUsable(asking.caller(), asked.job));
  const engine::Engine& engine = jobs.engine();
  JobId job = asked.job;
  auto counts = engine.Counts(job);
  if (!counts || engine.Finished(job)) {
    return asking.EndWhenSettled(wire::TaskCount{job, 0});
  }
  if (!TRY(asking.client.MayChange(1))) return {};
  jobs.BeginWithdraw(job);
  uint32_t first = WithdrawQueued(jobs.hub(), job);
  auto count = std::make_shared<uint32_t>(first);
  auto tell = asking.client.Guarded([client = &asking.client, job, count] {
    client->SendAnswer(wire::TaskCount{job, *count});
    client->End();
  });
  jobs.loop().At(asking.now + kRecallPatience, [&jobs, job, count, tell] {
    *count += WithdrawQueued(jobs.hub(), job);
    jobs.EndWithdraw(job);
    jobs.WhenSettled(tell);
  });
  return {};
}

}  // namespace

extern const HubQuestion kWithdraw =
    QuestionOf<wire::Withdraw, Answer>({.who = kOwner, .cost = kNamed});

}  // namespace spate::hub
