// `spate exec`: a command inside a running task, beside the task's own.
#include <fmt/format.h>

#include <cstdio>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes32.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/output.h"
#include "core/model/visit.h"
#include "os/environment.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "present/advice.h"
#include "remote/client.h"
#include "remote/visit.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

// ssh's code for an error of the connection, not of the command.
constexpr int kOwnFailure = 255;
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

struct Place {
  uint32_t job = 0;
  uint32_t task = 0;  // from 1
  std::string Id() const { return fmt::format("{}.{}", job, task); }
};

// One visit: its way is asked for, then the command runs there.
class Visit {
 public:
  Visit(os::RealLoop& loop, const EnterTask::Answer& way, remote::Client::Options options,
        remote::Client::Done done)
      : ticket_(
            remote::VisitTicket(Bytes32FromHex(way.secret).value_or(Bytes32{}), way.node,
                                remote::ParseLobbies(way.at).value_or(std::vector<os::Address>()))),
        client_(loop, ticket_, std::move(options), std::move(done)) {}
  remote::Client& client() { return client_; }

 private:
  const remote::Ticket ticket_;
  remote::Client client_;
};

remote::Client::Options OptionsOf(const EnterTask::Answer& way, remote::StartWords words) {
  return {.node = way.node,
          .command = {},
          .words = std::move(words),
          .place = fmt::format("with task {}.{}", way.job.value, way.task),
          .silence = remote::kVisitSilence,
          .patience = Duration::Seconds(10)};
}

Result<EnterTask::Answer> Enter(HistoryCall& call, TasksOfJob task, uint32_t rank) {
  return client::QueryOne(*TRY(call.Whom()), EnterTask{std::move(task), rank});
}

// Signals go to the command; a second one ends this program.
void PassSignals(os::RealLoop& loop, const std::function<bool(int)>& pass) {
  for (int signo : {os::kSignalHup, os::kSignalInt, os::kSignalQuit, os::kSignalTerm}) {
    loop.OnSignal(signo, [&pass, signo, asked = false]() mutable {
      if (std::exchange(asked, true) || !pass(signo)) os::DieOfSignal(signo);
    });
  }
}

Result<int> ExecInOne(HistoryCall& call, TasksOfJob task, uint32_t rank, bool terminal) {
  const auto way = TRY(Enter(call, std::move(task), rank));
  remote::StartWords words{.words = call.words().rest, .window = std::nullopt, .term = {}};
  if (terminal) {
    words.window = os::WindowOf(os::kStdin);
    words.term = os::Environment::OfProcess().GetOr("TERM", "");
  }
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  Result<int> code = 0;
  Visit visit(*loop, way, OptionsOf(way, std::move(words)), [&](Result<int> ended) {
    code = std::move(ended);
    loop->Stop();
  });
  const std::function<bool(int)> pass = [&](int signo) { return visit.client().Signal(signo); };
  PassSignals(*loop, pass);
  if (terminal) loop->OnSignal(os::kSignalWindow, [&] { visit.client().Resize(); });
  loop->Run();
  if (code) return *code;
  call.Report(code.error());
  return kOwnFailure;
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
      Enter(call_, {.job = place.job, .ranges = {{place.task, place.task, 1}}, .names = {}}, 0));
  One& one = all_.emplace_back(loop_, place.Id());
  TRY(one.out.Open());
  TRY(one.err.Open());
  auto options = OptionsOf(way, {.words = call_.words().rest, .window = std::nullopt, .term = {}});
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
  if (code_ == kExitSuccess) code_ = kOwnFailure;
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
  if (words.rest.empty()) {
    return Fail(ErrorKind::kInvalid, "write the command behind --, as in: spate exec 12.3 -- ps");
  }
  TasksOfJob task = TRY(NamedTask(call));
  const auto rank = TRY(RankOf(words, kExecRank));
  std::vector<Place> running;
  if (task.all) running = TRY(RunningTasks(call, task));
  if (words.Has(kExecAll)) {
    if (!task.all) return Fail(ErrorKind::kInvalid, "--all: name a job, not a task");
    if (rank) return Fail(ErrorKind::kInvalid, "--rank goes with one task, --all with a job");
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
  const auto here = os::Environment::OfProcess();
  const bool terminal = !words.Has(kExecPipes) &&
                        os::LookAtTerminal(os::kStdin, here).is_terminal &&
                        os::LookAtTerminal(os::kStdout, here).is_terminal;
  return ExecInOne(call, std::move(task), rank.value_or(0), terminal);
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
                  {"spate exec 12.1 --rank 3 -- gdb -p 4711", "at rank 3 of a gang"},
                  {"spate exec 12 --all -- nvidia-smi", "in all running tasks of job 12"}}},
    .words_min = 1,
    .words_max = 1,
    .takes_command = true,
    .options = {{opt::kState, kExecRank, kExecAll, kExecPipes, opt::kWhose, opt::kAt}},
    .run = LookAtJobs<Exec>,
};

}  // namespace spate::cli::command
