// Common parts of the folders of jobs and of hubs: where they may be.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "store/sqlite/job_owner.h"

namespace spate::store {

struct StateOptions {
  // For a folder on a network file system that a process of another machine held last: how long
  // that one is watched for a sign of life, and who is told before. 0: it counts as alive.
  Duration patience;
  std::function<void(const JobOwner&)> waiting = nullptr;
  // For tests: take the file system of STATE for this one ("nfs").
  std::string pretend_file_system;
};

// The name of the file system ("nfs") if other machines may use it too, and else nothing.
// kPermission: it is read-only.
Result<std::string> NetworkFileSystemOf(const std::string& state_dir, const StateOptions& options);
// kPermission: another user's. kExhausted: full. The folder is there.
Status CheckOwnerAndSpace(const std::string& state_dir);
// Tells of --state where that helps.
Error WithStateHint(Error error);
// The folder for temporary files, made or emptied: what lies there belongs to a dead process.
Status EmptySpool(const std::string& spool);

// Bytes of the files in a folder, without those in folders below it; 0 when it cannot be read.
uint64_t FolderBytes(const std::string& folder);

}  // namespace spate::store
