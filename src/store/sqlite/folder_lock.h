// FolderLock: the right of one process to write the folder of a job or a hub.
//
// On a disk of this machine it is the kernel's lock on the file `lock`, which goes with its
// process, however that ends. Where other machines use the folder too, it is that lock and the
// OwnerFile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/file.h"
#include "store/sqlite/owner_file.h"
#include "store/sqlite/state_folder.h"

namespace spate::store {

class FolderLock {
 public:
  // `file_system`: of NetworkFileSystemOf. kBusy: another process has it; FolderOwner names it.
  // kUnavailable: the file system knows no locks.
  static Result<FolderLock> Acquire(const std::string& folder, const std::string& file_system,
                                    const StateOptions& options);

  // nullptr on a disk of this machine.
  const std::shared_ptr<OwnerFile>& owner_file() const { return owner_file_; }

 private:
  explicit FolderLock(os::FileLock lock) : lock_(std::move(lock)) {}
  os::FileLock lock_;
  std::shared_ptr<OwnerFile> owner_file_;  // gone before the lock is
};

// The process that holds the folder now; nullopt: nobody. One of another machine may have been
// killed up to a minute ago.
Result<std::optional<JobOwner>> RunningOwner(const std::string& folder);
// The last one, whether it still holds the folder or not.
JobOwner LastOwner(const std::string& folder);

}  // namespace spate::store
