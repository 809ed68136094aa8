// MockExecutor: runs attempts by pretending. Slots, orders held ahead, races between an order and
// the end that it comes too late for, and the events are those of the real one (node/executor.h).
//
// A slot hears orders late and is heard late, each by a random time up to `latency_max`, in order:
// the socket between executor and shepherd. The slots may outlive the process that gives the
// orders. What it does not simulate: a shepherd that hangs, and processes that outlive their
// attempt.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/prng.h"
#include "node/executor.h"
#include "os/loop.h"
#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/sabotage.h"
#include "sim/workload.h"

namespace spate::sim {

class MockExecutor final : public node::Executor {
 public:
  struct Parts {
    os::Loop& loop;
    const Workload& workload;
    FactSink sink;
    NodeId node;
    uint32_t slots = 1;
    Duration latency_max;
    uint64_t seed = 1;
    Sabotage sabotage = Sabotage::kNone;
  };
  // Ends that the hub may not have.
  using KeptEnds = std::map<AttemptRef, node::AdoptedEnd>;
  explicit MockExecutor(Parts parts, KeptEnds kept = {});
  ~MockExecutor() override { *alive_ = false; }

  // The process that gives orders from now on, and hears. What came before is in Adopt.
  void Attach(Faults& faults, node::ExecutorEvents& events);
  // The process is gone. Its shepherds go on with what they run, drop what they hold ahead, and
  // keep ends until the next process has told the hub (design/010).
  void Detach();
  node::Adopted Adopt() const;
  void SetOrphan() { orphan_ = true; }
  // The machine is gone, with all that runs there: nothing happens here any more.
  void KillAll();

  void OpenJob(JobId job, std::shared_ptr<const JobSettings> settings, bool) override;
  void CloseJob(JobId job) override;
  void Start(node::StartOrder order) override;
  void Withdraw(const AttemptRef& ref) override;
  void End(const AttemptRef& ref, node::EndHow how, Cause cause) override;
  void Pause(bool) override {}
  void Freeze(const AttemptRef& ref, bool frozen, Instant stop) override;
  void Resize(node::ResizeOrder order) override;
  void Taken(const AttemptRef& ref) override { kept_.erase(ref); }
  // Answers a question about an attempt, as its shepherd does: later, or never when the node goes.
  // Each attempt has one process.
  void Answer(const wire::Ask& ask, std::function<void(wire::AnswerPiece)> answered);
  void List(const std::function<void(const node::ListedProcesses&)>& listed) const;
  static int32_t PidOf(uint16_t slot) { return 1000 + slot; }
  const KeptEnds& kept() const { return kept_; }
  // Nothing runs here.
  bool Idle() const;

 private:
  struct Slot {
    uint16_t number = 0;
    std::deque<node::StartOrder> orders;  // the first one runs
    Behaviour behaviour;
    Instant began;
    os::TimerId end_timer = 0;
    Instant ends_at;  // of the timer
    Cause end_cause = Cause::kSuccess;
    int32_t end_status = 0;
    Instant frozen_at = Instant::Never();
    Duration frozen;     // before that
    Instant last_order;  // no order overtakes another, no event either
    Instant last_event;
  };

  void AfterLatency(Instant& last, std::function<void()> fn);
  void Notify(Slot& slot, std::function<void(node::ExecutorEvents&)> fn);
  void Begin(Slot& slot);
  void TellOnTheWay(Slot& slot, const node::StartOrder& order);
  void EndAt(Slot& slot, Instant when, Cause cause, int32_t status);
  void SetFrozen(Slot& slot, bool frozen, Instant stop);
  wire::AnswerPiece AnswerOf(Slot& slot, const wire::Ask& ask);
  void Thaw(Slot& slot);
  void Change(Slot& slot, const node::ResizeOrder& order);
  void Finish(Slot& slot, Cause cause, int32_t status);
  void DropHeld(Slot& slot);
  Duration StoodOf(const Slot& slot) const;
  TaskOutputPtr OutputOf(const AttemptRef& ref, uint32_t bytes) const;

  Parts parts_;
  Prng prng_;
  Faults* faults_ = nullptr;  // null: detached
  node::ExecutorEvents* events_ = nullptr;
  uint32_t attached_ = 0;  // how often; what an earlier process said or was told is lost
  KeptEnds kept_;
  std::vector<Slot> slots_;
  std::map<AttemptRef, Instant> to_freeze_;  // held ahead
  std::map<AttemptRef, uint16_t> places_;    // the slot of each order that has not ended
  std::map<JobId, std::shared_ptr<const JobSettings>> settings_;
  bool orphan_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::sim
