#include <fmt/format.h>

#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/job/job_verbs.h"
#include "cli/table/table.h"
#include "cli/view/json_fields.h"

namespace spate::cli {
namespace {

std::string Hours(Duration time) { return fmt::format("{:.2f}", time.seconds() / 3600); }

std::vector<Cell> RowOf(const UseFacts& use) {
  std::string failed = use.failed == 0 ? "0"
                                       : fmt::format("{} ({:.1f}%)", FormatCount(use.failed),
                                                     100 * use.failed_share);
  bool known = use.suggested_memory > 0;
  return {{use.user},
          {use.job ? fmt::format("{}", use.job->value) : "all"},
          {use.name.value_or("")},
          {FormatCount(use.tasks)},
          {FormatCount(use.ends)},
          {failed, use.failed > 0 ? Tone::kBad : Tone::kPlain},
          {Hours(use.cpu)},
          {Hours(use.wall)},
          {known ? FormatSize(use.peak_memory) : "-"},
          {known ? fmt::format("{}M", use.suggested_memory >> 20) : "-"}};
}

void PrintTable(HistoryCall& call, const std::vector<UseFacts>& uses) {
  Table table({{"USER", Align::kLeft, 6},
               {"JOB", Align::kRight},
               {"NAME", Align::kLeft, 8},
               {"TASKS", Align::kRight},
               {"ENDS", Align::kRight},
               {"FAILED", Align::kRight},
               {"CPU-H", Align::kRight},
               {"WALL-H", Align::kRight},
               {"PEAK", Align::kRight},
               {"SUGGEST", Align::kRight}},
              call.width(), call.environment().colour,
              [&](std::string_view text) { call.Put(text); });
  for (const UseFacts& use : uses) table.Add(RowOf(use));
  table.Finish();
}

}  // namespace

Result<int> Report(HistoryCall& call) {
  wire::SumUse question;
  question.user = call.words().Last(Opt::kOfUser).value_or("");
  if (auto value = call.words().Last(Opt::kSince)) {
    auto time = ParseDuration(*value);
    if (!time) return Within("--since", std::move(time.error()));
    question.since = call.now() - *time;
  }
  std::vector<UseFacts> uses;
  auto told = call.Ask(std::move(question), [&](UseFacts use) {
    if (!use.problem.empty()) return call.Say(use.problem);
    uses.push_back(std::move(use));
  });
  if (!told) return std::unexpected(std::move(told.error()));
  if (call.human()) {
    call.PutTitle();
    PrintTable(call, uses);
    if (uses.empty()) {
      call.Say(call.on_hub() ? "nothing has been used on the hub"
                             : fmt::format("nothing has been used in '{}'",
                                           EscapeForScreen(call.state_dir())));
    }
    return kExitSuccess;
  }
  for (const UseFacts& use : uses) call.Put(JsonOf("use", use));
  return kExitSuccess;
}

}  // namespace spate::cli
