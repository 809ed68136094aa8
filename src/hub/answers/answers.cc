// Maps each question to its answer, and to the parts of the hub that it needs. A question that is
// missing here does not compile.
#include "hub/answers/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>
#include <variant>

#include "hub/answers/look.h"
#include "hub/answers/question_rules.h"

namespace spate::hub {
namespace {

constexpr uint32_t kMostOfAll = 1'000;

// The jobs that a question of the journal names.
template <typename Q>
std::vector<JobSelector> NamedIn(const Q& q) {
  if constexpr (std::is_same_v<Q, wire::ListJobs>) return {q.jobs.value_or(JobSelector{true})};
  if constexpr (requires { requires std::is_same_v<decltype(q.jobs), JobSelector>; }) {
    return {q.jobs};
  }
  std::vector<JobSelector> named;
  if constexpr (requires { q.tasks.front().jobs; }) {
    for (const wire::TaskPick& pick : q.tasks) {
      if (pick.tasks.empty()) named.push_back(pick.jobs);
      for (const TasksOfJob& each : pick.tasks) {
        named.push_back({.last = !each.job});
        if (each.job) named.back().ranges = {{*each.job, *each.job}};
      }
    }
  }
  return named;
}

class Answers {
 public:
  Answers(const AnswerParts& parts, Asking& asking) : p_(parts), a_(asking) {}

  Status operator()(const wire::UnknownQuestion&) {
    return Fail(ErrorKind::kInvalid,
                "this hub is older than your program, and does not know what was asked");
  }
  template <wire::OfJournal Q>
  Status operator()(const Q& q) {
    a_.client.Read(wire::Query{q});
    return {};
  }

  // The hub
  Status operator()(const wire::LookAtHub&) {
    a_.Give(FactsOfHub(p_));
    a_.End();
    return {};
  }
  Status operator()(const wire::LookAtAll& q) {
    // All of it is one message.
    a_.Give(FactsOfAll(p_, a_.caller(), std::min(q.most, kMostOfAll)));
    a_.End();
    return {};
  }
  Status operator()(const wire::StopHub&) {
    a_.End();
    p_.jobs.loop().Post([stop = p_.stop_asked] { stop(); });
    return {};
  }
  Status operator()(const wire::SetHub& q) {
    Hub& hub = p_.jobs.hub();
    const GangPolicy policy = q.policy.value_or(hub.engine().gang_policy());
    const Duration half_life = q.half_life.value_or(hub.engine().half_life());
    if (q.policy) hub.Post(engine::ChangeGangPolicy{policy});
    if (q.half_life) hub.Post(engine::ChangeHalfLife{half_life});
    a_.EndWhenSettled(wire::SetHub::Answer{policy, half_life});
    return {};
  }

  // Jobs
  Status operator()(const wire::ChangeJobs& q) { return Answer(a_, p_.jobs, q); }
  Status operator()(const wire::Cancel& q) { return Answer(a_, p_.jobs, q); }
  Status operator()(const wire::Steer& q) { return Answer(a_, p_.jobs, p_.nodes, p_.calls, q); }
  Status operator()(const wire::Forget& q) { return Answer(a_, p_.jobs, q); }
  Status operator()(const wire::Retry& q) { return Answer(a_, p_.jobs, q); }
  Status operator()(const wire::ExplainTasks& q) {
    return Answer(a_, p_.jobs, p_.nodes, p_.pools, q);
  }
  Status operator()(const wire::LookAtJobs& q) {
    return Answer(a_, p_.jobs, p_.nodes, p_.pools, q);
  }
  Status operator()(const wire::LookAtWork& q) { return Answer(a_, p_.jobs, p_.nodes, q); }
  Status operator()(const wire::ReadStderr& q) { return Answer(a_, p_.jobs, p_.calls, q); }
  Status operator()(const wire::LookAtRun& q) { return Answer(a_, p_.jobs, p_.nodes, p_.calls, q); }
  Status operator()(const wire::Withdraw& q) { return Answer(a_, p_.jobs, q); }
  Status operator()(const wire::TrustNodes& q) { return Answer(a_, p_.jobs, q); }
  Status operator()(const wire::ResetCounts& q) { return Answer(a_, p_.jobs, q); }

  // Pools
  Status operator()(const wire::LookAtPools& q) { return Answer(a_, p_.pools, q); }
  Status operator()(const wire::ReadPilotOutput& q) { return Answer(a_, p_.pools, q); }
  Status operator()(const wire::ReadPoolLog& q) { return Answer(a_, p_.pools, q); }
  Status operator()(const wire::TryPool& q) { return Answer(a_, p_.pools, q); }
  Status operator()(const wire::AddPool& q) { return Answer(a_, p_.pools, q); }
  Status operator()(const wire::ChangePools& q) { return Answer(a_, p_.pools, q); }

  // Nodes, users, credentials
  Status operator()(const wire::ListNodes& q) { return Answer(a_, p_.jobs, p_.nodes, q); }
  Status operator()(const wire::ChangeNodes& q) {
    return Answer(a_, p_.jobs.hub(), p_.nodes, p_.log, q);
  }
  Status operator()(const wire::AskNode& q) { return Answer(a_, p_.nodes, p_.calls, q); }
  Status operator()(const wire::LookAtNode&) { return NotOfHub(); }
  Status operator()(const wire::StopNode&) { return NotOfHub(); }
  Status operator()(const wire::ListUsers& q) { return Answer(a_, p_.jobs, q); }
  Status operator()(const wire::SetUser& q) { return Answer(a_, p_.jobs, q); }
  Status operator()(const wire::ListAccess& q) { return Answer(a_, p_.access, q); }
  Status operator()(const wire::AddAccess& q) {
    return Answer(a_, p_.access, p_.self, p_.make_secret, q);
  }
  Status operator()(const wire::RevokeAccess& q) { return Answer(a_, p_.access, q); }

 private:
  static Status NotOfHub() {
    return Fail(ErrorKind::kInvalid, "only a node's own port takes that");
  }

  const AnswerParts& p_;
  Asking& a_;
};

// Rights to what a question names are checked where that is looked up (pick.h, Pools).
Status CheckMay(const AnswerParts& parts, const Caller& caller, WhoMay who) {
  if (caller.is_admin) return {};
  if (who == WhoMay::kAdmin) {
    return Fail(ErrorKind::kPermission,
                "only the hub's administrators may do that: the user who runs it, root on its "
                "machine, and users with an access file of role admin");
  }
  if (who != WhoMay::kPools || parts.jobs.engine().RuleOf(caller.user).may_add_pools) return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("user {0} may not add pools to this hub: their commands would run on its "
                          "machine\nAn administrator can allow it: spate hub user {0} --may pools",
                          caller.user));
}

}  // namespace

// For more jobs the journal's facts suffice.
std::vector<JobLive> LiveOf(const AnswerParts& parts, const Caller& caller,
                            const wire::Question& question) {
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
      if (std::holds_alternative<wire::ListJobs>(question)) continue;  // it shows no tasks
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
  std::ranges::for_each(std::visit([](const auto& q) { return NamedIn(q); }, question), select);
  std::vector<JobLive> live;
  for (auto& [id, job] : jobs) live.push_back(std::move(job));
  return live;
}

void AnswerQuery(const AnswerParts& parts, ClientRequest& client, wire::Query query) {
  Asking asking{client, parts.jobs.loop().Now(), parts.jobs.loop().Wall()};
  // Neither the client nor the hub outlive some answers.
  auto answered = std::visit(
      [&]<typename Q>(const Q& question) -> Status {
        TRY(CheckMay(parts, asking.caller(), RuleOf<Q>().who));
        return Answers(parts, asking)(question);
      },
      query.question);
  if (!answered) client.Fail(answered.error());
}

}  // namespace spate::hub
