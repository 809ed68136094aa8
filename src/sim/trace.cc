#include "sim/trace.h"

#include <fmt/format.h>

#include <iterator>

#include "base/type_name.h"
#include "core/model/field_text.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

// Writes one fact behind the time in `text`; records by their lists of fields.
class Writer {
 public:
  explicit Writer(std::string& text) : to_(std::back_inserter(text)), text_(text) {}

  void operator()(const LifeBegan& f) { fmt::format_to(to_, "life {}", f.epoch.value); }
  void operator()(const ClockMoved& f) {
    fmt::format_to(to_, "clock ahead by {} s, steady {} s", f.wall.seconds(), f.steady.seconds());
  }
  void operator()(const HubSuspended& f) {
    fmt::format_to(to_, "-- the hub{} is suspended", f.machine ? "'s machine" : "");
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
  void operator()(const AttemptChanged& f) {
    fmt::format_to(to_, "n{} slot {} changes {} cpus={}m memory={}", f.node.value, f.slot,
                   NameOf(f.ref), f.needs->milli_cpus, f.needs->memory);
  }
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
  void operator()(const FrozenChanged& f) {
    fmt::format_to(to_, "n{} {} {}", f.node.value, f.frozen ? "freezes" : "thaws", NameOf(f.ref));
  }
  void operator()(const Signalled& f) {
    fmt::format_to(to_, "n{} signal {} reaches {}", f.node.value, f.signal, NameOf(f.ref));
  }
  void operator()(const NodeAsked& f) { fmt::format_to(to_, "n{} is asked", f.node.value); }
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

  void operator()(const engine::AttemptEnded& r) {
    fmt::format_to(to_, "n{} ended {} {} {} {}{}", r.node.value, NameOf(r.end.ref),
                   WordOf(r.end.cause), r.end.status, WordOf(r.verdict), r.counts ? "" : " no-try");
  }
  template <HasFields Record>
  void operator()(const Record& r) {
    fmt::format_to(to_, "{} {}", TypeWords<Record>(), FieldText(r));
  }

 private:
  void Counts(const JobCounts& c) {
    fmt::format_to(to_, "total={} succeeded={} failed={} cancelled={} unknown={}", c.total,
                   c.succeeded, c.failed, c.cancelled, c.unknown);
  }

  std::back_insert_iterator<std::string> to_;
  std::string& text_;
};

}  // namespace

void Trace::Observe(Instant now, const Fact& fact) {
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
