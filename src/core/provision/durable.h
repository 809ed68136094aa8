// Provision's state that must survive a restart: pools, and the pilots that may exist. It is
// changed by records alone and sees no news of batch systems and nodes; those are in state.h. So a
// replay gives the same state, and Digest proves it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/provision/record.h"

namespace spate::provision {

inline constexpr size_t kBadHosts = 16;  // of a pool
// Period for which new pilots avoid a host after a failure there.
inline constexpr Duration kAvoidFor = Duration::Seconds(3600);

struct Pilot {
  PoolId pool;
  Instant intended;                        // or queued again
  std::string id;                          // the batch system's; empty: not known
  std::optional<Instant> joined;           // its first node
  Instant end_of_life = Instant::Never();  // once joined
  std::optional<Why> unwanted;             // it is to go
  std::string words;                       // why, for people

  bool waits() const { return !joined; }
};

struct Pool {
  PoolPolicy policy;
  std::optional<NodeShape> learned;
  std::vector<Duration> waits;  // from the intent to the first node; the newest ones
  std::vector<Duration> lives;  // from the first node to its end of life, likewise
  bool paused = false;
  bool closed = false;
  // Why it is paused or asks slowly: the batch system's or the last pilot's words.
  std::string words;
  uint32_t refused = 0;   // submits in a row
  uint32_t limited = 0;   // submits in a row that met a limit
  uint32_t unjoined = 0;  // pilots in a row that ended before they joined, see Applier::Counts
  Instant last_submit = {0};
  Instant retry_at = {0};    // no submit before
  std::vector<BadHost> bad;  // oldest first; at most kBadHosts
  std::set<PilotId> pilots;  // that may exist

  // The known shape of its nodes; nothing but labels when milli_cpus is 0.
  const NodeShape& shape() const { return learned ? *learned : policy.shape; }
  // How long a new pilot's nodes will be there. Max(): not known.
  Duration Life() const;
  // How long the newest pilots waited, as a minute times a power of two, from 1/16 on.
  Duration Wait() const;
  // Hosts that a pilot requested at this time avoids.
  std::vector<std::string> Avoided(Instant at) const;
};

class Durable {
 public:
  const std::map<PoolId, Pool>& pools() const { return pools_; }
  const std::map<PilotId, Pilot>& pilots() const { return pilots_; }
  const Pool* FindPool(PoolId id) const;
  const Pilot* FindPilot(PilotId id) const;
  PilotId last_pilot() const { return last_pilot_; }
  PoolId last_pool() const { return last_pool_; }

  // True if the record follows from those before it, so that Apply may be called. Holds for Step's
  // records; ask for records that were read and may be damaged.
  bool Admits(const Record& record) const;
  void Apply(const Record& record);
  // Records that give the same state when applied, in order, to an empty one.
  std::vector<Record> Images() const;

  uint64_t Digest() const;
  void CheckInvariants() const;

 private:
  class Applier;
  bool Follows(const PoolChanged& record) const;
  bool Follows(const PoolForgotten& record) const;
  bool Follows(const PilotIntended& record) const;
  bool Follows(const PilotQueuedAgain& record) const;
  bool Follows(const NumbersKept& record) const;
  bool Follows(const PoolKept& record) const;
  bool Follows(const PilotKept& record) const;
  template <typename T>
  bool Follows(const T& record) const;  // what it is about is there

  std::map<PoolId, Pool> pools_;
  std::map<PilotId, Pilot> pilots_;
  PilotId last_pilot_;
  PoolId last_pool_;
};

}  // namespace spate::provision
