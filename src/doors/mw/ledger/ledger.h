// Ledger: what a master has submitted, its slaves and their groups, as jobs of the engine; and what
// becomes of both, as the master will hear it.
//
// Tasks that wait for the same are in one *lane*: those for any slave, and those of each slave that
// takes tasks of its own; of both, those with the same needs. A lane is a job of the engine that
// stays open; when it has had many tasks it is sealed, and another one takes its place, so that a
// master may submit without end. Lanes with needs end when others are wanted and they have no task.
// With several lanes, a job has the priority of its lane's first task, and packets for tasks of
// this priority alone. A task of the engine is a *packet*: some tasks of a lane, which a slave
// computes one by one. A packet gets its tasks when the engine gives it out, so that the highest
// priority goes first, whenever it was submitted. Until then it stands for whatever waits in its
// lane: a lane has as many such packets as its tasks need.
//
// Pure, as the engine is: no clock, no I/O. Thread: one at a time. Cost: by what a call names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spate/mw.h>

#include "base/ids.h"
#include "base/time.h"
#include "core/engine/engine.h"
#include "core/model/needs.h"

namespace spate::mw {

// Different needs of tasks that have not ended; a task with more of them is handed back.
inline constexpr size_t kNeedsMost = 1000;

class Ledger {
 public:
  // `packet`: tasks that go to a slave together, at most; from 1.
  explicit Ledger(uint32_t packet);

  // Effects of the calls since, in order.
  struct Effects {
    std::vector<engine::Event> events;
    std::vector<JobId> over;  // nothing of them is left: they can be unloaded
    std::vector<result> results;
    std::vector<task> unrunnable;
    std::vector<slave_info> arrived, lost;
  };
  Effects DrainEffects() { return std::exchange(effects_, {}); }
  // True if there are events for the engine.
  bool has_effects() const { return !effects_.events.empty(); }

  // With numbers that were never used before.
  void Submit(std::vector<task> tasks);
  // Hands it back without giving it out.
  void HandBack(task what, std::string reason);

  // Ends tasks without a result; numbers of others are passed over. Those of them that it has
  // ended, without their arguments.
  std::vector<task> Cancel(const std::vector<task_id>& tasks);
  std::vector<task> CancelAll();

  // So many more slaves are wanted in a group, or fewer.
  void AdjustWanted(group which, int64_t change);
  // Slaves that are wanted and not there; at least one while tasks wait and there is no slave.
  uint64_t Missing() const;
  // One has arrived; it is a node of this number and name (SLAVE-n). Its group by what is wanted.
  group Arrived(slave_id slave, std::string host = {});
  // The slave says what it offers, of which slots, memory, resources and labels count. Returns the
  // offer for the engine.
  Offer Offers(slave_id slave, Offer said);
  void Disconnected(slave_id slave);
  // False: there is no such slave.
  bool Free(slave_id slave);

  // A slave was given packets; it has begun one.
  void Given(slave_id slave, JobId job, const std::vector<TaskRange>& packets, Instant now);
  void Begun(const AttemptRef& ref, Instant now);
  // A slave waits to begin a packet (Call::counts_losses): if it is lost now, that counts for this
  // packet. False: it must not begin it, because nobody wants it; the engine tells the slave.
  bool Begins(const AttemptRef& ref);
  // A record of the engine, in their order, before anything that depends on it leaves: packets get
  // their tasks, and lose them.
  void Recorded(const engine::Record& record);
  // The engine's notices. `output` is what the slave has answered.
  void Ended(const engine::NoticeEnded& notice, std::string_view output);
  void Finished(JobId job);

  // While it is held no packet is given out, and those that no slave has begun are taken back.
  void Hold(bool held);
  bool held() const { return held_; }

  // Packets that somebody computes for much longer than their algorithms take are given to another
  // slave as well, with all that the same slave has not begun; the first answer counts. For who
  // sees slots without work. `now` as of Begun.
  void Speculate(Instant now);
  // Slots of slaves that have no packet.
  size_t idle() const;
  bool IsBusy(slave_id slave) const;
  // The slave that has a packet; none: nobody.
  slave_id SlaveOf(JobId job, TaskIndex index) const;

  // The bytes of a packet.
  std::string Row(JobId job, TaskIndex index) const;
  // Tasks of a packet, and how many; none: it is not known (any more).
  std::vector<uint64_t> TasksOf(JobId job, TaskIndex index) const;
  // The packet gets its tasks when it is given out.
  bool IsUnbound(JobId job, TaskIndex index) const;
  // Null: it has ended.
  const task* Find(uint64_t id) const;
  // The results that Ended would give of a packet.
  std::vector<result> ResultsOf(const engine::NoticeEnded& notice, std::string_view output) const;
  // Tasks that have not ended.
  size_t size() const { return tasks_.size(); }
  // Tasks of these that no slave has been given.
  size_t runnable() const { return tasks_.size() - std::min(tasks_.size(), given_); }
  size_t slaves() const { return slaves_.size(); }
  std::vector<slave_info> ListSlaves() const;
  // Packets that have not ended.
  size_t packets() const { return packets_.size(); }
  // With needs of their own.
  size_t lanes_with_needs() const { return needy_; }

 private:
  using PacketKey = std::pair<JobId, TaskIndex>;
  // A task that waits for a packet. The first of a heap is the next one to go.
  struct Waits {
    double priority = 0;
    uint64_t id = 0;
    friend bool operator<(const Waits& a, const Waits& b) {
      return a.priority != b.priority ? a.priority < b.priority : a.id > b.id;
    }
  };
  // The slave that the tasks are for, or none; and what policy::needs asks for, without more.
  using LaneKey = std::pair<slave_id, Needs>;
  struct Lane {
    LaneKey key;
    TaskClass request;
    int32_t priority = 0;     // of its jobs
    bool needy = false;       // its tasks have needs
    size_t tasks = 0;         // that have not ended
    uint64_t idle = 0;        // its place among idle lanes; 0: it is not one
    std::vector<Waits> heap;  // tasks that are in no packet, and `stale` that have ended
    size_t stale = 0;
    double priority_of_all = 0;   // of tasks that wait, where `is_even`
    bool is_even = true;          // all that wait have the same one
    size_t alone = 0;             // of the tasks that wait: Held::alone
    std::set<PacketKey> again;    // packets that wait with tasks, as their slave was lost
    std::set<PacketKey> unbound;  // packets that have no tasks yet
    JobId job;                    // 0: none is open
    TaskIndex next = 0;           // packets that it has had
    std::vector<JobId> jobs;      // all that have not finished
    size_t waiting() const { return heap.size() - stale; }
  };
  struct ByKey {
    bool operator()(const Lane* a, const Lane* b) const { return a != b && a->key < b->key; }
  };
  using Lanes = std::set<Lane*, ByKey>;
  struct Held : task {
    uint32_t lost = 0;     // slaves that were lost while they computed it, if its policy counts
    bool alone = false;    // it shares no packet
    Lane* lane = nullptr;  // whose it is
    bool waits = false;    // there; else it is in a packet
    PacketKey packet = {};
  };
  struct Packet {
    std::vector<uint64_t> tasks;
    slave_id slave;                      // who has it; none: nobody
    Instant given = {};                  // to this slave
    Instant begun = {};                  // there; 0: not yet
    Attempt begins = {};                 // the last one that has passed Begins
    bool once = false;                   // its tasks must not be given out twice
    bool cancelled = false;              // the engine was told so
    bool may_double = false;             // any slave may compute it, also twice
    std::optional<PacketKey> twin = {};  // the same tasks, with another slave
  };
  struct Slave {
    slave_info info;
    Offer offer;           // what it said
    uint32_t packets = 0;  // that it has
  };
  using Packets = std::map<PacketKey, Packet>;

  // Null: there are too many.
  Lane* LaneOf(const policy& how);
  bool MakeRoom();
  void EndLane(Lane& lane);
  // True if the order of its jobs among others counts.
  bool Rank(Lane& lane);
  size_t FirstPackets(const Lane& lane) const;
  void Trim(Lane& lane, size_t most, size_t at_once);
  void RankPlain(slave_id slave);
  bool HasNeedy(slave_id slave) const;
  void Left(Lane& lane);
  Held Extract(std::unordered_map<uint64_t, Held>::iterator at);
  Offer OfferOf(slave_id id, const Slave& slave) const;
  void Add(task&& what, Lanes& touched);
  void Wait(Lane& lane, Held& held);
  void Fit(Lane& lane);
  void FitAll(const Lanes& lanes);
  void Grow(Lane& lane, uint32_t packets);
  void Bind(Lane& lane, Packets::iterator at);
  void Unbind(Lane& lane, Packets::iterator at);
  void Resubmit(const Packet& packet);
  void Settle(Packets::iterator at);
  void Remove(Packets::iterator at, uint64_t id);
  void CancelPacket(PacketKey key, std::string reason);
  void Leave(Packet& packet);
  void SubmitJob(JobId job, JobPlan plan);
  Lane* FindLane(JobId job) const;
  std::optional<task> CancelOne(uint64_t id, Lanes& touched);
  const Held* CountsLosses(const Packet& packet) const;
  const Held* LostOnceMore(const engine::NoticeEnded& notice, const Packet& packet) const;
  void Deliver(result answer);
  void Learn(std::string_view algorithm, Duration time);
  Duration Expected(const Packet& packet) const;
  bool IsLate(const Packet& packet, Instant since, Instant now) const;
  std::set<slave_id> LateSlaves(Instant now) const;
  void Copy(Packets::iterator at);
  // The lane of this slave with the least needs, or a later one.
  std::map<LaneKey, Lane>::iterator FirstOf(slave_id slave) {
    return lanes_.lower_bound({slave, Needs{.milli_cpus = 0}});
  }
  void LeaveLane(Lane& lane, std::vector<uint64_t>& tasks);
  void Fate(uint64_t id, Lanes& touched);

  const uint32_t packet_;
  Effects effects_;
  std::unordered_map<uint64_t, Held> tasks_;
  Packets packets_;
  // Attempts whose packets may have other tasks by now, until their notices come: with the tasks
  // that must not be given out twice.
  std::map<AttemptRef, std::vector<uint64_t>> lost_;
  size_t given_ = 0;               // tasks in packets that slaves have; those of twins count twice
  Lane any_;                       // without needs, for any slave
  std::map<LaneKey, Lane> lanes_;  // all others
  size_t needy_ = 0;               // of these, lanes with needs
  // Lanes of these without tasks, in the order in which they lost their last one.
  std::map<uint64_t, Lane*> idle_;
  uint64_t last_idle_ = 0;
  std::map<JobId, Lane*> lane_of_;  // of jobs that have not finished; null: their lane has gone
  std::map<slave_id, Slave> slaves_;
  uint64_t wanted_[3] = {}, have_[3] = {};  // by group
  struct Usual {
    Duration mean;
    uint32_t count = 0;
  };
  std::map<std::string, Usual, std::less<>> usual_;  // by algorithm
  JobId last_job_;
  bool held_ = false;
};

// "SLAVE-7", which is a slave's name everywhere.
std::string SlaveName(slave_id slave);

}  // namespace spate::mw
