// RowReader: rows of tasks from a journal, by a connection of its own, with the newest chunks kept.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "store/sqlite/database.h"
#include "store/sqlite/row_chunk.h"

namespace spate::store {

class RowReader {
 public:
  // `frozen` as in OpenJournalToRead.
  explicit RowReader(std::string db_path, bool frozen = false)
      : path_(std::move(db_path)), frozen_(frozen) {}

  // The row of a task, a view until the next call. kNotFound; kCorrupt.
  Result<std::string_view> Row(JobId job, TaskIndex index);
  // Rows of the job from `first` on are about to be replaced: what is kept of them is dropped.
  void DropFrom(JobId job, TaskIndex first);

  // Gives up the database; the next Row opens it again.
  void Close();

 private:
  Status Prepare();
  Result<const DecodedChunk*> Load(uint64_t key);

  std::string path_;
  bool frozen_;
  std::optional<Database> db_;
  Statement find_;
  std::list<DecodedChunk> chunks_;  // the newest used first
  std::map<uint64_t, std::list<DecodedChunk>::iterator>
      by_first_;  // by the keys of their first rows
  size_t held_bytes_ = 0;
};

// All chunks, by job and task; damaged ones as errors, with the job that their key names.
void VisitRows(Database& db, const std::function<void(JobId, Result<DecodedChunk>)>& visit);

}  // namespace spate::store
