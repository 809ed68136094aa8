// Lists go out in pieces: a million jobs take no more memory than a thousand.
#include "doors/parasol/hub/parasol_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cli/table/time_text.h"
#include "core/model/ranges.h"
#include "doors/parasol/client/para_client.h"
#include "doors/parasol/programs/parasol.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "format/expand.h"
#include "store/sqlite/history.h"
#include "store/sqlite/row_reader.h"
#include "wire/client_codec.h"

namespace spate::parasol {
namespace {

using What = ParasolQuestion::What;

constexpr size_t kJobsAtOnce = 1024;
constexpr const char* kHidden = "-";

std::tm LocalTimeOf(int64_t seconds) {
  return cli::LocalTime(Instant() + Duration::Seconds(seconds));
}

int64_t SecondsOf(Instant when) { return when.ns / 1'000'000'000; }

// One line, and nothing that a terminal obeys.
std::string OneLine(std::string text) {
  std::ranges::replace_if(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }, ' ');
  return text;
}

class Reader {
 public:
  Reader(const std::string& dir, history::Viewer viewer,
         std::function<void(std::string_view)> print)
      : place_(store::JobPlace::Hub(dir)),
        rows_(place_.JournalOf(0).DbPath()),
        viewer_(std::move(viewer)),
        print_(std::move(print)) {}

  Status Machines(const ParasolFacts& facts);
  // `text` makes lines of what runs, and then of what waits.
  using TextOf = std::function<std::string(const std::vector<HubJob>&)>;
  Status Jobs(const ParasolFacts& facts, bool with_waiting_rows, const TextOf& text);
  Status Matches(const ParasolFacts& facts, const std::string& pattern);
  Status Batches(const ParasolFacts& facts);
  Status Users(const ParasolFacts& facts);
  Status HubStatus(const ParasolFacts& facts);

 private:
  struct Job {
    std::string user, name;
    std::string folder;  // where it was submitted
    bool hidden = false;
    int64_t created = 0;
    RowKind rows = RowKind::kListLine;
    std::optional<format::CompiledJob> compiled;
  };
  Result<const Job*> Find(JobId job);
  // nullopt: nobody was told yet that it is there, or it is no more.
  Result<std::optional<HubJob>> JobAt(JobId job, TaskIndex task);
  Result<std::vector<HubJob>> Running(const ParasolFacts& facts);

  // All who have a job, by name.
  Result<std::map<std::string, HubUser>> AllUsers(const ParasolFacts& facts);

  const store::JobPlace place_;
  store::RowReader rows_;
  const history::Viewer viewer_;
  const std::function<void(std::string_view)> print_;
  std::map<JobId, Job> jobs_;
};

Result<const Reader::Job*> Reader::Find(JobId id) {
  auto [at, is_new] = jobs_.try_emplace(id);
  Job& job = at->second;
  if (!is_new) return &job;
  auto summary = store::SummarizeJob(place_, id.value);
  if (!summary) return std::unexpected(std::move(summary.error()));
  const store::JobRow& row = summary->row;
  job.user = row.user;
  job.created = SecondsOf(row.created);
  auto settings = wire::DecodeSettings(row.settings);
  if (!settings) return std::unexpected(std::move(settings.error()));
  job.rows = settings->row_kind;
  job.hidden = job.rows != RowKind::kParasol && !viewer_.is_admin && viewer_.user != job.user;
  job.name = job.hidden ? kHidden : OneLine(store::NameOf(row));
  job.folder = job.hidden ? kHidden : OneLine(row.cwd);
  if (auto compiled = format::CompileJob(*settings, id)) job.compiled = std::move(*compiled);
  return &job;
}

Result<std::optional<HubJob>> Reader::JobAt(JobId id, TaskIndex task) {
  auto job = Find(id);
  Result<std::string_view> row = std::string_view();
  if (job) row = rows_.Row(id, task);
  const Error* error = !job ? &job.error() : !row ? &row.error() : nullptr;
  if (error != nullptr && error->kind == ErrorKind::kNotFound) return std::nullopt;
  if (error != nullptr) return std::unexpected(*error);
  HubJob found{.id = ParasolId(id, task),
               .user = (*job)->user,
               .command = kHidden,
               .submitted = (*job)->created,
               .results = (*job)->name};
  if ((*job)->rows == RowKind::kParasol) {
    auto parts = ReadParasolRow(*row);
    if (!parts) return std::unexpected(std::move(parts.error()));
    found.submitted = parts->submitted;
    found.command = OneLine(ParasolCommand(parts->text));
  } else if (!(*job)->hidden && (*job)->compiled) {
    found.command = OneLine(format::CommandText(*(*job)->compiled, *row, task, 0));
  }
  return found;
}

Result<std::vector<HubJob>> Reader::Running(const ParasolFacts& facts) {
  std::vector<HubJob> running;
  for (const ParasolFacts::Run& run : facts.runs) {
    auto job = JobAt(run.job, run.task);
    if (!job) return std::unexpected(std::move(job.error()));
    if (!*job) continue;
    (*job)->host = run.node;
    (*job)->started = run.started;
    running.push_back(std::move(**job));
  }
  std::ranges::sort(running, {}, &HubJob::id);
  return running;
}

Status Reader::Machines(const ParasolFacts& facts) {
  auto running = Running(facts);
  if (!running) return std::unexpected(std::move(running.error()));
  std::vector<HubMachine> machines = facts.machines;
  std::map<std::string_view, HubMachine*> by_name;
  for (HubMachine& machine : machines) by_name[machine.name] = &machine;
  for (HubJob& job : *running) {
    auto at = by_name.find(job.host);
    if (at == by_name.end()) continue;
    at->second->running.push_back({std::move(job.user), std::move(job.command)});
  }
  print_(MachinesText(machines));
  return {};
}

Status Reader::Jobs(const ParasolFacts& facts, bool with_waiting_rows, const TextOf& text) {
  auto running = Running(facts);
  if (!running) return std::unexpected(std::move(running.error()));
  print_(text(*running));
  std::vector<HubJob> piece;
  auto flush = [&] {
    print_(text(piece));
    piece.clear();
  };
  for (const auto& [job, tasks] : facts.waiting) {
    for (uint32_t i = 0; i < tasks.count; ++i) {
      if (!with_waiting_rows) {
        piece.push_back({.id = ParasolId(job, tasks.first + i)});
      } else {
        auto found = JobAt(job, tasks.first + i);
        if (!found) return std::unexpected(std::move(found.error()));
        if (*found) piece.push_back(std::move(**found));
      }
      if (piece.size() == kJobsAtOnce) flush();
    }
  }
  flush();
  return {};
}

Status Reader::Matches(const ParasolFacts& facts, const std::string& pattern) {
  std::map<JobId, std::vector<TaskRange>> found;
  auto look = [&](JobId job, TaskIndex task) -> Status {
    auto at = JobAt(job, task);
    if (!at) return std::unexpected(std::move(at.error()));
    bool fits = *at && MatchesWildcards(pattern, (*at)->command);
    if (fits) AppendIndex(found[job], task);
    return {};
  };
  for (const auto& [job, tasks] : facts.waiting) {
    for (uint32_t i = 0; i < tasks.count; ++i) {
      if (auto looked = look(job, tasks.first + i); !looked) return looked;
    }
  }
  for (const ParasolFacts::Run& run : facts.runs) {
    if (auto looked = look(run.job, run.task); !looked) return looked;
  }
  std::string text;
  for (const auto& [job, ranges] : found) {
    for (const TaskRange& range : ranges) {
      uint64_t first = ParasolId(job, range.first);
      text += fmt::format("{} {}\n", first, first + range.count - 1);
    }
  }
  print_(text);
  return {};
}

Status Reader::Batches(const ParasolFacts& facts) {
  std::vector<HubBatch> batches;
  for (const auto& [id, figures] : facts.batches) {
    auto history = store::History::Open(place_, id.value);
    if (!history && history.error().kind == ErrorKind::kNotFound) continue;
    if (!history) return std::unexpected(std::move(history.error()));
    auto job = Find(id);
    if (!job) return std::unexpected(std::move(job.error()));
    auto mean = history->MeanWall();
    if (!mean) return std::unexpected(std::move(mean.error()));
    HubBatch& batch = batches.emplace_back(figures);
    if (batch.priority == 0) {
      auto policy = history->Policy();
      if (!policy) return std::unexpected(std::move(policy.error()));
      batch.priority = PriorityOfWeight(policy->weight);
      batch.max_job = policy->max_running == 0 ? -1 : int64_t{policy->max_running};
    }
    // The name of another job than Parasol's is no path.
    batch.results = (*job)->rows == RowKind::kParasol ? (*job)->name : (*job)->folder + "/";
    batch.mean_minutes = mean->seconds() / 60;
  }
  print_(BatchesText(batches));
  return {};
}

Result<std::map<std::string, HubUser>> Reader::AllUsers(const ParasolFacts& facts) {
  std::map<std::string, HubUser> users;
  for (const HubUser& user : facts.users) users[user.name] = user;
  auto numbers = store::JobNumbers(place_);
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  auto add = [&](const store::JobSummary& job) {
    if (std::ranges::binary_search(facts.unended, JobId(job.number))) return true;
    HubUser& user = users[job.row.user];
    ++user.total_batches;
    user.finished += job.row.counts.succeeded;
    return true;
  };
  if (auto read = store::VisitJobs(place_, *numbers, add); !read) {
    return std::unexpected(read.error());
  }
  std::erase_if(users, [](const auto& entry) { return entry.second.total_batches == 0; });
  for (auto& [name, user] : users) user.name = name;
  return users;
}

Status Reader::Users(const ParasolFacts& facts) {
  auto users = AllUsers(facts);
  if (!users) return std::unexpected(std::move(users.error()));
  std::vector<HubUser> list;
  for (auto& [name, user] : *users) list.push_back(std::move(user));
  print_(UsersText(list));
  return {};
}

Status Reader::HubStatus(const ParasolFacts& facts) {
  auto users = AllUsers(facts);
  if (!users) return std::unexpected(std::move(users.error()));
  parasol::HubStatus status = facts.status.value_or(parasol::HubStatus());
  for (const auto& [name, user] : *users) status.total_batches += user.total_batches;
  status.total_users = users->size();
  print_(HubStatusText(status));
  return {};
}

// ---- The question as words ---------------------------------------------------------------------

constexpr std::pair<What, std::string_view> kNames[] = {
    {What::kMachines, "machines"}, {What::kJobs, "jobs"},     {What::kExtendedJobs, "extended"},
    {What::kPstat, "pstat"},       {What::kPstat2, "pstat2"}, {What::kMatches, "matches"},
    {What::kBatches, "batches"},   {What::kUsers, "users"},   {What::kStatus, "status"},
};

Result<ParasolQuestion> QuestionOf(const std::vector<std::string>& words) {
  auto damaged = [] { return Fail(ErrorKind::kInvalid, "the hub asks what its reader cannot do"); };
  if (words.size() != 5) return damaged();
  auto found = std::ranges::find(kNames, words[0], &std::pair<What, std::string_view>::second);
  if (found == std::end(kNames)) return damaged();
  return ParasolQuestion{.what = found->first,
                         .facts = DecodeFacts(words[1]),
                         .pattern = words[2],
                         .jobs = std::strtoull(words[3].c_str(), nullptr, 10),
                         .failures = std::strtoull(words[4].c_str(), nullptr, 10)};
}

}  // namespace

std::vector<std::string> WordsOf(const ParasolQuestion& question) {
  auto name = std::ranges::find(kNames, question.what, &std::pair<What, std::string_view>::first);
  return {std::string(name->second), EncodeFacts(question.facts), question.pattern,
          fmt::format("{}", question.jobs), fmt::format("{}", question.failures)};
}

Status AnswerParasol(const std::string& hub_dir, history::Viewer viewer,
                     const std::vector<std::string>& words,
                     std::function<void(std::string_view)> print) {
  auto question = QuestionOf(words);
  if (!question) return std::unexpected(question.error());
  const ParasolFacts& facts = question->facts;
  Reader reader(hub_dir, std::move(viewer), print);
  auto list = [](bool extended) {
    return [extended](const auto& jobs) { return JobsText(jobs, extended, LocalTimeOf); };
  };
  switch (question->what) {
    case What::kMachines:
      return reader.Machines(facts);
    case What::kJobs:
      return reader.Jobs(facts, true, list(false));
    case What::kExtendedJobs:
      return reader.Jobs(facts, true, list(true));
    case What::kPstat:
      return reader.Jobs(facts, true, [](const auto& jobs) { return PstatText(jobs); });
    case What::kMatches:
      return reader.Matches(facts, question->pattern);
    case What::kBatches:
      return reader.Batches(facts);
    case What::kUsers:
      return reader.Users(facts);
    case What::kStatus:
      return reader.HubStatus(facts);
    case What::kPstat2:
      break;
  }
  auto lines = [](const auto& jobs) { return Pstat2Text(jobs); };
  if (auto listed = reader.Jobs(facts, false, lines); !listed) return listed;
  print(Pstat2CountsText(question->jobs, question->failures));
  return {};
}

}  // namespace spate::parasol
