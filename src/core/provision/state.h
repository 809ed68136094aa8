// The provisioner's state from news and time, next to the durable one. Lost with the process.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/provision/demand.h"
#include "core/provision/provisioner.h"

namespace spate::provision {

// Good queries in a row that did not have a pilot, and the time that they span, before it is gone.
inline constexpr uint32_t kMissesMost = 3;
inline constexpr Duration kMissesSpan = Duration::Seconds(20);
// A submit that was not answered may still be under way for so long.
inline constexpr Duration kSubmitTimeout = Duration::Seconds(120);
// One that failed without saying whether the job is there.
inline constexpr Duration kSubmitSettles = Duration::Seconds(30);
// Between two queries: when something is to be known soon, while pilots queue, and when all of
// them are connected.
inline constexpr Duration kQueryUneasy = Duration::Seconds(10);
inline constexpr Duration kQueryQueued = Duration::Seconds(30);
inline constexpr Duration kQueryCalm = Duration::Seconds(300);
// The longest wait after failed queries; with pilots that are to go it is kQueryUneasy.
inline constexpr Duration kQueryRetry = Duration::Seconds(60);
// More often for a while after something happened to a pilot: most that end at once do it then, and
// people wait for the last one to go.
inline constexpr Duration kFresh = Duration::Seconds(60);
inline constexpr Duration kQueryUneasyFresh = Duration::Seconds(2);
inline constexpr Duration kQueryQueuedFresh = Duration::Seconds(10);
// An ask that was not carried out, by a shell in trouble, must not keep a pilot for good.
inline constexpr Duration kLetGoAgain = Duration::Seconds(300);
// A query without an answer counts as failed.
inline constexpr Duration kQueryTimeout = Duration::Seconds(300);
// After a restart, for nodes to come back before their batch job is believed to have ended.
inline constexpr Duration kReturnTime = Duration::Seconds(60);
inline constexpr Duration kCancelAgain = Duration::Seconds(60);
inline constexpr Duration kLookFor = Duration::Seconds(3600);
inline constexpr uint32_t kUnjoinedMost = 3;

struct LivePilot {
  explicit LivePilot(Instant now, bool pinged) : watch(now, pinged) {}

  Watch watch;
  std::map<NodeId, std::optional<Instant>> nodes;  // connected; since when idle
  std::set<NodeId> silent_nodes;                   // of `nodes`
  std::string words;                               // of the newest query
  // Queries asked from here on must have it.
  Instant expected;
  Instant first_miss;
  uint32_t misses = 0;
  Instant cancel_at = {0};  // when to ask for it (again)
  Instant let_go_at = {0};  // likewise
  bool was_busy = false;
  bool took_leave = false;  // its last node did, and none has come since
  Instant timer = Instant::Never();

  bool connected() const { return !nodes.empty(); }
  bool silent() const { return connected() && silent_nodes.size() == nodes.size(); }
  // When all of its nodes are idle, since when.
  std::optional<Instant> IdleSince() const;
};

struct LivePool {
  explicit LivePool(const Pool& pool) : demand(pool) {}

  Demand demand;
  // Its pilots, each in some of these; see State::List.
  std::set<PilotId> coming;   // wanted, not joined
  std::set<PilotId> here;     // wanted, joined
  std::set<PilotId> leaving;  // unwanted
  uint32_t leaving_unjoined = 0;
  std::set<std::pair<Instant, PilotId>> ends;  // of `here`, by the end of life
  std::set<std::pair<Instant, PilotId>> idle;  // of `here`, since when
  std::set<PilotId> uneasy;                    // news of them is wanted soon

  uint32_t query = 0;            // the number of the newest
  std::optional<Instant> asked;  // it is under way since then
  Instant last_query;            // the newest end of one, or the start of this life
  Instant stirred = {0};         // the newest thing that happened to a pilot
  uint32_t query_failures = 0;
  std::string trouble;
  bool query_now = false;
  // Until then, pilots that were given up, or requested in an earlier life, may still turn up.
  Instant look_until = {0};

  Instant newest_join = {0};
  std::optional<Instant> surplus_since;
  uint32_t unavailable = 0;  // submits in a row
  uint32_t fruitless = 0;    // pilots in a row that never had a task
  Instant retry_at = {0};
  Instant timer = Instant::Never();
};

class Provisioner::State {
 public:
  explicit State(const Limits& limits) : limits_(limits) {}

  void Apply(const Record& record) { durable_.Apply(record); }
  void Resume(Instant now, Output& out);
  void Step(const Input& input, Output& out);
  void CheckInvariants() const;
  const Durable& durable() const { return durable_; }
  PoolInfo Info(PoolId id, const Pool& pool) const;
  PilotInfo Info(PilotId id, const Pilot& pilot) const;

 private:
  // on_news.cc
  void On(const SetPool& event);
  void On(const RemovePool& event);
  void On(const PausePool& event);
  void On(const ResumePool& event);
  void On(const DemandChanged& event);
  void On(const SubmitAnswered& event);
  void On(const SubmitFailed& event);
  void On(const CancelAnswered& event);
  void On(const NodeJoined& event);
  void QueuedAgain(PilotId pilot);
  bool HasBegunAgain(const Pilot& pilot, Instant end) const;
  void On(const NodeSilent& event);
  void On(const NodeLeft& event);
  void On(const NodeBusy& event);
  void On(const NodeIdle& event);
  // on_query.cc
  void On(const QueryAnswered& event);
  void On(const QueryFailed& event);
  void OnJob(PoolId pool, const BatchJob& job, Instant asked, std::vector<PilotId>& seen);
  void Miss(PilotId id, Instant asked);
  void QueryEnded(LivePool& pool);
  void MaybeQuery(PoolId id, LivePool& pool);
  Instant QueryDue(const LivePool& pool) const;
  // on_pilot.cc: what becomes of one pilot
  void Check(PilotId id);
  void Drive(PilotId id);
  void Unwant(PilotId id, Why why, std::string words);
  void EndPilot(PilotId id, End end, std::string words, const std::string& host = {});
  void LearnId(PilotId id, const std::string& batch_id);
  void ResetTimer(PilotId id);
  // balance.cc: how many there are to be
  void Balance(PoolId id);
  uint32_t Wanted(const Pool& pool, const LivePool& live) const;
  uint32_t UsableIdle(const LivePool& live) const;
  uint32_t Ending(const LivePool& live, Duration& missing) const;
  uint32_t Bound(const Pool& pool, const LivePool& live) const;
  void PauseIfFailing(PoolId id);
  bool IsGathering(const Pool& pool, const LivePool& live) const;
  static Instant IdleSince(const LivePool& live);
  void ReleaseIdle(PoolId id, LivePool& live);
  void CancelSurplus(PoolId id, LivePool& live, uint32_t wanted);
  void SubmitMore(PoolId id, LivePool& live, uint32_t wanted);
  Instant NextSubmit(const Pool& pool, const LivePool& live) const;
  void SetPoolTimer(PoolId id, LivePool& live);

  // The only way to a record: applies it, and keeps the sets of pools right.
  void Emit(Record record);
  void List(PilotId id);
  void Unlist(PilotId id);
  // Around a change of live state that the sets depend on.
  template <typename Change>
  void Relist(PilotId id, Change change) {
    Unlist(id);
    change(live_pilots_.at(id));
    List(id);
  }
  std::string Cut(std::string words) const;
  LivePool* FindLive(PoolId id);
  // A batch job that should not be there.
  void CancelStray(PoolId pool, PilotId pilot, const std::string& id);

  const Limits limits_;
  Durable durable_;
  std::map<PoolId, LivePool> live_pools_;
  std::map<PilotId, LivePilot> live_pilots_;
  std::map<ClassKey, ClassDemand> classes_;
  bool demand_known_ = false;
  std::set<std::pair<Instant, PilotId>> pilot_timers_;
  std::set<std::pair<Instant, PoolId>> pool_timers_;

  // During a step.
  Instant now_;
  Output* out_ = nullptr;
  std::set<PoolId> touched_;
};

}  // namespace spate::provision
