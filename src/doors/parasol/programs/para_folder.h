// The folder of a batch: the files in which para keeps it (docs/formats/parasol.md).
//
// `batch` is written first, then the marks that say what it has taken in: whoever is killed between
// them takes something twice, which does no harm, and loses nothing. Read in the other order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/parasol/formats/job.h"
#include "doors/parasol/programs/para_state.h"
#include "os/file.h"

namespace spate::parasol {

// Positions up to which the file `batch` has taken in its sources.
struct ParaMarks {
  uint64_t results = 0;  // bytes of para.results: para.bookmark
  uint64_t known = 0;    // submissions of the hub: ParaState::Marks
  // So many times a para has told the others to start no more jobs, and the newest such command:
  // likewise.
  uint64_t halts = 0;
  std::string halted_by = {};
  friend bool operator==(const ParaMarks&, const ParaMarks&) = default;
};

class ParaFolder {
 public:
  explicit ParaFolder(ParaState state)
      : state_(std::move(state)), dir_(os::DirName(state_.results())) {}

  const std::string& dir() const { return dir_; }
  std::string Batch() const { return Path("batch"); }
  const std::string& Results() const { return state_.results(); }
  std::string StderrOf(std::string_view id) const;

  // For whoever changes the batch, until Unlock; kBusy when another one does. `command` is told to
  // that one.
  Status Lock(std::string_view command);
  void Unlock() { lock_.reset(); }
  bool locked() const { return lock_.has_value(); }

  // kNotFound, and what to do, when there is no batch.
  Status Find() const;
  struct Stored {
    std::vector<ParasolJob> jobs;
    ParaMarks marks;
  };
  // kCorrupt, with all lines that are damaged, when `batch` is not whole.
  Result<Stored> Read();
  // Nobody has replaced `batch` since it was read or written here.
  bool IsAsRead() const;
  // The marks that are not about bytes of results.
  Result<ParaMarks> ReadHubMarks() const;
  Status Write(const std::vector<ParasolJob>& jobs, ParaMarks marks);
  // A new batch, with its copy `batch.bak` and the folder for standard error.
  Status Start(const std::vector<ParasolJob>& jobs, ParaMarks marks);
  // Records that the hub has forgotten the batch.
  Status ForgetHub();
  // Other paras that push this batch start no more jobs. For who holds the lock.
  Status Halt(std::string_view command);

  // Calls `take` with whole lines of para.results from the byte `from` on; where the next ones
  // begin. A file that is shorter is another one, and read from its start. Fine when there is none.
  Result<uint64_t> ReadResults(
      uint64_t from,
      const std::function<void(std::string_view lines, uint64_t offset)>& take) const;

 private:
  std::string Path(std::string_view name) const { return os::JoinPath(dir_, name); }
  Status WriteMarks(ParaMarks marks);

  ParaState state_;
  std::string dir_;
  Status WriteBatch(const std::vector<ParasolJob>& jobs);
  Status WriteHubMarks(const ParaMarks& marks);

  std::optional<os::FileLock> lock_;
  ParaMarks written_;  // as the files have them
  os::FileInfo read_;  // of `batch`, before it was read
};

}  // namespace spate::parasol
