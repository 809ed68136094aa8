#include "history/job_rows.h"

#include <utility>

namespace spate::history {

Result<JobRows> JobRows::Open(const Source& source, JobId job, std::optional<RowKind> whole) {
  auto summary = TRY(source.history->Summarize(job.value));
  JobRows rows;
  rows.job_ = job;
  rows.row_ = std::move(summary.row);
  auto settings = TRY(source.settings(rows.row_));
  rows.settings_ = std::move(settings);
  const format::RowDialect* dialect = source.dialects.Find(rows.kind());
  bool is_public = dialect != nullptr && dialect->ArePublic();
  rows.hidden_ = !is_public && !source.MaySee(rows.row_);
  rows.whole_ = whole == rows.kind();
  if (auto compiled = source.dialects.Compile(rows.settings_, job)) {
    rows.compiled_ = std::move(*compiled);
  }
  return rows;
}

Result<RowFacts> JobRows::Facts(store::HistoryIndex& rows, TaskIndex index) const {
  constexpr size_t kMostCommand = 4 << 20;
  auto row = TRY(rows.Row(job_, index));
  RowFacts facts{index, "", ""};
  if (hidden_) return facts;
  if (whole_) {
    facts.row = row;
  } else if (compiled_) {
    facts.command = (*compiled_)->CommandText(row, {.index = index});
    if (facts.command.size() > kMostCommand) facts.command.resize(kMostCommand);
  }
  return facts;
}

}  // namespace spate::history
