// The files that tasks brought home, as one pack (core/model/task_files.h) on standard output: the
// client of the hub unpacks it. Names are those that the submitter has given: a node cannot bring
// anything else.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/history/task_facts.h"
#include "cli/job/job_verbs.h"
#include "core/model/task_files.h"

namespace spate::cli {
namespace {

Status PutFiles(HistoryCall& call, store::History& history, const store::AttemptEntry& attempt,
                const std::vector<std::string>& names) {
  Status taken;
  PackReader pack({.begin = [&](const PackedFile& file) -> Status {
                     if (std::ranges::find(names, file.name) == names.end()) {
                       return Fail(ErrorKind::kCorrupt,
                                   fmt::format("'{}' was not asked for, and not written",
                                               EscapeForScreen(file.name)));
                     }
                     std::string head;
                     AppendPackedFile(head, file);
                     call.Put(head);
                     return {};
                   },
                   .bytes = [&](std::string_view bytes) -> Status {
                     call.Put(bytes);
                     return {};
                   },
                   .end = []() -> Status { return {}; }});
  auto read =
      history.ReadOutput(attempt, store::Stream::kFiles, [&](std::string_view bytes, uint64_t) {
        if (taken) taken = pack.Feed(bytes);
      });
  if (!read) return std::unexpected(read.error());
  if (taken && !pack.whole()) return Fail(ErrorKind::kCorrupt, "its files are not whole");
  return taken;
}

}  // namespace

Result<int> JobGet(HistoryCall& call) {
  std::vector<std::string> words = call.words().words;
  words.resize(std::min<size_t>(words.size(), 1));  // the folder is the client's
  auto picked = PickTasks(call, words);
  if (!picked) return std::unexpected(std::move(picked.error()));
  int code = kExitSuccess;
  for (const PickedTasks& tasks : *picked) {
    auto history = call.OpenHistory(tasks.job);
    if (!history) return std::unexpected(std::move(history.error()));
    TaskTexts texts(call, *history);
    auto visited = VisitTasks(*history, tasks, ~0u, [&](const store::TaskSummary& task) {
      if (!task.last || task.last->kept.files_bytes == 0) return true;
      auto body = texts.Body(task.index, task.last->record.end.slot);
      auto put =
          PutFiles(call, *history, *task.last, body ? body->gets : std::vector<std::string>());
      if (!put) {
        call.Say(fmt::format("{}: {}", TaskId(tasks.job, task.index), put.error().message));
        code = kExitCouldNotRun;
      }
      // Behind a damaged pack nothing can be told apart.
      return put.has_value() && call.ok();
    });
    if (!visited) return std::unexpected(std::move(visited.error()));
  }
  return code;
}

}  // namespace spate::cli
