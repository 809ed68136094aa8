// SqliteJobJournal: one job's journal for reading, in this process or another.
//
// Thread: one at a time. Nothing is written but the file of a long replay (kept_replay.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "store/history.h"
#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/kept_replay.h"
#include "store/sqlite/output_file.h"
#include "store/sqlite/row_reader.h"

namespace spate::store {

class SqliteJobJournal final : public JobJournal {
 public:
  // kNotFound: no such job. kCorrupt: damaged. kNewer.
  static Result<SqliteJobJournal> Open(const JobPlace& place, uint32_t number);

  Status AttemptsBetween(uint64_t first, uint64_t last, const AttemptVisit& visit) override;
  Result<std::string> RowText(TaskIndex index) override;
  Result<OutputExtent> ReadOutputPart(const AttemptEntry& attempt, Stream stream, OutputPart part,
                                      const OutputVisitor& visit) override {
    return output_.Read(attempt, stream, visit, part);
  }

  // The rare records of the journal, all but the ends of attempts, in order: what the job was
  // accepted with, leases, holds, changes of policy. Of a hub also those that belong to no job.
  Status Log(const std::function<void(const engine::Record&)>& visit);

 private:
  SqliteJobJournal(JobSummary summary, const JobPlace& place, Database db, bool frozen)
      : JobJournal(std::move(summary)),
        kept_(place, this->summary().row),
        db_(std::move(db)),
        part_(PartOf(this->summary().row)),
        rows_(db_.path(), frozen),
        output_(JournalOf(place, this->summary().number).OutputPath(this->summary().row.job)) {}
  Result<std::shared_ptr<JobReplay>> Replay(bool from_start) override;
  void KeepMarks(const JobReplay& replay, uint64_t rows_read) override;
  Result<AttemptEntry> ReadAttempt(uint64_t seq) override;

  KeptReplay kept_;
  Database db_;
  JournalPart part_;
  int64_t base_us_ = 0;
  Statement attempt_, rare_;
  RowReader rows_;
  OutputReader output_;
};

}  // namespace spate::store
