// SimFiles: a file system in memory under SQLite (its sqlite3_vfs). While one exists, all databases
// of this process lie in it.
//
// Faults: a crash keeps of what was written and not synced all, nothing, or some writes and sectors
// of others; writes and syncs fail from any point on.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/prng.h"

namespace spate::sim {

class SimFiles {
 public:
  explicit SimFiles(uint64_t seed);
  ~SimFiles() { sqlite3_vfs_unregister(&vfs_); }
  SimFiles(const SimFiles&) = delete;
  SimFiles& operator=(const SimFiles&) = delete;

  // A synced file. What SQLite draws comes from these files from now on.
  void Store(const std::string& name, std::string bytes);
  std::string Get(const std::string& name) const;
  // After so many more writes and syncs all fail, as on a full disk, until the next crash. Returns
  // after how many they would have.
  uint64_t FailAfter(uint64_t writes) { return std::exchange(left_, writes); }
  // All handles are of a dead process: nothing that they do has an effect any more. True: a log had
  // what was not synced, nothing of it had been refused, and all of it was kept.
  bool Crash();

 private:
  struct File;
  struct Handle;
  struct Calls;  // those of SQLite

  bool MayWrite(bool syncs);

  Prng prng_;
  std::map<std::string, std::shared_ptr<File>> files_;
  uint64_t left_ = UINT64_MAX;
  bool refused_ = false;  // a write
  sqlite3_vfs vfs_ = {};
};

}  // namespace spate::sim
