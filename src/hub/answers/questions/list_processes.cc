// Processes of running tasks: each node that has some is asked for its own, all at once, and each
// answer is passed on when it comes. A node that has not answered in kPatience is named instead.
//
// Nodes are told which jobs may be shown. The hub keeps of an answer only attempts that the node
// holds, whatever else it says.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/model/processes.h"
#include "hub/answers/pick.h"
#include "hub/answers/question.h"
#include "wire/field_bytes.h"

namespace spate::hub {
namespace {

constexpr Duration kPatience = Duration::Seconds(2);
// Answers of all nodes together, and what one may always have.
constexpr uint64_t kMostBytes = 16 << 20;
constexpr uint64_t kLeastBytes = 4 << 10;
// So many jobs that no node has told of yet are looked for.
constexpr size_t kMostUntold = 100;
constexpr size_t kMostRanges = 3'000;  // of tasks, all jobs together

using Wanted = ReadProcesses::Wanted;
using WantedJobs = std::map<JobId, Wanted>;

Status AddPick(WantedJobs& jobs, const AnswerParts& hub, const Caller& caller,
               const wire::TaskPick& pick) {
  for (const TasksOfJob& tasks : pick.tasks) {
    const JobId job = TRY(PickJob(hub.jobs, caller, tasks));
    auto [at, is_new] = jobs.try_emplace(job, Wanted{job, {}});
    auto& ranges = at->second.tasks;
    if (!is_new && ranges.empty()) continue;  // all of it is wanted
    if (tasks.all) ranges.clear();
    if (!tasks.all) ranges.insert(ranges.end(), tasks.ranges.begin(), tasks.ranges.end());
  }
  return {};
}

Result<WantedJobs> JobsOf(const AnswerParts& hub, const Caller& caller,
                          const wire::ListProcesses& asked) {
  WantedJobs jobs;
  JobSelector whole;
  for (const wire::TaskPick& pick : asked.tasks) {
    TRY(AddPick(jobs, hub, caller, pick));
    if (!pick.tasks.empty()) continue;
    whole.last |= pick.jobs.last;
    whole.all |= pick.jobs.all;
    whole.ranges.insert(whole.ranges.end(), pick.jobs.ranges.begin(), pick.jobs.ranges.end());
  }
  const bool named = whole.last || whole.all || !whole.ranges.empty();
  if (named) {
    for (JobId job : TRY(PickJobs(hub.jobs, caller, whole))) jobs[job] = {job, {}};
  }
  size_t ranges = 0;
  for (const auto& [job, wanted] : jobs) ranges += wanted.tasks.size();
  if (ranges > kMostRanges) {
    return Fail(ErrorKind::kInvalid, "these are too many ranges of tasks; name fewer at once");
  }
  if (!asked.tasks.empty()) return jobs;
  for (JobId job : hub.jobs.known().UnfinishedOf(caller.user, asked.everybody)) {
    jobs[job] = {job, {}};
  }
  return jobs;
}

// The question to each node that has tasks of the jobs. A node that has just got the first task of
// a job has not told yet: then those are asked that have leases.
std::map<NodeId, ReadProcesses> AsksOf(const AnswerParts& hub, const WantedJobs& jobs) {
  std::map<NodeId, ReadProcesses> asks;
  const engine::Engine& engine = hub.jobs.engine();
  std::vector<const Wanted*> untold;
  for (const auto& [job, wanted] : jobs) {
    const auto counts = engine.Counts(job);
    if (!counts || counts->leased == 0) continue;
    const std::set<NodeId>& told = hub.nodes.WithRunsOf(job);
    for (NodeId node : told) asks[node].jobs.push_back(wanted);
    if (told.empty() && untold.size() < kMostUntold) untold.push_back(&wanted);
  }
  for (const auto& [id, node] : hub.nodes.all()) {
    if (untold.empty()) break;
    for (const Wanted* wanted : untold) {
      if (engine.Leased(id, wanted->job) > 0) asks[id].jobs.push_back(*wanted);
    }
  }
  return asks;
}

// The answer of one node, without what is not its own to say.
NodeProcesses AnswerOf(const Jobs& jobs, NodeId node, const std::string& name,
                       const ReadProcesses& asked, const Result<wire::AnswerPiece>& told) {
  NodeProcesses answer;
  if (!told) {
    answer.why = told.error().message;
  } else if (auto read = wire::FromBytes<NodeProcesses>("the node's answer", told->bytes); read) {
    answer = std::move(*read);
    answer.why.clear();
  } else {
    answer.why = read.error().message;
  }
  answer.node = name;
  std::erase_if(answer.attempts, [&](AttemptProcesses& each) {
    auto is_wanted = [&](const Wanted& wanted) {
      auto has_it = [&](const NumberRange& range) { return range.Contains(each.task); };
      return wanted.job == each.job &&
             (wanted.tasks.empty() || std::ranges::any_of(wanted.tasks, has_it));
    };
    const bool holds = each.task != 0 &&
                       jobs.engine().Holds(node, {each.job, each.task - 1, Attempt(each.attempt)});
    if (!holds || std::ranges::none_of(asked.jobs, is_wanted)) return true;
    const KnownJobs::Job* job = jobs.known().Find(each.job);
    if (job != nullptr) each.user = job->user;
    return job == nullptr;
  });
  return answer;
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ListProcesses& asked) {
  const Caller& caller = asking.caller();
  if (asked.everybody && !caller.is_admin) {
    return Fail(ErrorKind::kPermission,
                "--all: only the hub's administrators see the processes of all users");
  }
  auto asks = AsksOf(hub, TRY(JobsOf(hub, caller, asked)));
  if (asks.empty()) {
    asking.End();
    return {};
  }
  const uint64_t most = std::max(kMostBytes / asks.size(), kLeastBytes);
  std::map<NodeId, std::string> bodies;
  for (auto& [node, ask] : asks) {
    ask.pid = asked.pid;
    ask.most_bytes = most;
    std::string& body = bodies[node] = wire::BytesOf(ask);
    if (body.size() <= wire::kAskBytes) continue;
    return Fail(ErrorKind::kInvalid, "these are too many ranges of tasks; name fewer at once");
  }
  auto left = std::make_shared<size_t>(asks.size());
  auto newest = std::make_shared<NodeProcesses>();
  auto give = asking.client.Guarded([client = &asking.client, left, newest] {
    client->SendAnswer(*newest);
    if (--*left == 0) client->End();
  });
  // The last answer, which may come at once, ends the client.
  const std::string user = caller.user;
  NodeCalls& calls = hub.calls;
  for (auto& [id, body] : bodies) {
    calls.Query(id, user,
                {.question = ReadProcesses::kNumber, .admin = true, .body = std::move(body)},
                kPatience,
                [jobs = &hub.jobs, node = id, name = hub.nodes.all().at(id).row.name,
                 ask = asks[id], newest, give](const Result<wire::AnswerPiece>& told) {
                  *newest = AnswerOf(*jobs, node, name, ask, told);
                  give();
                });
  }
  return {};
}

}  // namespace

extern const HubQuestion kListProcesses = QuestionOf<wire::ListProcesses, Answer>(
    {.who = kOwner,
     .cost = {.once = 100'000, .node = 30'000, .run = 5'000, .job = 1'000, .named = 20'000}});

}  // namespace spate::hub
