// Texts in the rows of a job's tasks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/body.h"
#include "format/expand.h"
#include "history/source.h"
#include "store/history.h"

namespace spate::history {

// The commands of a job's tasks. The history outlives it.
class TaskTexts {
 public:
  TaskTexts(const Source& source, store::JobJournal& history);
  // The typed form; the row's own text when the job's settings cannot be read.
  Result<std::string> Command(TaskIndex index, uint16_t slot);
  // True if the job's list may have names for its tasks.
  bool HasNames() const { return compiled_ && (*compiled_)->HasNames(); }
  // The task's name in its list; empty: none.
  std::string Name(TaskIndex index);
  // Ranges of tasks, ascending, with all whose names read as numbers of other tasks, such as task 7
  // that is called 12 or 1-3. kIo and such: by the journal.
  Result<std::vector<TaskRange>> CalledAsOthers();
  // Files and checks; nullopt where it cannot be told.
  std::optional<TaskBody> Body(const format::RowRun& run);
  const JobSettings& settings() const { return settings_; }

 private:
  store::JobJournal& history_;
  JobSettings settings_;
  std::optional<format::CompiledJob> compiled_;
};

}  // namespace spate::history
