// HubPeople: the users of a simulated hub, and its administrator. They outlive the hub's process:
// what was not acknowledged they try again, as `spate submit` does.
//
// All mischief is bounded and in the end undone, so that every world gets done.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/prng.h"
#include "sim/hub_process.h"

namespace spate::sim {

class HubPeople final : public HubEvents {
 public:
  struct Parts {
    os::Loop& loop;
    const Options& options;
    const Workload& workload;
    FactSink sink;
    // Null while nobody answers.
    std::function<HubProcess*()> hub;
    uint64_t seed = 1;
  };
  explicit HubPeople(Parts parts);

  void Begin();
  // A hub has come up.
  void SeeHub();
  // Every job has ended, and nobody wants anything.
  bool Content() const;

  void OnAccepted(JobId job) override;
  void OnRefused(JobId job) override;
  void OnHeldByRule(JobId job) override;
  void OnFinished(JobId job) override;
  void OnNodeSick() override;

 private:
  void Say(const std::string& text) { parts_.sink(Remark{text}); }
  // `fn` is told a hub that answers, after `wait` and until it is content (returns true).
  void Do(Duration wait, std::function<bool(HubProcess&)> fn);
  Duration Wait(Duration most);

  void Submit(const SimJob& job, Duration wait);
  void GrowOn(const SimJob& job);
  void Release(JobId job);
  void PlanMischief(const SimJob& job);
  void CancelSome(const SimJob& job);
  void PlanAdministration();
  void DrainSome();
  void PlanPools();
  // From time to time: what has paused goes on.
  void TendPools();
  void RemoveSome();
  NodeId AnyNode();

  Parts parts_;
  Prng prng_;
  Duration span_;  // about how long the work takes
  const Duration ask_again_;
  uint32_t wishes_ = 0;  // under way
  std::map<JobId, uint32_t> refusals_;
  std::map<JobId, uint32_t> submitted_in_;         // the life of the hub that was asked; 0: none
  std::map<JobId, uint32_t> retrying_in_;          // the same; kAnswered: it has answered
  std::map<std::string, uint32_t> pool_added_in_;  // as submitted_in_
  std::set<JobId> accepted_;
  std::set<JobId> finished_;
  std::set<JobId> releasing_;
  std::map<JobId, uint32_t> retries_;
  bool clearing_ = false;
  uint32_t halts_ = 8;  // after so many a job that was stopped by a rule is cancelled
};

}  // namespace spate::sim
