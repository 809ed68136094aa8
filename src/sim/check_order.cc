// Nothing is given out before its time: not before what its job waits for, not of a job that is
// held or cancelled, not to a node that is drained, and not to one that is set aside by all while
// another could take it. What a job waits for is
// what its person wrote, wherever it got lost on the way; who has tasks done again waits no more,
// nor do those that were added when the wait was over. No job is cancelled that need not be.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/check.h"

namespace spate::sim {
namespace {

constexpr Duration kAWhile = Duration::Seconds(20);

class OrderCheck final : public Checker {
 public:
  const char* name() const override { return "order"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* up = std::get_if<NodeUp>(&fact)) offers_[up->node] = *up->offer;
    if (const auto* heard = std::get_if<NodeHeard>(&fact)) heard_[heard->node] = scene.now;
    if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) heard_.erase(unheard->node);
    if (const auto* process = std::get_if<NodeProcess>(&fact)) heard_.erase(process->node);
    const auto* committed = std::get_if<Committed>(&fact);
    if (committed == nullptr) return;
    const engine::Record& record = *committed->record;
    if (const auto* leased = std::get_if<engine::Leased>(&record)) {
      std::string why = WhyNot(scene, *leased, /*gang=*/false);
      if (why.empty()) return;
      findings.Add(name(), fmt::format("tasks of job {} are given to n{}, {}", leased->job.value,
                                       leased->node.value, why));
    } else if (const auto* gang = std::get_if<engine::GangLeased>(&record)) {
      for (const engine::GangLeased::Part& part : gang->parts) {
        engine::Leased of_part{part.node, gang->job, gang->attempt, {{gang->index, 1}}};
        std::string why = WhyNot(scene, of_part, /*gang=*/true);
        if (why.empty()) continue;
        findings.Add(name(), fmt::format("a part of a gang of job {} is given to n{}, {}",
                                         gang->job.value, part.node.value, why));
      }
    } else if (const auto* finished = std::get_if<engine::JobFinished>(&record)) {
      Outcome& outcome = outcomes_[finished->job];
      const JobCounts& counts = finished->counts;
      (counts.succeeded == counts.total ? outcome.well : outcome.not_well) = true;
      (counts.failed + counts.unknown > 0 ? outcome.failed : outcome.unfailed) = true;
      EndWaits(scene, finished->job);
    } else if (const auto* met = std::get_if<engine::DependencyMet>(&record)) {
      EndWait(scene, met->job, met->on);
    } else if (const auto* steered = std::get_if<engine::JobSteered>(&record)) {
      const bool kills = steered->what == Steering::kKill && steered->tasks.empty();
      if (kills) killed_.insert(steered->job);
    } else if (const auto* cancelled = std::get_if<engine::JobCancelled>(&record)) {
      const bool killed = killed_.erase(cancelled->job) > 0;
      if (!cancelled->reason.empty() && !killed && !MayCancel(scene, cancelled->job)) {
        findings.Add(name(), fmt::format("job {} is cancelled, since {}", cancelled->job.value,
                                         cancelled->reason));
      }
      EndWaits(scene, cancelled->job);
    } else if (const auto* drained = std::get_if<engine::NodeDrained>(&record)) {
      drained_.insert(drained->node);
    } else if (const auto* undrained = std::get_if<engine::NodeUndrained>(&record)) {
      drained_.erase(undrained->node);
    } else if (const auto* removed = std::get_if<engine::NodeRemoved>(&record)) {
      drained_.erase(removed->node);
      sick_.erase(removed->node);
    } else if (const auto* sick = std::get_if<engine::NodeSick>(&record)) {
      if (sick->job == JobId()) sick_.insert(sick->node);
      avoided_.emplace(sick->job, sick->node);
    } else if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      if (ended->end.cause == Cause::kStart) avoided_.emplace(ended->end.ref.job, ended->node);
    } else if (const auto* cleared = std::get_if<engine::NodeCleared>(&record)) {
      if (cleared->job != JobId()) return;
      if (cleared->node == NodeId()) sick_.clear();
      sick_.erase(cleared->node);
    }
  }

 private:
  // How a job ended, each time that it did.
  struct Outcome {
    bool well = false;
    bool not_well = false;
    bool failed = false;
    bool unfailed = false;
  };

  // Another node has been there for a while (what is durable now was decided some commits ago), and
  // nothing speaks against it.
  bool OtherTakes(const Scene& scene, const engine::Leased& leased) const {
    const SimJob& job = scene.workload.job(leased.job);
    return std::any_of(heard_.begin(), heard_.end(), [&](const auto& each) {
      const auto& [node, since] = each;
      auto offer = offers_.find(node);
      if (node == leased.node || scene.now - since < kAWhile) return false;
      if (offer == offers_.end() || !TakesUser(offer->second, job.user)) return false;
      if (drained_.contains(node) || sick_.contains(node)) return false;
      if (avoided_.contains({leased.job, node})) return false;
      return std::all_of(job.requests.begin(), job.requests.end(), [&](const TaskClass& wanted) {
        return FitCount(offer->second, wanted.needs) > 0;
      });
    });
  }

  std::string WhyNot(const Scene& scene, const engine::Leased& leased, bool gang) {
    const BookedJob& job = *scene.book.FindJob(leased.job);
    if (job.held) return "which is held";
    if (job.cancelled) return "which is cancelled";
    if (job.stopped) return "which is stopped";
    if (drained_.contains(leased.node)) return "which is drained";
    if (!gang && sick_.contains(leased.node) && OtherTakes(scene, leased)) {
      return "which is set aside";
    }
    for (const After& after : scene.workload.job(leased.job).after) {
      for (TaskRange range : leased.tasks) {
        for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
          if (job.tasks[i].reopened > 0 || Met(scene, leased.job, after, i)) continue;
          return fmt::format("and have to wait for job {}", after.job.value);
        }
      }
    }
    return "";
  }
  // True if what it waits for may have ended in another way than it has to.
  bool MayCancel(const Scene& scene, JobId job) {
    return std::ranges::any_of(scene.workload.job(job).after, [&](const After& after) {
      const Outcome& outcome = outcomes_[after.job];
      return after.kind == AfterKind::kEach || (after.kind == AfterKind::kOk && outcome.not_well) ||
             (after.kind == AfterKind::kFail && outcome.unfailed);
    });
  }
  void EndWait(const Scene& scene, JobId job, JobId on) {
    if (scene.book.FindJob(job) == nullptr) return;  // a troublemaker's
    waited_.emplace(std::pair(job, on), scene.book.FindJob(job)->tasks.size());
  }
  void EndWaits(const Scene& scene, JobId job) {
    if (scene.book.FindJob(job) == nullptr) return;
    for (const After& after : scene.workload.job(job).after) EndWait(scene, job, after.job);
  }
  bool Met(const Scene& scene, JobId job, const After& after, TaskIndex index) {
    auto waited = waited_.find({job, after.job});
    if (waited != waited_.end() && index >= waited->second) return true;
    const Outcome& outcome = outcomes_[after.job];
    switch (after.kind) {
      case AfterKind::kOk:
        return outcome.well;
      case AfterKind::kFail:
        return outcome.failed;
      case AfterKind::kAny:
        return outcome.well || outcome.not_well;
      case AfterKind::kEach:
        break;
    }
    const BookedJob* other = scene.book.FindJob(after.job);
    return other != nullptr && index < other->tasks.size() &&
           other->tasks[index].state == TaskState::kSucceeded;
  }

  std::map<JobId, Outcome> outcomes_;
  std::map<std::pair<JobId, JobId>, size_t> waited_;  // so many tasks were there at a wait's end
  std::set<JobId> killed_;                            // by somebody
  std::set<NodeId> drained_;
  std::set<NodeId> sick_;
  std::map<NodeId, Offer> offers_;
  std::map<NodeId, Instant> heard_;             // since then
  std::set<std::pair<JobId, NodeId>> avoided_;  // at some time
};

}  // namespace

std::unique_ptr<Checker> MakeOrderCheck() { return std::make_unique<OrderCheck>(); }

}  // namespace spate::sim
