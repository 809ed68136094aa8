// A machine that fails everything, in worlds where tasks fail for no other reason
// (Options::black_holes), beside a good one (node 1) that the hub knows of: a task that has tries
// left when it fails there succeeds elsewhere; and where tasks have none, the machine costs a job a
// handful of them. Jobs of one or two tasks are too small to tell a bad node from a bad task.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "sim/check.h"

namespace spate::sim {
namespace {

class BlameCheck final : public Checker {
 public:
  const char* name() const override { return "blame"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (!scene.hub->black_holes) return;
    if (const auto* heard = std::get_if<NodeHeard>(&fact); heard && heard->node == kGood) {
      heard_at_ = scene.now;
      failed_.clear();
    } else if (const auto* unheard = std::get_if<NodeUnheard>(&fact); unheard != nullptr) {
      if (unheard->node == kGood) heard_at_.reset();
    } else if (std::holds_alternative<LifeEnded>(fact)) {
      heard_at_.reset();
    } else if (const auto* decided = std::get_if<Decided>(&fact)) {
      const auto* cleared = std::get_if<engine::NodeCleared>(decided->record);
      if (cleared != nullptr && cleared->job == JobId()) trusted_ = true;
      const auto* leased = std::get_if<engine::Leased>(decided->record);
      if (leased != nullptr && IsGoodThere(scene)) NoteLease(*leased);
      const auto* ended = std::get_if<engine::AttemptEnded>(decided->record);
      if (ended != nullptr) Look(scene, *ended, findings);
    }
  }

 private:
  static constexpr NodeId kGood{1};
  // From a connection to its first message, at most.
  static constexpr Duration kHello = Duration::Seconds(1);
  // Beside what runs there when it becomes suspect: the failures that it takes, and one each time
  // that a pause is over, which doubles from a second on.
  static constexpr uint32_t kHandful = 16;

  bool IsGoodThere(const Scene& scene) const {
    return heard_at_ && scene.now - *heard_at_ >= kHello + scene.slack;
  }

  void NoteLease(const engine::Leased& leased) {
    for (TaskRange range : leased.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        Leases& of_task = with_choice_[{leased.job, i}];
        of_task.newest = leased.attempt;
        ++of_task.count;
      }
    }
  }

  void Look(const Scene& scene, const engine::AttemptEnded& ended, Findings& findings) {
    if (ended.verdict != engine::Verdict::kFailed || trusted_ || !IsGoodThere(scene)) return;
    // It was given out while the good one was there.
    auto lease = with_choice_.find({ended.end.ref.job, ended.end.ref.index});
    if (lease == with_choice_.end() || lease->second.newest != ended.end.ref.attempt) return;
    const BookedJob* job = scene.book.FindJob(ended.end.ref.job);
    if (job == nullptr || job->tasks.size() < kLimits.node_failures) return;
    // Gangs need several nodes.
    if (!job->ClassOf(ended.end.ref.index).gang.empty()) return;
    const RetryPolicy& retry = scene.workload.job(ended.end.ref.job).policy.retry;
    if (retry.retries >= kLimits.node_failures) {
      // Tries that were spent before the good one was there are gone.
      if (lease->second.count < ended.end.ref.attempt.value) return;
      findings.Add(name(), fmt::format("{} failed for good on n{}, which fails everything",
                                       NameOf(ended.end.ref), ended.node.value));
    } else if (++failed_[{ended.end.ref.job, ended.node}] > kHandful + scene.hub->slots) {
      findings.Add(name(), fmt::format("{} is one task too many that failed on n{}, which fails "
                                       "everything",
                                       NameOf(ended.end.ref), ended.node.value));
    }
  }

  std::optional<Instant> heard_at_;
  std::map<std::pair<JobId, NodeId>, uint32_t> failed_;
  // While the good one was there.
  struct Leases {
    Attempt newest;
    uint32_t count = 0;
  };
  std::map<std::pair<JobId, TaskIndex>, Leases> with_choice_;
  bool trusted_ = false;  // a person said that the bad ones are good: let him have it
};

}  // namespace

std::unique_ptr<Checker> MakeBlameCheck() { return std::make_unique<BlameCheck>(); }

}  // namespace spate::sim
