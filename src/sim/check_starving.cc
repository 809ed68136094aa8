// A gang that is the first in line starts at last, however many small tasks come: as long as the
// nodes are there and stay so, what runs ends and nothing takes its place. And with fair shares, a
// user who has nothing gets something for his single tasks at last, however large the gangs of
// others are. The bound is what all tasks take at most, several times, as some of them stand in
// line on nodes already.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/units.h"
#include "sim/check.h"
#include "sim/greed.h"

namespace spate::sim {
namespace {

class StarvingCheck final : public Checker {
 public:
  const char* name() const override { return "starving"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (!scene.hub->gangs && !scene.hub->glutton) return;
    if (scene.hub->suspend || scene.hub->load_bound || scene.hub->roomless) return;
    if (scene.hub->steer) return;  // what is stopped keeps its node
    // A user who may run no more tasks starts none.
    if (scene.hub->user_rules || scene.hub->max_running) return;
    if (const auto* up = std::get_if<NodeUp>(&fact)) {
      if (!up->offer->labels.empty()) pilots_.insert(up->node);
    }
    if (Excuses(fact) && !pilots_.contains(NodeOf(fact))) has_nothing_.clear();
    LookAtUsers(scene, findings);
    if (const auto* decided = std::get_if<Decided>(&fact)) {
      SeeRecord(scene, *decided->record);
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      const AttemptRef& ref = executed->order->ref;
      if (first_ && first_->job == ref.job && first_->index == ref.index) first_.reset();
    } else if (Excuses(fact)) {
      if (first_) first_->since = scene.now;
      if (std::holds_alternative<LifeEnded>(fact)) first_.reset();
    }
    // No gang need start that needs the node of a hoarder's task.
    const bool hoarded = HasHoarder(*scene.hub) || scene.hub->cheat;
    if (!first_ || hoarded || scene.now - first_->since <= BoundOf(scene)) return;
    findings.Add(name(), fmt::format("gang {}.{} is the first in line for {}, and does not start",
                                     first_->job.value, first_->index + 1,
                                     FormatDuration(scene.now - first_->since)));
    first_.reset();
  }

 private:
  struct First {
    JobId job;
    TaskIndex index = 0;
    Instant since;
  };

  // The nodes are not as they were.
  static bool Excuses(const Fact& fact) {
    return std::holds_alternative<LifeBegan>(fact) || std::holds_alternative<LifeEnded>(fact) ||
           std::holds_alternative<NodeHeard>(fact) || std::holds_alternative<NodeUnheard>(fact) ||
           std::holds_alternative<NodeProcess>(fact);
  }

  // Pilots are there for some tasks only, and come and go.
  static NodeId NodeOf(const Fact& fact) {
    if (const auto* heard = std::get_if<NodeHeard>(&fact)) return heard->node;
    if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) return unheard->node;
    const auto* process = std::get_if<NodeProcess>(&fact);
    return process == nullptr ? NodeId() : process->node;
  }

  // Now and then: it costs all tasks. With a hoarder whatever the policy; with a cheat the others
  // hardly wait.
  void LookAtUsers(const Scene& scene, Findings& findings) {
    const Options& o = *scene.hub;
    const bool waits = o.graph || o.after || o.retry_delay || o.start_delay || o.sick_percent > 0;
    const bool fair = !o.gangs || o.gang_policy == GangPolicy::kFair || HasHoarder(o) || o.cheat;
    if (!fair || waits || scene.now < next_look_) return;
    next_look_ = scene.now + Duration::Seconds(o.cheat ? 1 : 10);
    const Duration most = o.cheat ? Duration::Seconds(5) : BoundOf(scene) * 2;
    std::set<std::string> want;
    std::set<std::string> have;
    for (const auto& [id, job] : scene.book.jobs()) {
      const std::string& user = scene.workload.job(id).user;
      const bool goes_on = !job.finished && !job.cancelled && !job.held;
      for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
        if (job.tasks[i].state == TaskState::kLeased) have.insert(user);
        if (!goes_on || job.tasks[i].state != TaskState::kQueued) continue;
        const TaskClass& of_task = job.ClassOf(i);
        if (of_task.gang.empty() && of_task.needs.labels.empty()) want.insert(user);
      }
    }
    for (const std::string& user : have) want.erase(user);
    std::erase_if(has_nothing_, [&](const auto& each) { return !want.contains(each.first); });
    for (const std::string& user : want) {
      const Instant since = has_nothing_.try_emplace(user, scene.now).first->second;
      if (scene.now - since <= most || user == GreedyUser()) continue;
      findings.Add(name(), fmt::format("{} has single tasks that wait, and nothing for {}", user,
                                       FormatDuration(scene.now - since)));
      next_look_ = Instant::Never();
    }
  }

  void SeeRecord(const Scene& scene, const engine::Record& record) {
    if (const auto* reserved = std::get_if<engine::GangReserved>(&record)) {
      bool same = first_ && first_->job == reserved->job && first_->index == reserved->index;
      // Pilots come when the batch system lets them.
      const bool of_pool =
          !scene.workload.ClassOf(reserved->job, reserved->index).needs.labels.empty();
      if (of_pool) {
        first_.reset();
      } else if (!same) {
        first_ = {reserved->job, reserved->index, scene.now};
      }
    } else if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      bool same =
          first_ && first_->job == ended->end.ref.job && first_->index == ended->end.ref.index;
      if (same && EndsTask(ended->verdict)) first_.reset();
    } else if (std::holds_alternative<engine::JobHeld>(record) ||
               std::holds_alternative<engine::JobCancelled>(record) ||
               std::holds_alternative<engine::TasksWithdrawn>(record) ||
               std::holds_alternative<engine::TasksCancelled>(record)) {
      first_.reset();  // it may be among them
    } else if (first_ && (std::holds_alternative<engine::NodeDrained>(record) ||
                          std::holds_alternative<engine::NodeUndrained>(record) ||
                          std::holds_alternative<engine::NodeRemoved>(record) ||
                          std::holds_alternative<engine::NodeSick>(record) ||
                          std::holds_alternative<engine::UserChanged>(record))) {
      first_->since = scene.now;
    }
    if (std::holds_alternative<engine::NodeDrained>(record) ||
        std::holds_alternative<engine::NodeUndrained>(record) ||
        std::holds_alternative<engine::NodeSick>(record)) {
      has_nothing_.clear();
    }
  }

  static Duration BoundOf(const Scene& scene) {
    const Options& o = *scene.hub;
    constexpr int64_t kTimes = 10;
    return (o.longest() + o.commit_max + o.link_latency + o.executor_latency) * kTimes +
           Duration::Seconds(180);
  }

  std::optional<First> first_;
  std::set<NodeId> pilots_;
  std::map<std::string, Instant> has_nothing_;  // users who have single tasks that wait; since then
  Instant next_look_;
};

}  // namespace

std::unique_ptr<Checker> MakeStarvingCheck() { return std::make_unique<StarvingCheck>(); }

}  // namespace spate::sim
