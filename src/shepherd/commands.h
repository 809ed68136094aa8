// The commands of an attempt: which step is in hand, which of its processes run, and how they and
// those of the steps before ended.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/attempt.h"
#include "shepherd/protocol.h"

namespace spate::shepherd {

class Commands {
 public:
  // Begins a fresh attempt, before its first step; the vector must live as long as that. With a
  // first rank they are processes of a gang.
  void Begin(const std::vector<StartView::CommandView>& commands,
             std::optional<uint32_t> first_rank);
  bool HasNextStep() const { return last_ < view_->size(); }
  void EnterNextStep();

  // The number of the next command of the step to be started; all of them are when StepStarted.
  size_t next() const { return next_; }
  bool StepStarted() const { return next_ == last_; }
  bool StepIsFresh() const { return next_ == first_; }
  bool IsFirstStep() const { return first_ == 0; }
  uint16_t step() const { return (*view_)[first_].step; }
  // The result of a start: it runs, or it could not be started and counts as ended with the status.
  void Started(pid_t pid);
  void NotStarted(int wait_status);
  // It need not be started any more.
  void Skip() { ++next_; }

  // One of them runs as this process.
  bool Has(pid_t pid) const { return std::ranges::find(all_, pid, &One::pid) != all_.end(); }
  // The number of the one that does.
  size_t NumberOf(pid_t pid) const {
    return static_cast<size_t>(std::ranges::find(all_, pid, &One::pid) - all_.begin());
  }
  // A child of ours has ended; false: it is none of the commands.
  bool Ended(pid_t pid, int wait_status);
  // One that counts as ended never became its program: it does not count as started.
  void NeverStarted() { --started_; }
  // All of the step's commands exited with 0.
  bool StepIsGood() const;
  // They are not children of ours that could be waited for any more.
  void Lose();
  // Those of the step go on, and are no commands of this attempt any more.
  void LetGo();

  size_t started() const { return started_; }  // processes, in all steps
  size_t alive() const { return alive_; }      // of the step in hand
  pid_t group() const { return group_; }       // of the step; 0 while it has none
  // TERM, and CONT since a stopped process would not see it, to the step's group and to those who
  // left it.
  void Terminate() const;
  // To each of the step's processes, but not to what they have started.
  // Returns the number of processes that got it.
  int Signal(int number) const;
  // The process of the command with this number; 0: it does not run.
  pid_t PidOf(size_t number) const { return all_[number].pid; }
  // In a gang: a rank has failed, and the first that did.
  bool RankHasFailed() const { return first_rank_ && first_failed_; }
  std::string WhyRankFailed() const;  // "rank 3 exited with 7"
  // By the last one that failed, of a gang by the first: cause and status; and each of them, where
  // there are several, or of a gang.
  void AddTo(AttemptEnd& end, bool start_failed) const;

 private:
  struct One {
    pid_t pid = 0;  // 0: not started, or reaped
    bool ended = false;
    int status = 0;  // as of wait
  };
  void NoteFailure(size_t index, int wait_status);

  const std::vector<StartView::CommandView>* view_ = nullptr;
  std::optional<uint32_t> first_rank_;
  std::vector<One> all_;
  std::optional<size_t> first_failed_;  // in time
  size_t first_ = 0;                    // the step in hand is [first_, last_)
  size_t last_ = 0;
  size_t next_ = 0;
  size_t started_ = 0;
  size_t alive_ = 0;
  pid_t group_ = 0;
};

}  // namespace spate::shepherd
