// A job that runs here is what a node has told to run, if the hub knows of no end; the others that
// have not ended wait. So each job is in one of these, and in no results.
#include "doors/parasol/hub/parasol_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "core/model/ranges.h"
#include "doors/parasol/client/para_client.h"
#include "doors/parasol/formats/hub_report.h"
#include "doors/parasol/hub/para_hub.h"
#include "doors/parasol/hub/parasol_reader.h"
#include "doors/parasol/programs/parasol.h"
#include "doors/parasol/row/parasol_id.h"

namespace spate::parasol {
namespace {

using engine::NodeStanding;
using What = ParasolQuestion::What;

constexpr Duration kMachinePatience = Duration::Seconds(10);
constexpr Duration kLookEvery = Duration::Millis(100);

struct Call {
  const ParasolSite* site;  // null: none
  hub::Service& service;
  hub::ClientSession& client;
  const ParasolAsk& ask;

  const engine::Engine& engine() const { return service.hub().engine(); }
  const hub::Caller& caller() const { return client.caller(); }
  bool Has(std::string_view option) const { return ask.options.Has(option); }
  Status Print(std::string_view text) const {
    client.Print(1, text);
    client.Exit(cli::kExitSuccess);
    return {};
  }
  // When what was posted is durable.
  Status Done() const {
    service.jobs().WhenSettled(
        client.Guarded([client = &client] { client->Exit(cli::kExitSuccess); }));
    return {};
  }
};

Status NeedAdmin(const Call& call) {
  if (call.caller().is_admin) return {};
  return Fail(ErrorKind::kPermission,
              "only root, whoever runs the hub, and its other administrators may do that");
}

// ---- The present -------------------------------------------------------------------------------

struct SiteNode {
  const hub::Nodes::Node* node = nullptr;
  engine::NodeInfo info;
};
// Those that are not removed, by number.
std::vector<SiteNode> SiteNodes(const hub::Service& service) {
  std::map<NodeId, engine::NodeInfo> infos;
  for (engine::NodeInfo& info : service.hub().engine().Nodes()) {
    NodeId id = info.node;
    infos[id] = std::move(info);
  }
  std::vector<SiteNode> facts;
  for (const auto& [id, node] : service.nodes().all()) {
    if (node.row.removed) continue;
    SiteNode each{&node, {}};
    if (auto at = infos.find(id); at != infos.end()) each.info = std::move(at->second);
    facts.push_back(std::move(each));
  }
  return facts;
}

bool IsUp(const SiteNode& facts) {
  return facts.node->channel && facts.info.standing != NodeStanding::kSilent;
}

struct Present {
  std::vector<SiteNode> nodes;
  std::vector<std::string> missing;   // machines of paraHub's list that never had a node
  std::vector<engine::JobInfo> jobs;  // that have not ended
  std::vector<ParasolFacts::Run> runs;
  std::map<JobId, std::vector<TaskIndex>> running;  // by job, sorted

  uint64_t Running(JobId job) const {
    auto at = running.find(job);
    return at == running.end() ? 0 : at->second.size();
  }
  uint64_t Waiting(const engine::JobInfo& job) const {
    uint64_t unended = uint64_t{job.counts.queued} + job.counts.leased;
    return unended - std::min(unended, Running(job.job));
  }
};

Present Look(const Call& call) {
  Present present;
  present.nodes = SiteNodes(call.service);
  if (const ParasolSite* site = call.site) {
    for (const ParasolMachine& machine : site->machines) {
      if (call.service.nodes().FindByName(machine.name) == nullptr) {
        present.missing.push_back(machine.name);
      }
    }
  }
  present.jobs = call.service.known().Unfinished();
  for (const SiteNode& facts : present.nodes) {
    if (!facts.node->state) continue;
    for (const wire::NodeState::Run& run : facts.node->state->runs) {
      const auto& [job, task, attempt] = run.ref;
      if (call.engine().StateOf(job, task) != TaskState::kLeased) continue;
      present.runs.push_back({job, task, run.since.ns / 1'000'000'000, facts.node->row.name});
      present.running[job].push_back(task);
    }
  }
  for (auto& [job, tasks] : present.running) std::ranges::sort(tasks);
  return present;
}

// What has not ended, without what runs. Cost: the job's tasks.
std::vector<TaskRange> WaitingTasks(const Call& call, const Present& present, JobId job) {
  std::vector<TaskRange> waiting = call.engine().Unended(job);
  auto runs = present.running.find(job);
  if (runs == present.running.end()) return waiting;
  std::vector<TaskRange> rest;
  auto next = runs->second.begin();
  for (TaskRange range : waiting) {
    for (; next != runs->second.end() && *next < range.first + range.count; ++next) {
      if (*next > range.first) rest.push_back({range.first, *next - range.first});
      range = {*next + 1, range.first + range.count - *next - 1};
    }
    if (range.count > 0) rest.push_back(range);
  }
  return rest;
}

void AddWaiting(const Call& call, const Present& present, const engine::JobInfo& job,
                ParasolFacts& facts) {
  for (TaskRange tasks : WaitingTasks(call, present, job.job))
    facts.waiting.push_back({job.job, tasks});
}

Needs NewestNeeds(const Call& call, JobId job) {
  std::vector<TaskClass> requests = call.engine().Requests(job);
  return requests.empty() ? Needs() : std::move(requests.back().needs);
}

uint64_t CpusOf(const SiteNode& facts) { return facts.info.offer.milli_cpus / kMilliCpu; }

uint64_t BusyCpus(const Call& call, const Present& present) {
  std::map<JobId, uint32_t> cpus;
  std::map<std::string_view, uint64_t> busy;  // by node, in thousandths
  for (const ParasolFacts::Run& run : present.runs) {
    auto [at, is_new] = cpus.try_emplace(run.job);
    if (is_new) at->second = NewestNeeds(call, run.job).milli_cpus;
    busy[run.node] += at->second;
  }
  uint64_t sum = 0;
  for (const SiteNode& facts : present.nodes) {
    uint64_t rounded_up = (busy[facts.node->row.name] + kMilliCpu - 1) / kMilliCpu;
    if (IsUp(facts)) sum += std::min(CpusOf(facts), rounded_up);
  }
  return sum;
}

bool IsSick(const SiteNode& facts) { return facts.info.standing == NodeStanding::kSick; }

std::set<std::string> UsersAtWork(const Present& present) {
  std::set<std::string> users;
  for (const engine::JobInfo& job : present.jobs) users.insert(job.user);
  return users;
}

// Machines that the hub has set aside, and those that all users with jobs avoid.
std::vector<std::string> SickHosts(const Call& call, const Present& present) {
  std::map<NodeId, std::set<std::string_view>> avoided_by;
  for (const engine::JobInfo& job : present.jobs) {
    for (const engine::JobTrouble& trouble : call.engine().Troubles(job.job)) {
      if (IsSickFor(trouble)) avoided_by[trouble.node].insert(job.user);
    }
  }
  size_t users = UsersAtWork(present).size();
  std::vector<std::string> hosts;
  for (const SiteNode& facts : present.nodes) {
    bool by_all = users > 0 && avoided_by[facts.node->row.id].size() == users;
    if (IsSick(facts) || by_all) hosts.push_back(facts.node->row.name);
  }
  return hosts;
}

// The job of the batch that -results names: the caller's, or to look at it -owner's.
Result<std::optional<JobId>> BatchOf(const Call& call) {
  auto path = call.ask.options.Text("results");
  if (!path) return std::nullopt;
  auto own = FindBatch(call.service, call.caller().user, std::string(*path));
  auto owner = call.ask.options.Text("owner");
  if (!own || *own || !owner) return own;
  return FindBatch(call.service, std::string(*owner), std::string(*path));
}

// ---- Answers from memory -----------------------------------------------------------------------

Status ListSick(const Call& call) {
  Present present = Look(call);
  auto hosts = SickHosts(call, present);
  return call.Print(SickText(hosts, UsersAtWork(present).size()));
}

// As paraHub has it; else, and a job without -ram is shown with this much: a CPU's part of the
// first machine.
uint64_t RamUnit(const Call& call, const Present& present) {
  if (const ParasolSite* site = call.site) return std::max<uint64_t>(site->ram_unit, 1);
  for (const SiteNode& facts : present.nodes) {
    if (CpusOf(facts) > 0 && facts.info.offer.memory > 0) {
      return std::max<uint64_t>(facts.info.offer.memory / CpusOf(facts), 1);
    }
  }
  return 1;
}

Status ShowPlan(const Call& call) {
  Present present = Look(call);
  HubPlan plan;
  plan.ram_unit = RamUnit(call, present);
  plan.dead = present.missing.size();
  if (const ParasolSite* site = call.site) {
    plan.default_ram = site->default_ram / plan.ram_unit;
  }
  for (const SiteNode& facts : present.nodes) {
    const engine::NodeInfo& info = facts.info;
    if (!IsUp(facts)) {
      ++plan.dead;
      continue;
    }
    uint64_t ram = info.offer.memory / plan.ram_unit;
    plan.machines.push_back({facts.node->row.name, CpusOf(facts), ram});
    plan.most_cpu = std::max(plan.most_cpu, CpusOf(facts));
    plan.most_ram = std::max(plan.most_ram, ram);
    if (info.standing != NodeStanding::kJoined) {
      ++plan.blocked;
    } else if (info.used >= 1) {
      ++plan.busy;
    } else {
      ++(info.leased > 0 ? plan.ready : plan.free);
    }
  }
  return call.Print(PlanText(plan));
}

// ---- Changes -----------------------------------------------------------------------------------

// What starts a node: on the hub's machine of a site, else on the node's.
std::string StartLine(const Call& call) {
  const std::vector<std::string>& words = call.ask.words;
  if (const ParasolSite* site = call.site) {
    const ParasolMachine& last = site->machines.back();
    std::string machine = words.size() > 2 ? fmt::format("{}", fmt::join(words, " "))
                                           : fmt::format("{} {} {} {}", words[0], last.cpus,
                                                         last.ram_megabytes, words[1]);
    return fmt::format("here: echo {} | paraNodeStart stdin", ShellQuote(machine));
  }
  const auto& reached_at = call.service.reached_at();
  std::string hub = reached_at.empty() ? "" : " -hub=" + reached_at.front().host;
  return fmt::format("there: paraNode start -node={}{}", words[0], hub);
}

void AwaitMachine(hub::Service& service, hub::ClientSession& client, std::string host,
                  std::string start, Instant until) {
  const hub::Nodes::Node* node = service.nodes().FindByName(host);
  if (node != nullptr && node->channel) return client.Exit(cli::kExitSuccess);
  if (service.loop().Now() >= until) {
    client.Print(2,
                 fmt::format("no node of {} has joined the hub; to start one, {}\n", host, start));
    return client.Exit(kParasolExitError);
  }
  service.loop().At(service.loop().Now() + kLookEvery,
                    client.Guarded([service = &service, client = &client, host, start, until] {
                      AwaitMachine(*service, *client, host, start, until);
                    }));
}

Status AddMachine(const Call& call) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  const std::string& host = call.ask.words[0];
  if (const hub::Nodes::Node* node = call.service.nodes().FindByName(host)) {
    NodeId id = node->row.id;
    if (node->row.removed) call.service.nodes().Remove(id, hub::Nodes::Removal::kNone);
    call.service.hub().Post(engine::UndrainNode{id});
    call.service.hub().Post(engine::ClearSick{id, JobId()});
  }
  AwaitMachine(call.service, call.client, host, StartLine(call),
               call.service.loop().Now() + kMachinePatience);
  return {};
}

Status RemoveMachine(const Call& call) {
  if (auto admin = NeedAdmin(call); !admin) return admin;
  const hub::Nodes::Node* node = call.service.nodes().FindByName(call.ask.words[0]);
  if (node == nullptr || node->row.removed) return call.Print("Machine not found.\n");
  std::string reason;
  for (size_t i = 1; i < call.ask.words.size(); ++i) reason += " " + call.ask.words[i];
  call.service.Log(fmt::format("{} removes machine {}:{}", call.caller().user, node->row.name,
                               EscapeForScreen(reason)));
  call.service.nodes().Remove(node->row.id, hub::Nodes::Removal::kWaits);
  call.service.jobs().WhenSettled(call.client.Guarded([client = &call.client] {
    client->Print(1, "ok\n");
    client->Exit(cli::kExitSuccess);
  }));
  return {};
}

struct IdRange {
  uint64_t first = 0, last = 0;
};

// "7" or "7-12"
std::optional<IdRange> ReadIds(std::string_view word) {
  size_t dash = word.find('-');
  auto first = ReadNumber<uint64_t>(word.substr(0, dash));
  auto last = dash == std::string_view::npos ? first : ReadNumber<uint64_t>(word.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return IdRange{*first, *last};
}

// Ids that name nothing, or what has ended, are no errors.
Status RemoveJob(const Call& call) {
  std::map<JobId, std::vector<TaskRange>> chosen;
  for (const std::string& word : call.ask.words) {
    auto ids = ReadIds(word);
    if (!ids) continue;
    auto [job, first] = PartsOfParasolId(ids->first);
    if (PartsOfParasolId(ids->last).job != job) continue;
    auto counts = call.engine().Counts(job);
    if (!counts) continue;
    if (auto right = call.service.jobs().CheckUsable(call.caller(), job); !right) return right;
    uint64_t end = std::min<uint64_t>(first + (ids->last - ids->first) + 1, counts->total);
    for (uint64_t i = first; i < end; ++i) {
      auto task = static_cast<TaskIndex>(i);
      auto state = call.engine().StateOf(job, task);
      bool unended = state == TaskState::kQueued || state == TaskState::kLeased;
      if (unended) AppendIndex(chosen[job], task);
    }
  }
  for (auto& [job, tasks] : chosen) {
    call.service.hub().Post(engine::CancelTasks{job, std::move(tasks), ""});
  }
  return call.Done();
}

// ---- What the reader answers -------------------------------------------------------------------

using Question = Result<ParasolQuestion>;

Question AllJobs(const Call& call, What what) {
  Present present = Look(call);
  ParasolQuestion question{.what = what};
  for (const engine::JobInfo& job : present.jobs) {
    AddWaiting(call, present, job, question.facts);
  }
  question.facts.runs = std::move(present.runs);
  return question;
}

Question Machines(const Call& call) {
  Present present = Look(call);
  ParasolQuestion question{.what = What::kMachines};
  for (const SiteNode& facts : present.nodes) {
    question.facts.machines.push_back({.name = facts.node->row.name,
                                       .good = facts.info.ended - facts.info.failed,
                                       .failed = facts.info.failed,
                                       .dead = !IsUp(facts)});
  }
  for (std::string& name : present.missing) {
    question.facts.machines.push_back({.name = std::move(name), .dead = true});
  }
  question.facts.runs = std::move(present.runs);
  return question;
}

Question Batches(const Call& call) {
  Present present = Look(call);
  uint64_t ram_unit = RamUnit(call, present);
  ParasolQuestion question{.what = What::kBatches};
  auto add = [&](JobId id, const std::string& user, const JobCounts& counts) {
    Needs needs = NewestNeeds(call, id);
    // Of one that is not in memory the journal knows it.
    auto known = call.engine().Policy(id);
    JobPolicy policy = known.value_or(JobPolicy());
    const JobCounts& from = call.service.known().Find(id)->counted_from;  // para resetCounts
    uint32_t crashed = counts.failed + counts.unknown - from.failed - from.unknown;
    question.facts.batches.push_back(
        {id,
         {.user = user,
          .done = counts.succeeded - from.succeeded,
          .crashed = crashed,
          .priority = known ? PriorityOfWeight(policy.weight) : 0,
          .max_job = policy.max_running == 0 ? -1 : int64_t{policy.max_running},
          .cpus = needs.milli_cpus / double{kMilliCpu},
          .ram = needs.memory == 0 ? ram_unit : needs.memory,
          .planned = counts.leased}});
  };
  for (const engine::JobInfo& job : present.jobs) {
    add(job.job, job.user, job.counts);
    question.facts.batches.back().figures.running = present.Running(job.job);
    question.facts.batches.back().figures.waiting = present.Waiting(job);
  }
  if (!call.Has("all")) return question;
  for (JobId id : call.service.known().AllJobs()) {
    const hub::KnownJobs::Job& job = *call.service.known().Find(id);
    bool idle = std::ranges::find(present.jobs, id, &engine::JobInfo::job) == present.jobs.end();
    if (idle) add(id, job.user, job.counts);
  }
  return question;
}

// Users with what has not ended.
void AddUsers(const Call& call, const Present& present, ParasolFacts& facts) {
  std::map<std::string, HubUser> users;
  for (const engine::JobInfo& job : present.jobs) {
    facts.unended.push_back(job.job);
    HubUser& user = users[job.user];
    int64_t priority = PriorityOfWeight(call.engine().Policy(job.job)->weight);
    user.priority = user.active_batches++ == 0 ? priority : std::min(user.priority, priority);
    ++user.total_batches;
    user.finished += job.counts.succeeded;
    user.running += present.Running(job.job);
    user.waiting += present.Waiting(job);
  }
  for (const engine::UserInfo& info : call.engine().Users()) {
    if (info.rule.max_running > 0) users[info.user].max_job = info.rule.max_running;
  }
  for (auto& [name, user] : users) {
    user.name = name;
    facts.users.push_back(std::move(user));
  }
}

Question Users(const Call& call) {
  ParasolQuestion question{.what = What::kUsers};
  AddUsers(call, Look(call), question.facts);
  return question;
}

Question StatusOfHub(const Call& call) {
  Present present = Look(call);
  ParasolQuestion question{.what = What::kStatus};
  AddUsers(call, present, question.facts);
  HubStatus& status = question.facts.status.emplace();
  status.nodes_total = status.nodes_dead = present.missing.size();
  for (const SiteNode& facts : present.nodes) {
    ++status.nodes_total;
    status.nodes_dead += !IsUp(facts);
    if (IsUp(facts)) status.cpus_total += CpusOf(facts);
  }
  status.nodes_sick = SickHosts(call, present).size();
  status.cpus_busy = BusyCpus(call, present);
  status.cpus_free = status.cpus_total - status.cpus_busy;
  status.jobs_running = present.runs.size();
  for (const engine::JobInfo& job : present.jobs) status.jobs_waiting += present.Waiting(job);
  auto ends = [&](engine::Verdict verdict) {
    return call.service.jobs().ends()[static_cast<size_t>(verdict)];
  };
  status.jobs_finished = ends(engine::Verdict::kSucceeded);
  status.jobs_crashed = ends(engine::Verdict::kFailed) + ends(engine::Verdict::kUnknown);
  status.active_batches = present.jobs.size();
  status.active_users = UsersAtWork(present).size();
  status.days_up = (call.service.loop().Now() - call.service.since()).seconds() / 86400;
  return question;
}

Question Pstat2(const Call& call) {
  auto batch = BatchOf(call);
  if (!batch) return std::unexpected(batch.error());
  Present present = Look(call);
  ParasolQuestion question{.what = What::kPstat2};
  for (const engine::JobInfo& job : present.jobs) {
    if (job.job == *batch) AddWaiting(call, present, job, question.facts);
    question.jobs += uint64_t{job.counts.queued} + job.counts.leased;
  }
  if (*batch) question.failures = call.engine().FailuresInRow(**batch);
  question.facts.runs = std::move(present.runs);
  return question;
}

Question MatchingJobs(const Call& call) {
  const std::string& user = call.ask.words[0];
  if (!call.caller().is_admin && call.caller().user != user) {
    return Fail(ErrorKind::kPermission,
                fmt::format("only {}, root and administrators of the hub may remove jobs of {}",
                            user, user));
  }
  Present present = Look(call);
  ParasolQuestion question{.what = What::kMatches};
  question.pattern = call.ask.words.size() > 1 ? call.ask.words[1] : "*";
  std::set<JobId> theirs;
  for (const engine::JobInfo& job : present.jobs) {
    if (job.user != user) continue;
    theirs.insert(job.job);
    AddWaiting(call, present, job, question.facts);
  }
  std::erase_if(present.runs, [&](const auto& run) { return !theirs.contains(run.job); });
  question.facts.runs = std::move(present.runs);
  return question;
}

// nullopt: it is no question for the reader.
std::optional<Question> QuestionOf(const Call& call) {
  switch (call.ask.verb) {
    case ParasolVerb::kListMachines:
      return Machines(call);
    case ParasolVerb::kListJobs:
      return AllJobs(call, call.Has("extended") ? What::kExtendedJobs : What::kJobs);
    case ParasolVerb::kPstat:
      return AllJobs(call, What::kPstat);
    case ParasolVerb::kPstat2:
      return Pstat2(call);
    case ParasolVerb::kListBatches:
      return Batches(call);
    case ParasolVerb::kListUsers:
      return Users(call);
    case ParasolVerb::kStatus:
      return StatusOfHub(call);
    case ParasolVerb::kRemoveJobs:
      return MatchingJobs(call);
    default:
      return std::nullopt;
  }
}

Status Answer(const Call& call) {
  switch (call.ask.verb) {
    case ParasolVerb::kAddMachine:
      return AddMachine(call);
    case ParasolVerb::kRemoveMachine:
      return RemoveMachine(call);
    case ParasolVerb::kRemoveJob:
      return RemoveJob(call);
    case ParasolVerb::kListSick:
      return ListSick(call);
    case ParasolVerb::kPlan:
      return ShowPlan(call);
    case ParasolVerb::kAddSpoke:   // there are none, and none are missed
    case ParasolVerb::kCheckDead:  // dead nodes call the hub all the time
      if (auto admin = NeedAdmin(call); !admin) return admin;
      return call.Print("");
    default:  // a ping; what its client does by itself
      return call.Print("");
  }
}

}  // namespace

bool RunParasolCommand(const ParasolSite* site, hub::Service& service, hub::ClientSession& client,
                       const wire::Command& command) {
  if (command.argv.empty() || command.argv.front() != "parasol") return false;
  auto ask = ParseParasol(std::span(command.argv).subspan(1));
  if (!ask) {
    client.Fail(ask.error());
    return true;
  }
  Call call{site, service, client, *ask};
  if (auto question = QuestionOf(call)) {
    if (!*question) {
      client.Fail(question->error());
      return true;
    }
    // Ends of what is not in the question must be in the journal when the answer is heard.
    wire::Command reading{.argv = WordsOf(**question)};
    reading.argv.insert(reading.argv.begin(), "parasol");
    service.jobs().WhenSettled(client.Guarded(
        [client = &client, reading = std::move(reading)] { client->Read(reading); }));
  } else if (auto done = Answer(call); !done) {
    client.Fail(done.error());
  }
  return true;
}

}  // namespace spate::parasol
