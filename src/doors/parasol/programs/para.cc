#include "doors/parasol/programs/para.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/near.h"
#include "base/units.h"
#include "doors/parasol/formats/batch_report.h"
#include "doors/parasol/formats/job_list.h"
#include "doors/parasol/programs/para_cycle.h"
#include "doors/parasol/programs/para_folder.h"
#include "doors/parasol/programs/para_options.h"
#include "doors/parasol/programs/para_talk.h"
#include "doors/parasol/programs/parasol_input.h"
#include "os/error.h"
#include "os/file.h"

namespace spate::parasol {
namespace {

constexpr uint64_t kTryMost = 10;
constexpr size_t kStderrMost = size_t{256} << 20;
constexpr Duration kEndPatience = Duration::Seconds(10), kEndLook = Duration::Seconds(1);
constexpr std::string_view kNoBatch = "Batch not found.";
// The most that Parasol's own messages and word lists can hold.
constexpr size_t kParasolMessage = 1420, kParasolWords = 1023;

Result<std::vector<ParasolJob>> ReadJobs(const std::string& path) {
  auto text = TRY(ReadParasolLines(path));
  return ReadParasolList(text, path);
}

class Para {
 public:
  Para(ParaOptions options, const ParaParts& parts)
      : options_(std::move(options)),
        parts_(parts),
        state_(ParaState::Find(parts.state_root, os::JoinPath(options_.dir, "para.results"))),
        folder_(state_) {}

  Result<int> Create();
  Result<int> Push();
  Result<int> Try();
  Result<int> Shove();
  Result<int> Make();
  Result<int> Chill();
  Result<int> Stop();
  Result<int> Recover();
  Result<int> Priority();
  Result<int> MaxJob();
  Result<int> Ram();
  Result<int> Cpu();
  Result<int> ResetCounts();
  Result<int> FlushResults();
  Result<int> FreeBatch();
  Result<int> ShowSickNodes();
  Result<int> ClearSickNodes();
  template <auto kReport>
  Result<int> Report();

  // -priority and -maxJob.
  Status Tune();

 private:
  const std::string& Word(size_t at) const { return options_.words[at]; }
  void Talk(std::string_view line) const { ParaTalk(options_, line); }
  Result<BatchHub*> Hub();
  // One call of the hub, and what is told when it went well.
  Result<int> Tell(Status (BatchHub::*call)(), std::string_view line);
  Status TellPriority(int64_t priority);
  Status TellMaxJob(int64_t most);
  // Until nobody else changes the batch.
  Status Lock();
  // The batch, not read yet, and the hub.
  Result<ParaCycle*> Begin();
  // It was read; the latter two in a turn of ours.
  Result<ParaCycle*> Open();
  Result<ParaCycle*> OpenInTurn();
  Result<ParaCycle*> OpenToPush();
  Result<int> Rewrite(const std::function<void(ParasolJob&)>& change);

  Status CheckInput(const std::vector<ParasolJob>& jobs);
  void TellForeign(const std::vector<ParasolJob>& jobs) const;
  // Tells the hub to drop what waits; what has ended by then is taken.
  Result<uint64_t> ChillHub(ParaCycle& cycle);
  Result<uint64_t> EndRunning(ParaCycle& cycle);

  ParaOptions options_;
  const ParaParts& parts_;
  const ParaState state_;
  ParaFolder folder_;
  std::unique_ptr<BatchHub> hub_;
  std::optional<ParaCycle> cycle_;
};

template <typename T>
std::unexpected<Error> Failed(T& result) {
  return std::unexpected(std::move(result.error()));
}

Result<BatchHub*> Para::Hub() {
  if (hub_ == nullptr) {
    auto hub = parts_.open_hub(state_);
    if (!hub) return Failed(hub);
    hub_ = std::move(*hub);
  }
  return hub_.get();
}

Result<int> Para::Tell(Status (BatchHub::*call)(), std::string_view line) {
  auto hub = Hub();
  if (!hub) return Failed(hub);
  // A batch that the hub does not know has nothing to reset or clear, which is no error there.
  auto done = ((*hub)->*call)();
  if (!done && done.error().kind != ErrorKind::kNotFound) return Failed(done);
  Talk(line);
  return 0;
}

Status Para::TellPriority(int64_t priority) {
  auto hub = Hub();
  if (!hub) return Failed(hub);
  TRY((*hub)->SetPriority(priority));
  Talk(fmt::format("Told hub to set priority {}", priority));
  return {};
}

Status Para::TellMaxJob(int64_t most) {
  auto hub = Hub();
  if (!hub) return Failed(hub);
  TRY((*hub)->SetMaxJob(most));
  Talk(fmt::format("Told hub to set maxJob {}", most));
  return {};
}

Status Para::Tune() {
  if (options_.priority) {
    TRY(TellPriority(*options_.priority));
  }
  return options_.max_job ? TellMaxJob(*options_.max_job) : Status();
}

Status Para::Lock() {
  auto hub = Hub();
  if (!hub) return Failed(hub);
  return WaitForTurn(options_, folder_, **hub);
}

Result<ParaCycle*> Para::Begin() {
  if (auto found = folder_.Find(); !found) return Failed(found);
  auto hub = Hub();
  if (!hub) return Failed(hub);
  cycle_.emplace(ParaCycle::Parts{options_, folder_, **hub, parts_.why_file_fails, parts_.now});
  return &*cycle_;
}

Result<ParaCycle*> Para::Open() {
  auto cycle = Begin();
  if (!cycle) return cycle;
  if (auto loaded = (*cycle)->Load(); !loaded) return Failed(loaded);
  (*cycle)->TellJobs();
  return cycle;
}

Result<ParaCycle*> Para::OpenInTurn() {
  auto cycle = Begin();
  if (!cycle) return cycle;
  if (auto turn = (*cycle)->TakeTurn(); !turn) return Failed(turn);
  if (auto loaded = (*cycle)->Load(); !loaded) return Failed(loaded);
  return cycle;
}

Result<ParaCycle*> Para::OpenToPush() {
  // Jobs that were submitted could not be noted there, and their results not written.
  if (os::Exists(folder_.Batch()) && !os::MayAccess(folder_.dir(), "wx")) {
    const int error = errno;
    return Fail(ErrorKind::kPermission,
                fmt::format("you cannot write to '{}', so nothing is submitted: {}",
                            EscapeForScreen(folder_.dir()), os::TextOfErrno(error)));
  }
  auto cycle = OpenInTurn();
  if (cycle) (*cycle)->TellJobs();
  return cycle;
}

// ---- create ----

Status Para::CheckInput(const std::vector<ParasolJob>& jobs) {
  Talk("Checking input files");
  std::vector<std::string> messages;
  {
    ParaDots dots(options_);
    for (const ParasolJob& job : jobs) {
      dots.Step();
      auto failed = FailedChecks(job.checks, CheckWhen::kIn, parts_.why_file_fails);
      messages.insert(messages.end(), failed.begin(), failed.end());
    }
  }
  if (messages.empty()) return {};
  for (const std::string& message : messages) ParaWarn(message);
  return Fail(ErrorKind::kInvalid, fmt::format("{} total errors in file check", messages.size()));
}

void Para::TellForeign(const std::vector<ParasolJob>& jobs) const {
  uint64_t quotes = 0, lengthy = 0;
  size_t paths = options_.job_dir.size() + folder_.Results().size();
  for (const ParasolJob& job : jobs) {
    quotes += job.spec.find('"') != std::string::npos;
    auto blanks = std::ranges::count_if(job.command, [](char c) { return c == ' ' || c == '\t'; });
    lengthy += job.command.size() + paths > kParasolMessage ||
               static_cast<size_t>(blanks) >= kParasolWords;
  }
  if (quotes > 0) {
    Talk(
        fmt::format("note: {} jobs contain a double quote; they run here, but UCSC's para cannot "
                    "read this batch",
                    quotes));
  }
  if (lengthy > 0) {
    Talk(fmt::format("note: {} jobs are too long for UCSC's para; they run here", lengthy));
  }
}

Result<int> Para::Create() {
  auto jobs = ReadJobs(Word(1));
  if (!jobs) return Failed(jobs);
  for (ParasolJob& job : *jobs) {
    if (job.cpus == 0) job.cpus = options_.cpus;
    if (job.ram == 0) job.ram = options_.ram;
  }
  if (auto made = os::MakeDirs(options_.dir); !made) return Failed(made);
  if (auto locked = Lock(); !locked) return Failed(locked);
  auto hub = Hub();
  if (!hub) return Failed(hub);
  auto state = (*hub)->QueryState();
  if (!state) return Failed(state);
  if (!state->unended.empty()) {
    return Fail(ErrorKind::kBusy, "This batch is currently running.  Please para stop first.");
  }
  if (auto checked = CheckInput(*jobs); !checked) return Failed(checked);
  // Ends of an earlier batch are not for this one.
  if (auto caught_up = (*hub)->CatchUp(); !caught_up) return Failed(caught_up);
  auto results = folder_.ReadResults(0, [](std::string_view, uint64_t) {});
  if (!results) return Failed(results);
  auto started = folder_.Start(*jobs, {.results = *results, .known = state->submitted});
  if (!started) return Failed(started);
  Talk(fmt::format("{} jobs written to {}", jobs->size(), folder_.Batch()));
  if (jobs->empty()) ParaWarn("note: the list has no jobs, so the batch is done at once");
  TellForeign(*jobs);
  folder_.Unlock();
  if (auto tuned = Tune(); !tuned) return Failed(tuned);
  return 0;
}

Result<int> Para::Make() {
  auto created = Create();
  return created ? Shove() : created;
}

// ---- push ----

Result<int> Para::Push() {
  auto cycle = OpenToPush();
  if (!cycle) return Failed(cycle);
  if (auto pushed = PushOnce(**cycle); !pushed) return Failed(pushed);
  if (!(*cycle)->halted_by().empty()) return std::unexpected((*cycle)->HaltError());
  if ((*cycle)->state().sick) return Fail(ErrorKind::kBusy, std::string(kSickBatch));
  return 0;
}

Result<int> Para::Try() {
  options_.max_push = kTryMost;
  return Push();
}

Result<int> Para::Shove() {
  if (options_.max_push == 0) {
    return Fail(ErrorKind::kInvalid, "with -maxPush=0, nothing would ever be submitted");
  }
  auto cycle = OpenToPush();
  if (!cycle) return Failed(cycle);
  return parasol::Shove(**cycle);
}

// ---- chill and stop ----

Result<uint64_t> Para::ChillHub(ParaCycle& cycle) {
  // A make in another terminal must not submit again what is dropped now.
  if (auto halted = cycle.Halt(); !halted) return Failed(halted);
  auto chilled = hub_->Chill();
  if (!chilled) return Failed(chilled);
  Talk("Told hub to chill out");
  cycle.TellJobs();
  if (auto looked = cycle.Refresh(); !looked) return Failed(looked);
  cycle.TellQueue();
  if (!cycle.caught_up()) return std::unexpected(cycle.caught_up().error());
  cycle.TellChecks();
  if (auto given_up = cycle.GiveUpHung(); !given_up) return Failed(given_up);
  cycle.DropLost();
  Talk(fmt::format("Chilled {} jobs", *chilled));
  return *chilled;
}

Result<int> Para::Chill() {
  auto cycle = OpenInTurn();
  if (!cycle) return Failed(cycle);
  if (auto chilled = ChillHub(**cycle); !chilled) return Failed(chilled);
  if (auto saved = (*cycle)->Save(); !saved) return Failed(saved);
  return 0;
}

// How many; the hub may need a moment until they are gone.
Result<uint64_t> Para::EndRunning(ParaCycle& cycle) {
  std::vector<uint64_t> ids;
  for (const BatchHub::IdRange& range : cycle.state().unended) {
    for (uint64_t id = range.first; id <= range.last; ++id) ids.push_back(id);
  }
  if (ids.empty()) return 0;
  if (auto removed = hub_->Remove(ids); !removed) return Failed(removed);
  Instant until = cycle.now() + kEndPatience;
  while (true) {
    if (auto looked = cycle.Refresh(); !looked) return Failed(looked);
    if (cycle.state().unended.empty()) return ids.size();
    if (cycle.now() >= until) break;
    if (auto waited = hub_->WaitForChange(kEndLook); !waited) return Failed(waited);
  }
  Talk("some of the running jobs have not ended yet");
  return ids.size();
}

Result<int> Para::Stop() {
  auto cycle = OpenInTurn();
  if (!cycle) return Failed(cycle);
  if (auto chilled = ChillHub(**cycle); !chilled) return Failed(chilled);
  auto stopped = EndRunning(**cycle);
  if (stopped) (*cycle)->DropAll();
  auto saved = (*cycle)->Save();
  if (!stopped) return Failed(stopped);
  if (!saved) return Failed(saved);
  Talk(fmt::format("{} running jobs stopped", *stopped));
  return 0;
}

// ---- what is set, without a look at the jobs ----

Result<int> Para::Priority() {
  auto priority = ReadParaPriority(Word(1));
  if (!priority) return Failed(priority);
  auto told = TellPriority(*priority);
  if (!told) return Failed(told);
  return 0;
}

Result<int> Para::MaxJob() {
  auto most = ReadParaMaxJob(Word(1));
  if (!most) return Failed(most);
  auto told = TellMaxJob(*most);
  if (!told) return Failed(told);
  return 0;
}

Result<int> Para::Rewrite(const std::function<void(ParasolJob&)>& change) {
  auto cycle = OpenToPush();
  if (!cycle) return Failed(cycle);
  (*cycle)->ChangeJobs(change);
  if (auto saved = (*cycle)->Save(); !saved) return Failed(saved);
  Talk("updated job database on disk");
  return 0;
}

Result<int> Para::Ram() {
  auto ram = ParseParasolSize(Word(1));
  if (!ram) return Failed(ram);
  return Rewrite([&](ParasolJob& job) { job.ram = *ram; });
}

Result<int> Para::Cpu() {
  auto cpus = ReadParaCpus(Word(1));
  if (!cpus) return Failed(cpus);
  return Rewrite([&](ParasolJob& job) { job.cpus = *cpus; });
}

Result<int> Para::ResetCounts() {
  return Tell(&BatchHub::ResetCounts,
              fmt::format("Told hub to reset done and crashed counts on batch {}", options_.dir));
}

Result<int> Para::ClearSickNodes() {
  return Tell(&BatchHub::ClearSick, "Told hub to clear sick nodes");
}

Result<int> Para::FlushResults() {
  auto hub = Hub();
  if (!hub) return Failed(hub);
  auto state = (*hub)->QueryState();
  if (!state) return Failed(state);
  Talk("Told hub to flush the results file");
  if (!state->known) return Fail(ErrorKind::kNotFound, std::string(kNoBatch));
  if (auto flushed = hub_->CatchUp(); !flushed) return Failed(flushed);
  Talk(state->unended.empty() ? "Flushed results."
                              : "Flushed results. Some jobs are still queued or running.");
  return 0;
}

Result<int> Para::FreeBatch() {
  auto hub = Hub();
  if (!hub) return Failed(hub);
  if (os::Exists(folder_.Batch())) {
    if (auto locked = Lock(); !locked) return Failed(locked);
  }
  auto freed = (*hub)->Free();
  if (!freed) return Failed(freed);
  Talk("Told hub to free all batch-related resources");
  switch (*freed) {
    case BatchHub::Freed::kFreed:
      if (auto forgotten = folder_.ForgetHub(); !forgotten) return Failed(forgotten);
      Talk("Batch freed.");
      return 0;
    case BatchHub::Freed::kNotFound:
      return Fail(ErrorKind::kNotFound, std::string(kNoBatch));
    case BatchHub::Freed::kBusy:
      Talk("Unable to free batch.  Jobs are queued or running.");
      return 0;
  }
  return 0;
}

Result<int> Para::ShowSickNodes() {
  auto hub = Hub();
  if (!hub) return Failed(hub);
  auto state = (*hub)->QueryState();
  if (!state) return Failed(state);
  if (auto printed = ParaPrint(SickNodesText(state->sick_nodes)); !printed) {
    return Failed(printed);
  }
  return 0;
}

// Without hub and batch.
Result<int> Para::Recover() {
  auto jobs = ReadJobs(Word(1));
  if (!jobs) return Failed(jobs);
  std::string text;
  for (const ParasolJob& job : *jobs) {
    if (!FailedChecks(job.checks, CheckWhen::kOut, parts_.why_file_fails).empty()) {
      text += job.spec + "\n";
    }
  }
  // In all of Parasol's programs "stdout" is not a file.
  auto written = Word(2) == "stdout" ? ParaPrint(text) : os::WriteFile(Word(2), text);
  if (!written) return Failed(written);
  return 0;
}

// ---- reports ----

// Each prints what one command tells about a batch, and returns its exit code. Jobs that wait and
// run are marked in the batch.
struct ParaReport {
  const ParaOptions& options;
  const ParaFolder& folder;
  ParaCycle& cycle;
  const ParaParts& parts;
};

Result<int> Print(std::string_view text) {
  TRY(ParaPrint(text));
  return 0;
}

const std::vector<ParasolJob>& Jobs(const ParaReport& report) {
  return report.cycle.batch().jobs();
}

Result<int> PrintLines(const ParaReport& report, JobsListed which) {
  return Print(JobLinesText(Jobs(report), which, report.options.tries));
}

Result<int> PrintRunning(const ParaReport& report, std::optional<int64_t> longer_than) {
  return Print(RunningText(Jobs(report), report.cycle.seconds(), longer_than,
                           report.options.warn_minutes, report.parts.local));
}

// From its copy in the batch's folder, which is made when it is not there.
std::string StderrOf(const ParaReport& report, const ParasolSubmission& submission) {
  std::string copy = report.folder.StderrOf(submission.id);
  if (auto text = os::ReadFile(copy, kStderrMost)) return *text;
  auto number = ParseCount(submission.id);
  auto text =
      number ? report.cycle.hub().FetchStderr(*number, submission.host)
             : Result<std::string>(Fail(ErrorKind::kNotFound, "it does not belong to this hub"));
  if (!text) return fmt::format("cannot fetch {}: {}\n", submission.err_file, text.error().message);
  // Without a copy it is fetched again the next time.
  (void)os::MakeDirs(os::DirName(copy));
  (void)os::WriteFileAtomically(copy, *text);
  return *text;
}

std::string ProblemOf(const ParaReport& report, const ParasolJob& job,
                      const ParasolSubmission& submission) {
  std::vector<std::string> messages;
  std::string text;
  if (submission.crashed) {
    for (CheckWhen when : {CheckWhen::kIn, CheckWhen::kOut}) {
      auto failed = FailedChecks(job.checks, when, report.parts.why_file_fails);
      messages.insert(messages.end(), failed.begin(), failed.end());
    }
    text = StderrOf(report, submission);
  }
  return ProblemText(job, submission, messages, text, report.parts.local);
}

Result<int> ReportCheck(const ParaReport& report) {
  const BatchHub::State& state = report.cycle.state();
  CheckReport check{.counts = CountJobs(Jobs(report), report.options.tries),
                    .missing_results = std::nullopt,
                    .warn_minutes = report.options.warn_minutes,
                    .kill_minutes = report.options.kill_minutes,
                    .tries = report.options.tries,
                    .sick = state.sick_nodes};
  if (!os::Exists(report.folder.Results())) check.missing_results = report.folder.Results();
  auto printed = Print(CheckText(check));
  if (printed && state.sick) return Fail(ErrorKind::kBusy, std::string(kSickBatch));
  return printed;
}

Result<int> ReportFinished(const ParaReport& report) {
  return PrintLines(report, JobsListed::kFinished);
}
Result<int> ReportHung(const ParaReport& report) { return PrintLines(report, JobsListed::kHung); }
Result<int> ReportCrashed(const ParaReport& report) {
  return PrintLines(report, JobsListed::kCrashed);
}
Result<int> ReportFailed(const ParaReport& report) {
  return PrintLines(report, JobsListed::kFailed);
}

Result<int> ReportSlow(const ParaReport& report) {
  return PrintRunning(report, report.options.warn_minutes);
}
Result<int> ReportRunning(const ParaReport& report) { return PrintRunning(report, std::nullopt); }
Result<int> ReportHippos(const ParaReport& report) {
  std::string typed = report.options.words.size() > 1 ? report.options.words[1] : "0";
  auto minutes = ParseCount(typed);
  if (!minutes) {
    return Fail(ErrorKind::kInvalid, fmt::format("'{}' is not a number of minutes", typed));
  }
  return PrintRunning(report, static_cast<int64_t>(*minutes));
}

Result<int> ReportProblems(const ParaReport& report) {
  uint64_t problems = 0;
  for (const ParasolJob& job : Jobs(report)) {
    for (const ParasolSubmission& submission : job.submissions) {
      if (ProblemOf(submission).empty()) continue;
      ++problems;
      auto printed = Print(ProblemOf(report, job, submission));
      if (!printed) return printed;
    }
  }
  return Print(ProblemsTotalText(problems));
}

Result<int> ReportStatus(const ParaReport& report) {
  return Print(StatusText(Jobs(report), report.cycle.seconds()));
}
Result<int> ReportTime(const ParaReport& report) {
  return Print(TimesText(SumTimes(Jobs(report), report.cycle.seconds())));
}

// They leave the batch alone, but for what output checks have said: files may be gone at the next
// look.
template <auto kReport>
Result<int> Para::Report() {
  auto cycle = Open();
  if (!cycle) return Failed(cycle);
  bool writable = os::MayAccess(folder_.dir(), "w");
  if (options_.kill_minutes > 0 && writable) {
    if (auto turn = (*cycle)->TakeTurn(); !turn) return Failed(turn);
  }
  if (auto looked = (*cycle)->Refresh(ParaCycle::For::kReport); !looked) return Failed(looked);
  (*cycle)->TellQueue();
  (*cycle)->TellHeld();
  (*cycle)->TellChecks();
  Status given_up = writable ? (*cycle)->GiveUpHung() : Status();
  if (!given_up) return Failed(given_up);
  if (!(*cycle)->caught_up()) ParaWarn((*cycle)->caught_up().error().message);
  (*cycle)->Mark();
  if (writable && (*cycle)->checked() && folder_.Lock(Word(0)) && folder_.IsAsRead()) {
    if (auto saved = (*cycle)->Save(); !saved) ParaWarn(saved.error().message);
  }
  folder_.Unlock();
  auto told = kReport(ParaReport{options_, folder_, **cycle, parts_});
  // There these two write the batch each time.
  bool writes = kReport == ReportCheck || kReport == ReportTime;
  if (!told || !writes || writable) return told;
  bool fixed = os::FileSystemOf(folder_.dir()).value_or(os::FileSystemFacts{}).read_only;
  return Fail(ErrorKind::kPermission,
              fmt::format("mustOpen: Can't open {} to write: {}", folder_.Batch(),
                          fixed ? "Read-only file system" : "Permission denied"));
}

struct Command {
  std::string_view name;
  size_t words = 1;  // with its name
  Result<int> (Para::*run)() = nullptr;
  bool tuned_first = true;  // -priority and -maxJob are told before
  bool strict = false;      // no more words
};
constexpr std::array kCommands = {
    Command{"create", 2, &Para::Create, false},
    Command{"creat", 2, &Para::Create, false},
    Command{"make", 2, &Para::Make, false},
    Command{"recover", 3, &Para::Recover, false},
    Command{"push", 1, &Para::Push},
    Command{"try", 1, &Para::Try},
    Command{"shove", 1, &Para::Shove},
    Command{"chill", 1, &Para::Chill},
    Command{"stop", 1, &Para::Stop},
    Command{"check", 1, &Para::Report<ReportCheck>},
    Command{"finished", 1, &Para::Report<ReportFinished>},
    Command{"hung", 1, &Para::Report<ReportHung>},
    Command{"crashed", 1, &Para::Report<ReportCrashed>},
    Command{"failed", 1, &Para::Report<ReportFailed>},
    Command{"slow", 1, &Para::Report<ReportSlow>},
    Command{"running", 1, &Para::Report<ReportRunning>},
    Command{"hippos", 1, &Para::Report<ReportHippos>},
    Command{"hippo", 1, &Para::Report<ReportHippos>},
    Command{"problems", 1, &Para::Report<ReportProblems>},
    Command{"problem", 1, &Para::Report<ReportProblems>},
    Command{"status", 1, &Para::Report<ReportStatus>},
    Command{"time", 1, &Para::Report<ReportTime>},
    Command{"times", 1, &Para::Report<ReportTime>},
    Command{"priority", 2, &Para::Priority},
    Command{"maxJob", 2, &Para::MaxJob},
    Command{"maxNode", 2, &Para::MaxJob},
    Command{"ram", 2, &Para::Ram},
    Command{"cpu", 2, &Para::Cpu},
    Command{"resetCounts", 1, &Para::ResetCounts, true, true},
    Command{"flushResults", 1, &Para::FlushResults, true, true},
    Command{"freeBatch", 1, &Para::FreeBatch, true, true},
    Command{"showSickNodes", 1, &Para::ShowSickNodes},
    Command{"clearSickNodes", 1, &Para::ClearSickNodes},
};

std::unexpected<Error> NotKnown(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("'{}' is not a command of para{}; para without arguments lists the commands",
                  word, DidYouMean(word, names)));
}

}  // namespace

std::vector<std::string> ParaCommands() {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (cli::UsageNames(kPara, command.name)) names.emplace_back(command.name);
  }
  return names;
}

Result<int> RunPara(std::span<const std::string> args, const ParaParts& parts) {
  auto options = ReadParaOptions(args);
  if (!options) return Failed(options);
  if (options->words.empty()) return Fail(ErrorKind::kInvalid, std::string(kPara.usage));
  const std::string& word = options->words[0];
  auto command = std::ranges::find_if(
      kCommands, [&](const Command& known) { return SameWord(known.name, word); });
  if (command == kCommands.end()) return NotKnown(word);
  // Most commands without arguments never looked at what follows.
  bool loose = command->words == 1 && !command->strict;
  bool fits = loose || options->words.size() == command->words;
  if (!fits) return Fail(ErrorKind::kInvalid, std::string(kPara.usage));
  if (options->eta) ParaTalk(*options, "-eta has no effect; para time prints the estimate");
  Para para(std::move(*options), parts);
  if (command->tuned_first) {
    if (auto tuned = para.Tune(); !tuned) return Failed(tuned);
  }
  return (para.*command->run)();
}

}  // namespace spate::parasol
