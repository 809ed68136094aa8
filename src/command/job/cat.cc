// Output of tasks: standard output to standard output, standard error to standard error, byte for
// byte; with one stream requested, that one to standard output. Omissions are reported on
// standard error, so that the data stays what the tasks wrote, and set the exit code to 1.
#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/output.h"
#include "present/text/end_text.h"
#include "view/task_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kRank = {.names = "rank",
                          .argument = "N",
                          .heading = Heading::kSelect,
                          .help = "gangs only: print the output of process N",
                          .more = "Processes are numbered from 0, like SPATE_RANK."};

using What = OutputFacts::What;

// Goes on behind damage, which it reports.
class Printer {
 public:
  Printer(HistoryCall& call, wire::Streams streams) : call_(call), streams_(streams) {}
  void Print(const OutputFacts& piece);
  int exit_code() const {
    if (damaged_) return kExitCouldNotRun;
    return incomplete_ ? kExitTasksFailed : kExitSuccess;
  }

 private:
  void PrintBytes(const OutputFacts& piece, const std::string& id, const char* name);
  bool HasPrinted(const OutputFacts& piece);

  HistoryCall& call_;
  const wire::Streams streams_;
  bool damaged_ = false;
  bool incomplete_ = false;  // something was not kept
  int looks_ = 0;
};

// A running task, as far as is known: of a few their nodes are asked.
bool Printer::HasPrinted(const OutputFacts& piece) {
  constexpr int kMostLooks = 10;
  auto asker = call_.Whom();
  if (!asker || ++looks_ > kMostLooks) return true;
  const uint32_t number = piece.index + 1;
  auto shown = client::QueryOne(
      **asker, wire::LookAtRun{{.job = piece.job.value, .ranges = {{number, number, 1}}}});
  if (!shown) return true;
  const StreamSoFar &out = shown->look.out, &err = shown->look.err;
  return out.total + err.total > 0 || !out.file.empty() || !err.file.empty();
}

void Printer::PrintBytes(const OutputFacts& piece, const std::string& id, const char* name) {
  if (piece.count > 0) {
    incomplete_ = true;
    call_.Report(fmt::format("{}: {} bytes of its {} were not kept{}", id, FormatCount(piece.count),
                             name, present::NotKeptWhy(piece.why)));
  }
  PutBytes(call_, streams_, piece);
}

void Printer::Print(const OutputFacts& piece) {
  std::string id = TaskId(piece.job, piece.index);
  const char* name = piece.stream == 1 ? "standard output" : "standard error";
  switch (piece.what) {
    case What::kBytes:
      return PrintBytes(piece, id, name);
    case What::kNotKept:
      incomplete_ = true;
      return call_.Report(fmt::format("{}: none of the {} bytes of its {} were kept{}", id,
                                      FormatCount(piece.count), name,
                                      present::NotKeptWhy(piece.why)));
    case What::kInFile:
      return call_.Report(
          fmt::format("{}: its {} went to '{}'", id, name, EscapeForScreen(piece.text)));
    case What::kNoneYet:
      if (piece.state == TaskState::kLeased && HasPrinted(piece)) {
        return call_.Report(
            fmt::format("{}: it has not ended; its output so far: spate job tail{} {}", id,
                        call_.StateOption(), id));
      }
      return call_.Report(
          fmt::format("{}: it is {} and has no output yet", id, StateWord(piece.state)));
    case What::kTasksWithout:
      return call_.Report(fmt::format("{} of job {} {} no output yet",
                                      present::CountOf(piece.count, "task"), piece.job.value,
                                      piece.count == 1 ? "has" : "have"));
    case What::kDamaged:
      damaged_ = true;
      return call_.Report(piece.text);
    case What::kNothing:
    case What::kPosition:
    case What::kFinished:
      return;  // of a tail alone
  }
}

Result<int> JobCat(HistoryCall& call) {
  if (call.words().Has(opt::kFollowOutput)) {
    if (!call.words().Has(kRank)) return FollowOutput(call, UINT64_MAX);
    return Fail(ErrorKind::kInvalid,
                "--rank is for ended tasks, --follow for future output; leave one out");
  }
  auto streams = TRY(StreamsOf(call.words()));
  auto states = TRY(TaskStatesOf(call.words()));
  auto tasks = TRY(SelectTasks(call.words().words));
  auto rank = TRY(RankOf(call.words(), kRank));
  Printer printer(call, streams);
  TRY(call.Query(wire::ReadOutput{std::move(tasks), states, streams, rank},
                 [&](const OutputFacts& piece) { printer.Print(piece); }));
  return printer.exit_code();
}

}  // namespace

extern const Command kJobCat = {
    .order = 60,
    .group = CommandGroup::kHistory,
    .name = "job cat",
    .arguments = "[JOB...]",
    .completes = Completes::kJobs,
    .summary = "print the output of tasks (default: last)",
    .details =
        "JOB may name tasks: 12.3-9 means tasks 3 to 9 of job 12. Output is kept as far as it fits "
        "into --keep-output. If output is missing, a message on standard error says so, and the "
        "exit code is 1.",
    .examples = {{{"spate job cat 12 > all.txt", "all output of job 12"},
                  {"spate job cat 12.3 --stderr", "standard error of task 3"},
                  {"spate job cat 12 --filter failed", "only output of failed tasks"}}},
    .options = {{opt::kState, opt::kFilter, opt::kStream, opt::kStderrOnly, kRank,
                 opt::kFollowOutput, opt::kWhose, opt::kAt}},
    .run = LookAtJobs<JobCat>,
};

}  // namespace spate::cli::command
