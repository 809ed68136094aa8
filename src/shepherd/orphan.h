// A node's shepherd while no process of its node is there: its attempt goes on, for as long as the
// node's patience says, and its ends are left in a file for the node's next process.
#pragma once

#include <cstdint>

#include "shepherd/attempt_runner.h"
#include "shepherd/outbox.h"
#include "shepherd/rendezvous.h"

namespace spate::shepherd {

class Orphan {
 public:
  // All of them outlive it.
  Orphan(AttemptRunner& runner, Outbox& outbox, const Rendezvous& rendezvous, Duration patience,
         int64_t now);

  // Ends the attempt when the patience is over or the node's folder is gone. True when there is
  // nothing left to wait for: no process runs, and the ends are in the file.
  bool IsOver(int64_t now);
  // When to ask again.
  int64_t Deadline() const;

 private:
  bool HasLeftEnds(int64_t now);

  AttemptRunner& runner_;
  Outbox& outbox_;
  const Rendezvous& rendezvous_;
  int64_t end_at_;
  int64_t kill_at_ = kNever;
  int64_t look_at_;
  int64_t write_at_ = 0;
  bool nobody_comes_ = false;  // the folder is gone
};

}  // namespace spate::shepherd
