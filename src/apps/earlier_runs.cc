#include "apps/earlier_runs.h"

#include <xxhash.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "os/file.h"
#include "store/sqlite/history.h"

namespace spate::apps {
namespace {

bool SameWork(const store::JobRow& row, const std::vector<std::string>& files,
              const cli::RunOptions& options) {
  if (!options.sources.has_command) return !files.empty() && row.files == files;
  if (!row.files.empty()) return false;
  auto stored = cli::ParseRun(row.argv, {});
  return stored && stored->sources.command == options.sources.command &&
         stored->sources.arg_files == options.sources.arg_files &&
         stored->sources.json_files == options.sources.json_files;
}

}  // namespace

std::string ListName(const std::string& cwd, const std::string& file) {
  if (file == "-") return file;
  std::string path = os::JoinPath(cwd, file);
  return os::AbsolutePath(path).value_or(path);
}

namespace {

std::vector<std::string> AbsoluteFiles(const cli::RunOptions& options, const std::string& cwd) {
  std::vector<std::string> files;
  for (const std::string& file : options.sources.files) {
    files.push_back(ListName(cwd, file));
  }
  return files;
}

}  // namespace

Result<std::optional<store::JobSummary>> FindEarlierRun(const std::string& state_dir,
                                                        const std::string& cwd,
                                                        const cli::RunOptions& options) {
  std::vector<std::string> files = AbsoluteFiles(options, cwd);
  bool named = options.sources.has_command || !files.empty();
  std::optional<store::JobSummary> found;
  auto numbers = store::JobNumbers(state_dir);
  if (!numbers) return std::unexpected(numbers.error());
  auto status = store::VisitJobs(state_dir, *numbers, [&](const store::JobSummary& job) {
    if (job.standing == store::JobStanding::kDamaged || job.row.cwd != cwd) return true;
    bool wanted =
        named ? SameWork(job.row, files, options) : job.standing != store::JobStanding::kFinished;
    if (wanted) found = job;
    return !wanted;
  });
  if (!status) return std::unexpected(status.error());
  return found;
}

std::vector<TaskIndex> LongestFirst(const std::string& state_dir, const std::string& cwd,
                                    const cli::RunOptions& options, const cli::RowSource& rows) {
  auto earlier = FindEarlierRun(state_dir, cwd, options);
  if (!earlier || !*earlier) return {};
  auto history = store::History::Open(state_dir, (*earlier)->number);
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

}  // namespace spate::apps
