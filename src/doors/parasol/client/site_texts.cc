#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/model/attempt.h"
#include "doors/parasol/client/para_client.h"
#include "doors/parasol/client/parasol_client.h"
#include "doors/parasol/client/site_look.h"
#include "doors/parasol/formats/hub_report.h"
#include "doors/parasol/programs/para_talk.h"
#include "doors/parasol/row/parasol_id.h"
#include "present/table/time_text.h"

namespace spate::parasol {
namespace {

constexpr size_t kJobsAtOnce = 1024;
constexpr size_t kSumsAtOnce = 1000;

std::tm LocalTimeOf(int64_t seconds) {
  return present::LocalTime(Instant() + Duration::Seconds(seconds));
}

// ---- Machines ----------------------------------------------------------------------------------

Status TellMachines(BatchLink& link) {
  auto look = TRY(SiteLook::At(link, {}));
  auto running = TRY(RunningJobs(link, look.jobs));
  std::map<std::string_view, std::vector<HubMachine::Job>> by_host;
  for (const HubJob& job : running) by_host[job.host].push_back({job.user, job.command});
  std::vector<HubMachine> machines;
  for (const NodeFacts& node : look.nodes) {
    machines.push_back({.name = node.name,
                        .good = node.ended - node.failed,
                        .failed = node.failed,
                        .dead = !IsUp(node),
                        .running = std::move(by_host[node.name])});
  }
  for (const std::string& name : look.missing) machines.push_back({.name = name, .dead = true});
  return ParaPrint(MachinesText(machines));
}

Status TellSick(BatchLink& link) {
  auto look = TRY(SiteLook::At(link, {}));
  return ParaPrint(SickText(look.SickHosts(), look.Users().size()));
}

void AddToPlan(const NodeFacts& node, HubPlan& plan) {
  if (!IsUp(node)) {
    ++plan.dead;
    return;
  }
  uint64_t ram = node.memory / plan.ram_unit;
  plan.machines.push_back({node.name, CpusOf(node), ram});
  plan.most_cpu = std::max(plan.most_cpu, CpusOf(node));
  plan.most_ram = std::max(plan.most_ram, ram);
  if (node.state != "ready") {
    ++plan.blocked;
  } else if (node.used >= 1) {
    ++plan.busy;
  } else {
    ++(node.tasks > 0 ? plan.ready : plan.free);
  }
}

Status TellPlan(BatchLink& link) {
  auto look = TRY(SiteLook::At(link, {}));
  HubPlan plan;
  plan.ram_unit = look.RamUnit();
  plan.dead = look.missing.size();
  if (look.site) plan.default_ram = look.site->default_ram / plan.ram_unit;
  for (const NodeFacts& node : look.nodes) AddToPlan(node, plan);
  return ParaPrint(PlanText(plan));
}

// ---- Jobs --------------------------------------------------------------------------------------

// `text` makes lines of what runs, and then of what waits.
Status TellJobs(BatchLink& link, const std::function<std::string(std::span<const HubJob>)>& text) {
  auto look = TRY(SiteLook::At(link, {.tasks = true}));
  auto running = TRY(RunningJobs(link, look.jobs));
  TRY(ParaPrint(text(running)));
  return AskForWaiting(link, look.jobs, [&](const auto& jobs) { return ParaPrint(text(jobs)); });
}

Status TellIds(const JobWork& job) {
  std::vector<HubJob> piece;
  for (const TaskRange& range : WaitingTasks(job)) {
    for (uint32_t i = 0; i < range.count; ++i) {
      piece.push_back({.id = ParasolId(job.job, range.first + i)});
      if (piece.size() < kJobsAtOnce) continue;
      TRY(ParaPrint(Pstat2Text(std::exchange(piece, {}))));
    }
  }
  return ParaPrint(Pstat2Text(piece));
}

// The job of the batch: ours, or to look at it the folder's owner's. Job 0: there is none.
Result<JobWork> WorkOfBatch(BatchLink& link, const std::string& owner) {
  std::vector<JobWork> pieces;
  for (const std::string& user : {std::string(), owner}) {
    TRY(client::QueryWork(
        link,
        wire::LookAtWork{
            .submission = BatchSubmission(link.state().name()), .user = user, .tasks = true},
        [&](JobWork work) { pieces.push_back(std::move(work)); }));
    if (!pieces.empty() || owner.empty()) break;
  }
  JobWork whole = pieces.empty() ? JobWork() : std::move(pieces.front());
  for (size_t i = 1; i < pieces.size(); ++i) {
    whole.unended.insert(whole.unended.end(), pieces[i].unended.begin(), pieces[i].unended.end());
    whole.runs.insert(whole.runs.end(), pieces[i].runs.begin(), pieces[i].runs.end());
  }
  return whole;
}

Status TellPstat2(BatchLink& link, const std::string& owner) {
  auto batch = TRY(WorkOfBatch(link, owner));
  auto look = TRY(SiteLook::At(link, {}));
  auto running = TRY(RunningJobs(link, look.jobs));
  TRY(ParaPrint(Pstat2Text(running)));
  TRY(TellIds(batch));
  uint64_t jobs = 0;
  for (const JobWork& job : look.jobs) jobs += uint64_t{job.counts.queued} + job.counts.leased;
  return ParaPrint(Pstat2CountsText(jobs, batch.failures_in_row));
}

// ---- Batches -----------------------------------------------------------------------------------

int64_t MaxJobOf(uint32_t max_running) { return max_running == 0 ? -1 : int64_t{max_running}; }

// A hold by hand is what maxJob 0 makes.
int64_t MaxJobOf(const JobWork& job) {
  return job.held == HoldReason::kUser ? 0 : MaxJobOf(job.max_running.value_or(0));
}

// It has jobs that wait or run. A sick batch has not ended either, but may have none.
bool IsActive(const JobWork& job) { return job.counts.queued + job.counts.leased > 0; }

HubBatch BatchOf(const JobWork& job, uint64_t ram_unit) {
  const JobCounts& from = job.counted_from;  // para resetCounts
  HubBatch batch;
  batch.user = job.user;
  batch.done = job.counts.succeeded - from.succeeded;
  batch.crashed = job.counts.failed + job.counts.unknown - from.failed - from.unknown;
  batch.cpus = job.needs.milli_cpus / double{kMilliCpu};
  batch.ram = job.needs.memory == 0 && !job.hidden ? ram_unit : job.needs.memory;
  batch.max_job = MaxJobOf(job);
  batch.planned = job.counts.leased;
  batch.running = job.running;
  batch.waiting = WaitingCount(job);
  return batch;
}

void AddSums(const JobSums& sums, HubBatch& batch) {
  batch.priority = PriorityOfWeight(sums.weight);
  if (batch.max_job != 0) batch.max_job = MaxJobOf(sums.max_running);
  batch.mean_minutes = sums.mean_wall.seconds() / 60;
  // The name of another job than Parasol's is no path.
  bool has_path = sums.row_kind == RowKind::kParasol && sums.name;
  batch.results = OneLine(has_path ? *sums.name : sums.cwd.value_or("-") + "/");
}

// Jobs that have ended and are not in `known`.
Result<std::vector<JobFacts>> OtherJobs(BatchLink& link, const std::vector<JobWork>& known) {
  std::vector<JobFacts> others;
  auto asked = client::Query(link, wire::ListJobs{.jobs = {}}, [&](wire::JobsListed listed) {
    for (JobFacts& job : listed.jobs) {
      if (!IsReadable(job.state)) continue;
      auto at = std::ranges::lower_bound(known, job.job, {}, &JobWork::job);
      bool is_known = at != known.end() && at->job == job.job;
      if (!is_known) others.push_back(std::move(job));
    }
  });
  // A hub that never had a job says so.
  if (!asked && asked.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(std::move(asked.error()));
  }
  std::ranges::reverse(others);  // the oldest first
  return others;
}

// Batches as they are listed: those with work, then the others.
Result<std::vector<std::pair<JobId, HubBatch>>> BatchesToTell(BatchLink& link, bool all) {
  auto look = TRY(SiteLook::At(link, {.tasks = false, .reset = all}));
  uint64_t ram_unit = look.RamUnit();
  std::vector<std::pair<JobId, HubBatch>> batches, idle;
  for (const JobWork& job : look.jobs) {
    if (!all && !IsActive(job)) continue;
    (IsActive(job) ? batches : idle).emplace_back(job.job, BatchOf(job, ram_unit));
  }
  if (all) {
    auto others = TRY(OtherJobs(link, look.jobs));
    for (const JobFacts& job : others) {
      JobWork work;
      work.user = job.user;
      work.counts = job.counts;
      idle.emplace_back(job.job, BatchOf(work, ram_unit));
    }
  }
  std::ranges::sort(idle, {}, &std::pair<JobId, HubBatch>::first);
  batches.insert(batches.end(), idle.begin(), idle.end());
  return batches;
}

Status TellBatches(BatchLink& link, bool all) {
  auto batches = TRY(BatchesToTell(link, all));
  std::vector<HubBatch> told;
  std::map<JobId, HubBatch*> asked_about;
  wire::SumJobs question;
  auto ask = [&] {
    return client::Query(link, std::exchange(question, {}), [&](const JobSums& sums) {
      AddSums(sums, *asked_about.at(sums.job));
      told.push_back(*asked_about.at(sums.job));
    });
  };
  for (auto& [job, batch] : batches) {
    question.jobs.push_back(job);
    asked_about[job] = &batch;
    if (question.jobs.size() < kSumsAtOnce) continue;
    TRY(ask());
  }
  TRY(ask());
  return ParaPrint(BatchesText(told));
}

// ---- Users and the hub -------------------------------------------------------------------------

using UsersByName = std::map<std::string, HubUser>;

void AddToUser(const JobWork& job, HubUser& user) {
  ++user.total_batches;
  user.finished += job.counts.succeeded;
  if (!IsActive(job)) return;
  ++user.active_batches;
  user.priority = std::min(user.priority, PriorityOfWeight(job.weight.value_or(kJobWeight)));
  const int64_t most = MaxJobOf(job);
  user.max_job = most < 0 || user.max_job < 0 ? -1 : user.max_job + most;
  user.running += job.running;
  user.waiting += WaitingCount(job);
}

// All who have a job, by name.
Result<UsersByName> UsersOf(BatchLink& link, const SiteLook& look) {
  UsersByName users;
  for (const JobWork& job : look.jobs) AddToUser(job, users[job.user]);
  auto others = TRY(OtherJobs(link, look.jobs));
  for (const JobFacts& job : others) {
    HubUser& user = users[job.user];
    ++user.total_batches;
    user.finished += job.counts.succeeded;
  }
  TRY(client::Query(link, wire::ListUsers(), [&](const UserFacts& facts) {
    auto at = users.find(facts.user);
    if (at == users.end() || facts.rule.max_running == 0) return;
    int64_t& most = at->second.max_job;
    most = most < 0 ? facts.rule.max_running : std::min<int64_t>(most, facts.rule.max_running);
  }));
  for (auto& [name, user] : users) user.name = name;
  return users;
}

Status TellUsers(BatchLink& link) {
  auto look = TRY(SiteLook::At(link, {}));
  auto users = TRY(UsersOf(link, look));
  std::vector<HubUser> list;
  for (auto& [name, user] : users) list.push_back(std::move(user));
  return ParaPrint(UsersText(list));
}

uint64_t EndsOf(const HubFacts& hub, Verdict verdict) {
  auto at = std::ranges::find(hub.ends, WordOf(verdict), &NamedCount::name);
  return at == hub.ends.end() ? 0 : at->count;
}

void CountNodes(const SiteLook& look, HubStatus& status) {
  status.nodes_total = status.nodes_dead = look.missing.size();
  for (const NodeFacts& node : look.nodes) {
    ++status.nodes_total;
    status.nodes_dead += !IsUp(node);
    if (IsUp(node)) status.cpus_total += CpusOf(node);
  }
  status.nodes_sick = look.SickHosts().size();
  status.cpus_busy = look.BusyCpus();
  status.cpus_free = status.cpus_total - status.cpus_busy;
}

Status TellStatus(BatchLink& link, Instant now) {
  auto look = TRY(SiteLook::At(link, {}));
  auto users = TRY(UsersOf(link, look));
  HubStatus status;
  CountNodes(look, status);
  for (const JobWork& job : look.jobs) {
    status.jobs_running += job.running;
    status.jobs_waiting += WaitingCount(job);
    status.active_batches += IsActive(job);
  }
  status.jobs_finished = EndsOf(look.hub, Verdict::kSucceeded);
  status.jobs_crashed = EndsOf(look.hub, Verdict::kFailed) + EndsOf(look.hub, Verdict::kUnknown);
  status.active_users = look.Users().size();
  status.days_up = std::max((now - look.hub.since).seconds(), 0.0) / 86400;
  for (const auto& [name, user] : users) status.total_batches += user.total_batches;
  status.total_users = users.size();
  return ParaPrint(HubStatusText(status));
}

}  // namespace

Status TellAboutSite(const ParasolAsk& ask, BatchLink& link, const std::string& owner) {
  switch (ask.verb) {
    case ParasolVerb::kListMachines:
      return TellMachines(link);
    case ParasolVerb::kListSick:
      return TellSick(link);
    case ParasolVerb::kPlan:
      return TellPlan(link);
    case ParasolVerb::kListJobs:
      return TellJobs(link, [extended = ask.options.Has("extended")](const auto& jobs) {
        return JobsText(jobs, extended, LocalTimeOf);
      });
    case ParasolVerb::kPstat:
      return TellJobs(link, [](const auto& jobs) { return PstatText(jobs); });
    case ParasolVerb::kPstat2:
      return TellPstat2(link, owner);
    case ParasolVerb::kListBatches:
      return TellBatches(link, ask.options.Has("all"));
    case ParasolVerb::kListUsers:
      return TellUsers(link);
    case ParasolVerb::kStatus:
      return TellStatus(link, link.loop().Now());
    default:
      return Fail(ErrorKind::kInvalid, "this is not a question about a hub");
  }
}

}  // namespace spate::parasol
