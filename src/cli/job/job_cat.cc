// What tasks wrote: standard output to standard output, standard error to standard error, byte for
// byte; with one stream asked for, that one to standard output. What is left out is told on
// standard error, so that the data stays what the tasks wrote, and makes the exit code 1.
#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/history/task_text.h"
#include "cli/job/job_verbs.h"
#include "cli/job/output.h"
#include "cli/text/end_text.h"

namespace spate::cli {
namespace {

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

  HistoryCall& call_;
  const wire::Streams streams_;
  bool damaged_ = false;
  bool incomplete_ = false;  // something was not kept
};

void Printer::PrintBytes(const OutputFacts& piece, const std::string& id, const char* name) {
  if (piece.count > 0) {
    incomplete_ = true;
    call_.Say(fmt::format("{}: {} bytes of its {} were not kept and are missing here", id,
                          FormatCount(piece.count), name));
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
      return call_.Say(
          fmt::format("{}: none of the {} bytes of its {} were kept (see "
                      "--keep-output)",
                      id, FormatCount(piece.count), name));
    case What::kInFile:
      return call_.Say(
          fmt::format("{}: its {} went to '{}'", id, name, EscapeForScreen(piece.text)));
    case What::kNoneYet:
      return call_.Say(
          fmt::format("{}: it is {} and has no output yet", id, StateWord(piece.state)));
    case What::kTasksWithout:
      return call_.Say(fmt::format("{} of job {} {} no output yet", CountOf(piece.count, "task"),
                                   piece.job.value, piece.count == 1 ? "has" : "have"));
    case What::kDamaged:
      damaged_ = true;
      return call_.Say(piece.text);
    case What::kNothing:
      return;  // of a tail alone
  }
}

Result<std::optional<uint32_t>> RankOf(const Words& words) {
  auto value = words.Last(Opt::kRank);
  if (!value) return std::nullopt;
  auto rank = ParseCount(*value);
  if (!rank) return Within("--rank", std::move(rank.error()));
  if (*rank > UINT32_MAX) return Fail(ErrorKind::kInvalid, "--rank: no gang has so many processes");
  return static_cast<uint32_t>(*rank);
}

}  // namespace

Result<int> JobCat(HistoryCall& call) {
  if (call.words().Has(Opt::kFollowOutput)) {
    if (!call.words().Has(Opt::kRank)) return FollowOutput(call, UINT64_MAX);
    return Fail(ErrorKind::kInvalid,
                "--rank goes with what has ended, --follow with what is to come: leave one out");
  }
  auto streams = StreamsOf(call.words());
  if (!streams) return std::unexpected(std::move(streams.error()));
  auto states = TaskStatesOf(call.words());
  if (!states) return std::unexpected(std::move(states.error()));
  auto tasks = SelectTasks(call.words().words);
  if (!tasks) return std::unexpected(std::move(tasks.error()));
  auto rank = RankOf(call.words());
  if (!rank) return std::unexpected(std::move(rank.error()));
  Printer printer(call, *streams);
  auto told = call.Ask(wire::ReadOutput{std::move(*tasks), *states, *streams, *rank},
                       [&](const OutputFacts& piece) { printer.Print(piece); });
  if (!told) return std::unexpected(std::move(told.error()));
  return printer.exit_code();
}

}  // namespace spate::cli
