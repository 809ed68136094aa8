// HubDir: STATE/hub, the folder of a hub, held by its lock.
//
//   lock      one line about the owner, as of a job's folder; held while a hub runs
//   owner     on a network file system: see OwnerFile
//   hub.db    the journal of all jobs (docs/formats/journal.md)
//   output/   N: what the tasks of job N wrote, one stream
//   replay/   N: the state of job N (store/replay_file.h)
//   spool/    temporary files of the running hub
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "store/sqlite/folder_lock.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/state_folder.h"

namespace spate::store {

class HubDir {
 public:
  // Makes the folder when it is not there, and locks it. kBusy: another hub runs in it; the message
  // names its process. Other errors as of JobDir::Create.
  static Result<HubDir> Open(const std::string& hub_dir, const StateOptions& options = {});

  const std::string& path() const { return path_; }
  JournalPlace place() const { return {path_, true, lock_.owner_file()}; }
  // The name of its file system, if other machines may use it too.
  const std::string& network_file_system() const { return file_system_; }
  Duration SyncTime() const;  // of a few bytes there; only of a network file system
  // Emptied by Open: what lies there belongs to a dead process.
  std::string SpoolPath() const { return path_ + "/spool"; }

 private:
  HubDir(std::string path, std::string file_system, FolderLock lock)
      : path_(std::move(path)), file_system_(std::move(file_system)), lock_(std::move(lock)) {}

  std::string path_;
  std::string file_system_;
  FolderLock lock_;
};

// Removes what is kept of jobs' replays, before another journal takes the place of theirs.
Status RemoveReplays(const std::string& hub_dir);

}  // namespace spate::store
