#include "run/earlier_runs.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "format/sources/sources.h"
#include "os/file.h"
#include "plan/job_text.h"
#include "present/advice.h"
#include "store/sqlite/job_journal.h"
#include "view/summary.h"

namespace spate::run {
namespace {

using Words = std::vector<std::string>;

// How many of the values given now a run had, of the same command and as many sources. Nothing: it
// was another command, or there is a source of which it had no value.
std::optional<size_t> ValuesInCommon(const Words& stored, const Words& given) {
  auto was = format::ParseCommandWords(stored);
  auto is = format::ParseCommandWords(given);
  if (!was || !is || was->command != is->command) return std::nullopt;
  if (was->sources.size() != is->sources.size()) return std::nullopt;
  size_t in_common = 0;
  for (size_t i = 0; i < is->sources.size(); ++i) {
    const format::SourceWords& then = was->sources[i];
    const format::SourceWords& now = is->sources[i];
    if (then.is_file != now.is_file || then.linked != now.linked || then.file != now.file) {
      return std::nullopt;
    }
    if (now.is_file) continue;  // what it holds is read again
    std::unordered_set<std::string_view> values(then.values.begin(), then.values.end());
    auto had = [&](const std::string& value) { return values.contains(value); };
    auto count = static_cast<size_t>(std::count_if(now.values.begin(), now.values.end(), had));
    if (count == 0) return std::nullopt;
    in_common += count;
  }
  return in_common;
}

constexpr size_t kSameWork = SIZE_MAX;

// How near a run comes to what is typed now; 0: it was something else.
size_t Nearness(const store::JobRow& row, const Words& files, const cli::RunOptions& options) {
  if (!options.sources.has_command) return !files.empty() && row.files == files ? kSameWork : 0;
  if (!row.files.empty()) return 0;
  auto stored = cli::ParseRun(row.argv, {});
  if (!stored || stored->sources.arg_files != options.sources.arg_files ||
      stored->sources.json_files != options.sources.json_files) {
    return 0;
  }
  if (stored->sources.command == options.sources.command) return kSameWork;
  return ValuesInCommon(stored->sources.command, options.sources.command).value_or(0);
}

// It may be the one to go on with: to start over would run again what has run.
Error DamageOf(const store::JobSummary& job, const cli::RunOptions& options) {
  std::string state = cli::WhoseOption({.state_dir = options.state_dir});
  return {
      ErrorKind::kCorrupt,
      fmt::format(
          "job {} may be the run to resume, but it is damaged: {}\nTo check it: {}; to start "
          "over without it: {}",
          job.number, job.problem, present::TextOf(Advice("state check", job.number), state),
          present::TextOf(Advice("job forget", job.number), state.empty() ? " --local" : state))};
}

std::vector<std::string> AbsoluteFiles(const cli::RunOptions& options, const std::string& cwd) {
  std::vector<std::string> files;
  for (const std::string& file : options.sources.files) {
    files.push_back(ListName(cwd, file));
  }
  return files;
}

}  // namespace

Result<EarlierRun> FindEarlierRun(const std::string& state_dir, const std::string& cwd,
                                  const cli::RunOptions& options) {
  std::vector<std::string> files = AbsoluteFiles(options, cwd);
  bool named = options.sources.has_command || !files.empty();
  EarlierRun found;
  size_t nearest = 0;
  auto numbers = TRY(store::RunNumbers(state_dir));
  // The newest come first.
  for (size_t i = numbers.size(); i > 0 && nearest != kSameWork; --i) {
    auto job = store::SummarizeJob(state_dir, numbers[i - 1]);
    if (!job && job.error().kind == ErrorKind::kNotFound) {
      auto row = store::RowOfUnaccepted(state_dir, numbers[i - 1]);
      bool same = row && row->cwd == cwd && (!named || Nearness(*row, files, options) == kSameWork);
      if (same && !found.passed_over) found.passed_over = numbers[i - 1];
      continue;
    }
    if (!job) return std::unexpected(job.error());
    if (job->standing == store::JobStanding::kNewer) {
      return Fail(ErrorKind::kNewer,
                  fmt::format("job {} may be the run to resume: {}", job->number, job->problem));
    }
    if (job->standing == store::JobStanding::kDamaged) {
      // Damage at one place of a run that is another one leaves something else that differs.
      bool other = !job->row.cwd.empty() && job->row.cwd != cwd &&
                   (!named || Nearness(job->row, files, options) == 0);
      if (other) continue;
      return std::unexpected(DamageOf(*job, options));
    }
    if (job->row.cwd != cwd) continue;
    bool unfinished = job->standing != store::JobStanding::kFinished;
    size_t near = named ? Nearness(job->row, files, options) : unfinished ? kSameWork : 0;
    if (near > nearest) {
      found.job = std::move(*job);
      nearest = near;
    }
  }
  return found;
}

std::optional<store::JobSummary> FindCutOff(const std::string& state_dir, const std::string& cwd,
                                            const cli::RunOptions& options) {
  constexpr size_t kLookedAt = 16;
  const Words files = AbsoluteFiles(options, cwd);
  auto numbers = store::RunNumbers(state_dir);
  // Standard input may be another list each time.
  if (!numbers || files.empty() || std::ranges::find(files, "-") != files.end()) return {};
  const size_t count = std::min(numbers->size(), kLookedAt);
  for (uint32_t number : std::span(*numbers).last(count) | std::views::reverse) {
    auto row = store::RowOfIdle(state_dir, number);
    if (!row || row->cwd != cwd || row->files != files) continue;
    // It has ended, or has shown how to resume it.
    if (row->state != store::JobState::kRunning) return {};
    auto job = store::SummarizeJob(state_dir, number);
    if (!job) continue;  // its tasks were never stored
    const JobCounts& counts = job->row.counts;
    const bool is_cut = job->standing == store::JobStanding::kInterrupted;
    if (!is_cut || counts.finished() == counts.total) return {};
    return std::move(*job);
  }
  return {};
}

std::vector<TaskIndex> LongestFirst(const std::string& state_dir, const std::string& cwd,
                                    const cli::RunOptions& options, const cli::RowSource& rows) {
  auto earlier = FindEarlierRun(state_dir, cwd, options);
  if (!earlier || !earlier->job) return {};
  auto history = store::SqliteJobJournal::Open(state_dir, earlier->job->number);
  if (!history) return {};
  std::unordered_map<uint64_t, int64_t> walls;
  auto status = history->Tasks({}, [&](const store::TaskSummary& task) {
    if (!task.last) return true;
    if (auto row = history->RowText(task.index)) {
      walls[XXH3_64bits(row->data(), row->size())] = task.last->record.end.wall.ns;
    }
    return true;
  });
  if (!status) return {};
  std::vector<int64_t> known;
  rows([&](std::string_view row) {
    auto it = walls.find(XXH3_64bits(row.data(), row.size()));
    known.push_back(it == walls.end() ? INT64_MAX : it->second);
  });
  std::vector<TaskIndex> order(known.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](TaskIndex a, TaskIndex b) { return known[a] > known[b]; });
  return order;
}

}  // namespace spate::run
