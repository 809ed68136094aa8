// Follower: brings what a hub's journal has of a job into a sink of the user's, a part at each
// call, each end once. How far it has come is a file, its place, which is moved when the sink has
// all before it; a process that is killed in between leaves the sink ahead of the place, and
// what the sink then has twice is its own to know. A lock lets one process do it at a time.
//
// Thread: one; functions run the loop.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "client/hub_call.h"
#include "os/file.h"

namespace spate::client {

// All ends of the hub's job `created` up to `position` are there; of a file that only grows, within
// its first `bytes`.
struct Position {
  uint64_t position = 0;
  int64_t created = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Position&, const Position&) = default;
};
// "position P created C bytes B", as a line.
std::string FormatPlace(const Position& place);
// The position in the file at `path`; the beginning if it is missing or unreadable.
Position ReadPlace(const std::string& path);

class Follower {
 public:
  // Waits until nobody else has the lock; kBusy: somebody has it for longer than `patience`, or the
  // call was interrupted.
  static Result<Follower> Open(HubCall& call, std::string place_path, const std::string& lock_path,
                               Duration patience);
  const Position& place() const { return place_; }

  // Asks `question` for what is behind the place. `take(answer, place)` puts each answer into the
  // sink, and moves `place` over what is whole there; `settle()` makes the sink durable, then the
  // place is written. An error of any of them leaves the place where it was.
  template <typename Question, typename Take, typename Settle>
  Status CatchUp(Asker& hub, Question question, Take take, Settle settle) {
    Position place = place_;
    question.after = place.position;
    question.created = Instant{place.created};
    TRY(Query(hub, std::move(question), [&](const typename Question::Answer& answer) -> Status {
      return take(answer, place);
    }));
    if (place == place_) return {};
    TRY(settle());
    return MoveTo(place);
  }

 private:
  Follower(std::string path, os::FileLock lock)
      : path_(std::move(path)), lock_(std::move(lock)), place_(ReadPlace(path_)) {}
  Status MoveTo(const Position& place);

  std::string path_;
  os::FileLock lock_;
  Position place_;
};

}  // namespace spate::client
