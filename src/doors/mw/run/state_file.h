// StateFile: what a master that was killed must find again (--mw-state DIR): tasks that have not
// ended, constants that these name, results that were not taken, and the program's own bytes. One
// SQLite file, DIR/state.db; docs/formats/mw-state.md. Nothing else of the master is kept: the
// next master gives the tasks out again, to slaves that it has not met.
//
// Thread: one at a time. One process at a time: a lock is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <spate/mw.h>

#include "base/result.h"
#include "doors/mw/run/master_constants.h"
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
    std::vector<std::string> algorithms;  // empty: nothing was kept
    uint64_t last_task = 0;
  };
  // Makes the folder and the file when they are missing. kBusy: another master has it.
  static Result<std::unique_ptr<StateFile>> Open(const std::string& dir);
  // Once. The constants that its tasks name come to `constants`.
  Result<Kept> Load(MasterConstants& constants);
  // Durable with one stroke when it returns.
  Status Write(const StateChange& change);

 private:
  StateFile(os::FileLock lock, store::Database db) : lock_(std::move(lock)), db_(std::move(db)) {}
  Status Prepare();
  Result<std::map<uint64_t, detail::constant_list>> LoadNamed(MasterConstants& constants);
  Status WriteAll(const StateChange& change);
  Status AddNamed(const task& what);
  Status DropNamed(task_id id);

  os::FileLock lock_;
  store::Database db_;
  store::Statement add_task_, set_given_, add_result_, drop_task_, drop_result_, set_meta_;
  store::Statement add_named_, drop_named_, add_piece_, drop_pieces_;
  // The file's constants that each task names, and the number of tasks that name each one.
  std::unordered_map<uint64_t, std::vector<uint64_t>> named_;
  std::unordered_map<uint64_t, size_t> users_;
};

}  // namespace spate::mw
