#include "sim/trace.h"

#include <fmt/format.h>

#include <iterator>

#include "sim/check.h"

namespace spate::sim {
namespace {

// Writes one fact behind the time in `text`; records in the words of engine/record.h.
class Writer {
 public:
  explicit Writer(std::string& text) : to_(std::back_inserter(text)), text_(text) {}

  void operator()(const LifeBegan& f) { fmt::format_to(to_, "life {}", f.epoch.value); }
  void operator()(const ClockMoved& f) {
    fmt::format_to(to_, "clock ahead by {} s, steady {} s", f.wall.seconds(), f.steady.seconds());
  }
  void operator()(const Replayed&) { text_ += "replayed a record"; }
  void operator()(const Decided&) {}
  void operator()(const ReplayDone&) { text_ += "replay done"; }
  void operator()(const Committed& f) {
    text_ += "durable ";
    std::visit(*this, *f.record);
  }
  void operator()(const LifeEnded& f) {
    fmt::format_to(to_, "{} digest {:016x}", f.clean ? "exit" : "killed", f.live_digest);
  }
  void operator()(const NodeUp& f) {
    fmt::format_to(to_, "n{} up slots={} cpus={}m memory={}", f.node.value, f.offer->slots,
                   f.offer->milli_cpus, f.offer->memory);
  }
  void operator()(const NodeCut& f) { fmt::format_to(to_, "n{} cut off", f.node.value); }
  void operator()(const Executed& f) {
    fmt::format_to(to_, "n{} slot {} runs {}{}", f.node.value, f.order->slot, NameOf(f.order->ref),
                   f.orphan ? " (orphan)" : "");
  }
  void operator()(const Over& f) {
    fmt::format_to(to_, "n{} slot {} over {} ", f.node.value, f.slot, NameOf(f.ref));
    if (f.end == nullptr) {
      text_ += "killed with all";
    } else {
      fmt::format_to(to_, "{} {}", WordOf(f.end->cause), f.end->status);
    }
  }
  void operator()(const Told& f) {
    fmt::format_to(to_, "told {} {} {}", NameOf(f.notice->end.ref), WordOf(f.notice->end.cause),
                   WordOf(f.notice->verdict));
  }
  void operator()(const ToldHeld& f) {
    fmt::format_to(to_, "told held {} reason {}", f.notice.job.value,
                   static_cast<int>(f.notice.reason));
  }
  void operator()(const ToldFinished& f) {
    fmt::format_to(to_, "told finished {}: ", f.notice.job.value);
    Counts(f.notice.counts);
  }
  void operator()(const Acknowledged& f) {
    constexpr const char* kWhat[] = {"accepted", "grown"};
    fmt::format_to(to_, "acknowledged {} {} {}", kWhat[static_cast<int>(f.what)], f.job.value,
                   f.total);
  }
  void operator()(const Asked& f) {
    fmt::format_to(to_, "{} asks ?{} {}", f.user, f.id, NameOf(*f.question));
  }
  void operator()(const Answered& f) {
    fmt::format_to(to_, "answered ?{}", f.id);
    if (f.error != nullptr) {
      fmt::format_to(to_, ": {}", f.error->message);
    } else {
      fmt::format_to(to_, " with {}", f.answers->size());
    }
  }
  void operator()(const JournalChecked& f) {
    text_ += f.check->sound() ? "the journal is sound" : "the journal is damaged";
  }
  void operator()(const Forgotten& f) { fmt::format_to(to_, "forgotten {}", f.job.value); }
  void operator()(const EndsTold& f) {
    fmt::format_to(to_, "?{} reads {} ends of {} from {}{}", f.id, f.read->ends.ends.size(),
                   f.job.value, f.after, f.read->finished ? ", the last ones" : "");
  }
  void operator()(const NodeHeard& f) { fmt::format_to(to_, "n{} heard", f.node.value); }
  void operator()(const NodeUnheard& f) { fmt::format_to(to_, "n{} unheard", f.node.value); }
  void operator()(const RoomHeard& f) {
    fmt::format_to(to_, "n{} has room for {}", f.node.value, NameOf(f.ref));
  }
  void operator()(const NodeProcess& f) {
    fmt::format_to(to_, "n{} process {}", f.node.value, f.began ? "begins" : "ended");
  }
  void operator()(const HubHolds& f) {
    fmt::format_to(to_, "the hub holds {} nodes of pilots, {} pools, {} rows of them, {} log lines",
                   f.pilot_nodes, f.pools, f.pool_rows, f.log_lines);
  }
  void operator()(const Remark& f) { fmt::format_to(to_, "-- {}", f.text); }
  void operator()(const WorldDone&) { text_ += "all done"; }
  void operator()(const PilotQueued& f) {
    fmt::format_to(to_, "b{} queues: {} of {}", f.id, f.tag, f.pool);
  }
  void operator()(const PilotRuns& f) {
    fmt::format_to(to_, "b{} {}", f.id, f.runs ? "runs" : "requeued");
  }
  void operator()(const PilotOver& f) { fmt::format_to(to_, "b{} over: {}", f.id, f.how); }
  void operator()(const PilotForgotten& f) { fmt::format_to(to_, "b{} forgotten", f.id); }
  void operator()(const PoolDecided&) {}
  void operator()(const PoolReplayed&) {}
  void operator()(const PoolReplayDone&) { text_ += "pools replayed"; }
  void operator()(const PoolsCut& f) {
    fmt::format_to(to_, "{}pools kept as {} records", f.durable ? "durable " : "",
                   f.images->size());
  }
  void operator()(const PoolsDue&) { text_ += "pools are to be at rest"; }
  void operator()(const PoolCommitted& f) {
    text_ += "durable ";
    std::visit(*this, *f.record);
  }

  void operator()(const provision::PoolChanged& r) {
    fmt::format_to(to_, "pool {} is {} max={} min={}", r.pool.value, r.policy.name,
                   r.policy.max_pilots, r.policy.min_pilots);
  }
  void operator()(const provision::PoolClosed& r) {
    fmt::format_to(to_, "pool {} closed", r.pool.value);
  }
  void operator()(const provision::PoolForgotten& r) {
    fmt::format_to(to_, "pool {} forgotten", r.pool.value);
  }
  void operator()(const provision::PoolPaused& r) {
    fmt::format_to(to_, "pool {} paused: {}", r.pool.value, r.reason);
  }
  void operator()(const provision::PoolResumed& r) {
    fmt::format_to(to_, "pool {} resumed", r.pool.value);
  }
  void operator()(const provision::PoolLearned& r) {
    fmt::format_to(to_, "pool {} learned slots={} cpus={}m", r.pool.value, r.shape.slots,
                   r.shape.milli_cpus);
  }
  void operator()(const provision::PilotIntended& r) {
    fmt::format_to(to_, "pilot {} of pool {} intended", r.pilot.value, r.pool.value);
  }
  void operator()(const provision::PilotSubmitted& r) {
    fmt::format_to(to_, "pilot {} is b{}", r.pilot.value, r.id);
  }
  void operator()(const provision::PilotJoined& r) {
    fmt::format_to(to_, "pilot {} joined", r.pilot.value);
  }
  void operator()(const provision::PilotQueuedAgain& r) {
    fmt::format_to(to_, "pilot {} queued again", r.pilot.value);
  }
  void operator()(const provision::PilotUnwanted& r) {
    fmt::format_to(to_, "pilot {} unwanted: {} {}", r.pilot.value, WordOf(r.why), r.words);
  }
  void operator()(const provision::PilotEnded& r) {
    fmt::format_to(to_, "pilot {} ended: {} {}", r.pilot.value, WordOf(r.end), r.words);
  }
  void operator()(const provision::NumbersKept&) { text_ += "numbers"; }
  void operator()(const provision::PoolKept& r) { fmt::format_to(to_, "pool {}", r.pool.value); }
  void operator()(const provision::PilotKept& r) { fmt::format_to(to_, "pilot {}", r.pilot.value); }

  void operator()(const engine::JobAccepted& r) {
    fmt::format_to(to_, "accepted {} tasks={}{}", r.job.value, r.plan.task_count,
                   r.plan.open ? " open" : "");
  }
  void operator()(const engine::JobGrown& r) {
    fmt::format_to(to_, "grown {} by {}", r.job.value, r.count);
  }
  void operator()(const engine::TasksLinked& r) {
    fmt::format_to(to_, "linked {} by {}", r.job.value, r.edges.size());
  }
  void operator()(const engine::JobSealed& r) { fmt::format_to(to_, "sealed {}", r.job.value); }
  void operator()(const engine::PolicyChanged& r) {
    fmt::format_to(to_, "policy of {} changed", r.job.value);
  }
  void operator()(const engine::TasksWithdrawn& r) { Ranges("withdrawn", r.job, {}, r.tasks); }
  void operator()(const engine::TasksCancelled& r) { Ranges("cancelled", r.job, {}, r.tasks); }
  void operator()(const engine::TasksReopened& r) {
    Ranges("reopened", r.job, {}, r.tasks);
    for (const After& each : r.after) fmt::format_to(to_, " after {}", each.job.value);
    if (r.succeeded) fmt::format_to(to_, " succeeded");
  }
  void operator()(const engine::NeedsChanged& r) {
    fmt::format_to(to_, "needs of {} changed", r.job.value);
  }
  void operator()(const engine::JobHeld& r) {
    fmt::format_to(to_, "held {} reason {}", r.job.value, static_cast<int>(r.reason));
  }
  void operator()(const engine::JobReleased& r) { fmt::format_to(to_, "released {}", r.job.value); }
  void operator()(const engine::Leased& r) {
    fmt::format_to(to_, "n{} ", r.node.value);
    Ranges("leased", r.job, r.attempt, r.tasks);
  }
  void operator()(const engine::GangLeased& r) {
    fmt::format_to(to_, "gang {}", NameOf({r.job, r.index, r.attempt}));
    for (const auto& part : r.parts) fmt::format_to(to_, " n{}x{}", part.node.value, part.procs);
  }
  void operator()(const engine::GangReserved& r) {
    fmt::format_to(to_, "reserved {} {} {}", NameOf({r.job, r.index, {}}), r.start.ns, r.reason);
  }
  void operator()(const engine::GangPolicyChanged& r) {
    fmt::format_to(to_, "policy {}", WordOf(r.policy));
  }
  void operator()(const engine::HalfLifeChanged& r) {
    fmt::format_to(to_, "half-life {} s", r.half_life.seconds());
  }
  void operator()(const engine::UseCounted& r) {
    fmt::format_to(to_, "use");
    for (const auto& [user, use] : r.users) fmt::format_to(to_, " {}:{}", user, use / 1'000'000);
  }
  void operator()(const engine::ClockStepped& r) {
    fmt::format_to(to_, "clock stepped by {} s", (r.to - r.from).seconds());
  }
  void operator()(const engine::PriorityChanged& r) {
    fmt::format_to(to_, "{} priority {}", r.job.value, r.priority);
  }
  void operator()(const engine::Returned& r) {
    fmt::format_to(to_, "n{} ", r.node.value);
    Ranges("returned", r.job, r.attempt, r.tasks);
  }
  void operator()(const engine::AttemptEnded& r) {
    fmt::format_to(to_, "n{} ended {} {} {} {}{}", r.node.value, NameOf(r.end.ref),
                   WordOf(r.end.cause), r.end.status, WordOf(r.verdict), r.counts ? "" : " no-try");
  }
  void operator()(const engine::JobFinished& r) {
    fmt::format_to(to_, "finished {}: ", r.job.value);
    Counts(r.counts);
  }
  void operator()(const engine::JobCancelled& r) {
    fmt::format_to(to_, "cancelled {} {}", r.job.value, r.reason);
  }
  void operator()(const engine::DependencyMet& r) {
    fmt::format_to(to_, "{} waits no more for {}", r.job.value, r.on.value);
  }
  void operator()(const engine::UserChanged& r) {
    fmt::format_to(to_, "user {} weight={} running={} queued={}", r.user, r.rule.weight,
                   r.rule.max_running, r.rule.max_queued);
  }
  void operator()(const engine::NodeDrained& r) {
    fmt::format_to(to_, "n{} drained", r.node.value);
  }
  void operator()(const engine::NodeUndrained& r) {
    fmt::format_to(to_, "n{} undrained", r.node.value);
  }
  void operator()(const engine::NodeRemoved& r) {
    fmt::format_to(to_, "n{} removed", r.node.value);
  }
  void operator()(const engine::NodeSick& r) {
    fmt::format_to(to_, "n{} set aside for {}: {}", r.node.value, r.job.value, r.text);
  }
  void operator()(const engine::NodeCleared& r) {
    fmt::format_to(to_, "n{} trusted again for {}", r.node.value, r.job.value);
  }
  void operator()(const engine::NodeBlamed& r) {
    fmt::format_to(to_, "n{} is blamed by", r.node.value);
    for (const engine::Blame& blame : r.blames) fmt::format_to(to_, " {}", blame.by.value);
    if (r.blames.empty()) fmt::format_to(to_, " nobody");
  }

 private:
  void Ranges(const char* what, JobId job, Attempt attempt, const std::vector<TaskRange>& tasks) {
    fmt::format_to(to_, "{} {}.", what, job.value);
    const char* comma = "";
    for (TaskRange range : tasks) {
      fmt::format_to(to_, "{}{}-{}", comma, range.first + 1, range.first + range.count);
      comma = ",";
    }
    if (attempt.value > 0) fmt::format_to(to_, "#{}", attempt.value);
  }
  void Counts(const JobCounts& c) {
    fmt::format_to(to_, "total={} succeeded={} failed={} cancelled={} unknown={}", c.total,
                   c.succeeded, c.failed, c.cancelled, c.unknown);
  }

  std::back_insert_iterator<std::string> to_;
  std::string& text_;
};

}  // namespace

void Trace::See(Instant now, const Fact& fact) {
  // Said before, when it became durable, or only then.
  if (std::holds_alternative<Replayed>(fact) || std::holds_alternative<Decided>(fact)) return;
  if (std::holds_alternative<PoolReplayed>(fact) || std::holds_alternative<PoolDecided>(fact)) {
    return;
  }
  std::string& line = lines_[count_++ % kKept];
  line.clear();
  int64_t us = now.ns / 1000 % 1'000'000'000'000;
  fmt::format_to(std::back_inserter(line), "{:6}.{:06} ", us / 1'000'000, us % 1'000'000);
  std::visit(Writer(line), fact);
  for (char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  if (print_) print_(line + "\n");
}

std::vector<std::string> Trace::Last() const {
  std::vector<std::string> last;
  for (uint64_t i = count_ < kKept ? 0 : count_ - kKept; i < count_; ++i) {
    last.push_back(lines_[i % kKept]);
  }
  return last;
}

}  // namespace spate::sim
