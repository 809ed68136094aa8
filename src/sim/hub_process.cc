// HubProcess: see hub_process.h.
#include "sim/hub_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/model/ranges.h"

namespace spate::sim {

namespace {

constexpr uint32_t kOtherJobs = 1'000'000;
constexpr const char* kHubUser = "root";  // whose pools may serve everybody

Limits LimitsOf(const Options& options, Sabotage sabotage) {
  Limits limits = options.limits();
  if (sabotage == Sabotage::kHastyHub) limits.node_patience = limits.node_patience / 10;
  return limits;
}

}  // namespace

HubProcess::HubProcess(Parts parts)
    : parts_(std::move(parts)),
      loop_(parts_.world, parts_.clock_ahead),
      faults_(parts_.crash_at),
      mirror_(parts_.options.limits()),
      aside_(loop_, faults_, Derive(parts_.seed, 1)),
      prng_(Derive(parts_.seed, 2)) {
  const Options& o = parts_.options;
  auto sink = [this](const Fact& fact) {
    if (const auto* decided = std::get_if<Decided>(&fact)) mirror_.Apply(*decided->record);
    if (const auto* of_pool = std::get_if<PoolDecided>(&fact)) of_pools_.Apply(*of_pool->record);
    if (const auto* cut = std::get_if<PoolsCut>(&fact)) {
      provision::Provisioner kept;
      for (const provision::Record& record : *cut->images) kept.Apply(record);
      images_differ_ |= kept.Digest() != of_pools_.Digest();
    }
    parts_.sink(fact);
  };
  store::MemoryStoreOptions disk{o.commit_min, o.commit_max, parts_.seed, /*is_hub=*/true};
  store_ = std::make_unique<SimStore>(
      SimStore::Parts{loop_, faults_, sink, parts_.disk, disk, parts_.sabotage});
  hub_ =
      std::make_unique<hub::Hub>(loop_, *store_, *this, parts_.epoch, LimitsOf(o, parts_.sabotage));
  auto log = [this](const std::string& line) { parts_.sink(Remark{line}); };
  jobs_ = std::make_unique<hub::Jobs>(
      hub::Jobs::Parts{loop_, *store_, *hub_, aside_, log, parts_.workload.pause_after_failures()});
  hub::Nodes::PilotEvents of_pilots;
  of_pilots.joined = [this](NodeId node, provision::PilotId pilot, const Offer& offer) {
    pools_->NodeJoined(node, pilot, offer);
  };
  of_pilots.away = [this](NodeId node) { pools_->NodeAway(node); };
  of_pilots.left = [this](NodeId node) { pools_->NodeGone(node); };
  nodes_ = std::make_unique<hub::Nodes>(loop_, *store_, *hub_, log, std::move(of_pilots));
  if (parts_.batch != nullptr) MakePools();
}

void HubProcess::MakePools() {
  commands_ = std::make_unique<SimCommands>(*parts_.batch, loop_, faults_);
  const Bytes32 pin = {1, 2, 3, 4, 5, 6, 7, 8};
  pools_ = std::make_unique<hub::Pools>(
      hub::Pools::Parts{loop_, *store_, *hub_, *nodes_, *commands_,
                        [this](const std::string& line) { parts_.sink(Remark{line}); }},
      hub::Pools::Here{
          .dir = "/hub",
          .user = kHubUser,
          .program = "/bin/spate",
          .access = hub::PilotAccess("a key", pin),
          .keep = Duration::Seconds(7 * 24 * 3600),
          .lost_after = parts_.options.patience,
          .reached_at = [] { return std::vector<os::Address>{{.host = "hub", .port = 1}}; }});
  hub_->SetStepped([this] { pools_->Stirred(); });
}

void HubProcess::ForgetNodes() {
  nodes_->ForgetAway(loop_.Now() - Duration::Seconds(1800), Instant());
  loop_.At(loop_.Now() + Duration::Seconds(60), [this] { ForgetNodes(); });
}

Status HubProcess::Resume() {
  parts_.sink(LifeBegan{parts_.epoch, parts_.clock_ahead});
  if (pools_) {
    pools_->Load();
    if (pools_->count() > 0) hub_->WatchDemand();
    auto told = store_->ReplayPools([&](const provision::Record& record) {
      parts_.sink(PoolReplayed{&record});
      of_pools_.Apply(record);
    });
    if (!told) return told;
    parts_.sink(PoolReplayDone{});
  }
  if (auto replayed = hub_->Replay(); !replayed) return replayed;
  // The hub read the same records; that it keeps them is what check_replay compares.
  auto told = store_->Replay([&](const engine::Record& record) {
    parts_.sink(Replayed{&record});
    mirror_.Apply(record);
  });
  if (!told) return told;
  parts_.sink(ReplayDone{});
  if (auto loaded = jobs_->Load(); !loaded) return loaded;
  if (auto loaded = nodes_->Load(); !loaded) return loaded;
  hub_->Resume(engine::LastNodes::kMayReturn);
  if (pools_) {
    pools_->Resume();
    ForgetNodes();
  }
  return {};
}

// Of the jobs on the disk that have not finished.
uint64_t HubProcess::DigestOf(bool as_hub) const {
  engine::Engine engine(parts_.options.limits());
  auto loop = ProcessLoop(parts_.world, {});
  Faults faults;
  store::MemoryStoreOptions options;
  options.is_hub = as_hub;
  SimStore reader({loop, faults, [](const Fact&) {}, parts_.disk, options, parts_.sabotage});
  CHECK(reader.Replay([&](const engine::Record& record) { engine.Apply(record); }).has_value());
  engine.CheckInvariants();
  for (const engine::JobInfo& job : engine.Jobs()) engine.Unload(job.job);
  return engine.Digest();
}

HubProcess::Digests HubProcess::Die(bool lose_nothing, Prng& prng) {
  faults_.Die();
  FollowHub();
  hub_->engine().CheckInvariants();
  Digests digests{hub_->engine().Digest(), mirror_.Digest()};
  if (pools_) {
    pools_->CheckInvariants();
    if (images_differ_ || pools_->Digest() != of_pools_.Digest()) {
      parts_.sink(Remark{"what is kept of pools gives others than there were"});
      digests.replayed = ~digests.live;
    }
  }
  size_t also_durable = 0;
  if (lose_nothing) also_durable = store_->queued();
  if (!lose_nothing && prng.Chance(50)) also_durable = prng.Below(store_->queued() + 1);
  store_->Crash(also_durable);
  // The records that a hub's replay leaves out must make no difference, but to the order of tasks
  // that waited for each of the left out ones.
  if (!parts_.options.after && DigestOf(/*as_hub=*/false) != DigestOf(/*as_hub=*/true)) {
    parts_.sink(Remark{"finished jobs make a difference to what is replayed"});
    digests.replayed = ~digests.live;
  }
  return digests;
}

// To unload a job, or to take it up again, leaves no record.
void HubProcess::FollowHub() {
  const engine::Engine& engine = hub_->engine();
  for (const engine::JobInfo& job : mirror_.Jobs()) {
    if (engine.Counts(job.job)) continue;
    mirror_.Unload(job.job);
    // A hub does this after a day. Rows stay, as they have the nodes' numbers.
    nodes_->ForgetAway(loop_.Now() - Duration::Seconds(5), Instant());
  }
  for (const engine::JobInfo& job : engine.Jobs()) {
    if (mirror_.Counts(job.job)) continue;
    engine::Engine past;
    auto apply = [&](const engine::Record& record) { past.Apply(record); };
    CHECK(store_->ReplayJob(job.job, apply).has_value() && mirror_.Reload(job.job, past));
  }
}

// ---- What people ask for -----------------------------------------------------------------------

wire::Submit HubProcess::Head(const SimJob& job) const {
  wire::Submit head;
  head.submission = fmt::format("job {}", job.id.value);
  head.settings = job.settings;
  head.policy = job.policy;
  head.priority = job.priority;
  head.open = job.open;
  for (const After& after : job.after) {
    head.after.push_back({after.job, static_cast<uint32_t>(after.kind)});
  }
  if (parts_.sabotage == Sabotage::kForgetPolicy) {
    head.policy.retry.retries += 3;
    head.policy.retry.once = false;
  }
  if (parts_.sabotage == Sabotage::kForgetOrder) head.after.clear();
  if (parts_.sabotage == Sabotage::kForgetBlame) head.policy.retry.retries = 0;
  if (parts_.sabotage == Sabotage::kForgetBounds) head.policy.max_running = 0;
  return head;
}

std::vector<TaskClass> HubProcess::RequestsOf(const SimJob& job) const {
  std::vector<TaskClass> requests = job.requests;
  for (TaskClass& each : requests) {
    if (hopeless_.contains(job.id)) each.deadline.reset();
    if (each.deadline && parts_.sabotage == Sabotage::kLateDeadlines) {
      each.deadline = *each.deadline + Duration::Seconds(3600);
    }
    if (parts_.sabotage == Sabotage::kShortTimes && each.gang.empty()) {
      each.needs.time = each.needs.time / 50;
    }
  }
  return requests;
}

std::deque<wire::Request> HubProcess::Upload(const SimJob& job, wire::Submit head, TaskIndex first,
                                             uint32_t count) {
  std::deque<wire::Request> requests;
  requests.emplace_back(std::move(head));
  for (TaskIndex i = first; i < first + count;) {
    wire::Rows rows;
    uint64_t most = 1 + prng_.Below(count);
    while (i < first + count && rows.rows.size() < most) {
      rows.rows.push_back(parts_.workload.RowOf(job.id, i++));
    }
    requests.emplace_back(std::move(rows));
  }
  std::vector<Edge> edges = parts_.workload.EdgesOf(job, first, count);
  if (parts_.sabotage == Sabotage::kForgetEdges) edges.clear();
  for (std::span<const Edge> left = edges; !left.empty();) {
    auto some = left.first(1 + prng_.Below(left.size()));
    requests.emplace_back(wire::Edges{{some.begin(), some.end()}});
    left = left.subspan(some.size());
  }
  wire::SubmitEnd end{count, RequestsOf(job), parts_.workload.RunsOf(job, first, count), {}, first};
  for (RequestRun& run : end.runs) run.first -= first;
  if (first == 0) end.order = parts_.workload.PlanOf(job).order;
  requests.emplace_back(std::move(end));
  return requests;
}

void HubProcess::Send(const SimJob& job, std::deque<wire::Request> requests, Answered answered) {
  uint64_t id = ++last_client_;
  HubClient::Parts parts{loop_, faults_, *jobs_, *this, {.user = job.user}};
  if (parts_.sabotage == Sabotage::kForgetShares) parts.caller.user = Workload::UserName(1);
  if (clients_break_ && prng_.Chance(20)) parts.breaks_after = 1 + prng_.Below(requests.size() + 1);
  // A job that is submitted again while the first try is under way has another number, and must not
  // overtake it or come when that was refused.
  bool submits = std::get<wire::Submit>(requests.front()).add_to == JobId();
  parts.half_open = !(submits && parts_.options.user_rules) && prng_.Chance(50);
  parts.hurries = submits;
  parts.pause = Duration::Millis(prng_.Chance(70) ? 0 : prng_.Chance(70) ? 5 : 1000);
  parts.seed = prng_.Next();
  parts.answered = [this, answered = std::move(answered)](const Result<wire::Accepted>& answer) {
    if (!answer) parts_.sink(Remark{"refused: " + answer.error().message});
    answered(answer);
  };
  parts.ended = [this, id] { auto ended = clients_.extract(id); };
  // It may come to its end before it is here.
  Client& client = clients_[id];
  client.job = job.id;
  client.client = std::make_unique<HubClient>(std::move(parts), std::move(requests));
}

void HubProcess::Submit(const SimJob& job, bool deadlines) {
  if (!deadlines) hopeless_.insert(job.id);
  // A hub gives each try a number of its own; here they have the same, so they keep apart.
  if (jobs_->known().IsHidden(job.id)) return parts_.events.OnRefused(job.id);
  // A number that no job of the world has is never accepted: the first try is under way.
  bool again =
      std::ranges::any_of(clients_, [&](const auto& each) { return each.second.job == job.id; });
  store_->SetNextJob(again ? JobId(static_cast<uint32_t>(kOtherJobs + last_client_)) : job.id);
  Send(job, Upload(job, Head(job), 0, job.totals.front()), [this, id = job.id](const auto& answer) {
    if (!answer) return parts_.events.OnRefused(id);
    CHECK(answer->job == id);
    parts_.sink(Acknowledged{Acknowledged::What::kAccepted, id});
    parts_.events.OnAccepted(id);
  });
}

void HubProcess::Pester() {
  uint64_t id = ++last_client_;
  store_->SetNextJob(JobId(static_cast<uint32_t>(kOtherJobs + id)));
  HubClient::Parts parts{loop_, faults_, *jobs_, *this, {.user = "greedy"}};
  if (prng_.Chance(30)) parts.breaks_after = 1 + prng_.Below(3);
  parts.half_open = prng_.Chance(50);
  parts.pause = Duration::Millis(prng_.Chance(70) ? 0 : 5);
  parts.seed = prng_.Next();
  parts.answered = [](const Result<wire::Accepted>& answer) { CHECK(!answer.has_value()); };
  parts.ended = [this, id] { auto ended = clients_.extract(id); };
  Client& client = clients_[id];
  client.client = std::make_unique<HubClient>(std::move(parts), Mischief());
}

std::deque<wire::Request> HubProcess::Mischief() {
  const auto& jobs = parts_.workload.jobs();
  const SimJob& victim = jobs[prng_.Below(jobs.size())];
  wire::Submit head = Head(victim);
  const auto count = static_cast<uint32_t>(1 + prng_.Below(50));
  wire::Rows rows{std::vector<std::string>(count, "run 1.0")};
  wire::SubmitEnd end{count, {Needs()}, {{0, count, 0}}, {}};
  if (prng_.Chance(20)) {  // a circle, or an edge to nowhere
    TaskIndex other = static_cast<TaskIndex>(prng_.Below(count + 1));
    return {head, rows, wire::Edges{{{other, 0}, {0, other}}}, end};
  }
  switch (prng_.Below(7)) {
    case 0:  // tasks for another user's job
      head.add_to = victim.id;
      return {head, rows, end};
    case 1:  // waits for each task of another user's job
      head.after = {{victim.id, static_cast<uint32_t>(AfterKind::kEach)}};
      return {head, rows, end};
    case 2:  // waits for a job that nobody knows
      head.after = {{JobId(kOtherJobs - 1), static_cast<uint32_t>(AfterKind::kAny)}};
      return {head, rows, end};
    case 3:  // tasks without rows
      end.count = end.runs.front().count = count + 1;
      return {head, rows, end};
    case 4:  // never ends
      return {head, rows, rows, rows};
    case 5:
      return {rows};
    default:
      return {wire::ReadEnds{victim.id, 0}, wire::Watch{victim.id}, head, wire::Watch{victim.id}};
  }
}

void HubProcess::Grow(const SimJob& job, uint32_t total) {
  auto counts = hub_->engine().Counts(job.id);
  if (!counts || counts->total >= total || Find(job.id)->finished) return;
  wire::Submit head = Head(job);
  head.add_to = job.id;
  auto requests = Upload(job, std::move(head), counts->total, total - counts->total);
  Send(job, std::move(requests), [this, id = job.id, total](const auto& answer) {
    if (answer) parts_.sink(Acknowledged{Acknowledged::What::kGrown, id, total});
  });
}

void HubProcess::Ask(engine::Event event, std::optional<Acknowledged> fact) {
  hub_->Post(std::move(event));
  if (fact) WhenSettled([this, fact = *fact] { parts_.sink(fact); });
}

void HubProcess::Retry(const SimJob& job, std::function<void(bool)> done) {
  jobs_->Revive(job.id, job.user, [this, id = job.id, done = std::move(done)](Status revived) {
    std::vector<TaskRange> tasks;
    if (revived) tasks = NotSucceeded(id);
    if (tasks.empty()) {
      jobs_->UnloadSoon(id);
      return done(false);
    }
    jobs_->Reopen(id, std::move(tasks), {});
    done(true);
    WhenSettled([this, id] { parts_.sink(Acknowledged{Acknowledged::What::kReopened, id, 0}); });
  });
}

std::vector<TaskRange> HubProcess::NotSucceeded(JobId job) const {
  const engine::Engine& engine = hub_->engine();
  std::vector<TaskRange> tasks;
  for (TaskIndex i = 0; i < engine.Counts(job)->total; ++i) {
    auto state = engine.StateOf(job, i);
    if (state == TaskState::kFailed || state == TaskState::kUnknown ||
        state == TaskState::kCancelled) {
      AppendIndex(tasks, i);
    }
  }
  return tasks;
}

// ---- Pools -------------------------------------------------------------------------------------

void HubProcess::AddPool(const SimPool& pool, std::function<void(bool)> done) {
  wire::AddPool asked{.name = pool.name, .system = "slurm", .wish = {}, .test = prng_.Chance(50)};
  PoolWish& wish = asked.wish;
  wish.max_pilots = pool.max_pilots;
  wish.min_pilots = pool.min_pilots;
  wish.backlog = pool.backlog;
  wish.time_limit = pool.time_limit;
  wish.idle_exit = pool.idle_exit;
  wish.chain = pool.chain;
  wish.user = pool.user;
  if (parts_.sabotage == Sabotage::kForgetMost) wish.max_pilots = pool.max_pilots * 2 + 3;
  if (parts_.sabotage == Sabotage::kForgetMost) wish.backlog = pool.backlog + 3;
  if (parts_.sabotage == Sabotage::kForgetServed) wish.user = "*";
  if (pool.described) {
    wish.slots = pool.offer.slots;
    wish.milli_cpus = pool.offer.milli_cpus;
    wish.memory = pool.offer.memory;
    wish.named.emplace();
    for (const NamedOffer& each : pool.offer.named) {
      wish.named->push_back({each.name, static_cast<uint32_t>(each.indices.size())});
    }
  }
  pools_->Add({.user = kHubUser, .is_admin = true}, asked,
              [this, done = std::move(done)](const Result<PoolTrial>& trial) {
                if (!trial) parts_.sink(Remark{"no pool: " + trial.error().message});
                if (faults_.Alive()) done(trial.has_value());
              });
}

bool HubProcess::HasPool(const SimPool& pool) const {
  return pools_->Look({.user = kHubUser, .is_admin = true}, {pool.name}, false).has_value();
}

void HubProcess::ResumePools() { ChangePools(wire::ChangePools::Change::kResume, "paused"); }

void HubProcess::PausePools() { ChangePools(wire::ChangePools::Change::kPause, "on"); }

void HubProcess::ChangePools(wire::ChangePools::Change change, const char* state) {
  const hub::Caller admin{.user = kHubUser, .is_admin = true};
  auto pools = pools_->Look(admin, {}, false);
  if (!pools) return;
  for (const PoolFacts& pool : *pools) {
    if (pool.state == state) (void)pools_->Change(admin, {.names = {pool.name}, .change = change});
  }
}

void HubProcess::WhenSettled(std::function<void()> fn) {
  if (parts_.sabotage == Sabotage::kAckEarly) return fn();
  jobs_->WhenSettled([this, fn = std::move(fn)] {
    if (faults_.Alive()) fn();
  });
}

// ---- What the hub tells ------------------------------------------------------------------------

void HubProcess::OnNodeState(NodeId node, wire::NodeState state) {
  if (!faults_.Alive()) return;
  nodes_->Tell(node, std::move(state));
  if (pools_) pools_->NodeTold(node);
}

void HubProcess::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) {
  if (!faults_.Alive()) return;
  parts_.sink(Told{&notice, output.get()});
  if (parts_.sabotage == Sabotage::kTellTwice) parts_.sink(Told{&notice, output.get()});
  jobs_->OnEnded(notice);
}

void HubProcess::OnHeld(const engine::NoticeHeld& notice) {
  if (!faults_.Alive()) return;
  parts_.sink(ToldHeld{notice});
  jobs_->OnHeld(notice);
  if (notice.reason != engine::HoldReason::kUser) parts_.events.OnHeldByRule(notice.job);
}

void HubProcess::OnFinished(const engine::NoticeFinished& notice) {
  if (!faults_.Alive()) return;
  jobs_->OnFinished(notice);
  if (!hub_->engine().Finished(notice.job)) return;
  parts_.sink(ToldFinished{notice});
  parts_.events.OnFinished(notice.job);
}

void HubProcess::OnHubNotice(const engine::Notice& notice) {
  if (!faults_.Alive()) return;
  jobs_->OnHubNotice(notice);
  if (std::holds_alternative<engine::NoticeNodeSick>(notice)) parts_.events.OnNodeSick();
}

void HubProcess::OnStoreFailed(const Error& error) {
  if (!faults_.Alive() || store_failed_) return;
  parts_.sink(Remark{"the store failed: " + error.message});
  store_failed_ = true;
}

}  // namespace spate::sim
