// The folder of a batch: the files in which para keeps it (docs/formats/parasol.md).
//
// `batch` is written first, then the marks that say what it has taken in: whoever is killed between
// them takes something twice, which does no harm, and loses nothing. Read in the other order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/parasol/job.h"
#include "os/file.h"

namespace spate::cli {

// What the file `batch` has taken in.
struct ParaMarks {
  uint64_t results = 0;  // bytes of para.results: para.bookmark
  uint64_t known = 0;    // submissions of the hub: .para.hub
  friend bool operator==(const ParaMarks&, const ParaMarks&) = default;
};

class ParaFolder {
 public:
  // `dir` is absolute.
  explicit ParaFolder(std::string dir) : dir_(std::move(dir)) {}

  const std::string& dir() const { return dir_; }
  std::string Batch() const { return Path("batch"); }
  std::string Results() const { return Path("para.results"); }
  std::string StderrOf(std::string_view id) const;

  // For whoever changes the batch; kBusy when another one does. `command` is told to that one.
  Result<os::FileLock> Lock(std::string_view command) const;

  // kNotFound, and what to do, when there is no batch.
  Status Find() const;
  struct Stored {
    std::vector<format::ParasolJob> jobs;
    ParaMarks marks;
  };
  // kCorrupt, with all lines that are damaged, when `batch` is not whole.
  Result<Stored> Read();
  // Nobody has replaced `batch` since.
  bool IsAsRead() const;
  Status Write(const std::vector<format::ParasolJob>& jobs, ParaMarks marks);
  // A new batch, with its copy `batch.bak` and the folder for standard error.
  Status Start(const std::vector<format::ParasolJob>& jobs, ParaMarks marks);
  // That the hub has forgotten the batch.
  Status ForgetHub();

  // Calls `take` with whole lines of para.results from the byte `from` on; where the next ones
  // begin. A file that is shorter is another one, and read from its start. Fine when there is none.
  Result<uint64_t> ReadResults(
      uint64_t from,
      const std::function<void(std::string_view lines, uint64_t offset)>& take) const;

 private:
  std::string Path(std::string_view name) const { return os::JoinPath(dir_, name); }
  Status WriteMarks(ParaMarks marks);

  std::string dir_;
  ParaMarks written_;  // as the files have them
  os::FileInfo read_;  // of `batch`, before it was read
};

}  // namespace spate::cli
