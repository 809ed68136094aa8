// Workbench: between the threads of a slave: packets to compute, and what became of them. The
// node's executor is the one end (a `resident` one: this process computes task after task), the
// threads that compute the other: each has a slot, and computes the packets of that slot in their
// order, so what the node's agent has given to the slot is enough for them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spate/mw.h>

#include "base/result.h"
#include "core/model/attempt.h"
#include "core/model/needs.h"
#include "doors/mw/run/slave_constants.h"
#include "link/output_memory.h"
#include "node/executor.h"
#include "os/loop.h"
#include "os/temp_dir.h"

namespace spate::mw {

// Answers that a slave has computed and its master has not taken are in memory up to this many
// bytes, beyond that in files.
inline constexpr uint64_t kAnswersInMemory = 64 << 20;

class Workbench {
 public:
  // Slots have the numbers from 1; so many threads may compute.
  explicit Workbench(uint16_t slots = 1) : slots_(slots) {}
  uint16_t slots() const { return static_cast<uint16_t>(slots_.size()); }

  struct Packet {
    AttemptRef ref;
    uint16_t slot = 1;
    uint64_t life = 0;  // of the connection that it came by
    std::string calls;
    std::vector<NamedOffer> pieces = {};  // that its tasks have
  };
  struct Done {
    AttemptEnd end;
    TaskOutputPtr output;
    uint64_t life = 0;
  };

  // ---- The network's thread
  // From now on packets are of another master, and no other ones count.
  void Begin(std::function<void()> ring);
  void Enqueue(Packet packet);
  // Nobody wants the result of a packet that has begun.
  void Stop(const AttemptRef& ref);
  // The slot that it was for; nullopt: it is not here, or has begun.
  std::optional<uint16_t> Withdraw(const AttemptRef& ref);
  std::vector<Done> DrainDone();
  // Packets that wait in AwaitGo. What was done before is in DrainDone by then.
  std::vector<AttemptRef> DrainBegins();
  void Go(const AttemptRef& ref);
  // Nothing comes any more, but after a shutdown for this reason.
  enum class Over : uint8_t { kShutdown, kMasterLost, kMasterFailed };
  void End(Over how, const std::string& why);
  void Met(slave_id id);
  // The algorithm that a thread is in, the one of the lowest slot; "" when none is in one.
  std::string Computing() const;
  // From a thread that computes, when a call with a limit begins and nobody looks at limits any
  // more.
  void OnLimit(std::function<void()> watch);
  struct Limit {
    std::string overdue;  // the algorithm of a call that goes on beyond its limit; "": none does
  };
  // An overdue call ends its packet as overdue, and no other packet is begun. nullopt: no call has
  // a limit now.
  std::optional<Limit> LookAtLimits(Instant now);
  // Those that packets of the current master need.
  SlaveConstants& constants() { return constants_; }
  // Removes files. The process must end now.
  void Abandon();

  // ---- The threads that compute, each for its slot
  // Waits for a packet, for at most so long; nullopt: there is none, or it is over.
  std::optional<Packet> Dequeue(uint16_t slot, std::chrono::nanoseconds most);
  // Nothing more is begun.
  void Close();
  // True if nobody wants to hear of the packet that the slot's thread has; on any thread.
  bool IsStopped(uint16_t slot) const { return slots_[slot - 1].stopped; }
  // After Dequeue: waits until the master knows that the slot begins this packet, and has whatever
  // was computed before. False: nobody wants it any more.
  bool AwaitGo(const Packet& packet);
  // Before and after each call of an algorithm. Then: whether the packet is wanted (still).
  void Compute(uint16_t slot, std::string_view algorithm, uint64_t task, Duration limit);
  bool Computed(const Packet& packet);
  void Finish(Packet packet, std::string answers, Instant start, Duration wall);
  // shutdown, master_lost, master_failed and results_held are set.
  slave_status Status() const;
  // Packets that no thread has taken; of one slot.
  size_t waiting(uint16_t slot) const;
  slave_id id() const;
  // Masters that it has been connected to so far.
  uint64_t lives() const;
  // Waits until these are more than `old`. False: they are not after at most so long.
  bool AwaitLife(uint64_t old, std::chrono::nanoseconds most);
  std::string why_lost() const;

 private:
  // A thread and what it has.
  struct Slot {
    std::deque<Packet> packets;
    std::condition_variable changed;
    Packet current;                    // the last one that was taken, without its calls
    AttemptRef go;                     // the packet that may begin
    std::atomic<bool> stopped{false};  // nobody wants it
    std::string_view computing;        // the algorithm, while it is called
    uint64_t task = 0;                 // of `computing`
    int64_t began = 0;                 // as os::MonotonicNanos
    Duration limit;                    // 0: none
    bool overdue = false;              // its end was told
  };
  Result<TaskOutputPtr> OutputOf(std::string answers);
  void Overdue(Slot& slot, Instant now, Duration time);
  void WakeAll();

  SlaveConstants constants_;
  mutable std::mutex mutex_;
  std::condition_variable lived_;
  std::vector<Slot> slots_;  // their number never changes
  std::vector<Done> done_;
  std::vector<AttemptRef> begins_;
  std::function<void()> ring_;  // wakes the network's thread
  uint64_t life_ = 0;
  std::optional<Over> over_;
  std::string why_lost_;
  bool watched_ = false;
  bool closed_ = false;   // nothing is begun any more
  bool overdue_ = false;  // likewise, and the process ends
  std::function<void()> watch_;
  slave_id id_;
  // Memory for long answers, until the master has them.
  const std::shared_ptr<link::OutputMemory> memory_ =
      std::make_shared<link::OutputMemory>(kAnswersInMemory);
  std::optional<os::TempDir> spool_;  // from the first one on that has no room there
  uint64_t spooled_ = 0;
};

// The executor of a slave's node. Thread: the loop's.
class BenchExecutor final : public node::Executor {
 public:
  BenchExecutor(os::Loop& loop, Workbench& bench) : loop_(loop), bench_(bench) {}
  // Before the first order.
  void SetEvents(node::ExecutorEvents& events) { events_ = &events; }
  // Tells of what has been computed.
  void Drain();

  void OpenJob(JobId, std::shared_ptr<const JobSettings>, bool) override {}
  void CloseJob(JobId) override {}
  void Start(node::StartOrder order) override;
  void Withdraw(const AttemptRef& ref) override;
  void End(const AttemptRef& ref, node::EndHow how, Cause cause) override;
  // A computation cannot be stopped from outside.
  void Pause(bool) override {}

 private:
  void Later(std::function<void()> tell);

  os::Loop& loop_;
  Workbench& bench_;
  node::ExecutorEvents* events_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::mw
