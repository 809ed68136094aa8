// Common parts of the folders of jobs and of hubs: who holds them, and where they may be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spate::store {

// The process that runs, or ran, a job or a hub. Text as it stands in the lock file.
struct JobOwner {
  int64_t pid = 0;
  std::string host;
  std::string boot;   // the kernel's boot id: a pid means nothing after a reboot
  int64_t start = 0;  // clock ticks from boot to the process's start, against pids used again
  std::string ToLine() const;
  static JobOwner FromLine(std::string_view line);
  static JobOwner ThisProcess();
};

struct StateOptions {
  // For tests: take the file system of STATE for this one ("nfs").
  std::string pretend_file_system;
};

// kUnavailable: a network file system, where SQLite's log does not work; the message names a better
// place. kPermission: it is read-only.
Status CheckFileSystem(const std::string& state_dir, const StateOptions& options);
// kPermission: another user's. kExhausted: full. The folder is there.
Status CheckOwnerAndSpace(const std::string& state_dir);
// Tells of --state where that helps.
Error WithStateHint(Error error);
// The folder for temporary files, made or emptied: what lies there belongs to a dead process.
Status EmptySpool(const std::string& spool);

// Bytes of the files in a folder, without those in folders below it; 0 when it cannot be read.
uint64_t FolderBytes(const std::string& folder);

}  // namespace spate::store
