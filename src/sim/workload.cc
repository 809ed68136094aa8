// The jobs of a world. Every request fits the first node, which always comes back, or the pilots of
// a pool, so that every task can end.
#include "sim/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/prng.h"
#include "core/model/pool_facts.h"
#include "core/model/ranges.h"
#include "sim/greed.h"

namespace spate::sim {
namespace {

constexpr uint64_t kGigabyte = 1ull << 30;
constexpr Instant kHubBeginning{1600000000LL * 1000000000};  // where os::FakeLoop begins
constexpr Duration kForever = Duration::Seconds(1000 * 24 * 3600);

// Uniform in 1 us .. most.
Duration Below(Prng& prng, Duration most) {
  return Duration::Micros(1) + Duration{static_cast<int64_t>(prng.Below(
                                   static_cast<uint64_t>(std::max<int64_t>(most.ns, 1))))};
}

JobPolicy DrawPolicy(const Options& o, Prng& prng, uint32_t tasks) {
  JobPolicy policy;
  auto below = [&](uint64_t bound) { return static_cast<uint32_t>(prng.Below(bound)); };
  if (o.retries) policy.retry.retries = below(4);
  if (o.retry_delay)
    policy.retry.delay = Below(prng, Duration::Millis(prng.Chance(50) ? 20 : 20'000));
  if (o.retry_on_some) {
    for (Cause c : {Cause::kExit, Cause::kSignal, Cause::kTimeLimit, Cause::kMemory, Cause::kCheck,
                    Cause::kNode, Cause::kStart}) {
      if (prng.Chance(50)) policy.retry.retry_on &= static_cast<CauseSet>(~CauseBit(c));
    }
  }
  policy.retry.once = o.once;
  if (o.halt) {
    policy.halt.when = prng.Chance(50) ? HaltRule::When::kSoon : HaltRule::When::kNow;
    policy.halt.what = static_cast<HaltRule::What>(below(3));
    if (prng.Chance(50)) {
      policy.halt.percent = 1 + below(100);
    } else {
      policy.halt.count = 1 + below(tasks / 2 + 1);
    }
  }
  if (o.max_failures) policy.max_failures = 1 + below(tasks / 4 + 2);
  return policy;
}

// Retries that cost no try, or that request more memory.
void AddRetries(const Options& o, RetryPolicy& retry, Prng prng) {
  if (o.black_holes) {
    retry.retries = prng.Chance(60) ? kLimits.node_failures : 0;
    retry.delay = {};
    return;
  }
  if (!o.retries) return;
  if (prng.Chance(30)) retry.elsewhere = 1 + static_cast<uint32_t>(prng.Below(2));
  if (prng.Chance(30)) retry.memory_growth = 200;
  if (prng.Chance(30)) retry.exits = {{2, 200}};
}

std::shared_ptr<const JobSettings> DrawSettings(const Options& o, Prng& prng) {
  auto settings = std::make_shared<JobSettings>();
  settings->name = "simulated";
  settings->cwd = "/";
  if (o.value_rows) {
    settings->row_kind = RowKind::kValues;
    settings->command = {"run", "{}"};
  }
  settings->live_output = o.live_output;
  Duration longest = o.long_percent > 0 ? o.long_task : o.short_task;
  if (o.time_limit) settings->time_limit = Duration::Millis(1) + Below(prng, longest);
  if (o.time_limit_percent)
    settings->time_limit_percent = 50 + static_cast<uint32_t>(prng.Below(400));
  if (o.warn_time) settings->warn_time = Below(prng, longest);
  if (o.start_delay) settings->start_delay = Below(prng, Duration::Millis(100));
  if (o.load_bound && prng.Chance(50)) settings->min_free_memory = kGigabyte;
  if (o.load_bound) settings->max_load = 4;
  settings->kill_grace = Duration::Millis(prng.Chance(50) ? 10'000 : prng.Chance(50) ? 50 : 0);
  return settings;
}

}  // namespace

Workload::Workload(const Options& options) : options_(options) {
  MakeOffers();
  if (options_.hub) {
    MakePools();
    MakeHubJobs();
    return;
  }
  Prng prng(Derive(options_.seed, 2));
  uint32_t left = options_.tasks;
  for (uint32_t number = 1; number <= options_.jobs; ++number) {
    bool last = number == options_.jobs;
    uint32_t tasks = last ? left : static_cast<uint32_t>(prng.Below(left + 1));
    left -= tasks;
    MakeJob(JobId(number), tasks, prng.Next());
  }
}

void Workload::MakeHubJobs() {
  Prng prng(Derive(options_.seed, 2));
  if (!options_.fair && !options_.black_holes && prng.Chance(40)) {
    pause_after_failures_ = static_cast<uint32_t>(2 + prng.Below(24));
  }
  for (uint32_t number = 1; number <= options_.jobs; ++number) {
    uint32_t tasks = options_.tasks / options_.jobs;
    if (!options_.fair) tasks = static_cast<uint32_t>(prng.Below(2 * tasks + 2));
    // Those of a pair have as many tasks as each other, as a rule.
    if (options_.after && number > 1 && prng.Chance(70)) tasks = jobs_.back().list_total;
    MakeJob(JobId(number), tasks, prng.Next());
    AddHubPart(jobs_.back(), Prng(prng.Next()));
    if (options_.stream) MakeStream(jobs_.back());
    if (!pools_.empty()) {
      AddPoolNeeds(jobs_.back(), Prng(Derive(Derive(options_.seed, 16), number)));
    }
  }
  std::vector<SimJob> greedy;
  if (HasHoarder(options_)) greedy = JobsOfHoarder(options_);
  if (options_.cheat) greedy = JobsOfCheat(options_);
  if (options_.glutton) {
    greedy = JobsOfGlutton(options_, {pools_.begin() + options_.pools, pools_.end()});
  }
  for (SimJob& job : greedy) {
    job.id = JobId(static_cast<uint32_t>(jobs_.size() + 1));
    jobs_.push_back(std::move(job));
  }
}

// The first job's tasks are single ones; the second one's are few, and want a node to themselves.
void Workload::MakeStream(SimJob& job) const {
  const bool gangs = job.id.value > 1;
  job.user = UserName(job.id.value);
  job.totals = {gangs ? 3 : options_.tasks};
  job.list_total = job.totals.front();
  TaskClass each;
  each.needs.time = options_.longest() + Duration::Millis(1);
  if (gangs) each.gang = {.procs = 1, .nodes = 1, .whole = true};
  job.requests = {each};
}

void Workload::MakePools() {
  Prng prng(Derive(options_.seed, 17));
  auto below = [&](uint64_t bound) { return static_cast<uint32_t>(prng.Below(bound)); };
  for (uint32_t number = 1; number <= options_.pools; ++number) {
    SimPool pool;
    pool.name = fmt::format("p{}", number);
    pool.user = prng.Chance(60) ? "*" : UserName(1 + below(options_.users));
    pool.offer.slots = 1 + below(4);
    pool.offer.milli_cpus = pool.offer.slots * kMilliCpu;
    if (prng.Chance(70)) pool.offer.memory = (1 + prng.Below(16)) * kGigabyte;
    if (prng.Chance(40)) pool.offer.named.push_back({"gpus", {"0", "1"}});
    pool.offer.labels = {std::string(kPoolLabel) + pool.name};
    pool.offer.user = pool.user;
    pool.described = prng.Chance(50);
    pool.max_pilots = 1 + below(4);
    pool.min_pilots = prng.Chance(15) ? 1 : 0;
    pool.backlog = 1 + below(3);
    pool.time_limit = Duration::Seconds(900 + below(7200));
    pool.idle_exit = Duration::Seconds(20 + below(300));
    pool.chain = prng.Chance(40);
    pools_.push_back(std::move(pool));
  }
  if (!options_.glutton) return;
  for (SimPool& pool : PoolsOfGlutton(options_)) pools_.push_back(std::move(pool));
}

// Some of what the pools' nodes can do nobody else may.
void Workload::AddPoolNeeds(SimJob& job, Prng prng) const {
  const auto lasting = std::ranges::count(pools_, false, &SimPool::brief);
  for (TaskClass& each : job.requests) {
    const SimPool& pool = pools_[prng.Below(static_cast<uint64_t>(lasting))];  // the first ones
    bool serves = pool.user == "*" || pool.user == job.user;
    TaskClass of_pool = each;
    of_pool.needs.labels = pool.offer.labels;
    if (prng.Chance(60) && serves && HoldsIn(pool, of_pool)) each = std::move(of_pool);
  }
}

std::string Workload::UserName(uint32_t number) { return fmt::format("u{}", number); }

void Workload::AddHubPart(SimJob& job, Prng prng) const {
  const Options& o = options_;
  uint64_t user = o.fair ? job.id.value % o.users : prng.Below(o.users);
  job.user = UserName(static_cast<uint32_t>(1 + user));
  if (o.priorities) job.priority = static_cast<int32_t>(prng.Below(3));
  if (o.max_running && prng.Chance(60)) {
    job.policy.max_running = static_cast<uint32_t>(1 + prng.Below(2 * o.slots));
  }
  job.policy.pause_after_failures = pause_after_failures_;
  while (o.after && job.id.value > 1 && job.after.size() < 3 && prng.Chance(50)) {
    JobId on(static_cast<uint32_t>(prng.Chance(60) ? job.id.value - 1
                                                   : 1 + prng.Below(job.id.value - 1)));
    bool known = std::any_of(job.after.begin(), job.after.end(),
                             [on](const After& after) { return after.job == on; });
    constexpr AfterKind kKinds[] = {AfterKind::kEach, AfterKind::kEach, AfterKind::kAny,
                                    AfterKind::kOk, AfterKind::kFail};
    AfterKind kind = kKinds[prng.Below(std::size(kKinds))];
    // Only a job's user may know which of its tasks succeed.
    if (kind == AfterKind::kEach && jobs_[on.value - 1].user != job.user) kind = AfterKind::kAny;
    if (!known) job.after.push_back({on, kind});
  }
}

bool Workload::IsBlackHole(NodeId node) const {
  bool second = options_.seed % 2 == 0;  // of two, where there are three nodes
  return options_.black_holes && (node.value == 2 || (node.value == 3 && second));
}

// The first one is well, so that there is always somewhere to go.
bool Workload::IsSick(NodeId node) const {
  return node.value > 1 &&
         Prng(Derive(options_.seed, 5000 + node.value)).Chance(options_.sick_percent);
}

void Workload::MakeOffers() {
  Prng prng(Derive(options_.seed, 3));
  for (uint32_t number = 1; number <= options_.nodes; ++number) {
    Offer offer;
    offer.node_name = fmt::format("n{}", number);
    offer.slots =
        number == 1 ? options_.slots : static_cast<uint32_t>(1 + prng.Below(options_.slots));
    // Sometimes fewer processors than slots, so that not the slots are the bound.
    uint64_t cpus = prng.Chance(70) ? offer.slots : 1 + prng.Below(offer.slots);
    offer.milli_cpus = static_cast<uint32_t>(cpus * kMilliCpu);
    if (prng.Chance(70)) offer.memory = (1 + prng.Below(16)) * kGigabyte;
    // The first node has at least two of each, which is the most that a request asks for.
    uint64_t gpus = number == 1 ? 2 + prng.Below(3) : prng.Below(3);
    NamedOffer named{"gpus", {}};
    for (uint64_t k = 0; k < gpus; ++k) named.indices.push_back(fmt::format("{}", k));
    if (gpus > 0) offer.named.push_back(named);
    if (number == 1) offer.named.push_back({"licence", {"a"}});
    offers_.push_back(std::move(offer));
  }
}

void Workload::MakeJob(JobId id, uint32_t tasks, uint64_t seed) {
  Prng prng(seed);
  SimJob job;
  job.id = id;
  job.policy = DrawPolicy(options_, prng, tasks);
  AddRetries(options_, job.policy.retry, Prng(Derive(seed, 7)));
  job.settings = DrawSettings(options_, prng);
  job.shuffled = options_.shuffle;
  job.open = options_.open && prng.Chance(70);
  job.requests.push_back({});
  if (options_.mixed_needs) {
    const Offer& first = offers_.front();
    auto cpus = static_cast<uint32_t>(prng.Below(first.milli_cpus + 1));
    uint64_t memory = first.memory == 0 ? kGigabyte : 1 + prng.Below(first.memory);
    auto gpus = static_cast<uint32_t>(1 + prng.Below(2));
    for (Needs needs : {Needs{cpus, 0, {}}, Needs{100, memory, {}}, Needs{0, 0, {{"gpus", gpus}}},
                        Needs{500, 0, {{"gpus", 1}, {"licence", 1}}},
                        Needs{first.milli_cpus, first.memory, {}}}) {
      job.requests.emplace_back(std::move(needs));
    }
    job.requests.resize(1 + prng.Below(job.requests.size()));
  }
  if (job.open) {
    uint32_t total = 0;
    while (total < tasks) {
      total += static_cast<uint32_t>(prng.Below(tasks - total + 1));
      job.totals.push_back(total);
      constexpr size_t kMostGrowths = 12;
      if (job.totals.size() == kMostGrowths) break;
    }
  }
  if (job.totals.empty()) job.totals.push_back(tasks);
  job.list_total = job.totals.back();
  if (options_.list_changes) job.list_total += static_cast<uint32_t>(prng.Below(tasks / 2 + 3));
  if (options_.graph) DrawGraph(job, Prng(Derive(seed, 3)));
  if (options_.gangs) AddGangs(job, Prng(Derive(seed, 4)));
  AddTimes(job, Prng(Derive(seed, 5)));
  if (options_.deadlines && !job.open) AddDeadlines(job, Prng(Derive(seed, 6)));
  jobs_.push_back(std::move(job));
}

void Workload::DrawGraph(SimJob& job, Prng prng) {
  job.graph = prng.Chance(80);
  for (TaskClass& each : job.requests) {
    if (job.graph && prng.Chance(40)) each.priority = static_cast<int32_t>(prng.Below(3)) - 1;
  }
}

// True if idle nodes have room for it; in a run's world each alone must, because a run that has
// only some of its nodes yet would refuse it.
bool Workload::Holds(const TaskClass& gang) const {
  const GangShape& shape = gang.gang;
  const uint32_t each = std::max(shape.procs_per_node(), 1u);
  uint32_t procs = 0;
  uint32_t nodes = 0;
  for (Offer offer : offers_) {
    offer.slots = kLimits.gang_procs;  // its processes share one
    const uint32_t fit = FitCount(offer, gang.needs);
    procs += fit;
    nodes += fit >= each ? 1 : 0;
    if (!options_.hub && fit < shape.procs) return false;
  }
  return shape.nodes == 0 ? procs >= shape.procs : nodes >= shape.nodes;
}

bool Workload::HoldsIn(const SimPool& pool, const TaskClass& of_task) {
  const GangShape& shape = of_task.gang;
  if (shape.empty()) return FitCount(pool.offer, of_task.needs) > 0;
  Offer idle = pool.offer;
  idle.slots = kLimits.gang_procs;
  const uint32_t fit = FitCount(idle, of_task.needs);
  if (shape.nodes == 0) return fit * pool.max_pilots >= shape.procs;
  return fit >= shape.procs_per_node() && pool.max_pilots >= shape.nodes;
}

bool Workload::FitsSomewhere(const std::string& user, const TaskClass& of_task,
                             Duration lost) const {
  const GangShape& shape = of_task.gang;
  uint32_t procs = 0;
  uint32_t nodes = 0;
  auto add = [&](Offer offer, uint32_t count) {
    if (!TakesUser(offer, user)) return;
    if (!shape.empty()) offer.slots = kLimits.gang_procs;
    const uint32_t fit = FitCount(offer, of_task.needs);
    procs += fit * count;
    nodes += fit >= std::max(shape.procs_per_node(), 1u) ? count : 0;
  };
  for (const Offer& offer : offers_) add(offer, 1);
  for (const SimPool& pool : pools_) {
    if (!pool.brief && of_task.needs.time + lost <= pool.time_limit)
      add(pool.offer, pool.max_pilots);
  }
  if (shape.empty()) return procs > 0;
  return shape.nodes == 0 ? procs >= shape.procs : nodes >= shape.nodes;
}

void Workload::AddGangs(SimJob& job, Prng prng) const {
  if (prng.Chance(25)) return;
  auto draw = [&] {
    TaskClass gang;
    gang.gang.procs = static_cast<uint32_t>(2 + prng.Below(5));
    if (prng.Chance(50)) {
      gang.gang.nodes = options_.hub ? static_cast<uint32_t>(1 + prng.Below(3)) : 1;
      const uint32_t each = std::max(gang.gang.procs / gang.gang.nodes, 1u);
      gang.gang.procs = gang.gang.nodes * each;
    }
    gang.gang.whole = prng.Chance(20);
    gang.gang.start = static_cast<GangShape::Start>(prng.Below(3));
    gang.needs.milli_cpus = static_cast<uint32_t>(prng.Chance(50) ? kMilliCpu : prng.Below(1001));
    if (prng.Chance(30)) gang.needs.memory = 1 + prng.Below(kGigabyte);
    if (prng.Chance(15)) gang.needs.named = {{"gpus", 1}};
    return gang;
  };
  const bool all = job.requests.size() == 1 && prng.Chance(60);
  if (job.requests.size() == 1 && !all) job.requests.emplace_back();
  for (size_t i = all ? 0 : 1; i < job.requests.size(); ++i) {
    TaskClass& each = job.requests[i];
    if (!all && i + 1 < job.requests.size() && prng.Chance(50)) continue;
    constexpr int kTries = 20;
    for (int tries = 0; tries < kTries && each.gang.empty(); ++tries) {
      TaskClass gang = draw();
      if (!Holds(gang)) continue;
      gang.priority = each.priority;
      each = std::move(gang);
    }
  }
}

void Workload::AddTimes(SimJob& job, Prng prng) const {
  if (options_.estimates == Estimates::kNone) return;
  for (TaskClass& each : job.requests) {
    each.needs.time = options_.longest() + Duration::Millis(1);
    if (options_.estimates == Estimates::kMixed && prng.Chance(40)) each.needs.time = {};
    if (options_.estimates == Estimates::kShort && prng.Chance(60)) {
      each.needs.time = Below(prng, each.needs.time);
    }
  }
}

// Some of them cannot be met: the job comes too late, or its tasks have no turn before.
void Workload::AddDeadlines(SimJob& job, Prng prng) const {
  for (TaskClass& each : job.requests) {
    if (!prng.Chance(50)) continue;
    const Duration work = options_.longest() * (1 + options_.tasks / options_.slots);
    const Duration most = std::min(work * 2 + Duration::Seconds(1), Duration::Seconds(600));
    each.deadline = kHubBeginning + each.needs.time + Below(prng, most);
  }
}

// Tasks of what is submitted wait for others of it on either side, but in no circle: where
// `backwards`, the order is turned round. What is added later waits for what is there.
std::vector<TaskIndex> Workload::ParentsOf(JobId id, TaskIndex index) const {
  const SimJob& of = job(id);
  std::vector<TaskIndex> parents;
  if (!of.graph) return parents;
  Prng prng(TaskHash(id, index, 6));
  const uint32_t first = of.totals.front();
  const bool backwards = index < first && TaskHash(id, 0, 7) % 3 == 0;
  const uint32_t before = backwards ? first - 1 - index : index;
  if (before == 0) return parents;
  const uint64_t far = prng.Chance(50) ? before : std::min(before, 8u);
  for (uint64_t n = prng.Below(4); n > 0; --n) {
    auto up = static_cast<TaskIndex>(before - 1 - prng.Below(far));
    parents.push_back(backwards ? first - 1 - up : up);
  }
  std::ranges::sort(parents);
  parents.erase(std::ranges::unique(parents).begin(), parents.end());
  return parents;
}

std::vector<Edge> Workload::EdgesOf(const SimJob& job, TaskIndex first, uint32_t count) const {
  std::vector<Edge> edges;
  for (TaskIndex i = first; i < first + count; ++i) {
    for (TaskIndex parent : ParentsOf(job.id, i)) edges.push_back({parent, i});
  }
  std::ranges::sort(edges);
  return edges;
}

uint64_t Workload::TaskHash(JobId job, TaskIndex index, uint64_t salt) const {
  return Derive(Derive(options_.seed, salt), uint64_t{job.value} << 32 | index);
}

std::vector<RequestRun> Workload::RunsOf(const SimJob& job, TaskIndex first, uint32_t count) const {
  std::vector<RequestRun> runs;
  for (TaskIndex i = first; i < first + count; ++i) {
    AppendRequest(runs, i, RequestOf(job, i));
  }
  return runs;
}

JobPlan Workload::PlanOf(const SimJob& job) const {
  JobPlan plan;
  plan.task_count = job.totals.front();
  plan.open = job.open;
  plan.requests = job.requests;
  plan.runs = RunsOf(job, 0, plan.task_count);
  plan.policy = job.policy;
  plan.user = job.user;
  plan.priority = job.priority;
  plan.after = job.after;
  if (job.shuffled) {
    for (TaskIndex i = 0; i < plan.task_count; ++i) plan.order.push_back(i);
    Prng prng(Derive(options_.seed, 100 + job.id.value));
    for (size_t i = plan.order.size(); i > 1; --i) {
      std::swap(plan.order[i - 1], plan.order[prng.Below(i)]);
    }
  }
  return plan;
}

std::string Workload::WordOf(JobId job, TaskIndex index) {
  return fmt::format("{}.{}", job.value, index);
}

bool Workload::IsBadRow(JobId job, TaskIndex index) const {
  return !options_.value_rows && options_.bad_row_percent > 0 &&
         TaskHash(job, index, 5) % 100 < options_.bad_row_percent;
}

std::string Workload::RowOf(JobId job, TaskIndex index) const {
  if (IsBadRow(job, index)) return "run {check out";
  return options_.value_rows ? WordOf(job, index) : "run " + WordOf(job, index);
}

// Neighbours are often alike, as in real lists.
uint32_t Workload::RequestOf(const SimJob& job, TaskIndex index) const {
  return static_cast<uint32_t>(TaskHash(job.id, index / 3, 4) % job.requests.size());
}

const TaskClass& Workload::ClassOf(JobId id, TaskIndex index) const {
  return job(id).requests[RequestOf(job(id), index)];
}

Behaviour Workload::BehaviourOf(const AttemptRef& ref, const Needs& needs, NodeId node,
                                const GangPart* part) const {
  const Options& o = options_;
  uint64_t seed = TaskHash(ref.job, ref.index, 1000 + ref.attempt.value);
  if (part != nullptr) seed = Derive(seed, part->index);
  Prng prng(seed);
  Behaviour b;
  if (part != nullptr && part->start == GangShape::Start::kFirst && part->index > 0) {
    b.duration = kForever;
    return b;
  }
  if (const Duration takes = job(ref.job).takes; takes.ns > 0) {
    b.duration = takes;
    return b;
  }
  b.duration = Below(prng, prng.Chance(o.long_percent) ? o.long_task : o.short_task);
  if (o.fair) b.duration = (b.duration + o.short_task) / 2;
  // Exit codes of shells and compilers, and the edges.
  constexpr int32_t kExits[] = {1, 2, 3, 77, 124, 126, 127, 130, 255};
  bool doomed = TaskHash(ref.job, ref.index, 5) / 100 % 100 < o.doomed_percent;
  if (doomed || prng.Chance(o.fail_percent)) {
    b.cause = Cause::kExit;
    b.status = kExits[prng.Below(std::size(kExits))];
  } else if (prng.Chance(o.odd_percent)) {
    constexpr Cause kOdd[] = {Cause::kSignal, Cause::kCheck, Cause::kStart, Cause::kMemory};
    b.cause = kOdd[prng.Below(std::size(kOdd))];
    if (b.cause == Cause::kSignal) b.status = 11;
    if (b.cause == Cause::kStart) b.status = prng.Chance(50) ? 126 : 127;
  }
  if (IsBlackHole(node)) {
    b.duration = Duration::Micros(500);
    b.cause = Cause::kExit;
    b.status = 1;
  }
  if (IsSick(node) && prng.Chance(90)) {
    b.cause = prng.Chance(30) ? Cause::kStart : Cause::kExit;
    b.status = 127;
  }
  b.vanishes = prng.Chance(o.vanish_percent);
  b.ignores_term = prng.Chance(o.deaf_percent);
  b.memory = needs.memory / 2;
  if (prng.Chance(o.hog_percent)) b.memory = needs.memory * 2 + 1;
  if (prng.Chance(o.output_percent)) b.output_bytes = static_cast<uint32_t>(prng.Below(200));
  if (part != nullptr) b.failed_rank = static_cast<uint32_t>(prng.Below(part->host().procs));
  return b;
}

}  // namespace spate::sim
