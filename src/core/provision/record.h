// Records: what provision will remember. One is durable before anything that follows from it leaves
// the process, and applying all of them in order gives the same state again. The last three kinds
// are an image of that state, in place of all records before them, so that a journal has an end.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/enum_list.h"
#include "core/model/fields.h"
#include "core/provision/pool.h"

namespace spate::provision {

// A pool was added, or its policy changed.
struct PoolChanged {
  PoolId pool;
  PoolPolicy policy;
  bool learn_anew = false;  // what its nodes have may have changed, too
  SPATE_FIELDS(1, pool, 2, policy, 3, learn_anew);
};
// Nothing more is asked for, and all its pilots are to go; PoolForgotten follows when they have.
struct PoolClosed {
  PoolId pool;
  SPATE_FIELDS(1, pool);
};
struct PoolForgotten {
  PoolId pool;
  SPATE_FIELDS(1, pool);
};
// No pilot is asked for until it is resumed.
struct PoolPaused {
  PoolId pool;
  std::string reason;  // for people
  Instant at;
  SPATE_FIELDS(1, pool, 2, reason, 3, at);
};
struct PoolResumed {
  PoolId pool;
  SPATE_FIELDS(1, pool);
};
// The offer of the pool's newest node became known.
struct PoolLearned {
  PoolId pool;
  NodeShape shape;
  SPATE_FIELDS(1, pool, 2, shape);
};
// A pilot will be asked for, once at most. From now on it may exist.
struct PilotIntended {
  PoolId pool;
  PilotId pilot;  // larger than all before
  Instant at;
  SPATE_FIELDS(1, pool, 2, pilot, 3, at);
};
// The batch system has it, under this id.
struct PilotSubmitted {
  PilotId pilot;
  std::string id;
  SPATE_FIELDS(1, pilot, 2, id);
};
// Its first node has come.
struct PilotJoined {
  PilotId pilot;
  Instant at;
  Instant end_of_life = Instant::Never();
  SPATE_FIELDS(1, pilot, 2, at, 3, end_of_life);
};
// The batch system has preempted the pilot and requeued it: it waits in the queue again.
struct PilotQueuedAgain {
  PilotId pilot;
  Instant at;
  SPATE_FIELDS(1, pilot, 2, at);
};
SPATE_ENUM(Why,
    kSurplus, "surplus",  // there is no work for it
    kIdle, "idle",        // it has had no work for long enough
    kClosed, "closed",    // its pool is removed
    kFailed, "failed");  // it is in a state in which it does not count (core/provision/watch.h)
// It is to go.
struct PilotUnwanted {
  PilotId pilot;
  Why why = Why::kSurplus;
  std::string words;
  SPATE_FIELDS(1, pilot, 2, why, 3, words);
};
SPATE_ENUM(End,
    kEnded, "ended",          // the batch system says so
    kForgotten, "forgotten",  // it has not known it for long enough
    // the submit was not answered, and the batch system does not know the tag
    kNeverWas, "never-was",
    kRefused, "refused",      // the submit
    kLimit, "limit");  // the submit, by a limit that the system states
// It is gone, and so is all that is kept of it.
struct PilotEnded {
  PilotId pilot;
  End end = End::kEnded;
  std::string words;  // the last ones of the batch system, or of the pilot
  Instant at;
  std::string host;  // on which it failed before it joined; empty: not known
  SPATE_FIELDS(1, pilot, 2, end, 3, words, 4, at, 5, host);
};

// A host on which a pilot failed before it joined.
struct BadHost {
  std::string host;
  Instant at;  // new pilots avoid it from then on
  SPATE_FIELDS(1, host, 2, at);
};

// Numbers up to these are used up. First in an image, as pools and pilots that are gone have left
// nothing else.
struct NumbersKept {
  PoolId last_pool;
  PilotId last_pilot;
  SPATE_FIELDS(1, last_pool, 2, last_pilot);
  friend bool operator==(const NumbersKept&, const NumbersKept&) = default;
};
// All that is durable of a pool (Pool in core/provision/durable.h) but its pilots.
struct PoolKept {
  PoolId pool;
  PoolPolicy policy;
  std::optional<NodeShape> learned;
  std::vector<Duration> waits;
  std::vector<Duration> lives;
  bool paused = false;
  bool closed = false;
  std::string words;
  uint32_t refused = 0;
  uint32_t limited = 0;
  uint32_t unjoined = 0;
  Instant last_submit = {0};
  Instant retry_at = {0};
  std::vector<BadHost> bad;
  SPATE_FIELDS(1, pool, 2, policy, 3, learned, 4, waits, 5, lives, 6, paused, 7, closed, 8, words,
               9, refused, 10, limited, 11, unjoined, 12, last_submit, 13, retry_at, 14, bad);
};
// All that is durable of a pilot. It comes after its pool.
struct PilotKept {
  PilotId pilot;
  PoolId pool;
  Instant intended;
  std::string id;
  std::optional<Instant> joined;
  Instant end_of_life = Instant::Never();
  std::optional<Why> unwanted;
  std::string words;
  SPATE_FIELDS(1, pilot, 2, pool, 3, intended, 4, id, 5, joined, 6, end_of_life, 7, unwanted,
               8, words);
};

// The journal's numbers of kinds are the places here: append, never insert.
using Record = std::variant<PoolChanged, PoolClosed, PoolForgotten, PoolPaused, PoolResumed,
                            PoolLearned, PilotIntended, PilotSubmitted, PilotJoined, PilotUnwanted,
                            PilotEnded, NumbersKept, PoolKept, PilotKept, PilotQueuedAgain>;

}  // namespace spate::provision
