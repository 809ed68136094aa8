// The file `batch` of Parasol: a line for each job (docs/formats/parasol.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/parasol/job.h"

namespace spate::format {

void AppendBatchLine(const ParasolJob& job, std::string* out);
std::string WriteBatch(std::span<const ParasolJob> jobs);

struct ReadBatchResult {
  std::vector<ParasolJob> jobs;
  // One message for each line that cannot be read: file, line, what is wrong. Whoever writes the
  // batch back loses these jobs.
  std::vector<std::string> damage;
};
// `name` is that of the file, for messages.
ReadBatchResult ReadBatch(std::string_view text, std::string_view name);

}  // namespace spate::format
