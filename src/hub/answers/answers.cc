#include "hub/answers/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "hub/answers/question.h"

namespace spate::hub {
namespace {

// Rights to what a question names are checked where that is looked up (pick.h, Pools).
Status CheckMay(const AnswerParts& parts, const Caller& caller, wire::WhoMay who) {
  if (caller.is_admin) return {};
  if (who == wire::WhoMay::kAdmin) {
    return Fail(ErrorKind::kPermission,
                "only the hub's administrators may do that: the user who runs it, root on its "
                "machine, and users with an access file of role admin");
  }
  if (who != wire::WhoMay::kPools || parts.jobs.engine().RuleOf(caller.user).may_add_pools)
    return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("user {0} may not add pools to this hub: their commands would run on its "
                          "machine\nAn administrator can allow it: spate hub user {0} --may pools",
                          caller.user));
}

}  // namespace

const HubQuestion* FindQuestion(uint32_t number) {
  const auto all = HubQuestions();
  auto found = std::ranges::find(all, number, [](const auto* one) { return one->row.number; });
  return found == all.end() ? nullptr : *found;
}

// For more jobs the journal's facts suffice.
std::vector<JobLive> LiveOf(const AnswerParts& parts, const Caller& caller,
                            const wire::QuestionRow& row, const wire::Question& question) {
  constexpr size_t kMostJobs = 1'000;
  const KnownJobs& known = parts.jobs.known();
  std::map<JobId, JobLive> jobs;
  auto add = [&](const NumberRange& range) {
    const size_t most = std::min(kMostJobs - jobs.size(), size_t{range.last} - range.first + 1);
    for (JobId id : known.UnfinishedFrom(JobId(range.first), most)) {
      if (id.value > range.last) return;
      auto [job, is_new] = jobs.try_emplace(id);
      if (!is_new) continue;
      const KnownJobs::Job& known_job = *known.Find(id);
      const JobCounts counts = known.Counts(id).value_or(JobCounts());
      job->second = {
          .job = id, .started = known_job.started || counts.leased > 0, .counts = counts};
      job->second.held = known_job.held != engine::HoldReason::kNone;
      job->second.stopped = parts.jobs.engine().FreezingOf(id);
      if (question.Is<wire::ListJobs>()) continue;  // it shows no tasks
      auto running = parts.nodes.RunningTasks(id);
      job->second.tells_runs = running && parts.jobs.engine().Held(id) == HoldReason::kNone;
      if (job->second.tells_runs) job->second.running = std::move(*running);
    }
  };
  std::optional<JobId> newest;
  auto select = [&](const JobSelector& named) {
    if (named.all) return add({1, UINT32_MAX});
    for (const NumberRange& range : named.ranges) add(range);
    if (!named.last && !named.ranges.empty()) return;
    if (!newest) newest = known.NewestOf(caller.user).value_or(JobId());
    add({newest->value, newest->value});
  };
  std::ranges::for_each(row.jobs(question), select);
  std::vector<JobLive> live;
  for (auto& [id, job] : jobs) live.push_back(std::move(job));
  return live;
}

namespace {

Status AnswerOne(const AnswerParts& parts, Asking& asking, wire::Query query) {
  if (const HubQuestion* found = FindQuestion(query.question.number())) {
    TRY(CheckMay(parts, asking.caller(), found->row.who));
    return found->answer(parts, asking, query.question);
  }
  if (wire::IsOfJournal(query.question.number())) {
    asking.client.Read(query);
    return {};
  }
  return Fail(ErrorKind::kInvalid, wire::kUnknownQuestion);
}

}  // namespace

void AnswerQuery(const AnswerParts& parts, ClientRequest& client, wire::Query query) {
  Asking asking{client, parts.jobs.loop().Now(), parts.jobs.loop().Wall()};
  auto answered = AnswerOne(parts, asking, std::move(query));
  if (!answered) client.Fail(answered.error());
}

void PassOn(Asking& asking, NodeCalls& calls, const std::string& node, wire::Ask ask) {
  auto told = std::make_shared<Result<wire::AnswerPiece>>();
  auto tell = asking.client.Guarded([client = &asking.client, told] {
    if (!*told) return client->Fail(told->error());
    client->SendAnswerBytes(std::move((*told)->bytes));
    client->End();
  });
  calls.Query(node, asking.caller().user, std::move(ask),
              [told, tell](Result<wire::AnswerPiece> answer) {
                *told = std::move(answer);
                tell();
              });
}

}  // namespace spate::hub
