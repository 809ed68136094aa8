// CpuBinder: between a node and its executor, gives tasks of several cpus units of their own, and
// keeps all others, which float, out of these as long as there are other units
// (docs/design/035-topology.md).
//
// A bound task keeps its units to its end, unless its request changes (Resize). Floating ones are
// bound anew, a little later, when bound ones have come or gone. A slot's next order may be there
// before its attempt has ended: it has the same needs, and takes over the slot's units.
//
// Thread: the loop's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/agent/cpu_packer.h"
#include "node/executor.h"
#include "os/loop.h"

namespace spate::node {

// The units of an attempt among what it was given: nobody can offer anything of this name. So they
// reach the node's next process with the attempt.
inline constexpr std::string_view kUnitsGiven = "@units";
// So long after the first of several changes floating attempts are bound anew, and so many at once.
inline constexpr Duration kFloatDelay = Duration::Millis(50);
inline constexpr uint32_t kFloatsAtOnce = 32;

class CpuBinder final : public Executor, public ExecutorEvents {
 public:
  struct Parts {
    os::Loop& loop;
    Executor& under;
    agent::CpuPacker packer;
    std::string variable;  // of a bound task's environment: its units, as "0,3"
    bool binds = true;     // else tasks are only told their units
    // The units of an attempt have parts of more packages, NUMA nodes or cores than they need. May
    // be empty.
    std::function<void(const AttemptRef&, uint32_t count)> on_split = {};
    // Binds all that runs of a floating attempt to these cpus; false: nothing of it runs yet.
    // Empty: floating tasks run where they like.
    std::function<bool(const AttemptRef&, const std::vector<int>&)> bind_floating = {};
  };
  explicit CpuBinder(Parts parts);
  ~CpuBinder() override;
  void SetEvents(ExecutorEvents& events) { events_ = &events; }

  // Running attempts keep the units that an earlier process gave to them. They are taken out of
  // `adopted`, which is a node's. Before the first order.
  void Adopt(Adopted& adopted);

  void OpenJob(JobId job, std::shared_ptr<const JobSettings> settings, bool inherits) override {
    parts_.under.OpenJob(job, std::move(settings), inherits);
  }
  void CloseJob(JobId job) override { parts_.under.CloseJob(job); }
  void Start(StartOrder order) override;
  void Withdraw(const AttemptRef& ref) override { parts_.under.Withdraw(ref); }
  void End(const AttemptRef& ref, EndHow how, Cause cause) override {
    parts_.under.End(ref, how, cause);
  }
  void Pause(bool paused) override { parts_.under.Pause(paused); }
  void Freeze(const AttemptRef& ref, bool frozen, Instant stop) override {
    parts_.under.Freeze(ref, frozen, stop);
  }
  void Resize(ResizeOrder order) override;
  void Taken(const AttemptRef& ref) override { parts_.under.Taken(ref); }

  void OnStarted(const AttemptRef& ref, Instant when) override { events_->OnStarted(ref, when); }
  void OnEnded(AttemptEnd end, TaskOutputPtr output) override;
  void OnTakenBack(const AttemptRef& ref) override;
  void OnOutput(const AttemptRef& ref, int stream, std::string_view bytes) override {
    events_->OnOutput(ref, stream, bytes);
  }
  void OnMemory(const AttemptRef& ref, uint64_t bytes) override { events_->OnMemory(ref, bytes); }
  void OnLeftRunning(const AttemptRef& ref, const std::string& processes) override {
    events_->OnLeftRunning(ref, processes);
  }
  void OnFrozen(const AttemptRef& ref, bool frozen, Instant stop) override {
    events_->OnFrozen(ref, frozen, stop);
  }
  void OnExceeded(const AttemptRef& ref, const Excess& excess) override {
    events_->OnExceeded(ref, excess);
  }
  void OnResized(const AttemptRef& ref, const std::string& refused) override;

 private:
  using Units = std::shared_ptr<const std::vector<int>>;
  struct Floating {
    AttemptRef ref;
    uint64_t generation = 0;  // the packer's, when it was bound; 0: never
  };
  // A change of an attempt's units that has not been confirmed: it has both.
  struct Move {
    uint16_t slot = 0;
    Units to;                 // null: it floats then
    std::vector<int> leaves;  // units that it has no longer, once that is confirmed
    std::vector<int> enters;  // those that it has not had before
  };
  struct Slot {
    std::weak_ptr<const std::vector<int>> units;  // of its orders, as long as there are any
    std::deque<Floating> floating;                // as they came: only the first may run
  };

  bool FloatingAreBound() const { return parts_.binds && parts_.bind_floating != nullptr; }
  void Bind(StartOrder& order, Units units);
  Units UnitsFor(const StartOrder& order, uint32_t count);
  void Float(StartOrder& order);
  void Forget(const AttemptRef& ref);
  bool IsStale(const Slot& slot) const;
  void FinishMove(const AttemptRef& ref, const Move& move);
  void BindFloatingSoon();
  void BindFloating();

  Parts parts_;
  ExecutorEvents* events_ = nullptr;
  const size_t units_;  // in all
  std::map<uint16_t, Slot> slots_;
  std::unordered_map<AttemptRef, Units, AttemptRefHash> bound_;
  std::unordered_map<AttemptRef, uint16_t, AttemptRefHash> floating_;  // their slots
  std::unordered_map<AttemptRef, Move, AttemptRefHash> moves_;         // of those that change
  uint16_t last_ = 0;      // the slot where BindFloating has stopped
  os::TimerId timer_ = 0;  // of BindFloating
};

}  // namespace spate::node
