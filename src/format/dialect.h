// RowDialect: what the rows of one kind (RowKind) mean. A job is compiled once; each of its rows
// then becomes a body for less than a microsecond.
//
// Row kinds of `spate` itself are in Dialects from the beginning (expand.cc):
//   RowKind::kListLine   a line of a job list, blanks around it trimmed or not
//   RowKind::kValues     the values of one task, joined by '\0' (docs/formats/placeholders.md);
//                        anything where the job has no source
//   RowKind::kInput      a piece of input (input_row.h)
//   RowKind::kDagTask    a TASK record of a DAG file (dag_line.h)
//   RowKind::kResident   as kValues: what a process is given that takes task after task
// A door brings its own, and the main programs add it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/body.h"
#include "core/model/job.h"

namespace spate::format {

// A task on its way to a node, as far as that is known.
struct RowRun {
  TaskIndex index = 0;
  uint16_t slot = 0;        // from 1; 0: not known yet, counts as 1
  std::string_view node;    // its name; empty: not known yet
  uint32_t milli_cpus = 0;  // given; 0: not known yet
  // In a gang, the ranks of a part, or of all parts. None: it is no gang, or not known yet.
  uint32_t first_rank = 0;
  uint32_t ranks = 0;
};

// The rows of one job. Immutable; may be shared between threads.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // The body to run, with the variables that are this task's alone. Errors (kInvalid): a row that
  // is wrong, a command that is too long to be started.
  virtual Result<TaskBody> Body(std::string_view row, const RowRun& run) const = 0;
  // The command as people see it (joblog, --dry-run, task info): shell text as it is, an argv with
  // its words quoted where a shell would need it. For a row that Body refuses: the row.
  virtual std::string CommandText(std::string_view row, const RowRun& run) const = 0;
  // True if Name may return a name.
  virtual bool HasNames() const { return false; }
  // The name of the task in its list. Empty: it has no name.
  virtual std::string Name(std::string_view) const { return {}; }
};
// Cheap to copy. Never null.
using CompiledJob = std::shared_ptr<const RowReader>;

// Additions of a dialect to a job on the node that runs it.
struct JobAdditions {
  std::vector<std::string> environment;  // NAME=VALUE, above the job's own
  int umask = -1;                        // of the tasks; -1: as the job has it
  bool inherits = false;      // a user's environment begins as the node's, not as that of a login
  bool keeps_stderr = false;  // stays on the node, for people (node/kept_streams.h)
};

class RowDialect {
 public:
  virtual ~RowDialect() = default;
  // Errors (kInvalid) name what is wrong in the settings, and the fix.
  virtual Result<CompiledJob> Compile(const JobSettings& settings, JobId job) const = 0;
  virtual JobAdditions Additions(const JobSettings&) const { return {}; }
  // Everybody on a hub may see what such jobs run, as in the system that they come from.
  virtual bool ArePublic() const { return false; }
};

// The dialects that a program knows, by kind: the one place where a kind leads to code.
class Dialects {
 public:
  // With those of this folder. `bash`: its file where the tasks run; empty: /bin/bash.
  explicit Dialects(const std::string& bash);
  Dialects() : Dialects("") {}
  void Add(RowKind kind, std::shared_ptr<const RowDialect> dialect) {
    of_kind_[kind] = std::move(dialect);
  }
  // Null: this program has none for it.
  const RowDialect* Find(RowKind kind) const {
    auto at = of_kind_.find(kind);
    return at == of_kind_.end() ? nullptr : at->second.get();
  }
  Result<CompiledJob> Compile(const JobSettings& settings, JobId job) const;

 private:
  std::map<RowKind, std::shared_ptr<const RowDialect>> of_kind_;
};

}  // namespace spate::format
