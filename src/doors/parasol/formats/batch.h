// The file `batch` of Parasol: a line for each job (docs/formats/parasol.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/parasol/formats/job.h"

namespace spate::parasol {

void AppendBatchLine(const ParasolJob& job, std::string* out);
std::string WriteBatch(std::span<const ParasolJob> jobs);

struct ReadBatchResult {
  std::vector<ParasolJob> jobs;
  // One message for each line that cannot be read: file, line, what is wrong. Whoever writes the
  // batch back loses these jobs.
  std::vector<std::string> damage;
};
// Reads it in pieces of whole lines.
class BatchReader {
 public:
  // `name` is that of the file, for messages; `bytes` its size, to make room at once.
  explicit BatchReader(std::string name, uint64_t bytes = 0)
      : name_(std::move(name)), bytes_(bytes) {}
  void Add(std::string_view lines);
  ReadBatchResult Take() { return std::move(result_); }

 private:
  void Reserve(size_t lines_bytes);

  std::string name_;
  uint64_t bytes_;
  uint64_t line_ = 0;  // of the file, the last one read
  ReadBatchResult result_;
};
ReadBatchResult ReadBatch(std::string_view text, std::string_view name);

}  // namespace spate::parasol
