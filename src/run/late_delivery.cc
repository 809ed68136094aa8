#include "run/late_delivery.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "cli/run/list_change.h"
#include "cli/view/joblog.h"
#include "cli/view/output_pieces.h"
#include "cli/view/results_table.h"
#include "cli/view/results_tree.h"
#include "core/model/ranges.h"
#include "os/file.h"
#include "store/sqlite/job_journal.h"

namespace spate::run {
namespace {

constexpr uint64_t kInMemory = 256 << 10;  // of a stream; longer ones go through a file

// A stream of a task's output, as the journal kept it. What `owner` holds must live as long.
Result<OutputStream> StreamOf(store::JobJournal& history, const store::AttemptEntry& attempt,
                              store::Stream stream, const std::string& spill_folder,
                              std::shared_ptr<cli::SpillFile>& owner) {
  OutputStream output;
  Status spilled;
  TRY(history.ReadOutput(attempt, stream, [&](std::string_view bytes, uint64_t) {
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
  }));
  if (!spilled) return std::unexpected(spilled.error());
  if (owner) output.spool = owner->path();
  return output;
}

// Shows the last ends of tasks, as the journal has them, to a view.
struct Shown {
  bool with_output = false;
  std::string spill_folder;
};
Status Show(store::JobJournal& history, const std::vector<TaskRange>& tasks, const Shown& what,
            cli::RunView& view) {
  for (TaskRange range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      auto task = TRY(history.Task(i));
      if (!task.last) continue;  // withdrawn before it ran
      auto output = std::make_shared<TaskOutput>();
      std::shared_ptr<cli::SpillFile> owners[2];
      for (auto [stream, to, owner] : {std::tuple{store::Stream::kStdout, &output->out, &owners[0]},
                                       {store::Stream::kStderr, &output->err, &owners[1]}}) {
        if (!what.with_output) break;
        auto read = TRY(StreamOf(history, *task.last, stream, what.spill_folder, *owner));
        *to = std::move(read);
      }
      const engine::AttemptEnded& record = task.last->record;
      view.OnEnded({record.end, record.verdict, std::move(output), record.ended});
    }
  }
  return {};
}

// The numbers in a folder's `seq`, each with a newline around it.
std::string NumbersIn(const std::string& seq) {
  auto text = os::ReadFile(seq, 64 << 20);
  return '\n' + (text ? *text : std::string()) + '\n';
}

std::vector<TaskRange> MissingInResults(const LateDelivery& what) {
  std::vector<TaskRange> missing;
  std::map<std::string, std::string> shared;  // with --append: NumbersIn, by path
  for (TaskRange range : what.ended) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      std::string folder = cli::ResultsFolder(what.texts.values(i), what.value_names, what.columns);
      std::string seq = os::JoinPath(os::JoinPath(what.results_dir, folder), "seq");
      bool there = os::Exists(seq);
      if (there && what.append_results) {
        auto known = shared.try_emplace(seq);
        if (known.second) known.first->second = NumbersIn(seq);
        there = known.first->second.find(fmt::format("\n{}\n", i + 1)) != std::string::npos;
      }
      if (!there) AppendIndex(missing, i);
    }
  }
  return missing;
}

}  // namespace

Status DeliverMissing(const LateDelivery& what) {
  if (what.ended.empty() || (what.joblog.empty() && what.results_dir.empty())) return {};
  auto history = TRY(store::SqliteJobJournal::Open(what.state_dir, what.job));
  Status broken;
  auto on_broken = [&](const Error& error) { broken = std::unexpected(error); };
  if (!what.joblog.empty()) {
    auto missing = TRY(cli::MissingInJoblog(what.joblog, what.ended));
    auto log = TRY(cli::Joblog::Open(what.joblog, /*append=*/true, what.texts.command, on_broken));
    TRY(Show(history, missing, {}, *log));
  }
  if (cli::TableFormOf(what.results_dir)) {
    auto missing = TRY(cli::MissingInTable(what.results_dir, what.ended));
    auto table =
        TRY(cli::ResultsTable::Open(what.results_dir, /*append=*/true, what.texts, on_broken));
    Shown with{true, what.spill_folder};
    TRY(Show(history, missing, with, *table));
  } else if (!what.results_dir.empty()) {
    auto tree = TRY(cli::ResultsTree::Open(
        {what.results_dir, what.value_names, what.columns, what.append_results}, what.texts.values,
        on_broken));
    Shown with{true, what.spill_folder};
    TRY(Show(history, MissingInResults(what), with, *tree));
  }
  return broken;
}

}  // namespace spate::run
