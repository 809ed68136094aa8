// MockExecutor: see mock_executor.h. Orders go through AfterLatency to the slot, events through
// Notify back; between the two a slot lives on its own, as a shepherd does.
#include "sim/mock_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/model/processes.h"
#include "core/model/run_look.h"
#include "core/model/steer.h"
#include "store/attempt_entry.h"
#include "wire/field_bytes.h"

namespace spate::sim {
namespace {

// From a signal to the end of what it hits.
constexpr Duration kDying = Duration::Millis(3);

}  // namespace

MockExecutor::MockExecutor(Parts parts, KeptEnds kept)
    : parts_(std::move(parts)), prng_(parts_.seed), kept_(std::move(kept)) {
  slots_.resize(parts_.slots);
  for (uint32_t i = 0; i < parts_.slots; ++i) slots_[i].number = static_cast<uint16_t>(i + 1);
}

void MockExecutor::KillAll() {
  *alive_ = false;
  for (Slot& slot : slots_) {
    if (slot.orders.empty()) continue;
    parts_.sink(Over{parts_.node, slot.orders.front().ref, slot.number, nullptr, nullptr});
    slot.orders.clear();
  }
}

void MockExecutor::Attach(Faults& faults, node::ExecutorEvents& events) {
  CHECK(faults_ == nullptr);
  faults_ = &faults;
  events_ = &events;
  ++attached_;
}

void MockExecutor::Detach() {
  faults_ = nullptr;
  events_ = nullptr;
  for (Slot& slot : slots_) {
    while (slot.orders.size() > 1) slot.orders.pop_back();
  }
  places_.clear();
  for (const Slot& slot : slots_) {
    if (!slot.orders.empty()) places_[slot.orders.front().ref] = slot.number;
  }
}

// How long it has stood still in all.
Duration MockExecutor::StoodOf(const Slot& slot) const {
  if (parts_.sabotage == Sabotage::kForgetFrozen) return {};
  if (slot.frozen_at == Instant::Never()) return slot.frozen;
  return slot.frozen + (parts_.loop.Now() - slot.frozen_at);
}

node::Adopted MockExecutor::Adopt() const {
  node::Adopted adopted;
  for (const Slot& slot : slots_) {
    if (slot.orders.empty()) continue;
    const node::StartOrder& order = slot.orders.front();
    adopted.running.push_back({order.ref, slot.number, slot.began, order.needs, order.given,
                               settings_.at(order.ref.job), StoodOf(slot),
                               slot.frozen_at != Instant::Never(), order.part != nullptr,
                               /*excess=*/{}, order.time_limit});
  }
  for (const auto& [ref, end] : kept_) adopted.ended.push_back(end);
  return adopted;
}

bool MockExecutor::Idle() const {
  return std::all_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.orders.empty(); });
}

// Calls `fn` after a random time, never before what was to come at `last`.
void MockExecutor::AfterLatency(Instant& last, std::function<void()> fn) {
  auto guarded = [this, alive = alive_, attached = attached_, fn = std::move(fn)] {
    if (*alive && faults_ != nullptr && !faults_->dead() && attached == attached_) fn();
  };
  if (parts_.latency_max.ns == 0) return parts_.loop.Post(std::move(guarded));
  auto wait = static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(parts_.latency_max.ns)));
  last = std::max(last, parts_.loop.Now() + Duration{wait});
  parts_.loop.At(last, std::move(guarded));
}

void MockExecutor::Notify(Slot& slot, std::function<void(node::ExecutorEvents&)> fn) {
  if (faults_ == nullptr) return;  // nobody hears
  AfterLatency(slot.last_event, [this, fn = std::move(fn)] {
    if (faults_->Alive()) fn(*events_);
  });
}

void MockExecutor::OpenJob(JobId job, std::shared_ptr<const JobSettings> settings, bool) {
  settings_[job] = std::move(settings);
}

void MockExecutor::CloseJob(JobId job) {
  for (const auto& [ref, slot] : places_) CHECK(ref.job != job);
  settings_.erase(job);
}

void MockExecutor::Start(node::StartOrder order) {
  if (!faults_->Alive()) return;
  CHECK(order.slot >= 1);
  CHECK(order.slot <= slots_.size());
  Slot& slot = slots_[order.slot - 1];
  places_[order.ref] = order.slot;
  AfterLatency(slot.last_order, [this, &slot, order = std::move(order)] {
    slot.orders.push_back(order);
    if (slot.orders.size() == 1) {
      Begin(slot);
    } else if (parts_.sabotage == Sabotage::kOversell) {
      parts_.sink(Executed{parts_.node, &slot.orders.back(), orphan_});
    }
  });
}

void MockExecutor::Withdraw(const AttemptRef& ref) {
  auto place = places_.find(ref);
  if (!faults_->Alive() || place == places_.end()) return;
  Slot& slot = slots_[place->second - 1];
  AfterLatency(slot.last_order, [this, &slot, ref] {
    auto held = std::find_if(slot.orders.begin(), slot.orders.end(),
                             [&](const node::StartOrder& order) { return order.ref == ref; });
    // Too late: it runs, or has ended.
    if (held == slot.orders.end() || held == slot.orders.begin()) return;
    slot.orders.erase(held);
    places_.erase(ref);
    Notify(slot, [ref](node::ExecutorEvents& events) { events.OnTakenBack(ref); });
  });
}

void MockExecutor::End(const AttemptRef& ref, node::EndHow how, Cause cause) {
  auto place = places_.find(ref);
  if (!faults_->Alive() || place == places_.end()) return;
  Slot& slot = slots_[place->second - 1];
  AfterLatency(slot.last_order, [this, &slot, ref, how, cause] {
    if (slot.orders.empty() || slot.orders.front().ref != ref) return;
    if (how == node::EndHow::kTerm && slot.behaviour.ignores_term) return;
    if (parts_.sabotage == Sabotage::kDeafToKill) return;
    auto dying = static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(kDying.ns)));
    Instant when = parts_.loop.Now() + Duration{dying};
    const bool stood_still = slot.frozen_at != Instant::Never();
    if (stood_still) Thaw(slot);
    // It may end by itself first.
    if (!stood_still && slot.began + slot.behaviour.duration + slot.frozen <= when) return;
    EndAt(slot, when, cause, 0);
  });
}

void MockExecutor::EndAt(Slot& slot, Instant when, Cause cause, int32_t status) {
  parts_.loop.Cancel(slot.end_timer);
  slot.ends_at = when;
  slot.end_cause = cause;
  slot.end_status = status;
  slot.end_timer = parts_.loop.At(when, [this, alive = alive_, &slot, cause, status] {
    if (*alive) Finish(slot, cause, status);
  });
}

void MockExecutor::Freeze(const AttemptRef& ref, bool frozen, Instant stop) {
  auto place = places_.find(ref);
  if (!faults_->Alive() || place == places_.end()) return;
  Slot& slot = slots_[place->second - 1];
  AfterLatency(slot.last_order, [this, &slot, ref, frozen, stop] {
    if (slot.orders.empty()) return;
    if (slot.orders.front().ref == ref) return SetFrozen(slot, frozen, stop);
    if (frozen) to_freeze_[ref] = stop;
    if (!frozen) to_freeze_.erase(ref);
  });
}

void MockExecutor::SetFrozen(Slot& slot, bool frozen, Instant stop) {
  const AttemptRef ref = slot.orders.front().ref;
  const bool is_frozen = slot.frozen_at != Instant::Never();
  const bool lies = parts_.sabotage == Sabotage::kFalseFrozen;
  if (frozen && !is_frozen && !lies) {
    parts_.sink(FrozenChanged{parts_.node, ref, true});
    slot.frozen_at = parts_.loop.Now();
    parts_.loop.Cancel(slot.end_timer);
  } else if (!frozen && is_frozen) {
    Thaw(slot);
  }
  Notify(slot,
         [ref, frozen, stop](node::ExecutorEvents& events) { events.OnFrozen(ref, frozen, stop); });
}

void MockExecutor::Resize(node::ResizeOrder order) {
  auto place = places_.find(order.ref);
  if (!faults_->Alive() || place == places_.end()) return;
  Slot& slot = slots_[place->second - 1];
  AfterLatency(slot.last_order, [this, &slot, order = std::move(order)] {
    if (slot.orders.empty() || slot.orders.front().ref != order.ref) return;
    const bool too_little = order.needs.memory < slot.orders.front().needs.memory &&
                            order.needs.memory < slot.behaviour.memory;
    if (parts_.sabotage != Sabotage::kChangeLate && !too_little) Change(slot, order);
    Notify(slot, [ref = order.ref, too_little](node::ExecutorEvents& events) {
      events.OnResized(ref, too_little ? "it uses more" : "");
    });
    if (parts_.sabotage != Sabotage::kChangeLate || too_little) return;
    parts_.loop.At(parts_.loop.Now() + Duration::Millis(500), [this, alive = alive_, &slot, order] {
      const bool there = *alive && !slot.orders.empty() && slot.orders.front().ref == order.ref;
      if (there) Change(slot, order);
    });
  });
}

void MockExecutor::Change(Slot& slot, const node::ResizeOrder& order) {
  node::StartOrder& now = slot.orders.front();
  now.needs = order.needs;
  now.time_limit = order.time_limit;
  parts_.sink(AttemptChanged{parts_.node, order.ref, slot.number, &now.needs});
}

void MockExecutor::Thaw(Slot& slot) {
  const Duration still = parts_.loop.Now() - slot.frozen_at;
  slot.frozen_at = Instant::Never();
  slot.frozen = slot.frozen + still;
  parts_.sink(FrozenChanged{parts_.node, slot.orders.front().ref, false});
  EndAt(slot, slot.ends_at + still, slot.end_cause, slot.end_status);
}

void MockExecutor::Answer(const wire::Ask& ask, std::function<void(wire::AnswerPiece)> answered) {
  if (!faults_->Alive()) return;
  auto place = places_.find(ask.ref);
  if (place == places_.end()) return answered({.kind = wire::AnswerKind::kEnded});
  Slot& slot = slots_[place->second - 1];
  AfterLatency(slot.last_order, [this, &slot, ask, answered = std::move(answered)] {
    wire::AnswerPiece answer = AnswerOf(slot, ask);
    if (faults_->Alive()) answered(std::move(answer));
  });
}

wire::AnswerPiece MockExecutor::AnswerOf(Slot& slot, const wire::Ask& ask) {
  if (slot.orders.empty()) return {.kind = wire::AnswerKind::kEnded};
  if (slot.orders.front().ref != ask.ref) return {.kind = wire::AnswerKind::kNotStarted};
  auto done = [](std::string bytes) {
    return wire::AnswerPiece{.kind = wire::AnswerKind::kDone, .bytes = std::move(bytes)};
  };
  if (ask.question == RunWish::kNumber) {
    return done(wire::BytesOf(RunLook{.standing = RunLook::Standing::kRunning, .use = RunUse()}));
  }
  if (ask.question != SignalRun::kNumber) return {.kind = wire::AnswerKind::kUnknown};
  const auto signal = wire::FromBytes<SignalRun>("the question", ask.body);
  CHECK(signal.has_value());
  if (signal->pid != 0 && signal->pid != PidOf(slot.number)) {
    return wire::AnswerPiece::Failed({ErrorKind::kNotFound, "it is not one of this task"});
  }
  parts_.sink(Signalled{parts_.node, ask.ref, signal->signal});
  return done(wire::BytesOf(SignalRun::Answer{1}));
}

void MockExecutor::List(const std::function<void(const node::ListedProcesses&)>& listed) const {
  node::ListedProcesses all;
  for (const Slot& slot : slots_) {
    if (slot.orders.empty()) continue;
    const AttemptRef& ref = slot.orders.front().ref;
    all[ref].push_back({.pid = static_cast<uint32_t>(PidOf(slot.number)), .command = "a task"});
  }
  listed(all);
}

void MockExecutor::Begin(Slot& slot) {
  const node::StartOrder& order = slot.orders.front();
  slot.began = parts_.loop.Now();
  slot.frozen_at = Instant::Never();
  slot.frozen = {};
  Needs needs;
  needs.memory = order.needs.memory;
  slot.behaviour = parts_.workload.BehaviourOf(order.ref, needs, parts_.node, order.part.get());
  parts_.sink(Executed{parts_.node, &order, orphan_});
  if (parts_.sabotage == Sabotage::kRunTwice && prng_.Chance(10)) {
    parts_.sink(Over{parts_.node, order.ref, slot.number, nullptr, nullptr});
    parts_.sink(Executed{parts_.node, &order, orphan_});
  }
  TellOnTheWay(slot, order);
  EndAt(slot, slot.began + slot.behaviour.duration,
        slot.behaviour.vanishes ? Cause::kNode : slot.behaviour.cause,
        slot.behaviour.vanishes ? 0 : slot.behaviour.status);
  auto freeze = to_freeze_.extract(order.ref);
  if (freeze) SetFrozen(slot, true, freeze.mapped());
}

// News of an attempt before its end.
void MockExecutor::TellOnTheWay(Slot& slot, const node::StartOrder& order) {
  AttemptRef ref = order.ref;
  if (order.tell_start) {
    Notify(slot,
           [ref, when = slot.began](node::ExecutorEvents& events) { events.OnStarted(ref, when); });
  }
  if (settings_.at(ref.job)->live_output) {
    Notify(slot, [ref](node::ExecutorEvents& events) { events.OnOutput(ref, 1, "live"); });
  }
  if (order.sample_memory) {
    Instant half = slot.began + slot.behaviour.duration / 2;
    parts_.loop.At(half, [this, alive = alive_, &slot, ref] {
      if (!*alive || slot.orders.empty() || slot.orders.front().ref != ref) return;
      Notify(slot, [ref, memory = slot.behaviour.memory](node::ExecutorEvents& events) {
        events.OnMemory(ref, memory);
      });
    });
  }
}

namespace {

// Adds ends of the part's processes as the real executor does: the first that failed ends the rest.
void AddRanks(const node::StartOrder& order, uint32_t failed, AttemptEnd& end) {
  constexpr int32_t kSignal = 128;
  constexpr int32_t kTerm = 15;
  const auto count = static_cast<uint32_t>(order.body.steps.front().commands.size());
  const bool by_itself = end.cause == Cause::kExit || end.cause == Cause::kSignal;
  uint64_t bytes = end.stdout_total;
  for (uint32_t i = 0; i < count; ++i) {
    ProcessEnd process{.command = static_cast<uint16_t>(i), .rank = *order.body.first_rank + i};
    if (end.cause != Cause::kSuccess && end.cause != Cause::kCheck) {
      process.status = kSignal + kTerm;
    }
    if (by_itself && i == failed % count) {
      process.status = end.cause == Cause::kExit ? end.status : kSignal + end.status;
      end.note = fmt::format("rank {} exited with {}", process.rank, process.status);
    }
    process.stdout_bytes = i + 1 == count ? bytes : bytes / 2;
    bytes -= process.stdout_bytes;
    end.processes.push_back(process);
  }
}

}  // namespace

void MockExecutor::Finish(Slot& slot, Cause cause, int32_t status) {
  node::StartOrder order = std::move(slot.orders.front());
  slot.orders.pop_front();
  places_.erase(order.ref);
  AttemptEnd end;
  end.ref = order.ref;
  end.cause = cause;
  end.status = status;
  end.slot = slot.number;
  end.start = slot.began;
  end.wall = parts_.loop.Now() - slot.began;
  end.user = end.wall / 3;
  end.memory_source = MemorySource::kRusage;
  end.peak_memory = 1 << 20;
  if (cause == Cause::kNode) end.note = "its shepherd was killed";
  bool killed = cause == Cause::kNode && faults_ == nullptr;  // and nobody saw it
  TaskOutputPtr output = OutputOf(order.ref, slot.behaviour.output_bytes);
  if (output) end.stdout_total = output->out.total;
  if (order.part) AddRanks(order, slot.behaviour.failed_rank, end);
  store::RoundToStored(end);
  parts_.sink(Over{parts_.node, order.ref, slot.number, killed ? nullptr : &end,
                   killed ? nullptr : output.get()});
  if (cause != Cause::kNode) kept_[end.ref] = {end, output};
  if (parts_.sabotage == Sabotage::kMixOutput && output) {
    output = OutputOf({order.ref.job, order.ref.index + 1, order.ref.attempt},
                      slot.behaviour.output_bytes);
  }
  bool lost = parts_.sabotage == Sabotage::kLoseEnds && prng_.Chance(5);
  if (!lost) {
    Notify(slot, [end, output](node::ExecutorEvents& events) { events.OnEnded(end, output); });
  }
  if (cause == Cause::kNode) DropHeld(slot);
  if (!slot.orders.empty()) Begin(slot);
}

// The shepherd was killed: what it held ahead never started there.
void MockExecutor::DropHeld(Slot& slot) {
  for (const node::StartOrder& held : std::exchange(slot.orders, {})) {
    places_.erase(held.ref);
    Notify(slot, [ref = held.ref](node::ExecutorEvents& events) { events.OnTakenBack(ref); });
  }
}

TaskOutputPtr MockExecutor::OutputOf(const AttemptRef& ref, uint32_t bytes) const {
  if (bytes == 0) return nullptr;
  auto output = std::make_shared<TaskOutput>();
  output->out.bytes = fmt::format("{}.{}#{}:", ref.job.value, ref.index, ref.attempt.value);
  output->out.bytes.resize(output->out.bytes.size() + bytes, 'x');
  output->out.total = output->out.bytes.size();
  return output;
}

}  // namespace spate::sim
