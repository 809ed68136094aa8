// `spate exec`: a command inside a running task, beside the task's own.
#include <fmt/format.h>

#include <cstdio>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/output.h"
#include "command/spate/visiting.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "present/advice.h"
#include "remote/client.h"
#include "remote/forwarded_ports.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr size_t kMostAtOnce = 250;  // each has six descriptors

constexpr Option kExecRank = {.names = "rank",
                              .argument = "N",
                              .heading = Heading::kSelect,
                              .help = "gangs only: enter process N (default: 0)",
                              .more = "Processes are numbered from 0, like SPATE_RANK."};
constexpr Option kExecAll = {.names = "all",
                             .heading = Heading::kSelect,
                             .help = "run the command in every running task of the job",
                             .more =
                                 "Each line of output begins with the task's number. The exit "
                                 "code is that of the first command that failed."};
constexpr Option kExecPipes = {.names = "no-terminal",
                               .letters = "T",
                               .heading = Heading::kSelect,
                               .help = "use pipes even where this is a terminal"};

constexpr Option kExecPort = {
    .names = "port",
    .letters = "L",
    .argument = "[HERE:]PORT",
    .heading = Heading::kSelect,
    .help = "forward a local port to PORT on the task's node",
    .more =
        "HERE is a port of 127.0.0.1 (default: the same; 0: any free one), which all accounts of "
        "this machine reach, or the path of a socket, which only you can open. May be repeated. "
        "Without a command it lasts until Ctrl-C."};
struct Place {
  uint32_t job = 0;
  uint32_t task = 0;  // from 1
  std::string Id() const { return fmt::format("{}.{}", job, task); }
};

Result<std::vector<remote::PortWish>> PortsOf(const Words& words) {
  std::vector<remote::PortWish> ports;
  for (const std::string& typed : words.All(kExecPort)) {
    ports.push_back(TRY(remote::ParsePortWish(typed)));
  }
  return ports;
}

// ---- All tasks of a job ------------------------------------------------------------------------

// The lines of one stream of a visit, each with its task's number.
class Labelled {
 public:
  Labelled(os::RealLoop& loop, std::string label, FILE* to)
      : loop_(loop), label_(std::move(label)), to_(to) {}
  ~Labelled() {
    if (pipe_.read) loop_.Unwatch(pipe_.read.get());
  }
  Labelled(const Labelled&) = delete;
  Labelled& operator=(const Labelled&) = delete;

  Status Open() {
    pipe_ = TRY(os::MakePipe());
    TRY(os::SetNonBlocking(pipe_.read.get(), true));
    loop_.WatchRead(pipe_.read.get(), [this] { Read(); });
    return {};
  }
  int fd() const { return pipe_.write.get(); }
  // Prints what is left, with a last line that does not end.
  void End() {
    while (Read()) {
    }
    if (!line_.empty()) Print(std::exchange(line_, {}) + '\n');
  }

 private:
  bool Read() {
    char bytes[16384];
    auto got = os::ReadSome(pipe_.read.get(), bytes, sizeof bytes, "the output of a visit");
    if (!got || *got == 0) return false;
    line_.append(bytes, *got);
    for (size_t end; (end = line_.find('\n')) != line_.npos; line_.erase(0, end + 1)) {
      Print(line_.substr(0, end + 1));
    }
    return true;
  }
  void Print(const std::string& line) { fmt::print(to_, "{}: {}", label_, line); }

  os::RealLoop& loop_;
  const std::string label_;
  FILE* const to_;
  os::Pipe pipe_;
  std::string line_;
};

class Everywhere {
 public:
  Everywhere(HistoryCall& call, os::RealLoop& loop) : call_(call), loop_(loop) {}
  Result<int> Run(const std::vector<Place>& places);

 private:
  struct One {
    One(os::RealLoop& loop, const std::string& label)
        : out(loop, label, stdout), err(loop, label, stderr) {}
    Labelled out, err;
    std::unique_ptr<Visit> visit = nullptr;
  };
  Status Begin(const Place& place);
  void Fail(const Place& place, const Error& error);
  void Ended(const Place& place, One& one, Result<int> code);

  HistoryCall& call_;
  os::RealLoop& loop_;
  std::list<One> all_;
  size_t left_ = 0;
  int code_ = kExitSuccess;
};

Status Everywhere::Begin(const Place& place) {
  const auto way = TRY(
      QueryWay(call_, {.job = place.job, .ranges = {{place.task, place.task, 1}}, .names = {}}, 0));
  One& one = all_.emplace_back(loop_, place.Id());
  TRY(one.out.Open());
  TRY(one.err.Open());
  auto options =
      VisitOptions(way, {.words = call_.words().rest, .window = std::nullopt, .term = {}});
  options.in = -1;
  options.out = one.out.fd();
  options.err = one.err.fd();
  one.visit = std::make_unique<Visit>(
      loop_, way, std::move(options),
      [this, place, &one](Result<int> code) { Ended(place, one, std::move(code)); });
  ++left_;
  return {};
}

void Everywhere::Fail(const Place& place, const Error& error) {
  call_.Report(Error{error.kind, fmt::format("{}: {}", place.Id(), error.message)});
  if (code_ == kExitSuccess) code_ = kVisitFailure;
}

void Everywhere::Ended(const Place& place, One& one, Result<int> code) {
  one.out.End();
  one.err.End();
  if (!code) Fail(place, code.error());
  if (code && code_ == kExitSuccess) code_ = *code;
  if (--left_ == 0) loop_.Stop();
}

Result<int> Everywhere::Run(const std::vector<Place>& places) {
  for (const Place& place : places) {
    if (Status begun = Begin(place); !begun) Fail(place, begun.error());
  }
  const std::function<bool(int)> pass = [this](int signo) {
    bool passed = false;
    for (const One& one : all_) passed |= one.visit && one.visit->client().Signal(signo);
    return passed;
  };
  PassSignals(loop_, pass);
  if (left_ > 0) loop_.Run();
  std::fflush(stdout);
  return code_;
}

Result<std::vector<Place>> RunningTasks(HistoryCall& call, const TasksOfJob& named) {
  std::vector<Place> places;
  JobSelector job{.last = !named.job};
  if (named.job) job.ranges = {{*named.job, *named.job}};
  TRY(call.Query(wire::LookAtJobs{std::move(job)}, [&](const wire::JobNow& now) {
    for (const RunningFacts& run : now.running) {  // of a gang there are several
      if (places.empty() || places.back().task != run.task)
        places.push_back({now.job.value, run.task});
    }
  }));
  if (places.empty()) return Fail(ErrorKind::kUnavailable, "no task of the job runs");
  return places;
}

// ---- The command -------------------------------------------------------------------------------

Result<TasksOfJob> NamedTask(HistoryCall& call) {
  auto picks = TRY(SelectTasks(call.words().words));
  if (!picks.front().tasks.empty()) {
    std::vector<TasksOfJob> tasks = std::move(picks.front().tasks);
    TRY(LookUpNames(*TRY(call.Whom()), tasks));
    const bool one = tasks.size() == 1 && !tasks.front().all && tasks.front().ranges.size() == 1 &&
                     tasks.front().ranges.front().first == tasks.front().ranges.front().last;
    if (one) return std::move(tasks.front());
    return Fail(ErrorKind::kInvalid, "name one task, as in: spate exec 12.3 -- ps");
  }
  const JobSelector& jobs = picks.front().jobs;
  const bool one = jobs.last || (jobs.ranges.size() == 1 && !jobs.all &&
                                 jobs.ranges.front().first == jobs.ranges.front().last);
  if (!one) return Fail(ErrorKind::kInvalid, "name one job");
  TasksOfJob job{.job = std::nullopt, .all = true, .ranges = {}, .names = {}};
  if (!jobs.ranges.empty()) job.job = jobs.ranges.front().first;
  return job;
}

Result<int> Exec(HistoryCall& call) {
  const Words& words = call.words();
  if (words.rest.empty() && (!words.Has(kExecPort) || words.Has(kExecAll))) {
    return Fail(ErrorKind::kInvalid, "write the command behind --, as in: spate exec 12.3 -- ps");
  }
  TasksOfJob task = TRY(NamedTask(call));
  const auto rank = TRY(RankOf(words, kExecRank));
  auto ports = TRY(PortsOf(words));
  std::vector<Place> running;
  if (task.all) running = TRY(RunningTasks(call, task));
  if (words.Has(kExecAll)) {
    if (!task.all) return Fail(ErrorKind::kInvalid, "--all: name a job, not a task");
    if (rank) return Fail(ErrorKind::kInvalid, "--rank goes with one task, --all with a job");
    if (words.Has(kExecPort)) return Fail(ErrorKind::kInvalid, "-L goes with one task only");
    if (running.size() > kMostAtOnce) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("{} tasks run; at most {} can be entered at once", running.size(),
                              kMostAtOnce));
    }
    os::IgnoreSignal(os::kSignalPipe);
    auto loop = TRY(os::RealLoop::Create());
    return Everywhere(call, *loop).Run(running);
  }
  if (running.size() > 1) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} tasks of job {} run\nName one, such as {}, or add --all",
                            running.size(), running.front().job, running.front().Id()));
  }
  if (task.all) task = {.job = running[0].job, .ranges = {{running[0].task, running[0].task, 1}}};
  return VisitTask(call,
                   {.task = std::move(task),
                    .rank = rank.value_or(0),
                    .words = words.rest,
                    .terminal = !words.Has(kExecPipes) && !words.rest.empty() && IsAtTerminal(),
                    .ports = std::move(ports)});
}

}  // namespace

extern const Command kSpateExec = {
    .order = 75,
    .group = CommandGroup::kHistory,
    .name = "exec",
    .arguments = "JOB.TASK -- COMMAND...",
    .completes = Completes::kTasks,
    .summary = "run a command inside a running task",
    .details =
        "The command runs on the task's node, as its user, with its environment, folder, "
        "processors and limits, beside the task's own processes. Its words are used as typed, its "
        "output and exit code come back, and 255 means that spate exec failed. On a terminal it "
        "gets one; the keys Enter ~ . leave it. JOB alone means the job's only running task. The "
        "visit ends with the task, and what it left running ends with it; the task does not "
        "notice. Only the task's owner may enter it. Node and client must reach each other: "
        "`spate node start --gang-port` says at which port.",
    .examples = {{{"spate exec 12.3 -- ps -ef", "what runs there"},
                  {"spate exec 12.3 -- bash", "a shell in the task's folder"},
                  {"spate exec 12.3 -L 8888", "its node's port 8888 becomes ours"},
                  {"spate exec 12 --all -- nvidia-smi", "in all running tasks of job 12"}}},
    .words_min = 1,
    .words_max = 1,
    .takes_command = true,
    .options = {{opt::kState, kExecRank, kExecAll, kExecPipes, kExecPort, opt::kWhose, opt::kAt}},
    .run = LookAtJobs<Exec>,
};

}  // namespace spate::cli::command
