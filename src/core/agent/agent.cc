// Agent: events in. See state.h for the state, fill.cc for starts, timers.cc for limits.
#include "core/agent/agent.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/agent/state.h"

namespace spate::agent {

Agent::Agent(Offer offer, const Limits& limits)
    : state_(std::make_unique<State>(std::move(offer), limits)) {}
Agent::~Agent() = default;
void Agent::Step(Input input, Output& out) { state_->Step(std::move(input), out); }
bool Agent::WantsLoad() const { return state_->WantsLoad(); }
uint32_t Agent::busy() const { return state_->busy(); }
uint32_t Agent::waiting() const { return state_->waiting(); }
size_t Agent::jobs() const { return state_->jobs(); }
std::vector<Run> Agent::Runs() const { return state_->Runs(); }
std::vector<Line> Agent::Lines(Instant begun) const { return state_->Lines(begun); }
std::vector<HeldTasks> Agent::Holds() const { return state_->Holds(); }
std::vector<HeldTasks> Agent::Frozen() const { return state_->Holds(/*frozen_only=*/true); }
std::vector<AttemptRef> Agent::PartsWithRoom() const { return state_->PartsWithRoom(); }
void Agent::CheckInvariants() const { state_->CheckInvariants(); }

Agent::State::State(Offer offer, const Limits& limits)
    : limits_(limits), offer_(std::move(offer)), free_(offer_) {
  CHECK(offer_.slots > 0);
  CHECK(offer_.slots <= limits_.slots);
  slots_.resize(offer_.slots);
  for (uint32_t slot = 1; slot <= offer_.slots; ++slot) {
    free_slots_.insert(static_cast<uint16_t>(slot));
  }
}

void Agent::State::Step(Input input, Output& out) {
  now_ = input.now;
  out_ = &out;
  for (Event& event : input.events) {
    std::visit([&](auto& e) { On(e); }, event);
  }
  Fill();
  CheckTimers();
  CloseIdle();
  out_ = nullptr;
}

void Agent::State::On(AttemptAdopted& event) {
  Job& job = jobs_[event.ref.job];
  if (!job.settings) SetSettings(job, std::move(event.settings));
  ++job.held;
  uint16_t number = SlotForAdopted(event.slot);
  free_slots_.erase(number);
  Slot& slot = slots_[number - 1];
  slot.given.push_back({.ref = event.ref,
                        .since = event.start,
                        .told_start = true,
                        .frozen_at = event.is_frozen ? now_ : Instant::Never(),
                        .frozen = event.frozen,
                        .froze_itself = event.excess.has_value(),
                        .is_part = event.is_part,
                        .time_limit = event.time_limit});
  if (event.excess) out_->orders.push_back(ReportExcess{event.ref, *event.excess});
  free_.Occupy(event.needs, event.given);
  slot.needs = std::move(event.needs);
  slot.resources = std::move(event.given);
  slot.adopted = true;
}

// The same one, unless two attempts name it: an order may run under another slot's shepherd.
uint16_t Agent::State::SlotForAdopted(uint16_t wanted) {
  if (wanted > slots_.size() && wanted <= limits_.slots) slots_.resize(wanted);
  if (wanted > 0 && wanted <= slots_.size() && slots_[wanted - 1].given.empty()) return wanted;
  if (!free_slots_.empty()) return *free_slots_.begin();
  slots_.emplace_back();
  return static_cast<uint16_t>(slots_.size());
}

void Agent::State::On(JobOpened& event) {
  Job& job = jobs_[event.job];
  SetSettings(job, std::move(event.settings));
  job.open = true;
}

void Agent::State::On(JobClosed& event) {
  auto job = jobs_.find(event.job);
  if (job == jobs_.end()) return;
  job->second.open = false;
  Release(event.job, 0);
}

void Agent::State::SetSettings(Job& job, std::shared_ptr<const JobSettings> settings) {
  if (job.settings && Watches(*job.settings)) --watchful_;
  job.settings = std::move(settings);
  if (Watches(*job.settings)) ++watchful_;
}

void Agent::State::Release(JobId id, uint64_t count) {
  Job& job = JobOf(id);
  CHECK(job.held >= count);
  job.held -= count;
  if (job.held == 0 && !job.open) idle_.insert(id);
}

// At the end of a step: its events may have opened one again.
void Agent::State::CloseIdle() {
  for (JobId id : std::exchange(idle_, {})) {
    auto job = jobs_.find(id);
    if (job == jobs_.end() || job->second.open || job->second.held > 0) continue;
    if (Watches(*job->second.settings)) --watchful_;
    jobs_.erase(job);
    out_->orders.push_back(CloseJob{id});
  }
}

void Agent::State::On(LeaseArrived& event) {
  if (event.epoch < newest_epoch_) return;
  newest_epoch_ = event.epoch;
  CHECK(jobs_.contains(event.job));
  Job& job = JobOf(event.job);
  for (TaskRange range : event.tasks) {
    job.held += range.count;
    // Parts are told of one by one.
    const uint32_t at_once = event.part ? 1 : range.count;
    for (uint32_t k = 0; k < range.count; k += at_once) {
      waiting_.push_back({.job = event.job,
                          .attempt = event.attempt,
                          .needs = event.needs,
                          .tasks = {range.first + k, at_once},
                          .since = now_,
                          .part = event.part,
                          .time_limit = event.time_limit});
    }
  }
}

void Agent::State::On(GoArrived& event) {
  if (event.epoch < newest_epoch_) return;
  newest_epoch_ = event.epoch;
  if (auto place = Find(event.ref)) {
    Given& given = slots_[place->first - 1].given[place->second];
    if (!std::exchange(given.awaits_go, false)) return;
    given.since = now_;
    Begin(place->first, given);
    return;
  }
  for (Waiting& waiting : waiting_) {
    if (!waiting.part || waiting.job != event.ref.job || waiting.attempt != event.ref.attempt) {
      continue;
    }
    if (waiting.tasks.first == event.ref.index) waiting.may_go = true;
  }
}

void Agent::State::On(RecallArrived& event) {
  auto meant = [&](const AttemptRef& ref) { return ref.job == event.job; };
  ReturnWaiting(meant);
  WithdrawAhead(meant);
  ReturnRoom(meant);
}

void Agent::State::On(StopArrived& event) {
  const std::vector<TaskRange> tasks = Normalized(std::move(event.tasks));
  auto meant = [&](const AttemptRef& ref) {
    return ref.job == event.job && (tasks.empty() || SortedContains(tasks, ref.index));
  };
  GiveUp(meant, event.kill);
}

// Later reports about these tasks are old news for the hub, but free what the shell keeps for them.
void Agent::State::On(DropArrived& event) {
  const std::vector<TaskRange> tasks = Normalized(std::move(event.tasks));
  auto meant = [&](const AttemptRef& ref) {
    return ref.job == event.job && ref.attempt == event.attempt && SortedContains(tasks, ref.index);
  };
  GiveUp(meant, /*kill=*/true);
}

void Agent::State::GiveUp(const std::function<bool(const AttemptRef&)>& meant, bool kill) {
  ReturnWaiting(meant);
  WithdrawAhead(meant);
  ReturnRoom(meant);
  // Those held ahead too: one may start before its Withdraw arrives.
  for (Slot& slot : slots_) {
    for (Given& given : slot.given) {
      if (meant(given.ref)) OrderEnd(given, Cause::kStopped, kill);
    }
  }
}

std::vector<Run> Agent::State::Runs() const {
  std::vector<Run> runs;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].given.empty()) continue;
    const Given& first = slots_[i].given.front();
    if (first.awaits_go) continue;
    runs.push_back({first.ref, first.since, static_cast<uint16_t>(i + 1),
                    first.frozen_at != Instant::Never()});
  }
  return runs;
}

std::vector<HeldTasks> Agent::State::Holds(bool frozen_only) const {
  std::map<std::pair<JobId, Attempt>, std::vector<TaskIndex>> held;
  for (const Slot& slot : slots_) {
    for (const Given& given : slot.given) {
      const bool was_told = given.frozen_at != Instant::Never() && !given.froze_itself;
      if (frozen_only && !was_told) continue;
      held[{given.ref.job, given.ref.attempt}].push_back(given.ref.index);
    }
  }
  for (const Waiting& waiting : waiting_) {
    if (frozen_only && waiting.frozen_at == Instant::Never()) continue;
    auto& indices = held[{waiting.job, waiting.attempt}];
    for (uint32_t k = 0; k < waiting.tasks.count; ++k) indices.push_back(waiting.tasks.first + k);
  }
  std::vector<HeldTasks> holds;
  for (auto& [lease, indices] : held) {
    std::sort(indices.begin(), indices.end());
    HeldTasks& each = holds.emplace_back(HeldTasks{lease.first, lease.second, {}});
    for (TaskIndex index : indices) AppendIndex(each.tasks, index);
  }
  return holds;
}

std::vector<AttemptRef> Agent::State::PartsWithRoom() const {
  std::vector<AttemptRef> parts;
  for (const Slot& slot : slots_) {
    if (!slot.given.empty() && slot.given.front().is_part) {
      parts.push_back(slot.given.front().ref);
    }
  }
  return parts;
}

void Agent::State::ReturnWaiting(const std::function<bool(const AttemptRef&)>& meant,
                                 bool but_parts) {
  std::vector<ReportReturned> reports;
  std::deque<Waiting> kept;
  for (const Waiting& waiting : waiting_) {
    std::vector<TaskRange> back;
    std::vector<TaskRange> stay;
    for (TaskIndex i = waiting.tasks.first; i < waiting.tasks.first + waiting.tasks.count; ++i) {
      const bool kept_part = but_parts && waiting.part != nullptr;
      AppendIndex(!kept_part && meant({waiting.job, i, waiting.attempt}) ? back : stay, i);
    }
    for (TaskRange range : stay) {
      kept.push_back(waiting);
      kept.back().tasks = range;
    }
    if (back.empty()) continue;
    bool same = !reports.empty() && reports.back().job == waiting.job &&
                reports.back().attempt == waiting.attempt;
    if (!same) reports.push_back({waiting.job, waiting.attempt, {}});
    std::vector<TaskRange>& tasks = reports.back().tasks;
    tasks.insert(tasks.end(), back.begin(), back.end());
  }
  waiting_ = std::move(kept);
  for (ReportReturned& report : reports) {
    uint64_t count = 0;
    for (TaskRange range : report.tasks) count += range.count;
    Release(report.job, count);
    out_->orders.push_back(std::move(report));
  }
}

void Agent::State::WithdrawAhead(const std::function<bool(const AttemptRef&)>& meant) {
  for (Slot& slot : slots_) {
    for (size_t k = 0; k < slot.given.size(); ++k) {
      Given& given = slot.given[k];
      // The first one runs, unless it is on its way back for another slot.
      if (!meant(given.ref) || (k == 0 && !given.taking_back)) continue;
      given.give_to_hub = true;
      if (given.taking_back) continue;
      given.taking_back = true;
      out_->orders.push_back(Withdraw{given.ref});
    }
  }
}

// Returns parts that have room and were not started, with their room.
void Agent::State::ReturnRoom(const std::function<bool(const AttemptRef&)>& meant) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].given.empty() || !slots_[i].given.front().awaits_go) continue;
    const AttemptRef ref = slots_[i].given.front().ref;
    if (!meant(ref)) continue;
    Remove(static_cast<uint16_t>(i + 1), 0);
    Release(ref.job, 1);
    out_->orders.push_back(ReportReturned{ref.job, ref.attempt, {{ref.index, 1}}});
  }
}

void Agent::State::On(AttemptStarted& event) {
  auto place = Find(event.ref);
  if (!place) return;
  Given& given = slots_[place->first - 1].given[place->second];
  given.since = event.when;
  given.told_start = true;
}

void Agent::State::On(AttemptOver& event) {
  auto place = Find(event.end.ref, event.end.slot);
  if (!place) return;
  const bool is_part = Remove(place->first, place->second).is_part;
  Job& job = JobOf(event.end.ref.job);
  Duration wall = event.end.wall;
  job.wall = job.wall.ns == 0 ? wall : Duration{job.wall.ns + (wall.ns - job.wall.ns) / 8};
  if (event.end.cause == Cause::kSuccess && job.settings->time_limit_percent > 0) {
    job.walls.Add(wall);
  }
  Release(event.end.ref.job, 1);
  out_->orders.push_back(ReportEnd{std::move(event.end), is_part});
}

void Agent::State::On(OrderTakenBack& event) {
  auto place = Find(event.ref);
  if (!place) return;
  Needs needs = slots_[place->first - 1].needs;
  Given given = Remove(place->first, place->second);
  // A frozen order begins nowhere: a single task is the hub's again, a part waits here.
  const bool stopped = given.frozen_at != Instant::Never();
  if (given.give_to_hub || given.ending || (stopped && !given.is_part)) {
    Release(event.ref.job, 1);
    out_->orders.push_back(
        ReportReturned{event.ref.job, event.ref.attempt, {{event.ref.index, 1}}});
  } else {
    waiting_.push_front({.job = event.ref.job,
                         .attempt = event.ref.attempt,
                         .needs = std::move(needs),
                         .tasks = {event.ref.index, 1},
                         .since = given.since,
                         .frozen_at = given.frozen_at,
                         .stop = given.stop,
                         .part = std::move(given.part),
                         .may_go = given.is_part,
                         .time_limit = given.time_limit});
  }
}

void Agent::State::On(MemorySampled& event) {
  auto place = Find(event.ref);
  if (!place) return;
  Slot& slot = slots_[place->first - 1];
  const OnExcess action = ActionOf(*JobOf(event.ref.job).settings, Resource::kMemory);
  const bool is_over = slot.needs.memory > 0 && event.bytes > slot.needs.memory;
  if (is_over && action == OnExcess::kKill && place->second == 0) {
    OrderEnd(slot.given.front(), Cause::kMemory, /*kill=*/true);
  }
}

// Its processes stand still already. The hub makes a stop of it, which the order to freeze tells.
void Agent::State::On(AttemptExceeded& event) {
  auto place = Find(event.ref);
  if (!place) return;
  Given& given = slots_[place->first - 1].given[place->second];
  if (given.ending) return;
  if (event.excess.done == OnExcess::kStop && given.frozen_at == Instant::Never()) {
    given.frozen_at = now_;
    given.froze_itself = true;
  }
  out_->orders.push_back(ReportExcess{event.ref, event.excess});
}

void Agent::State::On(LoadSampled& event) { load_ = event; }

void Agent::State::On(OutputBlocked& event) { output_blocked_ = event.blocked; }

Given Agent::State::Remove(uint16_t number, size_t position) {
  Slot& slot = slots_[number - 1];
  Given given = slot.given[position];
  slot.given.erase(slot.given.begin() + static_cast<std::ptrdiff_t>(position));
  if (slot.given.empty()) {
    free_.PutBack(slot.needs, slot.resources);
    if (HasWholeNode(given.part)) --whole_parts_;
    slot.resources.clear();
    slot.adopted = false;
    if (number <= offer_.slots) free_slots_.insert(number);
  } else if (position == 0) {
    slot.given.front().since = now_;  // about now; exact when OnStarted comes
  }
  return given;
}

std::optional<std::pair<uint16_t, size_t>> Agent::State::Find(const AttemptRef& ref,
                                                              uint16_t hint) const {
  auto look = [&](uint16_t number) -> std::optional<std::pair<uint16_t, size_t>> {
    const std::deque<Given>& given = slots_[number - 1].given;
    for (size_t k = 0; k < given.size(); ++k) {
      if (given[k].ref == ref) return std::pair(number, k);
    }
    return std::nullopt;
  };
  if (hint > 0 && hint <= slots_.size()) {
    if (auto place = look(hint)) return place;
  }
  for (size_t number = 1; number <= slots_.size(); ++number) {
    if (auto place = look(static_cast<uint16_t>(number))) return place;
  }
  return std::nullopt;
}

uint32_t Agent::State::busy() const {
  uint32_t count = 0;
  for (const Slot& slot : slots_) count += static_cast<uint32_t>(slot.given.size());
  return count;
}

uint32_t Agent::State::waiting() const {
  uint32_t count = 0;
  for (const Waiting& waiting : waiting_) count += waiting.tasks.count;
  return count;
}

void Agent::State::CheckInvariants() const {
  uint64_t milli_cpus = 0;
  uint64_t memory = 0;
  uint32_t idle = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    bool free = free_slots_.contains(static_cast<uint16_t>(i + 1));
    CHECK(free == (slot.given.empty() && i < offer_.slots));
    if (slot.given.empty()) {
      ++idle;
      continue;
    }
    if (slot.adopted) continue;
    milli_cpus += slot.needs.milli_cpus;
    memory += slot.needs.memory;
  }
  CHECK(milli_cpus <= offer_.milli_cpus);
  CHECK(offer_.memory == 0 || memory <= offer_.memory);
  std::map<JobId, uint64_t> held;
  for (const Slot& slot : slots_) {
    for (const Given& given : slot.given) ++held[given.ref.job];
  }
  for (const Waiting& each : waiting_) held[each.job] += each.tasks.count;
  for (const auto& [id, job] : jobs_) {
    CHECK(job.held == held[id]);
    CHECK(job.open || job.held > 0);
  }
  CHECK(held.size() == jobs_.size());
  CHECK(free_.Sound());
  CHECK((idle == slots_.size()) <= free_.Whole());
  CheckParts();
}

// A part has a slot to itself, and one that was not started is not being ended either.
void Agent::State::CheckParts() const {
  for (const Slot& slot : slots_) {
    for (const Given& given : slot.given) {
      CHECK(!given.is_part || slot.given.size() == 1);
      CHECK(!given.awaits_go ||
            (given.part != nullptr && !given.told_start && !given.ending && !given.taking_back));
    }
  }
  for (const Waiting& each : waiting_) {
    CHECK(each.part == nullptr || each.tasks.count == 1);
    CHECK(!each.may_go || each.part != nullptr);
  }
}

}  // namespace spate::agent
