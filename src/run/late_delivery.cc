#include "run/late_delivery.h"

#include <memory>

#include "cli/run/list_change.h"
#include "cli/view/joblog.h"
#include "cli/view/output_pieces.h"
#include "cli/view/results_table.h"
#include "cli/view/results_tree.h"
#include "core/model/ranges.h"
#include "os/file.h"
#include "store/sqlite/history.h"

namespace spate::run {
namespace {

using store::History;

constexpr uint64_t kInMemory = 256 << 10;  // of a stream; longer ones go through a file

// A stream of a task's output, as the journal kept it. What `owner` holds must live as long.
Result<OutputStream> StreamOf(History& history, const store::AttemptEntry& attempt,
                              store::Stream stream, const std::string& spill_folder,
                              std::shared_ptr<cli::SpillFile>& owner) {
  OutputStream output;
  Status spilled;
  auto read = history.ReadOutput(attempt, stream, [&](std::string_view bytes, uint64_t) {
    output.total += bytes.size();
    if (!owner && output.total > kInMemory) {
      auto made = cli::SpillFile::Make(spill_folder);
      spilled =
          made ? (*made)->Append(std::exchange(output.bytes, {})) : std::unexpected(made.error());
      if (made) owner = std::move(*made);
    }
    if (!spilled) return;
    if (owner) {
      spilled = owner->Append(bytes);
    } else {
      output.bytes += bytes;
    }
  });
  if (!read) return std::unexpected(read.error());
  if (!spilled) return std::unexpected(spilled.error());
  if (owner) output.spool = owner->path();
  return output;
}

// Shows the last ends of tasks, as the journal has them, to a view.
struct Shown {
  bool with_output = false;
  std::string spill_folder;
};
Status Show(History& history, const std::vector<TaskRange>& tasks, const Shown& what,
            cli::RunView& view) {
  for (TaskRange range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      auto task = history.Task(i);
      if (!task) return std::unexpected(task.error());
      if (!task->last) continue;  // withdrawn before it ran
      auto output = std::make_shared<TaskOutput>();
      std::shared_ptr<cli::SpillFile> owners[2];
      for (auto [stream, to, owner] : {std::tuple{store::Stream::kStdout, &output->out, &owners[0]},
                                       {store::Stream::kStderr, &output->err, &owners[1]}}) {
        if (!what.with_output) break;
        auto read = StreamOf(history, *task->last, stream, what.spill_folder, *owner);
        if (!read) return std::unexpected(read.error());
        *to = std::move(*read);
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
    if (auto shown = Show(*history, *missing, {}, **log); !shown) return shown;
  }
  if (cli::TableFormOf(what.results_dir)) {
    auto missing = cli::MissingInTable(what.results_dir, what.ended);
    if (!missing) return std::unexpected(missing.error());
    auto table = cli::ResultsTable::Open(what.results_dir, /*append=*/true, what.texts, on_broken);
    if (!table) return std::unexpected(table.error());
    Shown with{true, what.spill_folder};
    if (auto shown = Show(*history, *missing, with, **table); !shown) return shown;
  } else if (!what.results_dir.empty()) {
    auto tree = cli::ResultsTree::Open({what.results_dir, what.value_names, 0}, what.texts.values,
                                       on_broken);
    if (!tree) return std::unexpected(tree.error());
    Shown with{true, what.spill_folder};
    if (auto shown = Show(*history, MissingInResults(what), with, **tree); !shown) return shown;
  }
  return broken;
}

}  // namespace spate::run
