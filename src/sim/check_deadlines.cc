// Deadlines are kept, by the hub's clock: no task is given out that cannot end by its deadline as
// planned, none begins then or goes on afterwards where the hub is heard, none is tried again too
// late; and what is withdrawn or stopped for it ends as cancelled, with a reason. The deadline is
// the one that the person wrote, wherever it got lost on the way. (Who cannot be served in time
// submits without one.)
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

using engine::AttemptEnded;
using engine::Verdict;

class DeadlinesCheck final : public Checker {
 public:
  const char* name() const override { return "deadlines"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (!scene.hub->deadlines) return;
    if (const auto* began = std::get_if<LifeBegan>(&fact)) {
      clock_ahead_ = began->clock_ahead;
      stopped_ = stopped_for_good_;
    } else if (const auto* moved = std::get_if<ClockMoved>(&fact)) {
      clock_ahead_ = moved->wall;
      moved_at_ = scene.now;
    } else if (const auto* decided = std::get_if<Decided>(&fact)) {
      Decide(scene, *decided->record, findings);
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      NoteStops(*committed->record, stopped_for_good_);
      const auto* leased = std::get_if<engine::Leased>(committed->record);
      if (leased != nullptr) NoteLag(scene, *leased);
      const auto* ended = std::get_if<AttemptEnded>(committed->record);
      if (ended != nullptr) running_.erase({ended->end.ref, ended->node});  // what is over is over
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      if (executed->orphan) return;
      const PartRef part{executed->order->ref, executed->node};
      running_[part] = scene.now;
      CheckStart(scene, part, findings);
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      auto at = running_.find({over->ref, over->node});
      if (at == running_.end()) return;
      CheckEnd(scene, at->first, at->second, findings);
      running_.erase(at);
    } else if (const auto* heard = std::get_if<NodeHeard>(&fact)) {
      heard_since_[heard->node] = scene.now;
    } else if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) {
      heard_since_.erase(unheard->node);
    }
  }

 private:
  struct Moments {
    Instant start;  // the last one at which it may begin
    Instant end;
  };
  // In the world's time; nullopt: it has no deadline.
  std::optional<Moments> MomentsOf(const Scene& scene, JobId id, TaskIndex index) const {
    const BookedJob* job = scene.book.FindJob(id);
    if (job == nullptr || !job->ClassOf(index).deadline) return std::nullopt;
    const TaskClass& wrote = scene.workload.ClassOf(id, index);
    const Instant end = *wrote.deadline - clock_ahead_;
    return Moments{end - wrote.needs.time, end};
  }

  void Decide(const Scene& scene, const engine::Record& record, Findings& findings) {
    if (const auto* leased = std::get_if<engine::Leased>(&record)) {
      leased_at_[{leased->job, leased->tasks.front().first}] = scene.now;
      for (TaskRange range : leased->tasks) {
        for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
          CheckLease(scene, {leased->job, i, leased->attempt}, findings);
        }
      }
    } else if (const auto* gang = std::get_if<engine::GangLeased>(&record)) {
      CheckLease(scene, {gang->job, gang->index, gang->attempt}, findings);
    } else if (const auto* ended = std::get_if<AttemptEnded>(&record)) {
      CheckRetry(scene, *ended, findings);
    } else {
      NoteStops(record, stopped_);
    }
  }

  // Many records may stand in line for the disk.
  void NoteLag(const Scene& scene, const engine::Leased& leased) {
    auto at = leased_at_.find({leased.job, leased.tasks.front().first});
    if (at == leased_at_.end()) return;
    lag_ = std::max(lag_, scene.now - at->second);
    leased_at_.erase(at);
  }

  // Tasks that were stopped for a reason, and not reopened since.
  using Stopped = std::set<std::pair<JobId, TaskIndex>>;
  static void NoteStops(const engine::Record& record, Stopped& stopped) {
    if (const auto* cancelled = std::get_if<engine::TasksCancelled>(&record)) {
      if (cancelled->reason.empty()) return;
      for (TaskRange range : cancelled->tasks) {
        for (uint32_t i = 0; i < range.count; ++i)
          stopped.insert({cancelled->job, range.first + i});
      }
    } else if (const auto* reopened = std::get_if<engine::TasksReopened>(&record)) {
      for (TaskRange range : reopened->tasks) {
        for (uint32_t i = 0; i < range.count; ++i) stopped.erase({reopened->job, range.first + i});
      }
    }
  }

  void CheckLease(const Scene& scene, const AttemptRef& ref, Findings& findings) {
    auto moments = MomentsOf(scene, ref.job, ref.index);
    if (!moments || scene.now <= moments->start) return;
    findings.Add(name(), fmt::format("{} is given out {} too late for its deadline", NameOf(ref),
                                     FormatDuration(scene.now - moments->start)));
  }

  void CheckRetry(const Scene& scene, const AttemptEnded& ended, Findings& findings) {
    const AttemptRef& ref = ended.end.ref;
    auto moments = MomentsOf(scene, ref.job, ref.index);
    if (!moments || !EndsTask(ended.verdict)) {
      bool late = moments && ended.verdict == Verdict::kRetry && scene.now > moments->start;
      if (late) findings.Add(name(), NameOf(ref) + " is to be tried again, after its deadline");
      return;
    }
    if (!stopped_.contains({ref.job, ref.index})) return;
    if (ended.verdict == Verdict::kCancelled || ended.verdict == Verdict::kSucceeded) return;
    findings.Add(name(), fmt::format("{} was stopped at its deadline, and has {}", NameOf(ref),
                                     WordOf(ended.verdict)));
  }

  // From the time on at which the hub may have said something to the node.
  std::optional<Duration> Late(const Scene& scene, const PartRef& part, Instant due) const {
    auto heard = heard_since_.find(part.second);
    // A hub that stands still ends nothing.
    if (heard == heard_since_.end() || scene.hub->suspend || scene.hub->slow_disk()) {
      return std::nullopt;
    }
    const Duration late = scene.now - std::max({due, heard->second, moved_at_});
    // A hello, the commits that stand in line, and an order.
    const Duration commits = std::max(lag_, scene.hub->commit_max * 30);
    const Duration most = scene.slack + scene.hub->link_latency * 4 + commits;
    if (late <= most) return std::nullopt;
    return late - most;
  }

  void CheckStart(const Scene& scene, const PartRef& part, Findings& findings) {
    auto moments = MomentsOf(scene, part.first.job, part.first.index);
    if (!moments || !Late(scene, part, moments->start)) return;
    findings.Add(name(), NameOf(part.first) + " begins, and cannot end by its deadline");
  }

  void CheckEnd(const Scene& scene, const PartRef& part, Instant since, Findings& findings) {
    auto moments = MomentsOf(scene, part.first.job, part.first.index);
    if (!moments) return;
    const Duration grace = scene.workload.job(part.first.job).settings->kill_grace;
    auto late = Late(scene, part, std::max(moments->end, since));
    if (!late || *late <= grace) return;
    findings.Add(name(), fmt::format("{} goes on for {} after its deadline", NameOf(part.first),
                                     FormatDuration(*late)));
  }

  Duration clock_ahead_;  // the hub's wall clock
  Instant moved_at_;      // when that changed last
  std::map<PartRef, Instant> running_;
  std::map<NodeId, Instant> heard_since_;
  std::map<std::pair<JobId, TaskIndex>, Instant> leased_at_;  // decided, and not durable yet
  Duration lag_;              // the longest of leases, from the decision to the disk
  Stopped stopped_;           // as decided in this life,
  Stopped stopped_for_good_;  // and as the journal has it
};

}  // namespace

std::unique_ptr<Checker> MakeDeadlinesCheck() { return std::make_unique<DeadlinesCheck>(); }

}  // namespace spate::sim
