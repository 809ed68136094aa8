// The first of the gangs that wait starts no later than it was told at first
// (engine::GangReserved), where nothing has happened that excuses it: no node went, came, was
// drained or set aside, no job was held or let go, the hub lived on; and all tasks of the world
// take no longer than was said of them. A little late is no lie: the tolerance is that of the
// engine, and what messages take.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/units.h"
#include "core/model/retry.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

class ReservationsCheck final : public Checker {
 public:
  const char* name() const override { return "reservations"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    const Options& o = *scene.hub;
    // Not judged: options that start tasks later than the hub thinks, or end a job's turn.
    bool judged = o.gangs && o.estimates == Estimates::kRight && !o.start_delay && !o.load_bound &&
                  !o.suspend && !o.retry_delay && !o.liars && !o.max_running && !o.user_rules &&
                  !o.roomless && !o.stream && !o.steer;
    if (!judged || o.slow_disk()) return;
    const auto* decided = std::get_if<Decided>(&fact);
    if (const auto* heard = std::get_if<NodeHeard>(&fact)) away_.erase(heard->node);
    if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) away_.insert(unheard->node);
    if (decided == nullptr) {
      if (Excuses(fact)) head_.reset();
      if (const auto* began = std::get_if<LifeBegan>(&fact)) clock_ahead_ = began->clock_ahead;
      return;
    }
    const engine::Record& record = *decided->record;
    if (const auto* reserved = std::get_if<engine::GangReserved>(&record)) {
      Reserve(scene, *reserved, findings);
    } else if (const auto* leased = std::get_if<engine::GangLeased>(&record)) {
      if (!head_ || head_->job != leased->job || head_->index != leased->index) return;
      CheckStart(scene, scene.now, "it is started", findings);
      head_.reset();
    } else if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      // A retried task goes to the head of its job, and a failed one speaks against its node.
      bool moves = ended->verdict == engine::Verdict::kRetry || IsFailure(*ended);
      if (moves && head_ && head_->job == ended->end.ref.job) head_.reset();
    } else if (ExcusesRecord(record)) {
      head_.reset();
    }
  }

 private:
  struct Head {
    JobId job;
    TaskIndex index = 0;
    Instant told;  // when
    Instant start;
  };

  static bool Excuses(const Fact& fact) {
    return std::holds_alternative<LifeBegan>(fact) || std::holds_alternative<LifeEnded>(fact) ||
           std::holds_alternative<NodeHeard>(fact) || std::holds_alternative<NodeUnheard>(fact) ||
           std::holds_alternative<NodeProcess>(fact);
  }
  // Gangs of its job avoid the node for a while.
  static bool IsFailure(const engine::AttemptEnded& ended) {
    const Cause cause = ended.end.cause;
    return IsOfProgram(cause) || cause == Cause::kStart || cause == Cause::kMemory ||
           cause == Cause::kExcess;
  }
  static bool ExcusesRecord(const engine::Record& record) {
    return std::holds_alternative<engine::NodeDrained>(record) ||
           std::holds_alternative<engine::NodeUndrained>(record) ||
           std::holds_alternative<engine::NodeRemoved>(record) ||
           std::holds_alternative<engine::NodeSick>(record) ||
           std::holds_alternative<engine::NodeCleared>(record) ||
           std::holds_alternative<engine::JobHeld>(record) ||
           std::holds_alternative<engine::JobReleased>(record) ||
           std::holds_alternative<engine::JobCancelled>(record) ||
           std::holds_alternative<engine::TasksReopened>(record) ||
           std::holds_alternative<engine::GangPolicyChanged>(record);
  }

  void Reserve(const Scene& scene, const engine::GangReserved& reserved, Findings& findings) {
    const bool same = head_ && head_->job == reserved.job && head_->index == reserved.index;
    const Instant start =
        reserved.start == Instant::Never() ? Instant::Never() : reserved.start - clock_ahead_;
    // The hub may not know yet that it has gone.
    if (!away_.empty()) return head_.reset();
    if (same && head_->start != Instant::Never()) {
      CheckStart(scene, start, reserved.reason, findings);
      return;
    }
    head_ = {reserved.job, reserved.index, scene.now, start};
  }

  void CheckStart(const Scene& scene, Instant start, const std::string& why, Findings& findings) {
    const Options& o = *scene.hub;
    if (head_->start == Instant::Never()) return;
    const Duration messages =
        (o.commit_max + o.link_latency + o.executor_latency) * 8 + Duration::Millis(400);
    const Duration tolerance = Duration::Seconds(1) + (head_->start - head_->told) / 10;
    if (start <= head_->start + tolerance + messages) return;
    const std::string when = start == Instant::Never()
                                 ? "who knows when rather"
                                 : FormatDuration(start - head_->start) + " later";
    findings.Add(name(), fmt::format("gang {}.{} is the first in line, and starts {} than it was "
                                     "told ({})",
                                     head_->job.value, head_->index + 1, when, why));
  }

  std::optional<Head> head_;
  std::set<NodeId> away_;
  Duration clock_ahead_;
};

}  // namespace

std::unique_ptr<Checker> MakeReservationsCheck() { return std::make_unique<ReservationsCheck>(); }

}  // namespace spate::sim
