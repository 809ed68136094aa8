// StateFile: what a master that was killed must find again (--mw-state DIR): tasks that have not
// ended, results that were not taken, and the program's own bytes. One SQLite file, DIR/state.db;
// docs/formats/mw-state.md. Nothing else of the master is kept: its next life gives the tasks out
// anew, to slaves that are others to it.
//
// Thread: one at a time. One process at a time: a lock is held.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spate/mw.h>

#include "base/result.h"
#include "os/file.h"
#include "store/sqlite/database.h"

namespace spate::mw {

struct StateChange {
  std::vector<task> tasks;      // new ones
  std::vector<task_id> given;   // that must not be given out again
  std::vector<result> results;  // their tasks have ended
  std::vector<task_id> taken;   // of which nothing need be kept
  std::optional<std::string> state;
  // Algorithms::Words() of the program; empty: as before.
  std::vector<std::string> algorithms;
  uint64_t last_task = 0;  // the newest number that was used; 0: as before
  bool empty() const {
    return tasks.empty() && given.empty() && results.empty() && taken.empty() && !state &&
           algorithms.empty();
  }
};

class StateFile {
 public:
  struct Kept {
    struct Task {
      task what;
      bool given = false;  // StateChange::given
    };
    bool found = false;  // an earlier life wrote it
    std::vector<Task> tasks;
    std::vector<result> results;
    std::string state;
    std::vector<std::string> algorithms;  // empty: an earlier version of the library wrote it
    uint64_t last_task = 0;
  };
  // Makes the folder and the file when they are missing. kBusy: another master has it.
  static Result<std::unique_ptr<StateFile>> Open(const std::string& dir);
  Result<Kept> Load();
  // Durable with one stroke when it returns.
  Status Write(const StateChange& change);

 private:
  StateFile(os::FileLock lock, store::Database db) : lock_(std::move(lock)), db_(std::move(db)) {}
  Status Prepare();
  Status WriteAll(const StateChange& change);

  os::FileLock lock_;
  store::Database db_;
  store::Statement add_task_, set_given_, add_result_, drop_task_, drop_result_, set_meta_;
};

}  // namespace spate::mw
