// SlaveTarget: how many slaves to start for one resource file, and how many queued ones to take
// back. Facts in, numbers out; it knows no file, no hub and no clock.
//
// The file says how many slaves are missing *as its master sees it*. Those that were started and
// have not connected yet are among them, so they are subtracted here. Who has connected cannot be
// seen from outside: a slave counts as connected when the file was written so long after its start
// that its master must know it (Settle). Until then it is held against the file, so the doubt makes
// slaves come late, never twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/time.h"
#include "doors/mw/formats/resource_file.h"

namespace spate::mw {

// One that has not ended.
struct SlaveSeen {
  uint64_t id = 0;  // never that of another one
  bool running = false;
  Instant since;  // as whoever runs it says; by another machine's clock, maybe
};

enum class FilePhase : uint8_t {
  kUnread,    // no whole file was there yet
  kActive,    // its master lives
  kStale,     // its master has missed an update, and is likely dead
  kFinished,  // its master wants nothing more
  kFailed,    // likewise, since it has failed
};

struct SlaveOrders {
  uint64_t start = 0;
  uint64_t withdraw = 0;  // of those that are queued; what runs is never ended
  friend bool operator==(const SlaveOrders&, const SlaveOrders&) = default;
};

struct SlaveCounts {
  uint64_t missing = 0;  // as the file says
  uint64_t queued = 0;
  uint64_t running = 0;
  uint64_t connected = 0;  // of those that run, as far as one can tell
  friend bool operator==(const SlaveCounts&, const SlaveCounts&) = default;
};

class SlaveTarget {
 public:
  // All instants are of one clock that never steps back. A whole file was read, the same as before
  // or another one.
  void Read(const ResourceFile& file, Instant now);
  // All slaves that have not ended.
  void Observe(std::span<const SlaveSeen> slaves, Instant now);
  // One has ended by itself, or was killed. `done`: it has done its part (exit code 0).
  void Ended(bool done, Duration ran, Instant now);

  FilePhase Phase(Instant now) const;
  // `most`: slaves at once, queued ones among them.
  SlaveOrders Decide(Instant now, uint64_t most) const;
  SlaveCounts counts() const;
  // Slaves fail one after the other before they can have connected; nothing but single tries is
  // started, ever more rarely. When the next one is; nullopt: they do not.
  std::optional<Instant> backs_off() const;

 private:
  Duration Interval() const;
  // So long after its start a slave has connected, or will not.
  Duration Settle() const;
  bool IsConnected(Instant since) const { return since + Settle() <= written_after_; }
  // Queued slaves beyond those that are missing.
  uint64_t Surplus() const;
  SlaveOrders DecideInBackOff(Instant now, uint64_t most) const;

  std::optional<ResourceFile> file_;
  Instant read_at_;  // last
  // The file was written between these two. By our own clock where we saw it change; only for the
  // first one its own time counts, as far as it is not in the future.
  Instant written_after_, written_before_;

  bool seen_ = false;
  uint64_t queued_ = 0;
  // Since when: as we saw it, or as was told at the first look.
  std::map<uint64_t, Instant> running_;

  std::optional<Instant> surplus_since_;

  uint32_t early_failures_ = 0;  // in a row
  uint32_t pauses_ = 0;
  Instant retry_at_;
  Instant last_failure_;
};

}  // namespace spate::mw
