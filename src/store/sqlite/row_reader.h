// RowReader: rows of tasks from job.db, by a connection of its own, with the newest chunks kept.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "store/sqlite/database.h"
#include "store/sqlite/row_chunk.h"

namespace spate::store {

class RowReader {
 public:
  // `frozen` as in OpenJobDbToRead.
  explicit RowReader(std::string db_path, bool frozen = false)
      : path_(std::move(db_path)), frozen_(frozen) {}

  // The row of a task, a view until the next call. kNotFound; kCorrupt.
  Result<std::string_view> Row(TaskIndex index);
  // Rows from `first` on are about to be replaced: what is kept of them is dropped.
  void DropFrom(TaskIndex first);

  // Gives up the database; the next Row opens it again.
  void Close();

 private:
  Status Prepare();
  Result<const DecodedChunk*> Load(TaskIndex index);

  std::string path_;
  bool frozen_;
  std::optional<Database> db_;
  Statement find_;
  std::list<DecodedChunk> chunks_;  // the newest used first
  std::map<TaskIndex, std::list<DecodedChunk>::iterator> by_first_;
  size_t held_bytes_ = 0;
};

}  // namespace spate::store
