#include "doors/mw/run/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "doors/mw/formats/packet.h"
#include "os/clock.h"
#include "os/file.h"

namespace spate::mw {

void Workbench::WakeAll() {
  for (Slot& each : slots_) each.changed.notify_all();
  lived_.notify_all();
}

void Workbench::Begin(std::function<void()> ring) {
  std::lock_guard lock(mutex_);
  ++life_;
  for (Slot& each : slots_) {
    each.stopped = true;
    each.packets.clear();
  }
  done_.clear();
  begins_.clear();
  ring_ = std::move(ring);
  WakeAll();
}

void Workbench::Enqueue(Packet packet) {
  CHECK(packet.slot >= 1 && packet.slot <= slots_.size());
  std::lock_guard lock(mutex_);
  packet.life = life_;
  Slot& slot = slots_[packet.slot - 1];
  slot.packets.push_back(std::move(packet));
  slot.changed.notify_all();
}

void Workbench::Stop(const AttemptRef& ref) {
  std::lock_guard lock(mutex_);
  for (Slot& each : slots_) {
    if (each.current.ref != ref || each.current.life != life_) continue;
    each.stopped = true;
    each.changed.notify_all();
  }
  constants_.Wake();
}

std::optional<uint16_t> Workbench::Withdraw(const AttemptRef& ref) {
  std::lock_guard lock(mutex_);
  for (Slot& each : slots_) {
    auto at = std::ranges::find(each.packets, ref, &Packet::ref);
    if (at == each.packets.end()) continue;
    const uint16_t slot = at->slot;
    each.packets.erase(at);
    return slot;
  }
  return std::nullopt;
}

std::vector<Workbench::Done> Workbench::DrainDone() {
  std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

std::vector<AttemptRef> Workbench::DrainBegins() {
  std::lock_guard lock(mutex_);
  return std::exchange(begins_, {});
}

void Workbench::Go(const AttemptRef& ref) {
  std::lock_guard lock(mutex_);
  for (Slot& each : slots_) {
    if (each.current.ref != ref || each.current.life != life_) continue;
    each.go = ref;
    each.changed.notify_all();
  }
}

void Workbench::End(Over how, const std::string& why) {
  std::lock_guard lock(mutex_);
  over_ = how;
  if (how != Over::kShutdown) why_lost_ = why;
  for (Slot& each : slots_) {
    each.stopped = true;
    each.packets.clear();
  }
  ring_ = nullptr;
  constants_.End();
  WakeAll();
}

void Workbench::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  WakeAll();
}

void Workbench::Met(slave_id id) {
  std::lock_guard lock(mutex_);
  id_ = id;
}

std::string Workbench::Computing() const {
  std::lock_guard lock(mutex_);
  for (const Slot& each : slots_) {
    if (!each.computing.empty()) return std::string(each.computing);
  }
  return "";
}

void Workbench::Abandon() {
  std::lock_guard lock(mutex_);
  done_.clear();
  spool_.reset();
}

void Workbench::Compute(uint16_t number, std::string_view algorithm, uint64_t task,
                        Duration limit) {
  std::lock_guard lock(mutex_);
  Slot& slot = slots_[number - 1];
  slot.computing = algorithm;
  slot.task = task;
  slot.limit = limit;
  if (limit.ns == 0) return;
  slot.began = os::MonotonicNanos();
  if (watch_ && !std::exchange(watched_, true)) watch_();
}

void Workbench::OnLimit(std::function<void()> watch) {
  std::lock_guard lock(mutex_);
  watch_ = std::move(watch);
}

std::optional<Workbench::Limit> Workbench::LookAtLimits(Instant now) {
  std::lock_guard lock(mutex_);
  Limit found;
  watched_ = false;
  for (Slot& each : slots_) {
    if (each.limit.ns == 0) continue;
    watched_ = true;
    const Duration time{os::MonotonicNanos() - each.began};
    if (time < each.limit || each.overdue) continue;
    if (found.overdue.empty()) found.overdue = each.computing;
    Overdue(each, now, time);
  }
  return watched_ ? std::optional(std::move(found)) : std::nullopt;
}

void Workbench::Overdue(Slot& slot, Instant now, Duration time) {
  overdue_ = slot.overdue = true;
  if (over_ || slot.current.life != life_) return;
  std::string answers;
  AddAnswer(answers, {.task = slot.task, .end = CallEnd::kOverdue, .time = time, .bytes = {}});
  Done done{.end = {.ref = slot.current.ref,
                    .slot = slot.current.slot,
                    .start = now - time,
                    .wall = time},
            .life = life_};
  done.end.stdout_total = answers.size();
  auto output = std::make_unique<TaskOutput>();
  output->out.total = answers.size();
  output->out.bytes = std::move(answers);
  done.output = std::move(output);
  done_.push_back(std::move(done));
}

std::optional<Workbench::Packet> Workbench::Dequeue(uint16_t number,
                                                    std::chrono::nanoseconds most) {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[number - 1];
  auto ready = [&] { return over_ || closed_ || (!overdue_ && !slot.packets.empty()); };
  if (most == std::chrono::nanoseconds::max()) {
    slot.changed.wait(lock, ready);
  } else {
    slot.changed.wait_for(lock, most, ready);
  }
  if (over_ || closed_ || overdue_ || slot.packets.empty()) return std::nullopt;
  Packet packet = std::move(slot.packets.front());
  slot.packets.pop_front();
  slot.stopped = false;
  slot.current = {.ref = packet.ref, .slot = packet.slot, .life = packet.life, .calls = {}};
  return packet;
}

bool Workbench::AwaitGo(const Packet& packet) {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[packet.slot - 1];
  auto is_over = [&] { return over_ || slot.stopped || packet.life != life_; };
  if (is_over()) return false;
  slot.go = {};
  begins_.push_back(packet.ref);
  ring_();
  slot.changed.wait(lock, [&] { return slot.go == packet.ref || is_over(); });
  return !is_over();
}

bool Workbench::Computed(const Packet& packet) {
  std::lock_guard lock(mutex_);
  Slot& slot = slots_[packet.slot - 1];
  slot.computing = {};
  slot.limit = {};
  return !over_ && !slot.overdue && !slot.stopped && packet.life == life_;
}

// Answers without room in memory go through a file, which the last owner removes.
Result<TaskOutputPtr> Workbench::OutputOf(std::string answers) {
  auto output = std::make_unique<TaskOutput>();
  output->out.total = answers.size();
  if (answers.size() <= kInlineOutput) {
    output->out.bytes = std::move(answers);
    return TaskOutputPtr(std::move(output));
  }
  auto held = std::make_shared<link::HeldMemory>(memory_);
  if (held->Acquire(answers.size())) {
    output->out.bytes = std::move(answers);
    return TaskOutputPtr(output.release(), [held](const TaskOutput* old) { delete old; });
  }
  std::string path;
  {
    std::lock_guard lock(mutex_);
    if (!spool_) spool_.emplace();
    path = spool_->Path(fmt::format("{}", ++spooled_));
  }
  if (auto written = os::WriteFile(path, answers, 0600); !written) {
    (void)os::RemoveFile(path);
    return std::unexpected(written.error());
  }
  output->out.spool = path;
  return TaskOutputPtr(output.release(), [](const TaskOutput* old) {
    (void)os::RemoveFile(old->out.spool);
    delete old;
  });
}

void Workbench::Finish(Packet packet, std::string answers, Instant start, Duration wall) {
  Done done{.end = {.ref = packet.ref, .slot = packet.slot, .start = start, .wall = wall},
            .life = packet.life};
  done.end.stdout_total = answers.size();
  auto output = OutputOf(std::move(answers));
  if (output) {
    done.output = std::move(*output);
  } else {
    done.end.cause = Cause::kStart;
    done.end.note = "the results cannot be kept on the slave: " + output.error().message;
  }
  std::lock_guard lock(mutex_);
  if (over_ || slots_[packet.slot - 1].overdue || packet.life != life_) return;
  const bool first = done_.empty();
  done_.push_back(std::move(done));
  if (first && ring_) ring_();
}

slave_status Workbench::Status() const {
  std::lock_guard lock(mutex_);
  return {.shutdown = over_ == Over::kShutdown,
          .master_lost = over_ == Over::kMasterLost,
          .master_failed = over_ == Over::kMasterFailed,
          .results_held = done_.size()};
}

size_t Workbench::waiting(uint16_t slot) const {
  std::lock_guard lock(mutex_);
  return slots_[slot - 1].packets.size();
}

slave_id Workbench::id() const {
  std::lock_guard lock(mutex_);
  return id_;
}

uint64_t Workbench::lives() const {
  std::lock_guard lock(mutex_);
  return life_;
}

bool Workbench::AwaitLife(uint64_t old, std::chrono::nanoseconds most) {
  std::unique_lock lock(mutex_);
  lived_.wait_for(lock, most, [&] { return life_ > old || over_; });
  return life_ > old;
}

std::string Workbench::why_lost() const {
  std::lock_guard lock(mutex_);
  return why_lost_;
}

// ---- The executor ------------------------------------------------------------------------------

void BenchExecutor::Later(std::function<void()> tell) {
  loop_.Post([tell = std::move(tell), alive = std::weak_ptr(alive_)] {
    if (alive.lock()) tell();
  });
}

void BenchExecutor::Start(node::StartOrder order) {
  bench_.Enqueue({.ref = order.ref,
                  .slot = order.slot,
                  .calls = std::move(order.body.input),
                  .pieces = std::move(order.given)});
}

void BenchExecutor::Withdraw(const AttemptRef& ref) {
  if (bench_.Withdraw(ref)) Later([this, ref] { events_->OnTakenBack(ref); });
}

// One that has begun goes on unless it asks; nobody will want its results. It hears of that when
// all of the same order are withdrawn, or its slave might begin the next one of them.
void BenchExecutor::End(const AttemptRef& ref, node::EndHow, Cause cause) {
  const auto slot = bench_.Withdraw(ref);
  if (!slot) return Later([this, ref] { bench_.Stop(ref); });
  Later([this, ref, cause, slot = *slot] {
    events_->OnEnded({.ref = ref, .cause = cause, .slot = slot, .start = loop_.Now()}, nullptr);
  });
}

void BenchExecutor::Drain() {
  for (Workbench::Done& done : bench_.DrainDone()) {
    events_->OnEnded(std::move(done.end), std::move(done.output));
  }
}

}  // namespace spate::mw
