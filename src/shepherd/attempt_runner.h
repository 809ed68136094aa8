// Runs one attempt after another: starts its commands, collects their output, ends what they leave
// behind, checks their files, and writes the report. It knows what happens when; the parts know
// how: JobTable, Commands, UserFiles, Streams, Links, Forwards, Pack, MemoryWatch, Halt,
// TreeKiller, TaskFolder, Resident.
//
// The owner polls: it calls OnChildren after SIGCHLD, OnPipe for a readable pipe, and OnTime when
// Deadline has passed. No function waits, but for exec of a started program, for a moment while
// processes are being ended (kRound), and for disks of this machine. What a task names may lie
// elsewhere, and is opened by way of UserFiles.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/resize.h"
#include "core/model/steer.h"
#include "os/affinity.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "shepherd/commands.h"
#include "shepherd/forwards.h"
#include "shepherd/halt.h"
#include "shepherd/job_table.h"
#include "shepherd/leftover_watch.h"
#include "shepherd/limit_watch.h"
#include "shepherd/links.h"
#include "shepherd/memory_watch.h"
#include "shepherd/outbox.h"
#include "shepherd/pack.h"
#include "shepherd/path_lookup.h"
#include "shepherd/process_tree.h"
#include "shepherd/protocol.h"
#include "shepherd/pulse.h"
#include "shepherd/resident.h"
#include "shepherd/spawn.h"
#include "shepherd/streams.h"
#include "shepherd/task_folder.h"
#include "shepherd/tree_killer.h"
#include "shepherd/user_files.h"
#include "shepherd/visits.h"

namespace spate::shepherd {

inline constexpr int64_t kNever = INT64_MAX;

class AttemptRunner {
 public:
  // Makes the pipes that become 1 and 2 of this process. Reports go to `outbox`.
  static Result<std::unique_ptr<AttemptRunner>> Create(const Setup& setup, Outbox& outbox,
                                                       Pulse pulse);

  // Descriptors that all programs are to have, too (Starter::PassOn).
  void PassOn(std::vector<Descriptor> descriptors) { starter_.PassOn(std::move(descriptors)); }
  // A further opening of the same job changes nothing.
  void OpenJob(JobOpening job) { jobs_.Open(std::move(job)); }
  // When no attempt of it is in hand, nor will come.
  void CloseJob(JobId job);

  // Starts what `frame` (a Start) says. Only when idle(). An error when the frame is damaged or
  // its job was never opened.
  Status Begin(std::string frame, int64_t now);
  bool idle() const { return phase_ == Phase::kIdle; }
  // The order has been taken in hand, but no process of it was started yet.
  bool waits_to_start() const { return phase_ == Phase::kWaitStart && commands_.started() == 0; }
  // Its parent knows that it has begun.
  bool start_told() const { return start_told_; }
  const AttemptRef& ref() const { return asked_.view.start.ref; }
  // Facts about the attempt in hand for another parent.
  AdoptedTask InHand(int64_t now) const;
  // Answers a question about the attempt in hand (attempt_look.cc).
  wire::AnswerPiece AnswerTo(const wire::Ask& ask, int64_t now);
  Duration kill_grace() const { return asked_.job->opening.settings.kill_grace; }
  // It waits to start since then because the system has no process or descriptor; 0: it does not.
  int64_t short_since() const { return waits_to_start() ? retry_.since : 0; }
  // Forgets an attempt that waits_to_start(); no report.
  void Withdraw();
  std::string DrainFrame() { return std::move(asked_.frame); }  // to be used again, when idle()

  void OnChildren(int64_t now);
  void OnPipe(int stream, int64_t now) { streams_.OnPipe(stream, now); }
  void OnTime(int64_t now);
  // For POLLPRI on memory_events(), which is -1 when the attempt has no limit.
  void OnMemoryEvent(int64_t now);
  int memory_events() const { return is_working() ? cgroup_.events_fd() : -1; }
  // Likewise for OnProcessEvent.
  int process_events() const { return is_working() ? cgroup_.process_events_fd() : -1; }
  void OnProcessEvent(int64_t now);
  // When to call OnTime and to ask PipeToPoll again; kNever for not.
  int64_t Deadline(int64_t now) const;
  // Descriptor of the pipe of stream 1 or 2 when it should be polled now, else -1.
  int PipeToPoll(int stream, int64_t now) const;
  // Pipes of what it forwards, to be polled as well; `n` counts those that were added.
  void AddForwardsTo(std::vector<pollfd>& polled) const { forwards_.AddTo(polled); }
  void OnForward(size_t n) { forwards_.OnPipe(n); }
  // The pipes of a process that takes task after task, while it has one: for OnResident; -1: not.
  int ResidentToWrite() const { return has_task() ? resident_.to_write() : -1; }
  int ResidentToRead() const { return has_task() ? resident_.to_read() : -1; }
  void OnResident(int64_t now);
  // Descriptor of the process that opens what the attempt names, for OnOpened; -1: none.
  int opener() const { return files_.fd(); }
  void OnOpened(int64_t now);
  // An attempt is in hand that began so lately that OnPipe is not wanted yet; Deadline() includes
  // the end of this.
  bool young(int64_t now) const { return phase_ == Phase::kRunning && streams_.AreYoung(now); }
  bool live() const { return asked_.job != nullptr && asked_.job->opening.settings.live_output; }

  // `why`, unless empty, becomes a part of the end's note.
  void End(bool kill, Cause cause, int64_t now, std::string_view why = {});
  void SetPaused(bool paused, int64_t now) {
    halt_.SetPaused(paused, has_processes() || resident_.exists(), now);
  }
  // The attempt in hand; one whose commands have ended is left alone. Froze follows when it is so.
  void SetFrozen(const Freeze& order, int64_t now);
  // Ends every process below this one; for the end of the shepherd. False when some would not
  // die within `patience` nanoseconds.
  bool EndAll(int64_t patience);
  // True when processes could not be ended: this shepherd is of no use any more.
  bool worn_out() const { return worn_out_; }

 private:
  enum class Phase {
    kIdle,
    kWaitStart,  // a process or descriptor could not be had: trying again later; or its files are
                 // being opened
    kRunning,
    kLeftovers,  // the commands ended, something else did not: a moment's patience, or a wait
    kKilling,
    kFinishing,  // its processes have ended; its files are closed, checked and brought home, which
                 // may take long: they appear late, or do not answer
  };
  // The order for the attempt in hand.
  struct Asked {
    std::string frame;
    StartView view;
    JobTable::Job* job = nullptr;
    const char* const* environment = nullptr;
    const char* search_path = "";
    std::optional<os::CpuMask> cpus;
  };
  struct Retry {
    int64_t at = kNever;
    int64_t delay = 0;
    int64_t since = 0;
  };
  struct Finishing {
    int64_t until = 0;  // files may appear late
    int64_t delay = 0;
    int lost = 0;  // openers that were killed
    bool checked = false;
  };
  // The result of a command that could not be started.
  struct Refusal {
    int status;  // that it counts as ended with
    std::string why;
  };

  AttemptRunner(const Setup& setup, Streams streams, Outbox& outbox, Pulse pulse);

  // Starting (attempt_start.cc).
  void StayAt(int cpu);
  void Reset(int64_t now);
  void StartNextStep(int64_t now);
  void GoOnStarting(int64_t now);
  std::optional<StartFailure> StartAsUser();
  std::optional<StartFailure> OpenStep();
  void OpenInOpener(int64_t now);
  void TellStart();
  std::optional<StartFailure> EnterFolder();
  void ServeUser();
  int StartCommand();
  StartResult TryStart(const PathLookup::Found& found);
  Program ProgramOf(size_t index);
  const char* const* EnvironmentOf(const StartView::CommandView& command);
  int StatusOfAside(pid_t pid, int status);
  void NoteRefused(size_t command, const StartResult& result);
  std::string WhyNotEntered(const char* folder, int error);
  Refusal WhyNotStarted(size_t command, const StartResult& result);
  void NotStarted(const Refusal& refusal);
  void TellRefusal(const Refusal& refusal);
  void WaitToStart(int error, int64_t now);
  void CannotStart(int status, const std::string& why);

  // A process that outlives its attempt (attempt_resident.cc).
  bool is_resident() const { return asked_.view.around.resident; }
  bool has_task() const { return phase_ == Phase::kRunning && is_resident(); }
  bool IsResidentApart() const;
  void SetDefaults();
  void TakeOver();
  void GiveTask();
  void ActOnAnswer(int64_t now);
  void Answered(int64_t now);
  void OutcomeOfResident();
  void StartAnew(bool children_left, int64_t now);
  void Dismiss(int64_t now);
  void DismissRound(int64_t now);
  void Dismissed(int64_t now);
  bool ReapApart(int64_t now);
  void OnResidentTime(int64_t now);
  void AwaitLeaving();
  void TellUnclaimed();

  // Ending (attempt_end.cc).
  // Its commands run, or what they left is waited for as if it were one of them.
  bool is_working() const {
    return phase_ == Phase::kRunning || (phase_ == Phase::kLeftovers && leftovers_.is_on());
  }
  bool has_processes() const { return is_working() || phase_ == Phase::kWaitStart; }
  bool Reap(int64_t now);  // false: no child is left
  void NoteOrphan(pid_t pid, const siginfo_t& how);
  void AddUsage(const rusage& usage, pid_t pid);
  void AddIo(pid_t pid);
  void EndOtherRanks(int64_t now);
  void StepEnded(bool children_left, int64_t now);
  void TellOpening(std::string waits_for);
  void LookAtLeftovers(int64_t now);
  void TerminateLeftovers();
  int64_t WarnDue(int64_t now) const;
  void Warn(int64_t now);
  void BeginKilling(int64_t now);
  void KillRound(int64_t now);
  void GiveUp(int64_t now);
  void TreeEnded(int64_t now);
  void Conclude(int64_t now);
  void Outcome();
  void GoOnFinishing(int64_t now);
  void StopFinishing(Cause cause);
  bool CloseFiles(int64_t now);
  using Look = std::function<std::optional<std::string>()>;
  std::optional<std::string> LookOrWait(int64_t now, const Look& look);
  std::optional<std::string> LostOpeners();
  std::optional<std::string> LookAtOutputs(int64_t now);
  std::string FindFailures(int64_t now);
  bool Check(int64_t now);
  std::optional<std::string> OpenWhatGoesHome();
  bool BringFiles(int64_t now);
  void Lose(bool disk_full, Cause otherwise);
  void Finish();
  uint64_t Sample(int64_t now);
  void CountProcesses(int64_t now);
  void LookAtCpus(int64_t now);
  void Exceed(Resource what, uint64_t used, uint64_t limit, int64_t now);
  void NotOver(Resource what, uint64_t used, uint64_t limit);
  void AcceptUse();
  wire::AnswerPiece Signalled(const wire::Ask& ask);
  Result<int> SendSignal(const SignalRun& asked, uint32_t rank);
  Result<int> SignalProcess(pid_t pid, int signal);
  RunLook LookAt(const RunWish& wish, uint32_t rank, int64_t now);
  RunUse UseSoFar(int64_t now);
  Status Enter(const OpenVisit& visit, uint32_t rank);
  Status Resize(ResizeRun wanted, int64_t now);
  void BindAll(const os::CpuMask& mask);
  void SetWarning(Duration limit);
  pid_t LiveGroup() const { return commands_.alive() > 0 ? commands_.group() : 0; }

  // For the life of the shepherd.
  const Setup setup_;
  std::optional<os::CpuMask> task_cpus_;  // when this process has fewer
  Outbox& outbox_;
  const Pulse pulse_;
  Starter starter_;
  PathLookup lookup_;
  uint32_t served_user_;  // whom lookup_ and the pipes are for
  JobTable jobs_;
  ProcessTree tree_;
  os::Cgroup cgroup_;
  Resident resident_;
  bool worn_out_ = false;

  // State of the attempt in hand.
  Phase phase_ = Phase::kIdle;
  bool tells_opening_ = false;      // what keeps its files from opening was told
  int64_t phase_until_ = kNever;    // of all but kIdle and kRunning
  int64_t kill_ranks_at_ = kNever;  // as one of them has failed
  int64_t warn_at_ = kNever;        // when the signal before the time limit is due, unless frozen
  int64_t warn_for_node_at_ = kNever;  // and that before the node's end
  Asked asked_;
  os::Space space_;  // on the disk of the spool folder, when it began
  UserFiles files_;
  TaskFolder folder_{pulse_};
  Streams streams_;
  Links links_;
  Forwards forwards_;
  // Parts of the command that is being started.
  std::vector<Descriptor> descriptors_;
  std::vector<const char*> variables_;
  std::vector<ProcessLimit> limits_;
  Pack pack_{pulse_};
  Commands commands_;
  MemoryWatch memory_{cgroup_};
  LimitWatch watch_{cgroup_, tree_};
  std::array<bool, kCountOf<Resource>> told_excess_{};
  std::optional<Excess> stopped_by_;  // it is frozen because of this, with no order since
  Halt halt_{tree_, cgroup_, commands_};
  void TellFrozen(int64_t now);
  Instant stop_;                     // Freeze::stop, of the last one
  int64_t look_frozen_at_ = kNever;  // whether all processes stand still
  TreeKiller killer_{tree_, cgroup_};
  LeftoverWatch leftovers_{tree_};
  Visits visits_{tree_};
  Retry retry_;
  Finishing finishing_;
  AttemptEnd end_;
  int64_t commands_ended_at_ = 0;
  std::optional<Cause> ordered_cause_;
  bool start_failed_ = false;
  bool start_told_ = false;
};

}  // namespace spate::shepherd
