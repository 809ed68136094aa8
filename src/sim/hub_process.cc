// HubProcess: see hub_process.h.
#include "sim/hub_process.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace spate::sim {

namespace {

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
      mirror_(parts_.options.limits()) {
  const Options& o = parts_.options;
  auto sink = [this](const Fact& fact) {
    if (const auto* decided = std::get_if<Decided>(&fact)) mirror_.Apply(*decided->record);
    parts_.sink(fact);
  };
  store::MemoryStoreOptions disk{o.commit_min, o.commit_max, parts_.seed, /*is_hub=*/true};
  store_ = std::make_unique<SimStore>(
      SimStore::Parts{loop_, faults_, sink, parts_.disk, disk, parts_.sabotage});
  hub_ =
      std::make_unique<hub::Hub>(loop_, *store_, *this, parts_.epoch, LimitsOf(o, parts_.sabotage));
}

Status HubProcess::TakeUp() {
  parts_.sink(LifeBegan{parts_.epoch, parts_.clock_ahead});
  if (auto replayed = hub_->Replay(); !replayed) return replayed;
  // The hub read the same records; that it keeps them is what check_replay compares.
  auto told = store_->Replay([&](const engine::Record& record) {
    parts_.sink(Replayed{&record});
    mirror_.Apply(record);
  });
  if (!told) return told;
  parts_.sink(ReplayDone{});
  // As the rows of the table of jobs say.
  SimStore reader({loop_, faults_, [](const Fact&) {}, parts_.disk, {}, {}});
  auto read = reader.Replay([this](const engine::Record& record) {
    if (const auto* accepted = std::get_if<engine::JobAccepted>(&record)) jobs_[accepted->job] = {};
    const auto* finished = std::get_if<engine::JobFinished>(&record);
    if (finished != nullptr) jobs_[finished->job] = {true, finished->counts};
  });
  if (!read) return read;
  for (auto& [id, job] : jobs_) {
    auto counts = hub_->engine().Counts(id);
    if (!counts) continue;
    job = {hub_->engine().Finished(id), *counts};
    hub_->SetSettings(id, parts_.workload.job(id).settings);
  }
  hub_->Resume(engine::LastNodes::kMayReturn);
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
  for (const engine::JobInfo& job : engine.Jobs()) engine.Forget(job.job);
  return engine.Digest();
}

HubProcess::Digests HubProcess::Die(bool lose_nothing, Prng& prng) {
  faults_.Die();
  hub_->engine().CheckInvariants();
  Digests digests{hub_->engine().Digest(), mirror_.Digest()};
  size_t also_durable = 0;
  if (lose_nothing) also_durable = store_->queued();
  if (!lose_nothing && prng.Chance(50)) also_durable = prng.Below(store_->queued() + 1);
  store_->Crash(also_durable);
  // What a hub's replay leaves out must make no difference, but to the order of tasks that waited
  // for each of the left out ones.
  if (!parts_.options.after && DigestOf(/*as_hub=*/false) != DigestOf(/*as_hub=*/true)) {
    parts_.sink(Remark{"finished jobs make a difference to what is replayed"});
    digests.replayed = ~digests.live;
  }
  return digests;
}

const HubProcess::Job* HubProcess::Find(JobId job) const {
  auto at = jobs_.find(job);
  return at == jobs_.end() ? nullptr : &at->second;
}

// ---- What people ask for -----------------------------------------------------------------------

void HubProcess::AppendRows(const SimJob& job, TaskIndex first, uint32_t count) {
  store::Batch batch;
  batch.rows.push_back({job.id, first, {}});
  for (TaskIndex i = first; i < first + count; ++i) {
    batch.rows.back().rows.push_back(parts_.workload.RowOf(job.id, i));
  }
  store_->Append(std::move(batch), [this, alive = alive_](Status status) {
    if (*alive && !status) OnStoreFailed(status.error());
  });
}

void HubProcess::Submit(const SimJob& job) {
  AppendRows(job, 0, job.totals.front());
  engine::SubmitJob event{job.id, parts_.workload.PlanOf(job), OutcomesFor(job)};
  if (parts_.sabotage == Sabotage::kForgetPolicy) {
    event.plan.policy.retry.retries += 3;
    event.plan.policy.retry.once = false;
  }
  if (parts_.sabotage == Sabotage::kForgetOrder) event.plan.after.clear();
  if (parts_.sabotage == Sabotage::kForgetBlame) event.plan.policy.retry.once = true;
  if (parts_.sabotage == Sabotage::kForgetBounds) event.plan.policy.max_running = 0;
  if (parts_.sabotage == Sabotage::kForgetShares) event.plan.user = Workload::UserName(1);
  hub_->SetSettings(job.id, job.settings);
  hub_->Post(std::move(event));
}

std::vector<engine::JobOutcome> HubProcess::OutcomesFor(const SimJob& job) const {
  std::vector<engine::JobOutcome> outcomes;
  for (const After& after : job.after) {
    const Job* other = Find(after.job);
    if (other == nullptr || hub_->engine().Counts(after.job)) continue;
    engine::JobOutcome outcome{after.job, other->counts, {}};
    engine::Engine past;
    CHECK(store_->ReplayJob(after.job, [&](const engine::Record& record) { past.Apply(record); })
              .has_value());
    for (TaskIndex i = 0; i < other->counts.total; ++i) {
      if (past.StateOf(after.job, i) == TaskState::kSucceeded) AppendIndex(outcome.succeeded, i);
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

bool HubProcess::Grow(const SimJob& job, uint32_t total) {
  auto counts = hub_->engine().Counts(job.id);
  if (!counts || counts->total >= total || Find(job.id)->finished) return false;
  if (!growing_.insert(job.id).second) return false;
  uint32_t count = total - counts->total;
  AppendRows(job, counts->total, count);
  hub_->Post(engine::GrowJob{job.id, count, {}, parts_.workload.RunsOf(job, counts->total, count)});
  WhenSettled([this, id = job.id, total] {
    growing_.erase(id);
    parts_.sink(Acknowledged{Acknowledged::What::kGrown, id, total});
  });
  return true;
}

void HubProcess::Ask(engine::Event event, std::optional<Acknowledged> fact) {
  hub_->Post(std::move(event));
  if (fact) WhenSettled([this, fact = *fact] { parts_.sink(fact); });
}

bool HubProcess::Retry(const SimJob& job) {
  Revive(job);
  const engine::Engine& engine = hub_->engine();
  std::vector<TaskRange> failed;
  for (TaskIndex i = 0; i < engine.Counts(job.id)->total; ++i) {
    auto state = engine.StateOf(job.id, i);
    if (state == TaskState::kFailed || state == TaskState::kUnknown ||
        state == TaskState::kCancelled) {
      AppendIndex(failed, i);
    }
  }
  if (failed.empty()) {
    ForgetSoon(job.id);
    return false;
  }
  hub_->Post(engine::ReopenTasks{job.id, std::move(failed)});
  hub_->Post(engine::ReleaseJob{job.id});
  jobs_[job.id].finished = false;
  WhenSettled(
      [this, id = job.id] { parts_.sink(Acknowledged{Acknowledged::What::kReopened, id, 0}); });
  return true;
}

void HubProcess::Revive(const SimJob& job) {
  if (hub_->engine().Counts(job.id)) return;
  engine::Engine past;
  engine::Engine mirrored;
  auto apply = [&](const engine::Record& record) {
    past.Apply(record);
    mirrored.Apply(record);
  };
  CHECK(store_->ReplayJob(job.id, apply).has_value());
  CHECK(hub_->Adopt(job.id, past) && mirror_.Adopt(job.id, mirrored));
  hub_->SetSettings(job.id, job.settings);
}

void HubProcess::WhenSettled(std::function<void()> fn) {
  if (parts_.sabotage == Sabotage::kAckEarly) return fn();
  loop_.Post([this, fn = std::move(fn)] {
    if (!faults_.Alive()) return;
    store_->Append({}, [this, fn](Status status) {
      if (status && faults_.Alive()) fn();
    });
  });
}

// ---- What the hub tells ------------------------------------------------------------------------

void HubProcess::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) {
  if (!faults_.Alive()) return;
  parts_.sink(Told{&notice, output.get()});
  if (parts_.sabotage == Sabotage::kTellTwice) parts_.sink(Told{&notice, output.get()});
}

void HubProcess::OnHeld(const engine::NoticeHeld& notice) {
  if (!faults_.Alive()) return;
  parts_.sink(ToldHeld{notice});
  if (notice.reason != engine::HoldReason::kUser) parts_.events.OnHeldByRule(notice.job);
}

void HubProcess::OnFinished(const engine::NoticeFinished& notice) {
  if (!faults_.Alive() || !hub_->engine().Finished(notice.job)) return;
  parts_.sink(ToldFinished{notice});
  jobs_[notice.job] = {true, notice.counts};
  ForgetSoon(notice.job);
  parts_.events.OnFinished(notice.job);
}

void HubProcess::ForgetSoon(JobId job) {
  constexpr Duration kAgain = Duration::Millis(1);
  loop_.Post([this, job] {
    if (!faults_.Alive() || !hub_->engine().Finished(job)) return;
    if (hub_->Forget(job)) {
      mirror_.Forget(job);
      // A hub does this after a day.
      for (const engine::NodeInfo& node : hub_->engine().Nodes()) hub_->ForgetNode(node.node);
      return;
    }
    loop_.At(loop_.Now() + kAgain, [this, job] { ForgetSoon(job); });
  });
}

void HubProcess::OnHubNotice(const engine::Notice& notice) {
  if (!faults_.Alive()) return;
  if (const auto* accepted = std::get_if<engine::NoticeAccepted>(&notice)) {
    jobs_.try_emplace(accepted->job);
    parts_.sink(Acknowledged{Acknowledged::What::kAccepted, accepted->job});
    parts_.events.OnAccepted(accepted->job);
  } else if (const auto* refused = std::get_if<engine::NoticeRefused>(&notice)) {
    parts_.events.OnRefused(refused->job);
  } else {
    parts_.events.OnNodeSick();
  }
}

void HubProcess::OnStoreFailed(const Error& error) {
  if (!faults_.Alive() || store_failed_) return;
  parts_.sink(Remark{"the store failed: " + error.message});
  store_failed_ = true;
}

}  // namespace spate::sim
