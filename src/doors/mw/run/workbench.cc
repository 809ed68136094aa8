#include "doors/mw/run/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doors/mw/formats/packet.h"
#include "os/clock.h"
#include "os/file.h"

namespace spate::mw {

void Workbench::Begin(std::function<void()> ring) {
  std::lock_guard lock(mutex_);
  ++life_;
  stopped_ = true;
  packets_.clear();
  done_.clear();
  ring_ = std::move(ring);
  changed_.notify_all();
}

void Workbench::Put(Packet packet) {
  std::lock_guard lock(mutex_);
  packet.life = life_;
  packets_.push_back(std::move(packet));
  changed_.notify_all();
}

void Workbench::Stop(const AttemptRef& ref) {
  std::lock_guard lock(mutex_);
  if (current_.ref != ref || current_.life != life_) return;
  stopped_ = true;
  constants_.Wake();
}

bool Workbench::Withdraw(const AttemptRef& ref) {
  std::lock_guard lock(mutex_);
  return std::erase_if(packets_, [&](const Packet& each) { return each.ref == ref; }) > 0;
}

std::vector<Workbench::Done> Workbench::DrainDone() {
  std::lock_guard lock(mutex_);
  return std::exchange(done_, {});
}

void Workbench::End(Over how, const std::string& why) {
  std::lock_guard lock(mutex_);
  over_ = how;
  stopped_ = true;
  if (how != Over::kShutdown) why_lost_ = why;
  packets_.clear();
  ring_ = nullptr;
  constants_.End();
  changed_.notify_all();
}

void Workbench::Met(slave_id id) {
  std::lock_guard lock(mutex_);
  id_ = id;
}

std::string Workbench::Computing() const {
  std::lock_guard lock(mutex_);
  return std::string(computing_);
}

void Workbench::Abandon() {
  std::lock_guard lock(mutex_);
  done_.clear();
  spool_.reset();
}

void Workbench::Compute(std::string_view algorithm, uint64_t task, Duration limit) {
  std::lock_guard lock(mutex_);
  computing_ = algorithm;
  task_ = task;
  limit_ = limit;
  if (limit.ns == 0) return;
  began_ = os::MonotonicNanos();
  if (watch_ && !std::exchange(watched_, true)) watch_();
}

void Workbench::OnLimit(std::function<void()> watch) {
  std::lock_guard lock(mutex_);
  watch_ = std::move(watch);
}

std::optional<bool> Workbench::IsOverdue(Instant now) {
  std::lock_guard lock(mutex_);
  if (limit_.ns == 0) {
    watched_ = false;
    return std::nullopt;
  }
  const Duration time{os::MonotonicNanos() - began_};
  if (time < limit_) return false;
  overdue_ = true;
  if (over_ || current_.life != life_) return true;
  std::string answers;
  AddAnswer(answers, {.task = task_, .end = CallEnd::kOverdue, .time = time, .bytes = {}});
  Done done{.end = {.ref = current_.ref, .slot = current_.slot, .start = now - time, .wall = time},
            .life = life_};
  done.end.stdout_total = answers.size();
  auto output = std::make_unique<TaskOutput>();
  output->out.total = answers.size();
  output->out.bytes = std::move(answers);
  done.output = std::move(output);
  done_.push_back(std::move(done));
  return true;
}

std::optional<Workbench::Packet> Workbench::Take(std::chrono::nanoseconds most) {
  std::unique_lock lock(mutex_);
  auto ready = [this] { return over_ || (!overdue_ && !packets_.empty()); };
  if (most == std::chrono::nanoseconds::max()) {
    changed_.wait(lock, ready);
  } else {
    changed_.wait_for(lock, most, ready);
  }
  if (over_ || overdue_ || packets_.empty()) return std::nullopt;
  Packet packet = std::move(packets_.front());
  packets_.pop_front();
  stopped_ = false;
  current_ = {.ref = packet.ref, .slot = packet.slot, .life = packet.life, .calls = {}};
  return packet;
}

bool Workbench::Wants(const Packet& packet) const {
  std::lock_guard lock(mutex_);
  return !over_ && !overdue_ && !stopped_ && packet.life == life_;
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
  if (held->Take(answers.size())) {
    output->out.bytes = std::move(answers);
    return TaskOutputPtr(output.release(), [held](const TaskOutput* old) { delete old; });
  }
  if (!spool_) spool_.emplace();
  const std::string path = spool_->Path(fmt::format("{}", ++spooled_));
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
  if (over_ || overdue_ || packet.life != life_) return;
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

size_t Workbench::waiting() const {
  std::lock_guard lock(mutex_);
  return packets_.size();
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
  changed_.wait_for(lock, most, [&] { return life_ > old || over_; });
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
  bench_.Put({.ref = order.ref, .slot = order.slot, .calls = std::move(order.body.input)});
}

void BenchExecutor::Withdraw(const AttemptRef& ref) {
  if (bench_.Withdraw(ref)) Later([this, ref] { events_->OnTakenBack(ref); });
}

// One that has begun goes on unless it asks; nobody will want its results. It hears of that when
// all of the same order are withdrawn, or its slave might begin the next one of them.
void BenchExecutor::End(const AttemptRef& ref, node::EndHow, Cause cause) {
  if (!bench_.Withdraw(ref)) return Later([this, ref] { bench_.Stop(ref); });
  Later([this, ref, cause] {
    events_->OnEnded({.ref = ref, .cause = cause, .slot = 1, .start = loop_.Now()}, nullptr);
  });
}

void BenchExecutor::Drain() {
  for (Workbench::Done& done : bench_.DrainDone()) {
    events_->OnEnded(std::move(done.end), std::move(done.output));
  }
}

}  // namespace spate::mw
