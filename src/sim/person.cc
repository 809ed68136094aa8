// Person: see person.h. Everything goes through Hub::Post and the store, as it does in the product.
#include "sim/person.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace spate::sim {
namespace {

// Waits that are longer would look like a world that stands still (World::StillMoving).
constexpr Duration kPatience = Duration::Seconds(1200);

Duration AboutTheRun(const Options& o) {
  int64_t mean = o.short_task.ns / 2 + o.long_task.ns / 200 * o.long_percent;
  return Duration::Millis(20) + Duration{mean} * (o.tasks + 1) / (o.slots * o.nodes);
}

}  // namespace

Person::Person(Parts parts)
    : parts_(std::move(parts)), prng_(parts_.seed), span_(AboutTheRun(parts_.options)) {}

void Person::After(Duration wait, std::function<void()> fn) {
  parts_.loop.At(parts_.loop.Now() + wait, [this, alive = alive_, fn = std::move(fn)] {
    if (*alive && parts_.faults.Alive() && !store_failed_) fn();
  });
}

Duration Person::Wait(Duration most) {
  most = std::min(most, kPatience);
  return Duration{static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(most.ns) + 1))};
}

const SimJob& Person::AnyJob() {
  const auto& jobs = parts_.workload.jobs();
  return jobs[prng_.Below(jobs.size())];
}

void Person::SitDown(hub::Hub& hub) {
  hub_ = &hub;
  for (const SimJob& job : parts_.workload.jobs()) {
    if (hub_->engine().Counts(job.id)) {
      Resume(job);
    } else if (prng_.Chance(60)) {
      Submit(job);
    } else {
      After(Wait(span_), [this, &job] { Submit(job); });
    }
  }
  PlanMischief();
}

// ---- Jobs --------------------------------------------------------------------------------------

void Person::Submit(const SimJob& job) {
  if (exiting_) return;
  Note(fmt::format("submits {}", job.id.value));
  hub_->SetSettings(job.id, job.settings);
  submitted_[job.id] = job.totals.front();
  AppendRows(job, 0, job.totals.front());
  engine::SubmitJob event{.job = job.id,
                          .plan = parts_.workload.PlanOf(job),
                          .edges = parts_.workload.EdgesOf(job, 0, job.totals.front())};
  if (parts_.sabotage == Sabotage::kForgetEdges) event.edges.clear();
  if (parts_.sabotage == Sabotage::kForgetPolicy) {
    event.plan.policy.retry.retries += 3;
    event.plan.policy.retry.once = false;
  }
  hub_->Post(std::move(event));
  if (job.open) GrowOpen(job);
}

void Person::Resume(const SimJob& job) {
  hub_->SetSettings(job.id, job.settings);
  uint32_t total = hub_->engine().TaskCount(job.id);
  submitted_[job.id] = total;
  if (parts_.options.list_changes && parts_.memory.changes > 0 && prng_.Chance(50)) {
    --parts_.memory.changes;
    if (prng_.Chance(50)) WithdrawSome(job);
    uint32_t more = total < job.totals.back() ? 0 : job.list_total - total;
    if (more > 0) Grow(job, static_cast<uint32_t>(1 + prng_.Below(more)));
  }
  if (job.open && !hub_->engine().Finished(job.id)) GrowOpen(job);
  if (parts_.memory.halts == 0) LiftRules(job);
  if (hub_->engine().Held(job.id) == engine::HoldReason::kNone) return;
  if (prng_.Chance(70)) {
    Release(job);
  } else {
    After(Wait(span_), [this, &job] { Release(job); });
  }
}

void Person::AppendRows(const SimJob& job, TaskIndex first, uint32_t count) {
  store::Bundle bundle;
  bundle.rows.push_back({job.id, first, {}});
  for (TaskIndex i = first; i < first + count; ++i) {
    bundle.rows.back().rows.push_back(parts_.workload.RowOf(job.id, i));
  }
  parts_.store.Append(std::move(bundle), [this, alive = alive_](Status status) {
    if (*alive && !status) OnStoreFailed(status.error());
  });
}

void Person::Grow(const SimJob& job, uint32_t count) {
  uint32_t& total = submitted_[job.id];
  Note(fmt::format("adds {} tasks to {}", count, job.id.value));
  AppendRows(job, total, count);
  hub_->Post(engine::GrowJob{.job = job.id,
                             .count = count,
                             .new_requests = {},
                             .runs = parts_.workload.RunsOf(job, total, count),
                             .edges = parts_.workload.EdgesOf(job, total, count),
                             .known_tasks = total});
  total += count;
}

// The next addition to an open job, or its seal when there is none.
void Person::GrowOpen(const SimJob& job) {
  After(Wait(span_ / 4), [this, &job] {
    if (exiting_) return;
    uint32_t total = submitted_[job.id];
    auto next = std::upper_bound(job.totals.begin(), job.totals.end(), total);
    if (next == job.totals.end()) {
      Note(fmt::format("seals {}", job.id.value));
      hub_->Post(engine::SealJob{job.id});
      return;
    }
    Grow(job, *next - total);
    GrowOpen(job);
  });
}

void Person::WithdrawSome(const SimJob& job) {
  uint32_t total = submitted_[job.id];
  engine::WithdrawTasks event{job.id, {}, /*left_list=*/prng_.Chance(50)};
  for (TaskIndex i = 0; i < total;) {
    auto count = static_cast<uint32_t>(1 + prng_.Below(5));
    count = std::min(count, total - i);
    if (prng_.Chance(20)) event.tasks.push_back({i, count});
    i += count;
  }
  if (event.tasks.empty()) return;
  Note(fmt::format("withdraws some tasks of {}", job.id.value));
  hub_->Post(std::move(event));
}

void Person::LiftRules(const SimJob& job) {
  JobPolicy policy = job.policy;
  policy.halt = {};
  policy.max_failures = 0;
  hub_->Post(engine::ChangePolicy{job.id, policy});
}

void Person::Release(const SimJob& job) {
  if (exiting_) return;
  Note(fmt::format("releases {}", job.id.value));
  hub_->Post(engine::ReleaseJob{job.id});
}

// ---- Mischief ----------------------------------------------------------------------------------

void Person::PlanMischief() {
  const Options& o = parts_.options;
  Memory& memory = parts_.memory;
  if (o.ctrl_c && memory.exits > 0 && prng_.Chance(60)) {
    --memory.exits;
    bool twice = prng_.Chance(50);
    After(Wait(span_), [this, twice] { Exit(twice); });
  }
  while (o.hold_release && memory.holds > 0 && prng_.Chance(60)) {
    --memory.holds;
    const SimJob& job = AnyJob();
    bool end_running = prng_.Chance(30);
    After(Wait(span_), [this, &job, end_running, until = Wait(span_)] {
      if (!submitted_.contains(job.id) || exiting_) return;
      Note(fmt::format("holds {}{}", job.id.value, end_running ? " and ends what runs" : ""));
      hub_->Post(engine::HoldJob{job.id, end_running});
      After(until, [this, &job] { Release(job); });
    });
  }
  if (o.output_blocked && prng_.Chance(60)) {
    After(Wait(span_), [this, until = Wait(span_)] {
      Note("blocks the output");
      parts_.block_output(true);
      After(until, [this] { parts_.block_output(false); });
    });
  }
  if (o.list_changes && memory.changes > 0 && prng_.Chance(20)) {
    --memory.changes;
    const SimJob& job = AnyJob();
    After(Wait(span_), [this, &job] {
      if (submitted_.contains(job.id)) WithdrawSome(job);
    });
  }
}

void Person::Exit(bool twice) {
  if (exiting_) return;
  Note("presses Ctrl-C");
  exiting_ = true;
  HoldAll(/*end_running=*/false);
  if (!twice) return;
  After(Wait(span_ / 4), [this] {
    Note("presses Ctrl-C again");
    HoldAll(/*end_running=*/true);
  });
}

void Person::HoldAll(bool end_running) {
  for (const auto& [id, total] : submitted_) hub_->Post(engine::HoldJob{id, end_running});
}

bool Person::RedoSome() {
  if (!parts_.options.redo_failed || parts_.memory.redos == 0) return false;
  --parts_.memory.redos;
  bool posted = false;
  for (const SimJob& job : parts_.workload.jobs()) {
    if (prng_.Chance(20)) continue;
    engine::ReopenTasks event{job.id, {}};
    bool all = prng_.Chance(50);
    event.succeeded = all && prng_.Chance(30);
    for (TaskIndex i = 0; i < submitted_[job.id]; ++i) {
      bool ended_well = hub_->engine().StateOf(job.id, i) == TaskState::kSucceeded;
      if (all || (!ended_well && prng_.Chance(70))) event.tasks.push_back({i, 1});
    }
    Note(fmt::format("has {} tasks of {} done again", event.tasks.size(), job.id.value));
    hub_->Post(std::move(event));
    hub_->Post(engine::ReleaseJob{job.id});
    posted = true;
  }
  return posted;
}

Person::Wish Person::Check() {
  if (store_failed_) return Wish::kExit;
  if (!hub_->Settled()) return Wish::kGoOn;
  const engine::Engine& engine = hub_->engine();
  if (exiting_) {
    bool idle = std::all_of(submitted_.begin(), submitted_.end(), [&](const auto& each) {
      auto counts = engine.Counts(each.first);
      return !counts || counts->leased == 0;
    });
    return idle ? Wish::kExit : Wish::kGoOn;
  }
  for (const SimJob& job : parts_.workload.jobs()) {
    if (!engine.Finished(job.id)) return Wish::kGoOn;
  }
  return RedoSome() ? Wish::kGoOn : Wish::kDone;
}

// ---- What the person hears ---------------------------------------------------------------------

void Person::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) {
  if (!parts_.faults.Alive()) return;
  parts_.sink(Told{&notice, output.get()});
  if (parts_.sabotage == Sabotage::kTellTwice) parts_.sink(Told{&notice, output.get()});
}

void Person::OnHeld(const engine::NoticeHeld& notice) {
  if (!parts_.faults.Alive()) return;
  parts_.sink(ToldHeld{notice});
  if (notice.reason == engine::HoldReason::kUser || exiting_) return;
  const SimJob& job = parts_.workload.job(notice.job);
  Memory& memory = parts_.memory;
  if (memory.halts == 0) {
    LiftRules(job);
    Release(job);
    return;
  }
  --memory.halts;
  if (memory.exits > 0 && prng_.Chance(50)) {
    --memory.exits;
    Exit(/*twice=*/prng_.Chance(30));
  } else {
    After(Wait(span_), [this, &job] { Release(job); });
  }
}

void Person::OnFinished(const engine::NoticeFinished& notice) {
  if (parts_.faults.Alive()) parts_.sink(ToldFinished{notice});
}

void Person::OnNews(const wire::ToHub&) { parts_.faults.Alive(); }

void Person::OnStoreFailed(const Error& error) {
  if (!parts_.faults.Alive() || store_failed_) return;
  Note("the store failed: " + error.message);
  store_failed_ = true;
}

}  // namespace spate::sim
