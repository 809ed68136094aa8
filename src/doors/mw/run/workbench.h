// Workbench: between the two threads of a slave: packets to compute, and what became of them. The
// node's executor is the one end (a `resident` one: this process computes task after task), the
// slave's own thread the other.
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
  struct Packet {
    AttemptRef ref;
    uint16_t slot = 0;
    uint64_t life = 0;  // of the connection that it came by
    std::string calls;
  };
  struct Done {
    AttemptEnd end;
    TaskOutputPtr output;
    uint64_t life = 0;
  };

  // ---- The network's thread
  // From now on packets are of another master, and no other ones count.
  void Begin(std::function<void()> ring);
  void Put(Packet packet);
  // Nobody wants the result of a packet that has begun.
  void Stop(const AttemptRef& ref);
  // False: it is not here, or has begun.
  bool Withdraw(const AttemptRef& ref);
  std::vector<Done> DrainDone();
  // Nothing comes any more, but after a shutdown for this reason.
  enum class Over : uint8_t { kShutdown, kMasterLost, kMasterFailed };
  void End(Over how, const std::string& why);
  void Met(slave_id id);
  // The algorithm that the slave's thread is in; "" when it is in none.
  std::string Computing() const;
  // From the slave's thread, when a call with a limit begins and IsOverdue is not asked any more.
  void OnLimit(std::function<void()> watch);
  // Whether a call of `computing` goes on beyond its limit. Then its packet has ended so, and no
  // other packet is begun. nullopt: no call has a limit now.
  std::optional<bool> IsOverdue(Instant now);
  // Those that packets of the current master need.
  SlaveConstants& constants() { return constants_; }
  // Removes files. The process must end now.
  void Abandon();

  // ---- The slave's thread
  // Waits for a packet, for at most so long; nullopt: there is none, or it is over.
  std::optional<Packet> Take(std::chrono::nanoseconds most);
  // Whether anybody wants to hear of it (any more).
  bool Wants(const Packet& packet) const;
  // Likewise, for algorithms, on any thread.
  bool IsStopped() const { return stopped_; }
  // Before and after each call of an algorithm (""), whose name lives until then.
  void Compute(std::string_view algorithm, uint64_t task = 0, Duration limit = {});
  void Finish(Packet packet, std::string answers, Instant start, Duration wall);
  // shutdown, master_lost, master_failed and results_held are set.
  slave_status Status() const;
  size_t waiting() const;
  slave_id id() const;
  // Masters that it has been connected to so far.
  uint64_t lives() const;
  // Waits until these are more than `old`. False: they are not after at most so long.
  bool AwaitLife(uint64_t old, std::chrono::nanoseconds most);
  std::string why_lost() const;

 private:
  Result<TaskOutputPtr> OutputOf(std::string answers);

  SlaveConstants constants_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Packet> packets_;
  std::vector<Done> done_;
  std::function<void()> ring_;  // wakes the network's thread
  uint64_t life_ = 0;
  std::optional<Over> over_;
  std::string why_lost_;
  std::string_view computing_;
  uint64_t task_ = 0;  // of `computing_`
  int64_t began_ = 0;  // as os::MonotonicNanos
  Duration limit_;     // 0: none
  bool watched_ = false;
  bool overdue_ = false;  // nothing is begun any more
  std::function<void()> watch_;
  std::atomic<bool> stopped_{false};  // the packet in work
  Packet current_;                    // the last one that was taken, without its calls
  slave_id id_;
  // Of long answers, until the master has them.
  const std::shared_ptr<link::OutputMemory> memory_ =
      std::make_shared<link::OutputMemory>(kAnswersInMemory);
  std::optional<os::TempDir> spool_;  // from the first one on that has no room there
  uint64_t spooled_ = 0;              // the slave's thread only
};

// The executor of a slave's node. Thread: the loop's.
class BenchExecutor final : public node::Executor {
 public:
  BenchExecutor(os::Loop& loop, Workbench& bench, uint64_t life)
      : loop_(loop), bench_(bench), life_(life) {}
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
  const uint64_t life_;
  node::ExecutorEvents* events_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::mw
