#include "sim/witness.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"

namespace spate::sim {
namespace {

// Longer than anything that a world waits for: with pools, some pilots that fail one after the
// other, each after hours in the queue.
constexpr Duration kStandstill = Duration::Seconds(3600);
constexpr Duration kStandstillOfPools = Duration::Seconds(36 * 3600);
constexpr uint64_t kTurnsAtMoment = 200'000;
constexpr uint64_t kTurnsInAll = 20'000'000;

// From an order to its effect and back, at worst, and the dying of a task.
Duration SlackOf(const Options& options) {
  return options.executor_latency * 4 + Duration::Millis(10);
}

// Pilots may come and go without end, and nothing is done.
bool IsOfNode(const engine::Record& record) {
  return std::holds_alternative<engine::NodeDrained>(record) ||
         std::holds_alternative<engine::NodeRemoved>(record);
}

}  // namespace

Witness::Witness(const Workload& workload, const Options& options, Printer print)
    : standstill_(options.pools > 0 ? kStandstillOfPools : kStandstill),
      trace_(std::move(print)),
      judge_(workload, SlackOf(options), options.hub ? &options : nullptr) {}

void Witness::Observe(Instant now, const Fact& fact) {
  trace_.Observe(now, fact);
  judge_.Observe(now, fact);
  const auto* executed = std::get_if<Executed>(&fact);
  if (executed != nullptr) {
    ++report_.executions;
    if (executed->orphan) ++report_.orphans;
  }
  const auto* changed = std::get_if<FrozenChanged>(&fact);
  if (changed != nullptr && changed->frozen) ++report_.frozen;
  if (std::holds_alternative<Signalled>(fact)) ++report_.signalled;
  const auto* committed = std::get_if<Committed>(&fact);
  const bool of_tasks = committed != nullptr && !IsOfNode(*committed->record);
  bool progress = executed != nullptr || of_tasks || std::holds_alternative<Over>(fact);
  if (progress) last_progress_ = now;
}

void Witness::Find(const char* checker, std::string text) {
  findings_.Add(checker, std::move(text));
}

void Witness::Turned(Instant now, const std::function<std::string()>& why) {
  ++report_.steps;
  if (now != std::exchange(moment_, now)) turns_at_moment_ = 0;
  if (++turns_at_moment_ > kTurnsAtMoment) {
    Find("complete", "the loop spins: endless work without time going on");
  } else if (now - last_progress_ > standstill_) {
    Find("complete", "no task has moved for " + FormatDuration(standstill_) + why());
  } else if (report_.steps > kTurnsInAll) {
    Find("complete", fmt::format("not done after {} turns of the loop", kTurnsInAll));
  }
}

void Witness::Expect(Instant now) {
  last_progress_ = now;
  turns_at_moment_ = 0;
}

WorldReport Witness::Finish(Instant now, const SimDisk& disk) {
  report_.findings = judge_.findings();
  report_.findings.insert(report_.findings.end(), findings_.lines().begin(),
                          findings_.lines().end());
  report_.last_events = trace_.Last();
  report_.now = now;
  report_.commits = disk.commits;
  report_.cut_commits = disk.cut_commits;
  report_.kept_commits = disk.kept_commits;
  report_.trace_hash = trace_.hash();
  return std::move(report_);
}

}  // namespace spate::sim
