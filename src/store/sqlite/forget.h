// Removing a job from a hub's journal, piece by piece, so that no commit takes long. A small job is
// one piece: one commit removes hundreds of them, or kMostBytes and one row more of large ones.
//
// Thread: the store's.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/sqlite/database.h"

namespace spate::store {

class Forgetter {
 public:
  static constexpr int64_t kMostBytes = 4 << 20;
  void BeginCommit() { bytes_ = 0; }
  // Removes a piece of a job that has finished or was never accepted, or of any when it is
  // `damaged`; true: no row of it is left, and its output may be removed when that is durable, and
  // then End called. Readers miss the job from the first piece on. Another job stays as it is, and
  // that is true too. Within the caller's transaction, on its connection, always the same one.
  Result<bool> Forget(Database& db, JobId job, bool damaged);
  // Its output is gone, too. Else the next life of the hub would look for it again.
  Status End(Database& db, JobId job);

 private:
  Result<Statement*> Bound(Database& db, std::string_view sql,
                           std::initializer_list<int64_t> values);
  Status Do(Database& db, std::string_view sql, std::initializer_list<int64_t> values);
  // Adds up the query's rows (key, bytes). Returns the key at which the commit is full.
  Result<std::optional<int64_t>> Weigh(Database& db, std::string_view sql,
                                       std::initializer_list<int64_t> values);
  bool IsFull() const { return bytes_ >= kMostBytes; }
  Result<bool> DropRows(Database& db, JobId job);
  Result<std::vector<std::pair<int64_t, int64_t>>> Ranges(Database& db, JobId job, int64_t first,
                                                          int64_t last, bool damaged);

  int64_t bytes_ = 0;  // removed by this commit
  std::map<std::string_view, Statement> statements_;
};

// Jobs whose removal was cut short, and submissions that were: the hub that wrote them is gone.
Result<std::vector<JobId>> JobsToForget(Database& db);

}  // namespace spate::store
