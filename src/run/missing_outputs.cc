#include "run/missing_outputs.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/units.h"
#include "core/model/ranges.h"
#include "format/list_line.h"
#include "os/file.h"
#include "plan/shared_needs.h"
#include "present/text/end_text.h"
#include "view/summary.h"

namespace spate::run {
namespace {

constexpr size_t kMostLooked = 1000;  // files
constexpr size_t kMostNamed = 3;      // files
constexpr size_t kMostTasks = 20;     // in the command

struct Output {
  TaskIndex index = 0;
  std::string file;
};

std::vector<Output> OutputsOf(PreparedJob& job, const std::vector<TaskRange>& leaving) {
  std::vector<Output> outputs;
  TaskIndex next = 0;
  job.StoredRows()([&](std::string_view row) {
    const TaskIndex i = next++;
    if (outputs.size() >= kMostLooked || row.find("{check") == std::string_view::npos) return;
    const bool done = job.engine().StateOf(job.id(), i) == TaskState::kSucceeded;
    if (!done || job.engine().LeftList(job.id(), i) || SortedContains(leaving, i)) return;
    auto line = format::ParseListLine(row);
    if (!line) return;
    for (const Check& check : line->checks) {
      if (check.when == CheckWhen::kOut) outputs.push_back({i, check.file});
    }
  });
  return outputs;
}

}  // namespace

void TellMissingOutputs(PreparedJob& job, const std::vector<TaskRange>& leaving) {
  const bool quiet = job.options().show.form == cli::OutputForm::kQuiet;
  if (quiet || job.settings().row_kind != RowKind::kListLine) return;
  const std::vector<Output> outputs = OutputsOf(job, leaving);
  std::vector<std::string> paths;
  for (const Output& each : outputs) paths.push_back(os::JoinPath(job.settings().cwd, each.file));
  const std::vector<size_t> missing = MissingOf(paths);
  if (missing.empty()) return;
  std::string names, numbers;
  size_t tasks = 0;
  for (size_t n = 0; n < missing.size(); ++n) {
    const auto& [index, file] = outputs[missing[n]];
    const uint64_t number = uint64_t{index} + 1;
    if (n < kMostNamed) {
      names += fmt::format("{}{} (task {})", n == 0 ? "" : ", ", EscapeForScreen(file), number);
    }
    if (n > 0 && outputs[missing[n - 1]].index == index) continue;
    if (tasks++ < kMostTasks) numbers += fmt::format("{}{}", n == 0 ? "" : ",", number);
  }
  if (missing.size() > kMostNamed) {
    names += fmt::format(", and {} more", missing.size() - kMostNamed);
  }
  const std::string which = tasks == 1            ? "this task"
                            : tasks <= kMostTasks ? "these tasks"
                                                  : fmt::format("the first {}", kMostTasks);
  fmt::print(stderr,
             "spate: {} of finished tasks {} missing: {}\nto run {} again:  spate job retry{} "
             "--succeeded {}.{}\n",
             present::CountOf(missing.size(), "output"), missing.size() == 1 ? "is" : "are", names,
             which, cli::WhoseOption(job.hints()), job.id().value, numbers);
}

}  // namespace spate::run
