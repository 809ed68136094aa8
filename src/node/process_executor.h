// ProcessExecutor: runs attempts as processes of this machine, each slot through a shepherd of its
// own (shepherd/shepherd_main.h) that is made when the slot is first used and kept.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "core/model/shared_texts.h"
#include "node/adopted_shepherds.h"
#include "node/executor.h"
#include "node/task_folders.h"
#include "node/task_users.h"
#include "os/affinity.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "shepherd/launch.h"
#include "shepherd/protocol.h"

namespace spate::node {

struct ProcessExecutorOptions {
  uint16_t slots = 1;          // orders name slots from 1 to this
  uint16_t made_at_start = 2;  // shepherds that are made before the first order
  std::string spool_folder;    // absolute and there; long output of tasks goes here
  std::string job_folder;      // becomes SPATE_JOB_DIR of tasks; shepherds are written down there
                               // (`shepherds`), so that EndLeftovers finds them. Empty: neither
  // Nodes only (`spate run` leaves it empty): absolute, and for one process at a time. Tasks then
  // outlive this process for `adopt_patience`, and the next one takes them over by Adopt. It gives
  // the spool folder, too.
  std::string node_folder;
  Duration adopt_patience = Duration::Seconds(600);
  // Nodes only: a word that no other one has, from its first start on; what tasks leave behind is
  // known by it. Empty: its folder's path.
  std::string node_id;
  // Nodes only: its name, to be in the notes of attempts that cannot be started here.
  std::string node_name;
  // Nodes only: attempts that need a folder of their own have it below this one, which is made when
  // it is missing. Tasks' users must be able to reach it. Empty: such attempts cannot be started.
  std::string task_folders;
  TaskFolders::Another another_task_folder;  // if another user has taken its name
  // Nodes only: changes of the environment of all tasks, whatever their jobs brought
  // (os::WithChanges).
  std::vector<std::string> variables;
  // Nodes only: leaves out variables of the batch job in which a job was submitted
  // (os::ForeignVariables), before `variables`: tasks have those of this process.
  bool drops_foreign = false;
  // Nodes only: the time when it ends what runs, because its machine is taken away. Tasks that want
  // a signal before their end get it before this one, too.
  Instant ends = Instant::Never();
  // Nodes only: the users its tasks run as. Without rules everything runs as this process does.
  std::optional<TaskUserRules> users;
  // A cgroup v2 folder of this process; each slot gets one below it. Or empty. A node's is a
  // CgroupTree with the node's word: Adopt then knows those of earlier processes.
  std::string cgroup;
  // Live output ends where the spool file begins: who looks at it sees that file.
  bool live_until_spooled = false;
  bool can_visit = false;     // this program's main() calls remote::RemoteEntry
  bool limits_memory = true;  // what a task asks for is a limit; else it is only reserved
  Duration look_every = Duration::Seconds(1);  // at shepherds, whether they hang
  uint64_t task_open_files = 0;  // soft limit of descriptors for tasks; 0: as this process has it
  // Told what a person should know, e.g. that shepherds cannot be started for now. May be empty.
  std::function<void(std::string)> on_trouble;
};

// A shepherd that hangs, say in a call on a file server that does not answer, is ended with all
// that it runs when somebody waits for it: at an order to end its attempt, or with others behind
// that one. The attempt's end says so, and the slot gets another shepherd.
//
// A slot whose shepherd cannot be made (no process or descriptor is left) lends its orders to the
// other slots: there are fewer at once then, and nothing is lost.
//
// The process that owns one must make no children of its own but shepherds: all others are taken
// for orphans of a killed shepherd, and ended, when that happens. Those that are there before it is
// created are somebody else's and are left alone (shepherd/foreign_children.h).
class ProcessExecutor final : public Executor {
 public:
  // `loop` must outlive it.
  static Result<std::unique_ptr<ProcessExecutor>> Create(os::RealLoop& loop,
                                                         ProcessExecutorOptions options);
  // Before the first order; `events` must live until the last one was answered, or this is gone.
  void SetEvents(ExecutorEvents& events) { events_ = &events; }
  // Ends all that runs, without events; waits for that (a second at most, unless a process hangs
  // in the kernel). After LeaveForAdoption it ends nothing.
  ~ProcessExecutor() override;

  // Nodes only: takes over what the process before this one left. After SetEvents, before the first
  // order. Ends what can be neither adopted nor left alone: shepherds that do not answer for so
  // long, and what ran below those that were killed.
  Result<Adopted> Adopt(Duration patience = Duration::Seconds(10));
  // Nodes only, the last call: what runs is left to the node's next process.
  void LeaveForAdoption();

  void OpenJob(JobId job, std::shared_ptr<const JobSettings> settings, bool inherits) override;
  void CloseJob(JobId job) override;
  void Start(StartOrder order) override;
  void Withdraw(const AttemptRef& ref) override;
  void End(const AttemptRef& ref, EndHow how, Cause cause) override;
  void Pause(bool paused) override;
  void Freeze(const AttemptRef& ref, bool frozen, Instant stop) override;
  void Resize(ResizeOrder order) override;
  void Taken(const AttemptRef& ref) override;

  // See node::AskRun.
  void Query(wire::Ask ask, std::function<void(wire::AnswerPiece)> told);

  // Binds all processes of a running attempt to these processors, whatever it was bound to or has
  // bound itself to; what may not be bound (it has become another user's) is left alone. False:
  // nothing of it runs (any more, or yet).
  bool BindTo(const AttemptRef& ref, const std::vector<int>& cpus) const;

  std::vector<pid_t> ShepherdPids() const;
  // Attempts that shepherds have in hand.
  std::vector<AttemptRoot> Roots() const;
  // Jobs that are open.
  size_t jobs() const { return jobs_.size(); }

 private:
  struct Order {
    AttemptRef ref;
    uint64_t sequence;
    uint16_t slot;                     // the one that the order names
    bool is_part;                      // of a gang
    std::optional<Cause> to_end = {};  // it was ordered to
  };
  struct Opened {
    JobId job;
    size_t bytes = 0;
    bool has_process = false;  // one that may be there still
  };
  struct Slot {
    uint16_t number = 0;
    bool alive = false;     // there is a shepherd
    bool cleaning = false;  // it died; its orphans are being ended
    bool dirty = false;     // has something to send that nobody will
    bool watches_write = false;
    bool proven = false;  // this shepherd has reported something
    bool had_resident = false;
    std::string cgroup;  // folder, or empty
    shepherd::ShepherdProcess shepherd;
    shepherd::FrameBuffer reports;
    std::string out;  // frames for the shepherd, kept until there is one
    size_t sent = 0;
    std::deque<Order> orders;        // as given; the first is running or about to
    std::deque<StartOrder> waiting;  // for a shepherd, while there is none
    std::deque<Opened> opened;       // what the shepherd knows; the last one was used lately
    size_t opened_bytes = 0;         // of their environments
    Duration launch_delay;
    os::TimerId timer = 0;
    Instant cleaning_since;
    uint64_t beats = 0;               // at the last look
    int still = 0;                    // looks since they have changed
    std::optional<uint64_t> news_at;  // beats before it was last sent something
    bool hung = false;                // it was ended for that
  };

  struct Job {
    shepherd::JobOpening opening;  // but for its environment
    std::shared_ptr<const SharedTexts::Texts> environment;
    size_t bytes = 0;     // of that
    std::string refused;  // its user may not be served: why
    std::set<Slot*> at;   // whose shepherds know it
  };

  struct AskedRun {
    AttemptRef ref;
    Instant since;
    std::function<void(wire::AnswerPiece)> told;
  };

  static constexpr Duration kLongestLaunchDelay = Duration::Seconds(2);

  ProcessExecutor(os::RealLoop& loop, ProcessExecutorOptions options, shepherd::Launcher launcher,
                  shepherd::ForeignChildren foreign);

  Slot& SlotAt(uint16_t number);
  Slot* SlotOf(const AttemptRef& ref) const;
  pid_t ShepherdRunning(const AttemptRef& ref) const;
  void MakeFirst();
  void Launch(Slot& slot);
  void LaunchLater(Slot& slot);
  void SendLast(Slot& slot);
  // Tells it, if nothing of the kind was told since a shepherd last reported something.
  void Trouble(std::string text);
  void Lend(Slot& slot);
  void SendOrder(Slot& slot, StartOrder order);
  void Refuse(const StartOrder& order, std::string why);
  // Names the node in the note of an attempt that could not be started here.
  void NameNode(AttemptEnd& end) const;
  void Answer(const StartOrder& order, AttemptEnd end);
  bool DrainWaiting(const AttemptRef& ref, StartOrder& order);
  void SetUp(Slot& slot);
  int HomeCpu(uint16_t slot) const;  // -1: none
  std::vector<pid_t> LivePids() const;
  std::string SlotCgroup(const Slot& slot);
  bool is_node() const { return !options_.node_folder.empty(); }
  TaskOutputPtr Own(TaskOutput output);
  void EndStrays();
  void RemoveOldSpools(const Adopted& adopted);
  void OpenJobAt(Slot& slot, JobId job);
  void CloseJobAt(Slot& slot, JobId job);
  void CloseWhereUnused(JobId job);
  void ClearOpened(Slot& slot);
  void MarkDirty(Slot& slot);
  void FlushDirty();
  void Flush(Slot& slot);
  void OnReadable(Slot& slot);
  void OnReport(Slot& slot, shepherd::Report report);
  void OnEnd(Slot& slot, shepherd::Ended ended);
  void OnUnclaimed(const shepherd::UnclaimedOutput& output);
  void ReadLast(Slot& slot);
  void WatchShepherds();
  void CheckShepherd(Slot& slot);
  void EndHung(Slot& slot);
  void OnDeath(Slot& slot);
  void CleanUp(Slot& slot);
  void HandBack(Slot& slot);
  void Forget(Slot& slot, const AttemptRef& ref);
  bool MayAsk(const AttemptRef& ref);
  void OnAnswer(wire::AnswerPiece piece);
  // The attempt has ended without an answer.
  void EndAsks(const AttemptRef& ref);

  os::RealLoop& loop_;
  ExecutorEvents* events_ = nullptr;
  const ProcessExecutorOptions options_;
  TaskFolders folders_;
  shepherd::Launcher launcher_;
  const shepherd::ForeignChildren foreign_;
  const TaskOutputPtr no_output_ = std::make_shared<const TaskOutput>();
  SharedTexts environments_;
  std::unordered_map<JobId, Job> jobs_;
  std::vector<std::unique_ptr<Slot>> slots_;  // by number - 1; null until used
  // Were killed and do not die; reaped when they do.
  std::vector<shepherd::ShepherdProcess> undying_;
  os::TimerId watch_timer_ = 0;
  std::vector<Slot*> dirty_;
  uint64_t sequence_ = 0;
  std::map<uint64_t, AskedRun> asked_;  // by the id that the shepherd knows
  uint64_t last_ask_ = 0;
  std::vector<int> cpus_ = os::AllowedCpus().Cpus();
  bool flush_posted_ = false;
  bool paused_ = false;
  std::optional<os::FileLock> lock_;                               // of a node's folder
  std::unique_ptr<AdoptedShepherds> adopted_;                      // of a node, from Adopt on
  std::unordered_map<AttemptRef, Slot*, AttemptRefHash> untaken_;  // a node's
  os::TimerId taken_timer_ = 0;
  bool leaving_ = false;
  // Spool files belong to the next process; shared with the outputs that are out there.
  std::shared_ptr<bool> keep_spools_ = std::make_shared<bool>(false);
  bool ever_proven_ = false;   // a shepherd has reported something
  uint64_t unclaimed_ = 0;     // bytes that resident processes of a run wrote without a task
  uint32_t born_dead_ = 0;     // those that ended before they had
  bool trouble_told_ = false;  // since a shepherd reported something
  // Posted functions look here whether the executor still exists.
  std::shared_ptr<bool> exists_ = std::make_shared<bool>(true);
};

}  // namespace spate::node
