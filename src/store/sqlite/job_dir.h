// JobDir: STATE/jobs/N, the folder of one job, held by its lock.
//
//   lock      one line about the owner (pid, host, boot, start); held while a process runs the job
//   owner     on a network file system: see OwnerFile
//   job.db    the journal and history (docs/formats/journal.md)
//   output    what the tasks wrote, one stream
//   replay    the state of the job (store/replay_file.h), once somebody has asked
//   spool/    temporary files of the running process
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/folder_lock.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/state_folder.h"

namespace spate::store {

class JobDir {
 public:
  // Makes STATE and the folder with the number after the largest one, and locks it.
  // kUnavailable: STATE is on a network file system without locks; the message names a better
  // place. kPermission: read-only, or another user's. kExhausted: full.
  static Result<JobDir> Create(const std::string& state_dir, const StateOptions& options = {});
  // Locks the folder of a job. kNotFound; kBusy with the pid of the process that runs it.
  static Result<JobDir> Open(const std::string& state_dir, uint32_t number,
                             const StateOptions& options = {});

  uint32_t number() const { return number_; }
  const std::string& path() const { return path_; }
  JournalPlace place() const { return {path_, false, lock_.owner_file()}; }
  std::string DbPath() const { return place().DbPath(); }
  // Made by Create and emptied by Open: what lies there belongs to a dead process.
  std::string SpoolPath() const { return path_ + "/spool"; }

  // Removes the folder, for a job that came to nothing. The object is of no further use.
  Status Remove();

 private:
  JobDir(std::string path, uint32_t number, FolderLock lock)
      : path_(std::move(path)), number_(number), lock_(std::move(lock)) {}

  std::string path_;
  uint32_t number_ = 0;
  FolderLock lock_;
};

// The numbers of the runs in STATE, ascending; none when STATE is not there.
Result<std::vector<uint32_t>> RunNumbers(const std::string& state_dir);
std::string JobPath(const std::string& state_dir, uint32_t number);
// Removes a job that nobody runs. kNotFound; kBusy with the pid.
Status ForgetJob(const std::string& state_dir, uint32_t number);
// Removes what forgotten jobs may have left when their removal was cut short.
void SweepForgotten(const std::string& state_dir);

}  // namespace spate::store
