// `spate job list`
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/near.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/job_text.h"
#include "present/json/json_fields.h"
#include "present/table/table.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kAll = {
    .names = "all", .heading = Heading::kSelect, .help = "list all jobs, not only the newest 20"};

constexpr Option kWithKey = {.names = "key",
                             .argument = "KEY",
                             .heading = Heading::kSelect,
                             .help = "your job that was submitted with this --key"};

constexpr Option kOfUser = {.names = "user",
                            .argument = "NAME",
                            .heading = Heading::kSelect,
                            .help = "show only jobs of this user"};

using std::string_view_literals::operator""sv;

constexpr uint64_t kListedJobs = 20;

// Kinds of jobs, as a set of bits: those of JobStanding, and jobs with failed tasks, ended or not.
constexpr std::array kKinds = {
    "running"sv, "finished"sv, "stopped"sv,  "interrupted"sv, "damaged"sv, "queued"sv,   "held"sv,
    "newer"sv,   "frozen"sv,   "freezing"sv, "succeeded"sv,   "failed"sv,  "cancelled"sv};
static_assert(static_cast<size_t>(JobStanding::kCancelled) + 1 == kKinds.size());

Result<uint32_t> KindsOf(const Words& words) {
  uint32_t kinds = 0;
  auto values = words.All(opt::kFilter);
  for (const std::string& value : values) {
    for (std::string_view name : SplitCommas(value)) {
      auto at = std::ranges::find(kKinds, name);
      if (at == kKinds.end()) {
        return Fail(
            ErrorKind::kInvalid,
            fmt::format("--filter: '{}' is not a state of jobs{}; write one or more of: {}",
                        EscapeForScreen(name), DidYouMean(name, kKinds), fmt::join(kKinds, " ")));
      }
      bool failed = at - kKinds.begin() == static_cast<int>(JobStanding::kFailed);
      kinds |= failed ? wire::ListJobs::kFailedKind : 1u << (at - kKinds.begin());
    }
  }
  return values.empty() ? wire::ListJobs::kAllKinds : kinds;
}

// Exact up to seven digits, so that two of them fit into a column.
std::string ShortCount(uint32_t count) {
  if (count < 10'000'000) return fmt::format("{}", count);
  return fmt::format("{:.1f}M", count / 1e6);
}

std::vector<present::Cell> RowOf(const HistoryCall& call, const JobFacts& job) {
  const bool damaged = !IsReadable(job.state);
  std::vector<present::Cell> cells = {{fmt::format("{}", job.job.value)}};
  if (call.on_hub()) cells.push_back({job.user});
  cells.push_back({damaged ? "?" : job.name.value_or("-")});
  const char* lost = job.not_kept.empty() ? "" : "*";
  cells.push_back({fmt::format("{}{}", WordOf(job.outcome()), lost), ToneOf(job.outcome())});
  if (damaged) return cells;  // the other columns are not reliable
  const JobCounts& counts = job.counts;
  cells.push_back({fmt::format("{}/{}", ShortCount(counts.succeeded), ShortCount(counts.total))});
  cells.push_back(
      {ShortCount(job.failed()), job.failed() > 0 ? present::Tone::kBad : present::Tone::kPlain});
  bool waits = job.state == JobStanding::kQueued || !job.started;
  cells.push_back({waits ? "-" : call.TimeText(*job.started)});
  cells.push_back({job.took ? FormatDuration(*job.took) : "-"});
  if (job.why_cancelled) cells.push_back({*job.why_cancelled});
  return cells;
}

void PrintTable(HistoryCall& call, const std::vector<JobFacts>& jobs) {
  std::vector<present::Column> columns = {{"JOB", present::Align::kRight}};
  if (call.on_hub()) columns.push_back({"USER"});
  for (present::Column column : {present::Column{"NAME", present::Align::kLeft, 8},
                                 {"STATE"},
                                 {"DONE", present::Align::kRight},
                                 {"FAILED", present::Align::kRight},
                                 {"STARTED"},
                                 {"TOOK", present::Align::kRight}}) {
    columns.push_back(std::move(column));
  }
  const bool noted = std::ranges::any_of(jobs, [](const auto& job) { return !!job.why_cancelled; });
  if (noted) columns.push_back({"NOTE", present::Align::kLeft, 12});
  present::Table table(std::move(columns), call.width(), call.environment().colour,
                       [&](std::string_view text) { call.Write(text); });
  for (const JobFacts& facts : jobs) table.Add(RowOf(call, facts));
  table.Finish();
}

Result<JobSelector> JobWithKey(const HistoryCall& call, std::string_view key) {
  if (!call.on_hub()) return Fail(ErrorKind::kInvalid, "--key: only jobs of a hub have keys");
  if (!call.words().words.empty()) {
    return Fail(ErrorKind::kInvalid, "--key: name the job by its key or by its number");
  }
  auto hub = TRY(call.Whom());
  JobId job;
  TRY(client::QueryWork(*hub, wire::LookAtWork{.submission = std::string(key), .user = {}},
                        [&](const JobWork& work) { job = work.job; }));
  if (job != JobId()) return JobSelector{.ranges = {{job.value, job.value, 1}}};
  return Fail(ErrorKind::kNotFound,
              fmt::format("you have no job with the key '{}' on this hub: it was not submitted, or "
                          "is forgotten",
                          EscapeForScreen(key)));
}

Result<wire::ListJobs> QuestionOf(const HistoryCall& call, uint64_t most) {
  const Words& words = call.words();
  wire::ListJobs question;
  auto kinds = TRY(KindsOf(words));
  question.kinds = kinds;
  auto limit = TRY(LimitOf(words, most));
  question.most = limit;
  question.whole = call.form() == OutputForm::kJson;
  if (auto key = words.Last(kWithKey)) question.jobs = TRY(JobWithKey(call, *key));
  if (words.words.empty()) return question;
  auto jobs = TRY(SelectJobs(words.words));
  question.jobs = std::move(jobs);
  return question;
}

void PrintForPeople(HistoryCall& call, const wire::ListJobs& asked, const wire::JobsListed& listed,
                    bool bounded) {
  call.WriteTitle();
  PrintTable(call, listed.jobs);
  if (listed.jobs.empty()) call.Report("no such job");
  if (std::ranges::any_of(listed.jobs, [](const JobFacts& job) { return !job.not_kept.empty(); })) {
    call.Report("* output was not kept; to see why: spate job info JOB");
  }
  bool more = listed.jobs.size() == asked.most && listed.of > asked.most;
  if (bounded && asked.kinds == wire::ListJobs::kAllKinds && more) {
    call.Report(fmt::format("the newest {} of {} jobs; --all lists all", asked.most, listed.of));
  }
}

// Programs of this machine that have jobs of their own.
void PutMasters(HistoryCall& call) {
  if (!call.words().words.empty() || !call.environment().masters) return;
  for (const std::string& socket : call.environment().masters(call.state_dir())) {
    call.Report("jobs of a running program: spate top --at " + ShellQuote(socket));
  }
}

Result<int> JobList(HistoryCall& call) {
  const Words& words = call.words();
  bool bounded = !words.Has(kAll) && !words.Has(kWithKey) && words.words.empty();
  auto question = TRY(QuestionOf(call, bounded ? kListedJobs : UINT64_MAX));
  const auto user = words.Last(kOfUser);
  const uint64_t most = user ? std::exchange(question.most, UINT64_MAX) : UINT64_MAX;
  wire::JobsListed all;
  auto told = call.Query(question, [&](wire::JobsListed listed) {
    all.of = listed.of;
    std::ranges::move(listed.jobs, std::back_inserter(all.jobs));
  });
  if (!told && words.words.empty() && !words.Has(kWithKey) &&
      told.error().kind == ErrorKind::kNotFound) {
    if (call.human()) call.Report(told.error());
    if (call.human()) PutMasters(call);
    return kExitSuccess;
  }
  if (!told) return std::unexpected(std::move(told.error()));
  // Newest first.
  if (user) std::erase_if(all.jobs, [&](const JobFacts& job) { return job.user != *user; });
  if (all.jobs.size() > most) all.jobs.resize(most);
  std::ranges::reverse(all.jobs);
  if (call.human()) {
    PrintForPeople(call, question, all, bounded);
    PutMasters(call);
    return kExitSuccess;
  }
  for (const JobFacts& job : all.jobs) {
    call.Write(call.form() == OutputForm::kQuiet ? fmt::format("{}\n", job.job.value)
                                                 : present::JsonOf("job", WithOutcome(job)));
  }
  return kExitSuccess;
}

}  // namespace

extern const Command kJobList = {
    .order = 20,
    .group = CommandGroup::kHistory,
    .name = "job list",
    .arguments = "[JOB...]",
    .completes = Completes::kJobs,
    .summary = "list jobs, newest last",
    .details = "JOB is a number, a range (1-10, 1-10:2), a list of these (1,3,5-8), all or last.",
    .examples = {{{"spate job list", "the newest 20"},
                  {"spate job list --all --filter failed", "all jobs with a failed task"},
                  {"spate job list 3,8-12 --json", "these, for a program"}}},
    .options = {{opt::kAboutJobs, kAll, kWithKey, kOfUser, opt::kLimit, opt::kFilter}},
    .run = LookAtJobs<JobList>,
};

}  // namespace spate::cli::command
