// Processes that an attempt's commands have left running although they ended well: which are waited
// for, for how long, and how they ended.
//
// A process of the shepherd's session is a leftover. One of another session has made itself a
// daemon (setsid): nobody waits for it, and how it ends does not matter.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/attempt.h"
#include "core/model/job.h"
#include "os/process.h"
#include "shepherd/process_tree.h"

namespace spate::shepherd {

class LeftoverWatch {
 public:
  explicit LeftoverWatch(ProcessTree& tree) : tree_(tree) {}

  // Begins a fresh attempt. `patience` is for Leftovers::kWait.
  void Begin(spate::Leftovers rule, Duration patience);

  // A child that was none of the commands has ended; it was not reaped yet. Statuses count from
  // the last StartAnew on.
  void Ended(pid_t pid, int wait_status);
  // Forgets how those ended that were met so far.
  void StartAnew() { failed_.reset(); }

  // The commands have ended well: leftovers matter from now on. False when the rule is kEnd.
  bool CommandsEnded(int64_t now);
  bool is_on() const { return on_; }

  // Looks at all that is left. Time during which it is halted does not count.
  void Scan(int64_t now, bool halted);
  // True if there is nothing left to wait for: no leftover is there, or the bound is over.
  bool IsOver() const;
  // When to look again.
  int64_t next_look() const { return next_look_; }
  // The same when there is news: looks are a little apart.
  int64_t SoonestLook() const;
  // Leftovers that are waited for, "sort (pid 12), cat (pid 13) and 2 more", once they are worth a
  // message; empty until then and after the first call that returned it.
  std::string DrainNews(int64_t now);

  // Daemons that Scan has found: processes of other sessions, "sleep (pid 12)".
  const std::vector<std::string>& daemons() const { return daemons_; }
  bool has_leftovers() const { return !leftovers_.empty(); }
  // They are ended now, which is a failure.
  void GiveUp() { given_up_ = true; }
  // Adds the consequences to the end of an attempt that has succeeded so far.
  void AddTo(AttemptEnd& end) const;

 private:
  struct Failed {
    std::string name;
    int wait_status = 0;
  };

  void Find();

  ProcessTree& tree_;
  spate::Leftovers rule_ = spate::Leftovers::kEnd;
  int64_t left_ = 0;  // nanoseconds of patience
  bool on_ = false;
  int64_t since_ = 0;
  int64_t looked_at_ = 0;
  int64_t next_look_ = INT64_MAX;
  bool news_told_ = false;
  bool given_up_ = false;
  std::vector<std::string> leftovers_;
  std::vector<std::string> daemons_;
  std::optional<Failed> failed_;  // the first one
};

// "a, b and 3 more": at most five names of `count` processes.
std::string NamesOf(const std::vector<std::string>& names, size_t count);

}  // namespace spate::shepherd
