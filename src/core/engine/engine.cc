// Engine: Step and Resume. What each event decides is in on_job.cc, on_node.cc, on_task.cc,
// after.cc, sick.cc and deadline.cc; what a record changes in durable.cc, and what follows from
// that and from news in live.cc; who gets what in place/ and pass.cc; what people may ask in
// questions.cc.
#include "core/engine/engine.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "core/engine/engine_state.h"

namespace spate::engine {

void Output::Clear() {
  records.clear();
  sends.clear();
  notices.clear();
  wake_at = Instant::Never();
}

void EngineState::Apply(const Record& record) {
  changes_.Clear();
  durable_.Apply(record, changes_);
  live.Follow(durable_, record, changes_);
}

void EngineState::Extend(const Leased& so_far, const Leased& more) {
  changes_.Clear();
  durable_.Extend(so_far, more, changes_);
  live.Follow(durable_, more, changes_);
}

void EngineState::Unload(JobId job) {
  if (live.feed) live.feed->Unload(job);
  live.deadlines.Drop(*durable_.FindJob(job));
  durable_.Unload(job);
  live.board.DropJob(job);
}

void EngineState::Reload(JobId job, EngineState& past) {
  durable_.Reload(job, past.durable_);
  past.live.board.DropJob(job);
  live.Reload(*durable_.FindJob(job));
}

void StepContext::Record(engine::Record record) {
  state_.Apply(record);
  out.records.push_back(std::move(record));
  if (state_.changes().stirred.lost().empty()) return;
  // A copy: the records that follow change others.
  for (auto [job, index] : std::vector(state_.changes().stirred.lost())) {
    WithdrawDescendants(*this, *durable.FindJob(job), index);
  }
}

void StepContext::Extend(size_t record, const Leased& more) {
  auto& lease = std::get<Leased>(out.records[record]);
  state_.Extend(lease, more);
  lease.tasks.insert(lease.tasks.end(), more.tasks.begin(), more.tasks.end());
}

namespace {

// A job that finished in a step and was given more to do by a later event of it has not finished,
// or did so once more; nor is one held that was released, or the other way round.
void DropUndone(StepContext& step) {
  std::vector<Notice>& notices = step.out.notices;
  std::set<JobId> told;  // from the last one on
  auto undone = [&](const Notice& notice) {
    if (const auto* held = std::get_if<NoticeHeld>(&notice)) {
      return step.durable.FindJob(held->job)->held() == HoldReason::kNone;
    }
    if (const auto* released = std::get_if<NoticeReleased>(&notice)) {
      return step.durable.FindJob(released->job)->held() != HoldReason::kNone;
    }
    const auto* finished = std::get_if<NoticeFinished>(&notice);
    if (finished == nullptr) return false;
    return !step.durable.FindJob(finished->job)->finished() || !told.insert(finished->job).second;
  };
  auto kept = notices.end();
  for (auto at = notices.end(); at != notices.begin();) {
    if (!undone(*--at) && --kept != at) *kept = std::move(*at);
  }
  notices.erase(notices.begin(), kept);
}

// Use of users is recorded this often, while anybody uses something.
constexpr Duration kCountEvery = Duration::Seconds(60);
// Less is nothing: a second of a processor.
constexpr double kLeastUse = 1e6;

// Records use if there are several users; the use of a single one does not matter.
void CountUse(StepContext& step) {
  place::Board& board = step.board;
  if (step.now < step.live.next_use || !board.TakeUsed()) return;
  step.live.next_use = step.now + kCountEvery;
  UseCounted record{.at = step.now, .users = {}};
  for (const auto& [name, user] : board.users) {
    const double use = board.UseOf(user);
    if (use >= kLeastUse) record.users.push_back({name, static_cast<uint64_t>(use)});
  }
  step.Record(std::move(record));
}

}  // namespace

Engine::Engine(const Limits& limits) : state_(std::make_unique<EngineState>(limits)) {}
Engine::~Engine() = default;

void Engine::Apply(const Record& record) {
  state_->Apply(record);
  state_->live.Settle();
}

void Engine::Step(const Input& input, Output& out) {
  StepContext step{*state_, input.now, out};
  state_->live.BeginStep(input.now);
  state_->live.clock_ahead = input.clock_ahead;
  for (const Event& event : input.events) {
    std::visit([&](const auto& e) { On(step, e); }, event);
  }
  LoseSilentNodes(step);
  RemoveEmptied(step);
  GiveUpLateGangs(step);
  MeetDeadlines(step);
  EndLongFrozen(step);
  SettleDependents(step);
  DropUndone(step);
  Place(step);
  CountUse(step);
}

void Engine::WatchDemand() {
  Live& live = state_->live;
  if (!live.feed) live.feed = std::make_unique<DemandFeed>(state_->durable(), live.board);
}

std::vector<ClassDemand> Engine::DrainDemand() {
  Live& live = state_->live;
  return live.feed ? live.feed->Drain(live.clock) : std::vector<ClassDemand>();
}

Duration Engine::half_life() const { return state_->live.board.half_life(); }

GangPolicy Engine::gang_policy() const { return state_->durable().gang_policy(); }

void Engine::SetAside(JobId job) { state_->live.set_aside.insert(job); }

void Engine::Resume(LastNodes nodes, Instant now, Output& out) {
  StepContext step{*state_, now, out};
  state_->live.BeginStep(now);
  for (const auto& [id, node] : state_->live.board.nodes) {
    if (nodes == LastNodes::kEnded) {
      EndLeasesOf(
          step, id,
          {.ref = {}, .cause = Cause::kStopped, .note = "the run was ended before this attempt"});
    } else {
      On(step, NodeSilent{id, now});
    }
  }
  // The commit may have been cut off between what finished a job and what follows from that.
  for (const auto& [id, job] : state_->durable().jobs()) {
    WithdrawAllDescendants(step, job);
    SettleKnown(step, job, {});
    CheckJob(step, job);
    if (job.finished()) step.finished.push_back(id);
  }
  SettleDependents(step);
  Step({now, {}}, out);
}

bool Engine::Unload(JobId id) {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || !job->finished()) return false;
  state_->Unload(id);
  return true;
}

bool Engine::ForgetNode(NodeId id) {
  const Durable& durable = state_->durable();
  if (!MayForget(durable, state_->live.board, id) || !durable.NodeOf(id).empty()) return false;
  state_->live.board.DropNode(id);
  return true;
}

// A finished job takes nothing of nodes and users, and waits for nothing. What its leases counted
// for its user's turn is lost, as at a restart.
bool Engine::Reload(JobId id, Engine& past) {
  const JobState* job = past.state_->durable().FindJob(id);
  if (job == nullptr || !job->finished()) return false;
  state_->Reload(id, *past.state_);
  return true;
}

}  // namespace spate::engine
