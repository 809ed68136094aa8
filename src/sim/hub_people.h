// HubPeople: the users of a simulated hub, and its administrator. They ask the hub for all that
// they want, by the questions that programs ask (wire/questions.h), each user over several
// connections at once. They outlive the hub's process: what was not answered they ask again, as
// `spate submit` does.
//
// All mischief is bounded and in the end undone, so that every world gets done.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/prng.h"
#include "sim/hub_process.h"
#include "sim/witness.h"

namespace spate::sim {

inline constexpr const char* kAdmin = "root";
inline JobSelector Only(JobId job) { return {.ranges = {{job.value, job.value}}}; }

class HubPeople final : public HubEvents {
 public:
  struct Parts {
    os::Loop& loop;
    const Options& options;
    const Workload& workload;
    FactSink sink;
    // Null while nobody answers.
    std::function<HubProcess*()> hub;
    WorldReport& report;
    uint64_t seed = 1;
  };
  explicit HubPeople(Parts parts);

  void Begin();
  // A hub has come up.
  void SeeHub();
  // Every job has ended, and nobody wants anything.
  bool Content() const;

  void OnHeldByRule(JobId job) override;
  void OnFinished(JobId job) override;
  void OnNodeSick() override;

 private:
  // A person's wish to ask, now, later or never again.
  struct Wish {
    enum class When : uint8_t { kNow, kLater, kNever } when = When::kNever;
    wire::Question question = {};

    static Wish Never() { return {}; }
    static Wish Later() { return {When::kLater}; }
    static Wish Now(wire::Question question) { return {When::kNow, std::move(question)}; }
  };
  using Make = std::function<Wish(HubProcess&)>;
  // False: asks once more.
  using Heard = std::function<bool(const Result<HubProcess::Answers>&)>;

  void Note(const std::string& text) { parts_.sink(Remark{text}); }
  // `fn` is told a hub that answers, after `wait` and until it is content (returns true).
  void Do(Duration wait, std::function<bool(HubProcess&)> fn);
  // The same of a question, until it is answered; `heard` may be null.
  void Query(const std::string& user, Duration wait, Make make, Heard heard = nullptr);
  Duration Wait(Duration most);

  // Jobs
  void Submit(const SimJob& job, Duration wait);
  void OnAccepted(JobId job);
  void GrowOn(const SimJob& job);
  void Release(JobId job);
  void PlanMischief(const SimJob& job);
  void CancelSome(const SimJob& job);
  void SetSome(const SimJob& job);
  void WithdrawRest(const SimJob& job);
  void ResizeSome(const SimJob& job);  // hub_resizing.cc
  void RetryFailed(const SimJob& job);
  void Forget(const SimJob& job);
  void PlanLooks(const SimJob& job);
  void FollowOn(const SimJob& job, Duration wait);
  wire::Question AnyLook(const SimJob& job);
  // A question about a job that has not ended.
  Make OfUnended(JobId job, std::function<wire::Question()> question);

  // Stopping, continuing, killing and signalling (hub_steering.cc)
  void PlanSteering(const SimJob& job);
  wire::Steer AnySteering(const SimJob& job, Steering what);
  void Freeze(const SimJob& job);
  void Thaw(const SimJob& job, wire::Steer stopped);
  // From time to time: what is stopped, though nobody means to continue it, is continued.
  void TendStopped();
  void Signal(const SimJob& job);
  void LookAtProcesses(const SimJob& job);

  // The administrator (hub_admin.cc)
  void PlanAdministration();
  void PlanUsers();
  void ChangeNode(Duration wait, std::string node, wire::ChangeNodes::Change change,
                  Heard heard = nullptr);
  void DrainSome();
  void RemoveSome();
  void StopSome();
  void PlanPools();
  void AddPool(const SimPool& pool, Duration wait, bool test);
  static bool HasPool(HubProcess& hub, const SimPool& pool);
  // Adds it or removes it so many times, and removes it.
  void TendBrief(const SimPool& pool, uint32_t times);
  // From time to time: what has paused goes on.
  void TendPools();
  void ChangePools(wire::ChangePools::Change change, const std::string& state);
  // A task that waits for room that no node has, because its retries request more or a greedy
  // user asked for it, is cancelled when the hub says so.
  void GiveUpHopeless();
  void GiveUpHopeless(HubProcess& hub, const SimJob& job);
  void GiveUp(const SimJob& job, const HubProcess::Answers& whys);
  bool WaitedTooLong(const TaskClass& of_task) const;
  std::string AnyNode();

  Parts parts_;
  Prng prng_;
  Instant began_;
  Duration span_;  // about how long the work takes
  const Duration ask_again_;
  uint32_t wishes_ = 0;  // under way
  std::map<JobId, uint32_t> refusals_;
  std::map<JobId, uint32_t> submitted_in_;  // the life of the hub that was asked; 0: none
  std::set<JobId> accepted_;
  std::set<JobId> finished_;
  std::set<JobId> releasing_;
  std::map<JobId, uint32_t> retries_;
  std::map<JobId, uint32_t> stops_;  // that somebody means to undo
  std::map<JobId, uint64_t> read_;   // so many of its ends
  bool clearing_ = false;
  uint32_t halts_ = 8;  // after so many a job that was stopped by a rule is cancelled
};

}  // namespace spate::sim
