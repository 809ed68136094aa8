// Removes jobs that have ended.
#include <fmt/format.h>

#include <algorithm>

#include "hub/answers/pick.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

// Jobs that are forgotten at once.
constexpr size_t kMostForgotten = 10'000;

// Returns jobs that ended at least `age` ago; `more`: there are more of them.
std::vector<JobId> OlderThan(const Asking& asking, const Jobs& jobs, Duration age, bool& more) {
  std::string user = asking.caller().is_admin ? "" : asking.caller().user;
  auto ended = jobs.known().EndedBefore(asking.wall - age, kMostForgotten, user);
  more = ended.size() == kMostForgotten;
  // Somebody may be about to add tasks to one.
  std::erase_if(ended, [&](JobId job) { return jobs.Grows(job); });
  return ended;
}

Status CheckForgettable(const Jobs& jobs, const std::vector<JobId>& picked) {
  for (JobId job : picked) {
    const KnownJobs::Job* known = jobs.known().Find(job);
    bool grows = jobs.Grows(job);
    if ((known->finished && !grows) || !known->damage.empty()) continue;
    return Fail(ErrorKind::kBusy, fmt::format("job {} has not ended", job.value),
                Remedy("; {} ends it", Advice("job cancel", job.value)));
  }
  return {};
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::Forget& asked) {
  Jobs& jobs = hub.jobs;
  wire::Forget::Answer done;
  if (asked.older_than) {
    done.jobs = OlderThan(asking, jobs, *asked.older_than, done.more);
  } else {
    auto picked = TRY(PickJobs(jobs, asking.caller(), asked.jobs, /*damaged_too=*/true));
    done.jobs = std::move(picked);
  }
  TRY(CheckForgettable(jobs, done.jobs));
  if (asked.dry_run || done.jobs.empty()) {
    return asking.EndWhenSettled(std::move(done));
  }
  auto left = std::make_shared<size_t>(done.jobs.size());
  std::function<void()> end = asking.client.Guarded([client = &asking.client, done] {
    client->SendAnswer(done);
    client->End();
  });
  for (JobId job : done.jobs) {
    jobs.ForgetJob(job, [left, end] {
      if (--*left == 0) end();
    });
  }
  return {};
}

}  // namespace

extern const HubQuestion kForget =
    QuestionOf<wire::Forget, Answer>({.who = kOwner, .cost = kNamed});

}  // namespace spate::hub
