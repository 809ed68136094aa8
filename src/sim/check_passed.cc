// However much a glutton asks for, another user who has nothing comes next: of the nodes on which
// that user's task could run, the glutton is given few more tasks first. It examines single tasks
// that wait for nothing but room: never tried yet, of jobs without bounds that do not stand back by
// their weight, and where no gang may have a node kept for it; of users who have not used more of
// late than the glutton, as the hub has noted it last.
#include <fmt/format.h>

#include <map>
#include <string>

#include "sim/check.h"
#include "sim/decided_book.h"
#include "sim/greed.h"

namespace spate::sim {
namespace {

class PassedCheck final : public Checker {
 public:
  const char* name() const override { return "passed"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    const Options& o = *scene.hub;
    if (!o.glutton || o.gangs || o.user_rules || o.steer) return;
    if (const auto* up = std::get_if<NodeUp>(&fact)) offers_[up->node] = *up->offer;
    if (std::holds_alternative<LifeBegan>(fact)) leased_.clear();
    if (std::holds_alternative<ReplayDone>(fact)) CountLeased(scene);
    if (const auto* decided = std::get_if<Decided>(&fact)) See(scene, *decided->record, findings);
    book_.Observe(scene, fact);
  }

 private:
  // More than one user's turn gives at most.
  static constexpr uint32_t kLeases = 4;

  void See(const Scene& scene, const engine::Record& record, Findings& findings) {
    if (const auto* leased = std::get_if<engine::Leased>(&record)) {
      const std::string& user = scene.workload.job(leased->job).user;
      for (TaskRange range : leased->tasks) leased_[user] += range.count;
      if (user == GreedyUser()) {
        Pass(scene, leased->node, findings);
      } else {
        passed_.erase(user);
      }
    } else if (const auto* returned = std::get_if<engine::Returned>(&record)) {
      int64_t& of_user = leased_[scene.workload.job(returned->job).user];
      for (TaskRange range : returned->tasks) of_user -= range.count;
    } else if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      --leased_[scene.workload.job(ended->end.ref.job).user];
    } else if (std::holds_alternative<engine::NodeSick>(record)) {
      passed_.clear();
    } else if (const auto* counted = std::get_if<engine::UseCounted>(&record)) {
      used_.clear();
      for (const auto& [user, use] : counted->users) used_[user] = use;
    }
  }

  void CountLeased(const Scene& scene) {
    for (const auto& [id, job] : scene.book.jobs()) {
      for (const BookedTask& task : job.tasks) {
        if (task.state == TaskState::kLeased) ++leased_[scene.workload.job(id).user];
      }
    }
  }

  // The glutton is given a task on the node.
  void Pass(const Scene& scene, NodeId node, Findings& findings) {
    const auto offer = offers_.find(node);
    if (offer == offers_.end()) return;
    std::map<std::string, AttemptRef> waiting;  // a task of each user
    for (const auto& [id, job] : book_.book().jobs()) {
      if (scene.workload.IsGreedy(id) || job.held || job.cancelled || job.finished) continue;
      if (job.policy.max_running > 0 || !scene.workload.job(id).after.empty()) continue;
      if (job.policy.weight < kJobWeight) continue;
      const std::string& user = scene.workload.job(id).user;
      if (leased_[user] > 0 || !TakesUser(offer->second, user)) continue;
      if (used_[user] > used_[GreedyUser()]) continue;
      for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
        const TaskClass& of_task = job.ClassOf(i);
        const bool waits = job.tasks[i].state == TaskState::kQueued &&
                           job.tasks[i].attempt.value == 0 && !of_task.deadline &&
                           !job.parents.contains(i);
        if (!waits || FitCount(offer->second, of_task.needs) == 0) continue;
        if (!OutlivesTask(offer->second, of_task.needs, scene.now + kMargin)) continue;
        waiting.try_emplace(user, AttemptRef{id, i, Attempt(0)});
        break;
      }
    }
    std::erase_if(passed_, [&](const auto& each) { return !waiting.contains(each.first); });
    for (const auto& [user, task] : waiting) {
      if (++passed_[user] != kLeases) continue;
      findings.Add(name(), fmt::format("{} has task {}.{} that n{} could run, and the glutton is "
                                       "given nodes {} times before it",
                                       user, task.job.value, task.index + 1, node.value, kLeases));
    }
  }

  static constexpr Duration kMargin = Duration::Seconds(600);  // clocks differ

  DecidedBook book_;
  std::map<NodeId, Offer> offers_;
  std::map<std::string, int64_t> leased_;   // tasks of a user
  std::map<std::string, uint32_t> passed_;  // how often a user was
  std::map<std::string, uint64_t> used_;    // of late, when it was noted last
};

}  // namespace

std::unique_ptr<Checker> MakePassedCheck() { return std::make_unique<PassedCheck>(); }

}  // namespace spate::sim
