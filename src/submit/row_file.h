// RowFile: the rows of a job's tasks in a file, for the few that are named to a person: a list may
// have millions. Memory: 8 bytes for 64 rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "os/fd.h"
#include "plan/list_change.h"

namespace spate::submit {

class RowFile {
 public:
  // Writes all rows to a new file at `path`, and removes its name. Once.
  Status Write(const cli::RowSource& rows, const std::string& path);
  // nullopt: there is no such row, or it cannot be read.
  std::optional<std::string> Row(TaskIndex index) const;

 private:
  os::Fd file_;
  uint32_t count_ = 0;
  std::vector<uint64_t> starts_;  // of every 64th row; and the end
};

}  // namespace spate::submit
