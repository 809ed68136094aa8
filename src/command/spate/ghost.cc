// `spate ghost`: local processes that stand for the running tasks of a job (os/stand_ins.h,
// docs/design/073-ghosts.md).
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "os/environment.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/stand_ins.h"
#include "os/terminal.h"
#include "present/text/end_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr uint32_t kMostByDefault = 1'000;
constexpr uint32_t kMostRuns = 10'000;  // that a hub lists at once
constexpr Duration kLook = Duration::Millis(500);
// Signals are forwarded together. Whoever ends all of the user's processes ends this one as well,
// before it has forwarded anything: a kill of its group takes microseconds, a session's end less
// than half a second.
constexpr Duration kSettle = Duration::Millis(50);
constexpr Duration kSettleKill = Duration::Millis(500);

constexpr Option kMostGhosts = {
    .names = "most",
    .argument = "N",
    .heading = Heading::kSelect,
    .help = "make at most N ghosts (default: 1000)",
    .more = "At most 10000. Further tasks get a ghost when others end."};

// A process of the job: a task's attempt, or one rank of it.
struct Key {
  uint32_t task = 0;  // from 1
  uint32_t attempt = 0;
  uint32_t rank = 0;
  friend auto operator<=>(const Key&, const Key&) = default;
};

struct Ghost {
  Key key;
  bool is_rank = false;
  bool is_alone = false;               // its user stopped this rank alone
  Freezing stopped = Freezing::kNone;  // its task, as last known
};

// The end of a task, or of its rank, as a status of wait(2).
int WaitStatusOf(const TaskFacts& task, const Ghost& ghost) {
  constexpr int kExit = 256;  // an exit code times this is such a status
  if (!task.last) return os::kSignalTerm;
  const AttemptEnd& end = task.last->end;
  if (ghost.is_rank) {
    for (const ProcessEnd& one : end.processes) {
      if (one.rank == ghost.key.rank) return (one.status & 255) * kExit;
    }
  }
  switch (end.cause) {
    case Cause::kSuccess:
      return 0;
    case Cause::kExit:
    case Cause::kStart:
      return (end.status & 255) * kExit;
    case Cause::kSignal:
      return end.status & 127;
    case Cause::kTimeLimit:
    case Cause::kMemory:
    case Cause::kExcess:
    case Cause::kNode:
      return os::kSignalKill;
    case Cause::kStopped:
      return os::kSignalTerm;
    case Cause::kCheck:
      return kExit;
  }
  return kExit;
}

bool HasEnded(TaskState state) {
  return state != TaskState::kQueued && state != TaskState::kLeased;
}

class Ghosts {
 public:
  Ghosts(HistoryCall& call, os::RealLoop& loop, JobSelector job, size_t most)
      : call_(call), loop_(loop), job_(std::move(job)), most_(most) {}
  Result<int> Run();

 private:
  struct Running {
    RunningFacts facts;
    bool is_rank = false;
  };
  using Tasks = std::set<uint32_t>;

  Result<std::optional<wire::JobNow>> JobNow();
  Status Look();
  void LookAgain();
  Status Reconcile(const std::optional<wire::JobNow>& now);
  std::map<Key, Running> RunningOf(const wire::JobNow& now) const;
  Status Read(const Tasks& tasks, std::map<uint32_t, TaskFacts>& facts);
  void Add(const Key& key, const Running& running, const std::string& command);
  void End(os::Pid pid, const TaskFacts& task);
  void Follow(os::Pid pid, Ghost& ghost, Freezing stopped);

  void Queue(os::Pid pid, int signo);
  void Killed(os::Pid pid);
  void Flush();
  // True if the hub has obeyed; else the reason has been reported.
  bool Steer(Steering what, int signo, std::optional<uint32_t> rank, const Tasks& tasks);
  void SteerAll(Steering what, int signo);
  void OnInterrupt();
  void OnAnswer();
  void OnTerminalStop();
  void Welcome();

  HistoryCall& call_;
  os::RealLoop& loop_;
  JobSelector job_;
  size_t most_;
  uint32_t number_ = 0;  // the job's
  std::unique_ptr<os::StandIns> processes_;
  std::map<os::Pid, Ghost> ghosts_;
  std::map<Key, os::Pid> by_key_;  // 0: its user killed it, and the task has yet to follow
  std::vector<std::pair<Ghost, int>> orders_;
  std::map<os::Pid, int> ordered_;  // how many of `orders_` each has
  Tasks failed_;                    // of their last attempts
  bool flushes_ = false;
  bool lost_ = false;  // whoever answers did not, and the user was told
  bool asking_ = false;
  bool over_ = false;
};

// ---- What runs ---------------------------------------------------------------------------------

Result<std::optional<wire::JobNow>> Ghosts::JobNow() {
  std::optional<wire::JobNow> now;
  wire::LookAtJobs question{.jobs = job_, .runs = kMostRuns};
  TRY(call_.Query(std::move(question), [&](wire::JobNow answer) { now = std::move(answer); }));
  return now;
}

std::map<Key, Ghosts::Running> Ghosts::RunningOf(const wire::JobNow& now) const {
  std::map<Key, Running> all;
  for (const RunningFacts& facts : now.running) {
    for (uint32_t i = 0; i < std::max(facts.ranks, 1u); ++i) {
      all[{facts.task, facts.attempt, facts.first_rank + i}] = {facts, facts.ranks > 0};
    }
  }
  return all;
}

Status Ghosts::Look() {
  const auto now = TRY(JobNow());
  return Reconcile(now);
}

void Ghosts::LookAgain() {
  loop_.At(loop_.Now() + kLook, [this] {
    const Status looked = Look();
    if (!looked && !std::exchange(lost_, true)) {
      call_.Report(looked.error());
      call_.Report("the ghosts stay as they are until the job can be seen again");
    }
    if (looked) lost_ = false;
    if (over_) return loop_.Stop();
    LookAgain();
  });
}

// The facts of the journal about these tasks.
Status Ghosts::Read(const Tasks& tasks, std::map<uint32_t, TaskFacts>& facts) {
  if (tasks.empty()) return {};
  wire::TaskPick pick;
  pick.tasks.push_back({.job = number_, .ranges = {}, .names = {}});
  for (uint32_t task : tasks) {
    auto& ranges = pick.tasks.front().ranges;
    if (!ranges.empty() && ranges.back().last + 1 == task) {
      ranges.back().last = task;
    } else {
      ranges.push_back({task, task, 1});
    }
  }
  wire::ListTasks question;
  question.tasks.push_back(std::move(pick));
  return call_.Query(std::move(question), [&](wire::TasksListed listed) {
    for (TaskFacts& task : listed.tasks) facts[task.index + 1] = std::move(task);
  });
}

// Ghosts are those that run: new ones get a process, those that have ended end it.
Status Ghosts::Reconcile(const std::optional<wire::JobNow>& now) {
  if (now) number_ = now->job.value;
  const auto running = now ? RunningOf(*now) : std::map<Key, Running>();
  std::vector<os::Pid> gone;
  Tasks read;
  for (const auto& [pid, ghost] : ghosts_) {
    if (running.contains(ghost.key)) continue;
    gone.push_back(pid);
    read.insert(ghost.key.task);
  }
  std::erase_if(
      by_key_, [&](const auto& each) { return each.second == 0 && !running.contains(each.first); });
  std::vector<std::pair<Key, const Running*>> fresh;
  for (const auto& [key, run] : running) {
    if (by_key_.contains(key) || ghosts_.size() + fresh.size() >= most_ + gone.size()) continue;
    fresh.emplace_back(key, &run);
    read.insert(key.task);
  }
  std::map<uint32_t, TaskFacts> facts;
  TRY(Read(read, facts));
  for (os::Pid pid : gone) {
    const Key& key = ghosts_.at(pid).key;
    auto task = facts.find(key.task);
    const bool known =
        task != facts.end() &&
        (HasEnded(task->second.state) ||
         (task->second.last && task->second.last->end.ref.attempt.value >= key.attempt));
    if (known) End(pid, task->second);
  }
  for (const auto& [key, run] : fresh) {
    if (ghosts_.size() < most_) Add(key, *run, facts[key.task].command);
  }
  for (auto& [pid, ghost] : ghosts_) {
    if (auto run = running.find(ghost.key); run != running.end()) {
      Follow(pid, ghost, run->second.facts.stopped);
    }
  }
  // The last ones end by themselves: whoever watches them sees how.
  over_ = !now && ghosts_.empty() && processes_->size() == 0;
  return {};
}

void Ghosts::Add(const Key& key, const Running& running, const std::string& command) {
  std::string title = fmt::format("{}.{}", number_, key.task);
  if (running.is_rank) title += fmt::format(".{}", key.rank);
  title += fmt::format("@{} {}", EscapeForScreen(running.facts.node), EscapeForScreen(command));
  auto pid = processes_->Start(title);
  if (!pid) {
    most_ = ghosts_.size();
    call_.Report(pid.error());
    return call_.Report(fmt::format("no more than {} ghosts fit here", most_));
  }
  ghosts_[*pid] = {key, running.is_rank};
  by_key_[key] = *pid;
}

void Ghosts::End(os::Pid pid, const TaskFacts& task) {
  const Ghost ghost = ghosts_.at(pid);
  const int status = WaitStatusOf(task, ghost);
  if (status == 0) {
    failed_.erase(ghost.key.task);
  } else {
    failed_.insert(ghost.key.task);
  }
  ghosts_.erase(pid);
  by_key_.erase(ghost.key);
  processes_->End(pid, status);
}

// Its process stands still while its task does, unless an order of its user is under way.
void Ghosts::Follow(os::Pid pid, Ghost& ghost, Freezing stopped) {
  if (ordered_.contains(pid)) return;
  ghost.stopped = stopped;
  const bool is_stopped = processes_->is_stopped(pid);
  if (stopped == Freezing::kFrozen && !is_stopped) processes_->Stop(pid);
  if (stopped == Freezing::kNone && is_stopped && !ghost.is_alone) processes_->Continue(pid);
}

// ---- What users want ---------------------------------------------------------------------------

void Ghosts::Queue(os::Pid pid, int signo) {
  auto ghost = ghosts_.find(pid);
  if (ghost == ghosts_.end()) return;
  orders_.emplace_back(ghost->second, signo);
  ++ordered_[pid];
  if (std::exchange(flushes_, true)) return;
  loop_.At(loop_.Now() + kSettle, [this] { Flush(); });
}

void Ghosts::Killed(os::Pid pid) {
  auto at = ghosts_.find(pid);
  if (at == ghosts_.end()) return;
  const Ghost ghost = at->second;
  ghosts_.erase(at);
  ordered_.erase(pid);
  by_key_[ghost.key] = 0;
  loop_.At(loop_.Now() + kSettleKill, [this, ghost] {
    orders_.emplace_back(ghost, os::kSignalKill);
    if (!std::exchange(flushes_, true)) loop_.At(loop_.Now() + kSettle, [this] { Flush(); });
  });
}

void Ghosts::Flush() {
  flushes_ = false;
  struct Way {
    Steering what;
    int signo;
    std::optional<uint32_t> rank;
    auto operator<=>(const Way&) const = default;
  };
  std::vector<Way> in_order;
  std::map<Way, std::vector<Ghost>> ways;
  for (auto& [ghost, signo] : std::exchange(orders_, {})) {
    Way way{Steering::kSignal, signo, std::nullopt};
    if (ghost.is_rank) way.rank = ghost.key.rank;
    auto now = by_key_.find(ghost.key);
    const bool lives = now != by_key_.end() && now->second != 0;
    const Freezing stopped = lives ? ghosts_.at(now->second).stopped : ghost.stopped;
    if (!ghost.is_rank && signo == os::kSignalStop) way = {Steering::kStop, 0, std::nullopt};
    if (!ghost.is_rank && signo == os::kSignalContinue && stopped != Freezing::kNone) {
      way = {Steering::kContinue, 0, std::nullopt};
    }
    if (!ways.contains(way)) in_order.push_back(way);
    ways[way].push_back(ghost);
    // A CONT in the same moment must find the STOP before it.
    if (lives && way.what == Steering::kStop) ghosts_.at(now->second).stopped = Freezing::kFreezing;
  }
  ordered_.clear();
  for (const Way& way : in_order) {
    Tasks tasks;
    for (const Ghost& ghost : ways[way]) tasks.insert(ghost.key.task);
    const bool obeyed = Steer(way.what, way.signo, way.rank, tasks);
    for (const Ghost& each : ways[way]) {
      auto now = by_key_.find(each.key);
      if (now == by_key_.end()) continue;
      if (now->second == 0) {
        if (obeyed) {
          failed_.insert(each.key.task);
        } else {
          by_key_.erase(now);  // it runs, so it gets another ghost
        }
        continue;
      }
      Ghost& ghost = ghosts_.at(now->second);
      if (way.what == Steering::kContinue && obeyed) ghost.stopped = Freezing::kNone;
      if (way.signo == os::kSignalStop) ghost.is_alone = obeyed;
      if (way.signo == os::kSignalContinue) ghost.is_alone = false;
      if (way.what == Steering::kStop && !obeyed) ghost.stopped = Freezing::kNone;
    }
  }
}

bool Ghosts::Steer(Steering what, int signo, std::optional<uint32_t> rank, const Tasks& tasks) {
  wire::Steer question{.what = what, .signal = signo, .rank = rank};
  TasksOfJob& named = question.tasks.emplace_back();
  named.job = number_;
  for (uint32_t task : tasks) named.ranges.push_back({task, task, 1});
  auto whom = call_.Whom();
  auto answer =
      whom ? client::QueryOne(**whom, std::move(question)) : std::unexpected(whom.error());
  if (!answer) {
    call_.Report(answer.error());
    return false;
  }
  for (const std::string& problem : answer->problems) call_.Report(EscapeForScreen(problem));
  return answer->problems.empty();
}

void Ghosts::SteerAll(Steering what, int signo) {
  Tasks tasks;
  for (const auto& [pid, ghost] : ghosts_) tasks.insert(ghost.key.task);
  if (!tasks.empty()) (void)Steer(what, signo, std::nullopt, tasks);
}

// ---- The terminal ------------------------------------------------------------------------------

// Ctrl-C. A second one while the question is open ends this process alone.
void Ghosts::OnInterrupt() {
  Tasks tasks;
  for (const auto& [pid, ghost] : ghosts_) tasks.insert(ghost.key.task);
  if (asking_ || tasks.empty() || !os::IsForeground(os::kStdin)) os::DieOfSignal(os::kSignalInt);
  if (tasks.size() == 1) return SteerAll(Steering::kSignal, os::kSignalInt);
  asking_ = true;
  (void)call_.Flush();
  fmt::print(stderr, "\nspate: send INT to {} tasks? (y: yes; Ctrl-C: leave them alone) ",
             tasks.size());
  loop_.WatchRead(os::kStdin, [this] { OnAnswer(); });
}

void Ghosts::OnAnswer() {
  char line[256];
  auto got = os::ReadSome(os::kStdin, line, sizeof line, "standard input");
  if (!got && got.error().kind == ErrorKind::kBusy) return;
  loop_.Unwatch(os::kStdin);
  asking_ = false;
  if (got && *got > 0 && (line[0] == 'y' || line[0] == 'Y')) {
    return SteerAll(Steering::kSignal, os::kSignalInt);
  }
  call_.Report("no signal was sent");
}

// Ctrl-Z stops the tasks, and this process until its shell continues it.
void Ghosts::OnTerminalStop() {
  Tasks tasks;
  for (auto& [pid, ghost] : ghosts_) {
    if (ghost.stopped == Freezing::kNone) tasks.insert(ghost.key.task);
  }
  const bool stopped = !tasks.empty() && Steer(Steering::kStop, 0, std::nullopt, tasks);
  if (stopped) {
    call_.Report(fmt::format("{} stopped until this command is continued, as by fg",
                             present::CountOf(tasks.size(), "task")));
    for (auto& [pid, ghost] : ghosts_) processes_->Stop(pid);
  }
  os::StopSelf();
  if (stopped) (void)Steer(Steering::kContinue, 0, std::nullopt, tasks);
}

void Ghosts::Welcome() {
  if (!call_.human()) return;
  call_.Report(
      fmt::format("job {}: {} for running tasks; signals to them reach the tasks; Ctrl-\\ ends the "
                  "ghosts alone",
                  number_, present::CountOf(ghosts_.size(), "ghost")));
}

Result<int> Ghosts::Run() {
  processes_ = TRY(os::StandIns::Create(
      loop_, {.signalled = [this](os::Pid pid, int signo) { Queue(pid, signo); },
              .stopped = [this](os::Pid pid) { Queue(pid, os::kSignalStop); },
              .killed = [this](os::Pid pid) { Killed(pid); }}));
  const auto now = TRY(JobNow());
  if (!now) return Fail(ErrorKind::kUnavailable, "the job has ended, so nothing of it runs");
  job_ = {.ranges = {{now->job.value, now->job.value, 1}}};
  TRY(Reconcile(now));
  Welcome();
  loop_.OnSignal(os::kSignalInt, [this] { OnInterrupt(); });
  loop_.OnSignal(os::kSignalTerminalStop, [this] { OnTerminalStop(); });
  LookAgain();
  loop_.Run();
  return failed_.empty() ? kExitSuccess : kExitTasksFailed;
}

Result<int> GhostJob(HistoryCall& call) {
  auto job = TRY(SelectJobs(call.words().words));
  const bool one = job.last || (!job.all && job.ranges.size() == 1 &&
                                job.ranges.front().first == job.ranges.front().last);
  if (!one && !job.ranges.empty()) return Fail(ErrorKind::kInvalid, "name one job");
  if (job.ranges.empty()) job.last = true;
  size_t most = kMostByDefault;
  if (auto typed = call.words().Last(kMostGhosts)) {
    const auto number = ReadNumber<uint32_t>(*typed);
    if (!number || *number == 0 || *number > kMostRuns) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--most: '{}' is not a number of ghosts from 1 to {}",
                              EscapeForScreen(*typed), kMostRuns));
    }
    most = *number;
  }
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  return Ghosts(call, *loop, std::move(job), most).Run();
}

}  // namespace

extern const Command kSpateGhost = {
    .order = 198,
    .group = CommandGroup::kRunning,
    .name = "ghost",
    .arguments = "[JOB]",
    .completes = Completes::kUnfinishedJobs,
    .summary = "show the running tasks of a job as local processes",
    .details =
        "One small process of this machine stands for each running task, or each rank of a gang, "
        "until the job ends. It is named JOB.TASK@NODE COMMAND in ps, top and htop. A signal that "
        "you send it goes to the task; STOP and CONT stop and continue the task, and KILL kills "
        "it. "
        "The process stands still while its task is stopped, and ends with the task's status. "
        "Ctrl-Z stops all of these tasks until fg or bg; Ctrl-C sends them INT, and asks first if "
        "there are several. The end of the terminal, of the session or of spate ghost itself "
        "leaves the tasks alone. From another terminal, pkill -USR1 -f '12.*@n1 ' sends a signal "
        "to those on node n1. The exit code is 1 if one of these tasks failed.",
    .examples = {{{"spate ghost 12", "processes for the running tasks of job 12"},
                  {"spate ghost --most 5000 last", "for up to 5,000 of them"}}},
    .words_max = 1,
    .options = {{opt::kQuiet, opt::kState, kMostGhosts, opt::kWhose, opt::kAt}},
    .run = LookAtJobs<GhostJob>,
};

}  // namespace spate::cli::command
