#include "run/run_asker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "cli/options/run_options.h"
#include "cli/report.h"
#include "history/reader_end.h"
#include "history/source.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/signals.h"
#include "plan/job_text.h"
#include "present/advice.h"
#include "store/history.h"
#include "store/sqlite/job_dir.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/sqlite_history.h"
#include "wire/field_bytes.h"

namespace spate::run {
namespace {

constexpr Duration kUntilItListens = Duration::Seconds(5);
constexpr Duration kLookAgain = Duration::Millis(20);

bool Listens(const RunTarget& target) {
  return client::HubRuns(fmt::format("/proc/self/fd/{}", target.folder.get()));
}

JobSelector Only(uint32_t number) { return {.ranges = {{number, number, 1}}}; }

bool NamesOne(const JobSelector& jobs, const std::vector<uint32_t>& picked) {
  return !jobs.all && picked.size() == 1;
}

template <typename T>
Status Give(const client::Asker::AcceptAnswer& take, const T& answer) {
  return take(wire::BytesOf(answer));
}

// Settings as PreparedJob::Open makes them, without what is given now.
Result<JobSettings> SettingsOfRow(const store::JobRow& row, uint32_t cores) {
  auto options = TRY(cli::ParseRun(row.argv, {}));
  JobSettings settings = cli::SettingsOf(options, row.cwd, cores);
  TRY(DecodeRowSettings(row.settings, settings));
  return settings;
}

std::vector<JobId> IdsOf(const std::vector<uint32_t>& numbers) {
  std::vector<JobId> jobs;
  for (uint32_t number : numbers) jobs.emplace_back(number);
  return jobs;
}

// The source of answers about this machine's runs.
history::Source RunsIn(const store::JobPlace& place, uint32_t cores) {
  history::Source source(store::OpenHistory(place));
  source.settings = [cores](const store::JobRow& row) { return SettingsOfRow(row, cores); };
  source.now = os::WallNow;
  return source;
}

}  // namespace

std::optional<int> RunReaderEntry(int argc, char** argv) {
  if (argc != 5 || std::string_view(argv[1]) != "__run-reader") return std::nullopt;
  auto here = client::Surroundings::Find();
  if (!here) return cli::ReportError(here.error());
  const uint32_t cores = here->machine.facts().cores;
  store::JobPlace place(argv[2]);
  place.keep_replay_after = 1;
  if (history::KeepIfAsked(RunsIn(place, cores), argv[3], argv[4])) return 0;
  history::AnswerOnce(RunsIn(store::JobPlace(argv[2]), cores));
  return 0;
}

Result<RunTarget> TargetOf(const std::string& job_folder) {
  auto folder = TRY(os::OpenDir(job_folder));
  os::Address at = client::SocketOf(fmt::format("/proc/self/fd/{}", folder.get()));
  link::Target target = link::Target::Of(std::move(at));
  target.name = "the run";
  return RunTarget{std::move(folder), {std::move(target), "the run"}};
}

RunAsker::RunAsker(const client::Surroundings& here, std::string state_dir, std::string whose)
    : state_dir_(std::move(state_dir)),
      whose_(std::move(whose)),
      journals_(RunsIn(state_dir_, here.machine.facts().cores)) {}

RunAsker::~RunAsker() = default;

Status RunAsker::Query(wire::Question question, const AcceptAnswer& take) {
  if (wire::IsOfJournal(question.number())) return journals_.Query(std::move(question), take);
  Status status = Fail(ErrorKind::kInvalid, "only a hub has that, not the runs of this machine");
  question.Visit<wire::ChangeJobs, wire::Cancel, wire::Steer, wire::ExplainTasks, wire::LookAtJobs,
                 wire::LookAtRun, wire::ListProcesses, wire::EnterTask>(
      [&](auto asked) { status = Answer(std::move(asked), take); });
  return status;
}

Result<uint32_t> RunAsker::Newest() const {
  auto numbers = TRY(store::RunNumbers(state_dir_));
  auto newest = TRY(store::OpenHistory(state_dir_)->NewestAccepted(numbers));
  if (newest) return *newest;
  return Fail(ErrorKind::kNotFound, "no jobs yet in " + state_dir_);
}

Result<std::vector<uint32_t>> RunAsker::Pick(const JobSelector& jobs) const {
  auto numbers = TRY(store::RunNumbers(state_dir_));
  for (const NumberRange& range : jobs.ranges) {
    auto in_range = [&](uint32_t number) { return range.Contains(number); };
    if (std::ranges::any_of(numbers, in_range)) continue;
    return Fail(ErrorKind::kNotFound, fmt::format("no job {} in {}", range.first, state_dir_));
  }
  const uint32_t newest = jobs.last ? TRY(Newest()) : 0;
  std::erase_if(numbers, [&](uint32_t number) { return !jobs.Contains(number, newest); });
  return numbers;
}

std::unexpected<Error> RunAsker::NotRunning(uint32_t number) const {
  return Fail(ErrorKind::kUnavailable,
              fmt::format("job {} is not running; see: {}", number,
                          present::TextOf(Advice("job info", number), whose_)));
}

Status RunAsker::AskRun(uint32_t number, wire::Question question, const AcceptAnswer& take) {
  const std::string folder = store::JobPath(state_dir_, number);
  auto owner = TRY(store::RunningOwner(folder));
  if (!owner) return NotRunning(number);
  if (!owner->IsOfThisMachine()) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("job {} is being run by {}, and takes orders and questions only there; "
                            "give the command on that machine",
                            number, owner->Text()));
  }
  if (!loop_) {
    loop_ = TRY(os::RealLoop::Create());
    os::IgnoreSignal(os::kSignalPipe);
  }
  auto target = TargetOf(folder);
  client::HubCall call(*loop_, target ? target->hub : client::HubTarget{});
  auto connected = target ? call.Connect() : std::unexpected(target.error());
  // A run is listed before it listens, and it may end instead.
  const Instant until = loop_->Now() + kUntilItListens;
  while (!connected && target && loop_->Now() < until && !Listens(*target)) {
    call.Pause(kLookAgain);
    owner = TRY(store::RunningOwner(folder));
    if (!owner) return NotRunning(number);
    connected = call.Connect();
  }
  if (!connected) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("job {} runs as process {}, which does not answer: {}", number,
                            owner->pid, connected.error().message));
  }
  auto asked = call.Query(std::move(question), take);
  if (asked || asked.error().kind != ErrorKind::kUnavailable) return asked;
  return Fail(ErrorKind::kUnavailable, fmt::format("job {} has just ended", number));
}

template <typename Q>
Result<std::vector<uint32_t>> RunAsker::AskEach(
    Q question, const std::function<void(typename Q::Answer)>& take) {
  const JobSelector named = question.jobs;
  auto picked = TRY(Pick(named));
  std::vector<uint32_t> ended;
  for (uint32_t number : picked) {
    question.jobs = Only(number);
    auto asked = AskRun(number, question, [&](std::string_view bytes) -> Status {
      take(TRY(
          wire::FromBytes<typename Q::Answer>("the run's answer", bytes, client::kMostAnswered)));
      return {};
    });
    const bool gone = !asked && asked.error().kind == ErrorKind::kUnavailable;
    if (!asked && (!gone || NamesOne(named, picked))) return std::unexpected(asked.error());
    if (gone && !named.all) ended.push_back(number);
  }
  return ended;
}

Status RunAsker::Answer(wire::ChangeJobs question, const AcceptAnswer& take) {
  wire::JobsChanged all;
  auto add = [&](const wire::JobsChanged& one) {
    all.changed.insert(all.changed.end(), one.changed.begin(), one.changed.end());
    all.ended.insert(all.ended.end(), one.ended.begin(), one.ended.end());
    all.free.insert(all.free.end(), one.free.begin(), one.free.end());
  };
  auto gone = TRY(AskEach(std::move(question), add));
  add({.changed = {}, .ended = IdsOf(gone)});
  return Give(take, all);
}

Status RunAsker::Answer(const wire::Cancel& question, const AcceptAnswer& take) {
  wire::Cancel::Answer all;
  auto add = [&](const wire::Cancel::Answer& one) {
    const wire::JobsChanged& jobs = one.jobs;
    all.jobs.changed.insert(all.jobs.changed.end(), jobs.changed.begin(), jobs.changed.end());
    all.jobs.ended.insert(all.jobs.ended.end(), jobs.ended.begin(), jobs.ended.end());
    all.tasks.insert(all.tasks.end(), one.tasks.begin(), one.tasks.end());
  };
  std::map<uint32_t, wire::Cancel> of_tasks;
  for (TasksOfJob tasks : question.tasks) {
    const uint32_t number = tasks.job ? *tasks.job : TRY(Newest());
    TRY(Pick(Only(number)));
    tasks.job = number;
    of_tasks[number].tasks.push_back(std::move(tasks));
  }
  for (auto& [number, one] : of_tasks) {
    TRY(AskRun(number, std::move(one), [&](std::string_view bytes) -> Status {
      add(TRY(
          wire::FromBytes<wire::Cancel::Answer>("the run's answer", bytes, client::kMostAnswered)));
      return {};
    }));
  }
  auto gone = TRY(AskEach(wire::Cancel{.jobs = question.jobs, .tasks = {}}, add));
  add({.jobs = {.changed = {}, .ended = IdsOf(gone)}, .tasks = {}});
  return Give(take, all);
}

Status RunAsker::Answer(const wire::Steer& question, const AcceptAnswer& take) {
  wire::Steer::Answer all;
  auto append = [](auto& to, const auto& more) { to.insert(to.end(), more.begin(), more.end()); };
  auto add = [&](const wire::Steer::Answer& one) {
    append(all.jobs.changed, one.jobs.changed);
    append(all.jobs.ended, one.jobs.ended);
    append(all.jobs.free, one.jobs.free);
    append(all.tasks, one.tasks);
    append(all.unanswered, one.unanswered);
    append(all.problems, one.problems);
    all.running += one.running;
    all.frozen += one.frozen;
    all.processes += one.processes;
  };
  std::map<uint32_t, wire::Steer> of_tasks;
  for (TasksOfJob tasks : question.tasks) {
    const uint32_t number = tasks.job ? *tasks.job : TRY(Newest());
    TRY(Pick(Only(number)));
    tasks.job = number;
    auto [at, is_new] = of_tasks.try_emplace(number, question);
    if (is_new) {
      at->second.jobs = {};
      at->second.tasks.clear();
    }
    at->second.tasks.push_back(std::move(tasks));
  }
  for (auto& [number, one] : of_tasks) {
    TRY(AskRun(number, std::move(one), [&](std::string_view bytes) -> Status {
      add(TRY(
          wire::FromBytes<wire::Steer::Answer>("the run's answer", bytes, client::kMostAnswered)));
      return {};
    }));
  }
  wire::Steer of_jobs = question;
  of_jobs.tasks.clear();
  auto gone = TRY(AskEach(std::move(of_jobs), add));
  append(all.jobs.ended, IdsOf(gone));
  return Give(take, all);
}

Status RunAsker::Answer(const wire::ExplainTasks& question, const AcceptAnswer& take) {
  std::map<uint32_t, wire::ExplainTasks> of_jobs;
  for (TasksOfJob tasks : question.tasks) {
    tasks.job = tasks.job ? *tasks.job : TRY(Newest());
    of_jobs[*tasks.job].tasks.push_back(std::move(tasks));
  }
  bool told = false;
  for (auto& [number, one] : of_jobs) {
    auto asked = AskRun(number, std::move(one), take);
    told |= asked.has_value();
    const bool passed_over = !asked && (asked.error().kind == ErrorKind::kUnavailable ||
                                        asked.error().kind == ErrorKind::kNotFound);
    if (!asked && !passed_over) return asked;
  }
  return told ? Status() : Fail(ErrorKind::kNotFound, "the journal tells of these tasks");
}

Status RunAsker::Answer(wire::LookAtJobs question, const AcceptAnswer& take) {
  std::vector<wire::JobNow> all;
  auto gone =
      AskEach(std::move(question), [&](wire::JobNow now) { all.push_back(std::move(now)); });
  if (!gone && gone.error().kind != ErrorKind::kUnavailable) return std::unexpected(gone.error());
  for (const wire::JobNow& now : all) TRY(Give(take, now));
  return {};
}

template <typename Q>
Status RunAsker::AskOfTask(Q question, const AcceptAnswer& take) {
  const uint32_t number = question.task.job ? *question.task.job : TRY(Newest());
  TRY(Pick(Only(number)));
  question.task.job = number;
  return AskRun(number, std::move(question), take);
}

Status RunAsker::Answer(const wire::ListProcesses& question, const AcceptAnswer& take) {
  std::map<uint32_t, std::vector<wire::TaskPick>> of_runs;
  bool named = false;  // as one run each
  auto add = [&](const JobSelector& jobs) -> Status {
    auto picked = TRY(Pick(jobs));
    named |= NamesOne(jobs, picked);
    for (uint32_t number : picked) of_runs[number].push_back({.jobs = Only(number), .tasks = {}});
    return {};
  };
  for (const wire::TaskPick& pick : question.tasks) {
    for (TasksOfJob tasks : pick.tasks) {
      const uint32_t number = tasks.job ? *tasks.job : TRY(Newest());
      TRY(Pick(Only(number)));
      tasks.job = number;
      named = true;
      of_runs[number].push_back({.jobs = {}, .tasks = {std::move(tasks)}});
    }
    if (pick.tasks.empty()) TRY(add(pick.jobs));
  }
  if (question.tasks.empty()) TRY(add({.all = true}));
  for (auto& [number, picks] : of_runs) {
    auto asked =
        AskRun(number, wire::ListProcesses{.tasks = std::move(picks), .pid = question.pid}, take);
    const bool gone = !asked && asked.error().kind == ErrorKind::kUnavailable;
    if (!asked && !(gone && !named)) return asked;
  }
  return {};
}

}  // namespace spate::run
