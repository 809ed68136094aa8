// Pace: how often a user may ask what costs the hub's loop much. Dear questions of one user come
// one after the other, so far apart that they take a tenth of the loop's time at most; others'
// questions and everything else go on between them.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"

namespace spate::hub {

class Pace {
 public:
  struct Limits {
    int64_t part = 10;                          // of the loop's time: one in so many
    Duration at_once = Duration::Millis(100);   // of the loop's time, after a pause
    Duration longest = Duration::Seconds(120);  // that a question waits
  };
  Pace() = default;
  explicit Pace(const Limits& limits) : limits_(limits) {}

  // When the user's question may be answered, which costs so much: `now` at the soonest. It is
  // counted whether it is then asked or not. nullopt: it would have to wait too long, and is not
  // counted.
  std::optional<Instant> Enter(const std::string& user, Duration cost, Instant now);
  // It took so long instead.
  void Correct(const std::string& user, Duration cost, Duration took);
  // Users who are remembered.
  size_t users() const { return until_.size(); }

 private:
  void Forget(Instant now);

  const Limits limits_;
  // Until when what a user has asked takes the user's part of the loop; no longer remembered when
  // that is past.
  std::map<std::string, Instant> until_;
  size_t forget_at_ = 64;
};

}  // namespace spate::hub
