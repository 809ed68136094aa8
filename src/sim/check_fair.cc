// Users who all have enough to do get their shares: in worlds of equal tasks (Options::fair), the
// time that tasks of each user ran for is near to the user's part by weight, unless the user has
// had more than others before, which counts too (docs/design/064). It examines what began while
// every user had more queued than all nodes can run, where that was long: of what was leased at
// once, before anything was known of a job's tasks, one user may have the most; what a node holds
// that cannot be heard counts as used until the node is lost, as it may run there; and a job that
// avoids a node leaves it to others.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/check.h"

namespace spate::sim {
namespace {

// So many attempts for each user, and so many times what is leased ahead, say something.
constexpr uint32_t kEnough = 60;
constexpr int64_t kLeases = 10;

class FairCheck final : public Checker {
 public:
  const char* name() const override { return "fair"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (!scene.hub->fair) return;
    if (std::holds_alternative<LifeBegan>(fact)) {
      Judge(scene, findings);
      CountHeld(scene);
      had_ = had_recorded_;
      ran_.clear();
      attempts_ = 0;
    }
    if (const auto* up = std::get_if<NodeUp>(&fact)) slots_[up->node] = up->offer->slots;
    if (const auto* heard = std::get_if<NodeHeard>(&fact)) heard_.insert(heard->node);
    if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) heard_.erase(unheard->node);
    if (const auto* process = std::get_if<NodeProcess>(&fact)) heard_.erase(process->node);
    if (const auto* executed = std::get_if<Executed>(&fact)) {
      bool fair = !set_aside_ && AllHaveEnough(scene) && AllHoldersAreHeard();
      began_[executed->order->ref] = {scene.now, fair};
      if (fair) NoteHad(scene);
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      auto it = began_.find(over->ref);
      if (it == began_.end()) return;
      const auto [since, fair] = it->second;
      began_.erase(it);
      const double wall = (scene.now - since).seconds();
      if (!fair) return;
      ran_[scene.workload.job(over->ref.job).user] += wall;
      ++attempts_;
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      Count(scene, *committed->record);
    } else if (std::holds_alternative<WorldDone>(fact)) {
      Judge(scene, findings);
    }
  }

 private:
  // Leases of a node.
  struct Held {
    int64_t tasks = 0;
    std::map<std::string, int64_t> of_user;
    Instant since{};
  };

  static int64_t SlotsOf(const Scene& scene) {
    int64_t slots = 0;
    for (const Offer& offer : scene.workload.offers()) slots += offer.slots;
    return slots;
  }
  bool AllHaveEnough(const Scene& scene) {
    int64_t slots = SlotsOf(scene);
    for (uint32_t user = 1; user <= scene.hub->users; ++user) {
      std::string name = Workload::UserName(user);
      if (!weights_.contains(name) || queued_[name] < 2 * slots) return false;
    }
    return true;
  }
  bool AllHoldersAreHeard() const {
    return std::all_of(held_.begin(), held_.end(), [this](const auto& each) {
      return each.second.tasks <= 0 || heard_.contains(each.first);
    });
  }
  void Count(const Scene& scene, const engine::Record& record) {
    if (std::holds_alternative<engine::NodeSick>(record)) set_aside_ = true;
    if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      Hold(scene, ended->node, ended->end.ref.job, -1);
    }
    if (const auto* returned = std::get_if<engine::Returned>(&record)) {
      for (TaskRange range : returned->tasks) {
        Hold(scene, returned->node, returned->job, -int64_t{range.count});
      }
    }
    if (const auto* accepted = std::get_if<engine::JobAccepted>(&record)) {
      queued_[scene.workload.job(accepted->job).user] += accepted->plan.task_count;
    } else if (const auto* leased = std::get_if<engine::Leased>(&record)) {
      for (TaskRange range : leased->tasks) {
        queued_[scene.workload.job(leased->job).user] -= range.count;
        Hold(scene, leased->node, leased->job, range.count);
      }
    } else if (const auto* changed = std::get_if<engine::UserChanged>(&record)) {
      weights_[changed->user] = changed->rule.weight;
    } else if (std::holds_alternative<engine::UseCounted>(record)) {
      CountHeld(scene);
      had_recorded_ = had_;
    }
  }
  // So many more tasks, or fewer.
  void Hold(const Scene& scene, NodeId node, JobId job, int64_t more) {
    Held& held = held_[node];
    CountUntil(scene.now, node, held);
    held.tasks += more;
    held.of_user[scene.workload.job(job).user] += more;
  }
  // Those who have leases there share its slots: what is leased ahead takes none.
  void CountUntil(Instant now, NodeId node, Held& held) {
    const double time = (now - std::exchange(held.since, now)).seconds();
    if (held.tasks <= 0) return;
    const auto slots = static_cast<double>(std::min<int64_t>(held.tasks, slots_[node]));
    for (const auto& [user, tasks] : held.of_user) {
      had_[user] += time * slots * static_cast<double>(tasks) / static_cast<double>(held.tasks);
    }
  }
  // Until now: what users have later, when others want nothing any more, is no share.
  void NoteHad(const Scene& scene) {
    CountHeld(scene);
    had_while_fair_ = had_;
  }
  void CountHeld(const Scene& scene) {
    for (auto& [node, held] : held_) CountUntil(scene.now, node, held);
  }
  // Judges one life of the hub: a crash loses what was used since it was recorded.
  void Judge(const Scene& scene, Findings& findings) {
    if (attempts_ < kEnough * scene.hub->users) return;
    double all = 0;
    double weights = 0;
    for (const auto& [user, weight] : weights_) weights += weight;
    for (const auto& [user, time] : ran_) all += time;
    Duration ahead = kLimits.lease_ahead + scene.hub->commit_max + scene.hub->link_latency * 2;
    if (all < (ahead * kLeases * SlotsOf(scene)).seconds()) return;
    // Shares are whole tasks, of a node that may have been the only one, and chance has its part.
    double slots = 1e9;
    for (const Offer& offer : scene.workload.offers()) {
      slots = std::min(slots, offer.milli_cpus / 1000.0);
    }
    for (const auto& [user, weight] : weights_) {
      double due = weight / weights;
      double share = ran_[user] / all;
      if (due - share <= 0.1 + 0.7 / slots) continue;
      const double had = had_while_fair_[user] / weight;
      // Somebody who got more than is due had more before, too; one who had less may have had it.
      const bool had_less = std::ranges::any_of(weights_, [&](const auto& other) {
        return ran_[other.first] / all > other.second / weights &&
               had < 0.8 * had_while_fair_[other.first] / other.second;
      });
      if (!had_less) continue;
      findings.Add(name(), fmt::format("{} got {:.2f} of the time of {} attempts, {:.2f} is due",
                                       user, share, attempts_, due));
    }
  }

  std::map<std::string, int64_t> queued_;  // about: what comes back is not counted
  std::map<NodeId, Held> held_;
  std::map<NodeId, uint32_t> slots_;
  std::set<NodeId> heard_;
  std::map<std::string, double> weights_;
  std::map<AttemptRef, std::pair<Instant, bool>> began_;  // and whether it counts
  std::map<std::string, double> ran_;                     // of those that count
  // Seconds of a slot, of each user: while tasks are leased, whether they run or their node cannot
  // be heard.
  std::map<std::string, double> had_;
  std::map<std::string, double> had_recorded_;    // by the hub; a crash loses the rest
  std::map<std::string, double> had_while_fair_;  // until the newest start that counts
  uint32_t attempts_ = 0;
  bool set_aside_ = false;  // some node, for some job, since then
};

}  // namespace

std::unique_ptr<Checker> MakeFairCheck() { return std::make_unique<FairCheck>(); }

}  // namespace spate::sim
