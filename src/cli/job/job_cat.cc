// What tasks wrote: standard output to standard output, standard error to standard error, byte for
// byte; with one stream asked for, that one to standard output. What is left out is told on
// standard error, so that the data stays what the tasks wrote, and makes the exit code 1.
#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/history/task_facts.h"
#include "cli/job/job_verbs.h"
#include "cli/job/output.h"
#include "cli/text/end_text.h"

namespace spate::cli {
namespace {

using store::History;
using store::Stream;

class Printer {
 public:
  Printer(HistoryCall& call, Which which) : call_(call), which_(which) {}

  // Goes on behind damage, which it reports.
  Status Print(const PickedTasks& picked, uint32_t states);
  int exit_code() const {
    if (damaged_) return kExitCouldNotRun;
    return incomplete_ ? kExitTasksFailed : kExitSuccess;
  }

 private:
  void PrintTask(History& history, TaskTexts& texts, const store::TaskSummary& task, bool named);
  void PrintStream(History& history, const store::AttemptEntry& attempt, Stream stream);
  // Where a task's output went when nothing of it was collected.
  void TellFile(TaskTexts& texts, const store::TaskSummary& task, const std::string& id);

  HistoryCall& call_;
  Which which_;
  uint32_t job_ = 0;
  uint64_t not_ended_ = 0;
  bool damaged_ = false;
  bool incomplete_ = false;  // something was not kept
};

void Printer::PrintStream(History& history, const store::AttemptEntry& attempt, Stream stream) {
  bool is_stdout = stream == Stream::kStdout;
  const char* name = is_stdout ? "standard output" : "standard error";
  std::string id = TaskId(job_, attempt.record.end.ref.index);
  auto extent = history.ReadOutput(attempt, stream, [&](std::string_view bytes, uint64_t skipped) {
    if (skipped > 0) {
      incomplete_ = true;
      call_.Say(fmt::format("{}: {} bytes of its {} were not kept and are missing here", id,
                            FormatCount(skipped), name));
    }
    PutOutput(call_, which_, stream, bytes);
  });
  if (!extent) {
    damaged_ = true;
    call_.Say(extent.error().message);
  } else if (extent->kept == 0 && extent->total > 0) {
    incomplete_ = true;
    call_.Say(fmt::format("{}: none of the {} bytes of its {} were kept (see --keep-output)", id,
                          FormatCount(extent->total), name));
  }
}

void Printer::TellFile(TaskTexts& texts, const store::TaskSummary& task, const std::string& id) {
  auto body = texts.Body(task.index, task.last->record.end.slot);
  if (!body) return;
  for (auto [file, which, name] :
       {std::tuple{&body->stdout_file, Which::kStderr, "standard output"},
        {&body->stderr_file, Which::kStdout, "standard error"}}) {
    if (file->empty() || which_ == which) continue;
    call_.Say(fmt::format("{}: its {} went to '{}'", id, name, EscapeForScreen(*file)));
  }
}

void Printer::PrintTask(History& history, TaskTexts& texts, const store::TaskSummary& task,
                        bool named) {
  std::string id = TaskId(job_, task.index);
  if (!task.last) {
    ++not_ended_;
    if (named)
      call_.Say(fmt::format("{}: it is {} and has no output yet", id, StateWord(task.state)));
    return;
  }
  const AttemptEnd& end = task.last->record.end;
  for (Stream stream : {Stream::kStdout, Stream::kStderr}) {
    if (Wants(which_, stream)) PrintStream(history, *task.last, stream);
  }
  if (named && end.stdout_total == 0 && end.stderr_total == 0) TellFile(texts, task, id);
}

Status Printer::Print(const PickedTasks& picked, uint32_t states) {
  job_ = picked.job;
  not_ended_ = 0;
  auto history = call_.OpenHistory(picked.job);
  if (!history) return std::unexpected(std::move(history.error()));
  TaskTexts texts(call_, *history);
  auto visited = VisitTasks(*history, picked, states, [&](const store::TaskSummary& task) {
    PrintTask(*history, texts, task, !picked.all);
    return call_.ok();
  });
  if (visited && picked.all && not_ended_ > 0) {
    call_.Say(fmt::format("{} of job {} {} no output yet", CountOf(not_ended_, "task"), job_,
                          not_ended_ == 1 ? "has" : "have"));
  }
  return visited;
}

}  // namespace

Result<int> JobCat(HistoryCall& call) {
  if (call.words().Has(Opt::kFollowOutput)) {
    auto job = PickOneJob(call);
    if (!job) return std::unexpected(std::move(job.error()));
    auto history = call.OpenHistory(*job);  // whether the caller may
    if (!history) return std::unexpected(std::move(history.error()));
    return FollowOutput(call, *job, 0);
  }
  auto which = WhichOf(call.words());
  if (!which) return std::unexpected(std::move(which.error()));
  auto states = TaskStatesOf(call.words());
  if (!states) return std::unexpected(std::move(states.error()));
  auto picked = PickTasks(call, call.words().words);
  if (!picked) return std::unexpected(std::move(picked.error()));
  Printer printer(call, *which);
  for (const PickedTasks& tasks : *picked) {
    if (auto printed = printer.Print(tasks, *states); !printed) {
      return std::unexpected(std::move(printed.error()));
    }
  }
  return printer.exit_code();
}

}  // namespace spate::cli
