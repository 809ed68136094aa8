// A row of RowKind::kParasol: a job of Parasol, as `para` and `parasol add job` send it.
//
//   JOB SECONDS '\0' FOLDER '\0' IN '\0' OUT '\0' TEXT      (JOB and SECONDS in decimal)
//
// No shell reads TEXT: where it holds a '\0' these part its words, and else blanks do. `$JOB_ID` in
// a word, IN or OUT stands for the job's number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/body.h"

namespace spate::parasol {

struct ParasolRow {
  uint64_t job = 0;          // its number in the batch; 0 for those of no batch
  int64_t submitted = 0;     // seconds since 1970
  std::string_view folder;   // absolute; empty: that of the hub's job
  std::string_view in, out;  // relative to it; empty: the null device
  std::string_view text;
};
void AppendParasolRow(const ParasolRow& row, std::string* out);
// Points into `row`. kCorrupt.
Result<ParasolRow> ReadParasolRow(std::string_view row);

// TEXT with its words exactly as they are: what ReadParasolRow's `text` becomes for several of
// them.
std::string ParasolText(const std::vector<std::string>& words);
// For people, and in results: with blanks between words.
std::string ParasolCommand(std::string_view text);

// The body to run, without the file of stderr. kInvalid: no words, or too many for the system.
Result<TaskBody> ParasolBody(std::string_view row, JobId job, TaskIndex task);

}  // namespace spate::parasol
