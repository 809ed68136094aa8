// The process of a slot that takes task after task: what it was started as, its two pipes, and the
// task that it has. AttemptRunner starts it, waits for it and ends it as it does other commands;
// between two attempts it is nobody's command, and only this knows it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "os/fd.h"
#include "shepherd/protocol.h"
#include "shepherd/resident_frame.h"
#include "shepherd/spawn.h"

namespace spate::shepherd {

class Resident {
 public:
  // ---- The process

  // With the user's rights, so that it may open them by name: pipes for one that is to be started.
  // When they were made before, nothing is done.
  std::optional<StartFailure> Open();
  void GiveTo(std::vector<Descriptor>& descriptors) const;
  void Started(pid_t pid, const StartView& view);
  // 0: there is none, or it was waited for.
  pid_t pid() const { return pid_; }
  bool is_there() const { return pid_ != 0; }
  JobId job() const { return job_; }
  // This attempt would have started the very same, and it waits for a task.
  bool Fits(const StartView& view);
  // It was waited for.
  void Ended() { pid_ = 0; }
  // It and all that it left are gone.
  void Clear();

  // ---- Its end, when no attempt has it

  // Its input ends. It, or what it left, may take until then.
  void Leave(int64_t until);
  bool is_leaving() const { return leaving_; }
  // There may be processes of it.
  bool exists() const { return is_there() || leaving_; }
  void CloseInput() { in_.Reset(); }
  // When to look again: at one that leaves, or that cannot answer any more. Never when INT64_MAX.
  int64_t until() const { return until_; }
  void LookAgain(int64_t when) { until_ = when; }

  // ---- Its task

  // Forgets all that is known of the last attempt, for a fresh one.
  void Forget();
  void Assign(const AttemptRef& ref, std::string_view input);
  // Write as much of the task as it takes, and read all that is there of the answer.
  void Write();
  void Read(int64_t now, const AnswerReader::Result& result);
  // To be polled while it has a task; -1: not.
  int to_write() const { return written_ < frame_.size() && !deaf_ ? in_.get() : -1; }
  int to_read() const { return out_.get(); }
  const AnswerReader& answer() const { return answer_; }
  // None has been answered yet.
  bool is_fresh() const { return tasks_ <= 1; }
  // It has ended after an earlier task, before it could know what this one is.
  bool HasNotRead() const;

  // It wrote this much while it had no task.
  void AddUnclaimed(uint64_t bytes) { unclaimed_ += bytes; }
  // How much that was since the last call.
  uint64_t DrainUnclaimed() { return std::exchange(unclaimed_, 0); }

  // Its processor time since it was given the task, and its memory now, in bytes (0: not known).
  Duration CpuOfTask() const;
  uint64_t Memory() const;
  // Subtracts earlier tasks' use from `user` and `system`, which are of its whole life.
  void LessEarlier(Duration& user, Duration& system) const;

 private:
  pid_t pid_ = 0;
  JobId job_;
  std::string key_;     // what it was started as
  std::string wanted_;  // likewise of the attempt that asks; kept for its memory
  os::Fd in_, out_;     // our ends
  os::Fd its_in_, its_out_;
  os::Fd memory_;  // /proc/PID/statm
  bool leaving_ = false;
  int64_t until_ = INT64_MAX;

  std::string frame_;
  size_t head_ = 0;     // bytes of its first line
  size_t written_ = 0;  // bytes of it all
  bool deaf_ = false;   // it has closed its input
  AnswerReader answer_;
  uint64_t tasks_ = 0;      // that it was given
  uint64_t unclaimed_ = 0;  // bytes
  int64_t cpu_before_ = 0;  // nanoseconds
};

}  // namespace spate::shepherd
