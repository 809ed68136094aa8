#include "apps/late_delivery.h"

#include <memory>

#include "cli/run/list_change.h"
#include "cli/view/joblog.h"
#include "cli/view/results_table.h"
#include "cli/view/results_tree.h"
#include "core/model/ranges.h"
#include "os/file.h"
#include "store/sqlite/history.h"

namespace spate::apps {
namespace {

using store::History;

// Shows the last ends of tasks, as the journal has them, to a view.
Status Show(History& history, const std::vector<TaskRange>& tasks, bool with_output,
            cli::RunView& view) {
  for (TaskRange range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      auto task = history.Task(i);
      if (!task) return std::unexpected(task.error());
      if (!task->last) continue;  // withdrawn before it ran
      auto output = std::make_shared<TaskOutput>();
      for (auto [stream, to] : {std::pair{store::Stream::kStdout, &output->out},
                                std::pair{store::Stream::kStderr, &output->err}}) {
        if (!with_output) break;
        auto read = history.ReadOutput(
            *task->last, stream,
            [to = to](std::string_view bytes, uint64_t) { to->bytes.append(bytes); });
        if (!read) return std::unexpected(read.error());
        to->total = to->bytes.size();
      }
      const engine::AttemptEnded& record = task->last->record;
      view.OnEnded({record.end, record.verdict, std::move(output), record.ended});
    }
  }
  return {};
}

std::vector<TaskRange> MissingInResults(const LateDelivery& what) {
  std::vector<TaskRange> missing;
  for (TaskRange range : what.ended) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      std::string folder = cli::ResultsFolder(what.texts.values(i), what.value_names, 0);
      if (!os::Exists(os::JoinPath(os::JoinPath(what.results_dir, folder), "seq"))) {
        AppendIndex(missing, i);
      }
    }
  }
  return missing;
}

}  // namespace

Status DeliverMissing(const LateDelivery& what) {
  if (what.ended.empty() || (what.joblog.empty() && what.results_dir.empty())) return {};
  auto history = History::Open(what.state_dir, what.job);
  if (!history) return std::unexpected(history.error());
  Status broken;
  auto on_broken = [&](const Error& error) { broken = std::unexpected(error); };
  if (!what.joblog.empty()) {
    auto missing = cli::MissingInJoblog(what.joblog, what.ended);
    if (!missing) return std::unexpected(missing.error());
    auto log = cli::Joblog::Open(what.joblog, /*append=*/true, what.texts.command, on_broken);
    if (!log) return std::unexpected(log.error());
    if (auto shown = Show(*history, *missing, false, **log); !shown) return shown;
  }
  if (cli::TableFormOf(what.results_dir)) {
    auto missing = cli::MissingInTable(what.results_dir, what.ended);
    if (!missing) return std::unexpected(missing.error());
    auto table = cli::ResultsTable::Open(what.results_dir, /*append=*/true, what.texts, on_broken);
    if (!table) return std::unexpected(table.error());
    if (auto shown = Show(*history, *missing, true, **table); !shown) return shown;
  } else if (!what.results_dir.empty()) {
    auto tree = cli::ResultsTree::Open({what.results_dir, what.value_names, 0}, what.texts.values,
                                       on_broken);
    if (!tree) return std::unexpected(tree.error());
    if (auto shown = Show(*history, MissingInResults(what), true, **tree); !shown) return shown;
  }
  return broken;
}

}  // namespace spate::apps
