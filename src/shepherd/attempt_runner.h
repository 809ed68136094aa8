// Runs one attempt after another: starts its commands, collects their output, ends what they leave
// behind, checks their files, and writes the report.
//
// The owner polls: it calls OnChildren after SIGCHLD, OnPipe for a readable pipe, and OnTime when
// Deadline has passed. No function waits, but for exec of a started program and, while processes
// are being ended, for at most kRound.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "shepherd/environment.h"
#include "shepherd/outbox.h"
#include "shepherd/output_collector.h"
#include "shepherd/path_lookup.h"
#include "shepherd/process_tree.h"
#include "shepherd/protocol.h"
#include "shepherd/slot_cgroup.h"
#include "shepherd/spawn.h"
#include "shepherd/task_folder.h"

namespace spate::shepherd {

inline constexpr int64_t kNever = INT64_MAX;
// Nanoseconds. A short task's output is read once, when it has ended; a longer one's from this age
// on, and after little came not before so much later. Never less than the kernel's tick (4 ms), see
// kReportsWait in shepherd_main.cc.
inline constexpr int64_t kPipeRest = 5'000'000;

class AttemptRunner {
 public:
  // Makes the pipes that become 1 and 2 of this process. Reports go to `outbox`.
  static Result<std::unique_ptr<AttemptRunner>> Create(const Setup& setup, Outbox& outbox);

  // A further opening of the same job changes nothing.
  void OpenJob(JobOpening job);
  // When no attempt of it is in hand, nor will come.
  void CloseJob(JobId job);

  // Starts what `frame` (a Start) says. Only when idle(). An error when the frame is damaged or
  // its job was never opened.
  Status Begin(std::string frame, int64_t now);
  bool idle() const { return phase_ == Phase::kIdle; }
  // The order has been taken in hand, but no process of it was started yet.
  bool waits_to_start() const { return phase_ == Phase::kWaitStart && started_ == 0; }
  const AttemptRef& ref() const { return view_.start.ref; }
  // What another parent must know of the attempt in hand.
  Adopted::Running InHand() const;
  // It waits to start since then because the system has no process or descriptor; 0: it does not.
  int64_t short_since() const { return waits_to_start() ? waited_since_ : 0; }
  // Forgets an attempt that waits_to_start(); no report.
  void TakeBack();
  std::string TakeFrame() { return std::move(frame_); }  // to be used again, when idle()

  void OnChildren(int64_t now);
  void OnPipe(int stream, int64_t now);
  void OnTime(int64_t now);
  // For POLLPRI on memory_events(), which is -1 when the attempt has no limit.
  void OnMemoryEvent(int64_t now);
  int memory_events() const { return phase_ == Phase::kRunning ? cgroup_.events_fd() : -1; }
  // When to call OnTime and to ask PipeToPoll again; kNever for not.
  int64_t Deadline(int64_t now) const;
  // Descriptor of the pipe of stream 1 or 2 when it should be polled now, else -1.
  int PipeToPoll(int stream, int64_t now) const;
  // An attempt is in hand that began so lately that OnPipe is not wanted yet; Deadline() includes
  // the end of this.
  bool young(int64_t now) const {
    return phase_ == Phase::kRunning && now < poll_out_at_ && now < end_.start.ns + kPipeRest;
  }
  bool live() const { return job_ != nullptr && job_->opening.live_output; }

  // `why`, unless empty, becomes a part of the end's note.
  void End(bool kill, Cause cause, int64_t now, std::string_view why = {});
  void SetPaused(bool paused);
  // Ends every process below this one; for the end of the shepherd. False when some would not
  // die within `patience` nanoseconds.
  bool EndAll(int64_t patience);
  // True when processes could not be ended: this shepherd is of no use any more.
  bool worn_out() const { return worn_out_; }

 private:
  enum class Phase {
    kIdle,
    kWaitStart,  // a process or descriptor could not be had: trying again later
    kRunning,
    kLeftovers,  // the commands ended, something else did not: a moment's patience
    kKilling,
    kChecking,  // an output check failed where files may appear late
  };
  struct Job {
    JobOpening opening;
    std::vector<std::string> login;  // of another user
    EnvironmentBlock environment;
  };
  struct CommandState {
    pid_t pid = 0;  // 0: not started, or reaped
    bool ended = false;
    int status = 0;  // as of wait
  };

  AttemptRunner(const Setup& setup, OutputCollector out, OutputCollector err, Outbox& outbox);

  // Starting (attempt_start.cc).
  void StayAt(int cpu);
  void Reset(int64_t now);
  enum class Started { kAll, kShort, kFailed };
  Started StartAsUser();
  bool EnterFolder();
  void ServeUser();
  bool OpenFiles();
  bool OpenFile(const char* path, int flags, const char* what, os::Fd& fd);
  bool MakeLinks();
  void StartStep(size_t first, int64_t now);
  void GoOnStarting(int64_t now);
  bool StartCommand(size_t index);
  int TryStart(size_t index, const char* path);
  void TellExecFailure(size_t index, const char* path, int error);
  void WaitToStart(int error, int64_t now);
  void CannotStart(int status, std::string why);

  // Ending (attempt_end.cc).
  bool Reap(int64_t now);  // false: no child is left
  void AddUsage(const rusage& usage);
  void AddIo(pid_t pid);
  void StepEnded(bool children_left, int64_t now);
  void CommandsEnded(bool children_left, int64_t now);
  void NameLeftovers();
  void KillRound(int64_t now);
  void KillGroups();
  void SetPrecedence(bool on);
  void GiveUp(int64_t now);
  void TreeEnded(int64_t now);
  bool FindFailures(int64_t now, std::string& failures);
  void Check(int64_t now);
  void BringFiles();
  void KeepStderr(std::string_view bytes);  // late_stderr
  void SayLastWords();
  void Finish(int64_t now);
  void Outcome();
  void FillMemory();
  void NoteMemory(uint64_t used);
  void Sample(int64_t now);
  void PassOn(int stream, std::string_view bytes);
  void Note(std::string_view text);

  // For the life of the shepherd.
  const Setup setup_;
  std::optional<os::CpuMask> task_cpus_;  // when this process has fewer
  std::string folder_variable_;
  Outbox& outbox_;
  Starter starter_;
  PathLookup lookup_;
  uint32_t served_user_;  // whom lookup_ and the pipes are for
  OutputCollector out_;
  OutputCollector err_;
  TaskFolder folder_;
  ProcessTree tree_;
  SlotCgroup cgroup_;
  std::unordered_map<uint32_t, Job> jobs_;
  bool paused_ = false;
  bool worn_out_ = false;
  bool precedence_ = false;

  // Of the attempt in hand.
  Phase phase_ = Phase::kIdle;
  std::string frame_;
  StartView view_;
  Job* job_ = nullptr;
  const char* const* environment_ = nullptr;
  const char* search_path_ = "";
  AttemptEnd end_;
  int64_t commands_ended_at_ = 0;
  std::optional<Cause> ordered_cause_;
  bool start_failed_ = false;
  os::Fd in_file_;
  os::Fd out_file_;
  os::Fd err_file_;
  bool late_stderr_failed_ = false;
  std::string last_words_;  // for stderr, behind what the commands wrote
  bool memory_noted_ = false;
  std::vector<CommandState> commands_;
  size_t step_first_ = 0;  // of commands_: the step in hand is [step_first_, step_last_)
  size_t step_last_ = 0;
  size_t next_ = 0;            // the next command of the step to start
  size_t started_ = 0;         // processes started in this attempt
  size_t alive_ = 0;           // of the step's commands
  pid_t group_ = 0;            // of the step
  std::vector<os::Fd> links_;  // pipes between the step's commands: read, write, read, write...
  int64_t retry_at_ = kNever;
  int64_t retry_delay_ = 0;
  int64_t waited_since_ = 0;
  int64_t sample_at_ = kNever;
  uint64_t sampled_peak_ = 0;
  uint64_t rusage_peak_ = 0;
  int64_t poll_out_at_ = 0;  // pipes are read from then on
  int64_t poll_err_at_ = 0;
  int64_t phase_until_ = kNever;  // of kLeftovers, kChecking
  int64_t check_until_ = 0;
  int64_t check_delay_ = 0;
  int64_t killing_since_ = 0;
  int rounds_ = 0;
  bool counts_leftovers_ = false;
  std::string leftovers_;  // "sleep (pid 12), cat (pid 13)"
  int named_ = 0;
};

}  // namespace spate::shepherd
