// Nothing leaves the process before its record is durable: an attempt runs under a durable lease
// of its node, and who is told an end can read it in the journal. What was durable once comes back
// in every replay, in the same order and the same bytes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/engine/record_job.h"
#include "sim/check.h"
#include "store/attempt_entry.h"
#include "store/record_codec.h"

namespace spate::sim {
namespace {

uint64_t HashOf(const engine::Record& record) {
  const auto* ended = std::get_if<engine::AttemptEnded>(&record);
  if (ended == nullptr) {
    store::EncodedRecord encoded = store::EncodeRecord(record);
    return store::RecordChecksum(0, encoded.kind, encoded.data);
  }
  store::AttemptEntry entry{*ended, {}};
  store::RoundToStored(entry.record);
  return uint64_t{store::AttemptChecksum(0, entry)} << 32;
}

class DurableCheck final : public Checker {
 public:
  const char* name() const override { return "durable"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* committed = std::get_if<Committed>(&fact)) {
      // Use that was counted stands for all such records before it.
      const bool is_use = std::holds_alternative<engine::UseCounted>(*committed->record);
      if (is_use) std::erase_if(durable_, [](const Durable& each) { return each.is_use; });
      durable_.push_back({engine::JobOf(*committed->record), HashOf(*committed->record), is_use});
      if (scene.hub != nullptr) SeeLease(*committed->record);
      const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
      if (ended != nullptr && ended->verdict == engine::Verdict::kPart) {
        of_gangs_[ended->end.ref].push_back(*ended);
      }
    } else if (std::holds_alternative<LifeBegan>(fact)) {
      replayed_ = 0;
      SkipFinished(scene);
    } else if (const auto* replayed = std::get_if<Replayed>(&fact)) {
      bool same =
          replayed_ < durable_.size() && durable_[replayed_].hash == HashOf(*replayed->record);
      ++replayed_;
      SkipFinished(scene);
      if (!same) findings.Add(name(), fmt::format("record {} comes back changed", replayed_));
    } else if (std::holds_alternative<ReplayDone>(fact)) {
      if (replayed_ == durable_.size()) return;
      findings.Add(
          name(), fmt::format("{} records were durable, {} come back", durable_.size(), replayed_));
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      if (!executed->orphan) CheckLease(scene, *executed, findings);
      bool of_hub = scene.hub != nullptr && executed->orphan;
      auto lease = leases_.find({executed->order->ref, executed->node});
      if (of_hub && lease == leases_.end()) {
        findings.Add(name(), NameOf(executed->order->ref) + " runs where it was never leased");
      }
    } else if (const auto* told = std::get_if<Told>(&fact)) {
      CheckTold(scene, *told->notice, findings);
    } else if (const auto* finished = std::get_if<ToldFinished>(&fact)) {
      const BookedJob* job = scene.book.FindJob(finished->notice.job);
      if (job != nullptr && job->finished && job->Counts() == finished->notice.counts) return;
      findings.Add(name(), fmt::format("job {} is told as finished and is not durably so",
                                       finished->notice.job.value));
    }
  }

 private:
  void CheckLease(const Scene& scene, const Executed& executed, Findings& findings) {
    const AttemptRef& ref = executed.order->ref;
    const BookedTask* task = scene.book.Find(ref);
    bool leased = task != nullptr && task->IsLeased(ref.attempt, executed.node);
    if (!leased) findings.Add(name(), "attempt " + NameOf(ref) + " runs without a durable lease");
  }
  void CheckTold(const Scene& scene, const engine::NoticeEnded& notice, Findings& findings) {
    const BookedTask* task = scene.book.Find(notice.end.ref);
    bool known = task != nullptr && task->last_end && task->last_end->end.ref == notice.end.ref &&
                 task->last_end->verdict == notice.verdict &&
                 task->last_end->end.cause == notice.end.cause &&
                 task->last_end->end.status == notice.end.status;
    if (notice.verdict == engine::Verdict::kPart) {
      known = std::ranges::any_of(of_gangs_[notice.end.ref], [&](const auto& each) {
        return each.end.cause == notice.end.cause && each.end.status == notice.end.status;
      });
      if (known) return;
    }
    // Reopened since: the end was told too late to be compared.
    if (!known && task != nullptr && !task->last_end && task->reopened > 0) return;
    // A later end of the task is durable already: this one was before it.
    if (!known && task != nullptr && task->last_end &&
        task->last_end->end.ref.attempt > notice.end.ref.attempt) {
      return;
    }
    if (!known) {
      findings.Add(name(), "the end of " + NameOf(notice.end.ref) + " is told and not durable");
    }
  }

  struct Durable {
    JobId job;
    uint64_t hash = 0;
    bool is_use = false;
  };
  // A hub's journal gives back what has not finished.
  void SkipFinished(const Scene& scene) {
    while (scene.hub != nullptr && replayed_ < durable_.size()) {
      const BookedJob* job = scene.book.FindJob(durable_[replayed_].job);
      if (job == nullptr || !job->finished) return;
      ++replayed_;
    }
  }
  void SeeLease(const engine::Record& record) {
    if (const auto* gang = std::get_if<engine::GangLeased>(&record)) {
      for (const engine::GangLeased::Part& part : gang->parts) {
        leases_.insert({{gang->job, gang->index, gang->attempt}, part.node});
      }
    }
    const auto* leased = std::get_if<engine::Leased>(&record);
    if (leased == nullptr) return;
    for (TaskRange range : leased->tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        leases_.insert({{leased->job, i, leased->attempt}, leased->node});
      }
    }
  }

  std::vector<Durable> durable_;
  size_t replayed_ = 0;
  std::set<PartRef> leases_;                                          // all that ever were durable
  std::map<AttemptRef, std::vector<engine::AttemptEnded>> of_gangs_;  // ends, but the last one
};

}  // namespace

std::unique_ptr<Checker> MakeDurableCheck() { return std::make_unique<DurableCheck>(); }

}  // namespace spate::sim
