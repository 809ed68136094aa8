// Reading the records of a journal back: all of one part of it, or those of one job, by a
// connection of the caller's or, on any thread, by one of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/hub_store.h"
#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_reader.h"

namespace spate::store {

using RecordVisit = std::function<void(const engine::Record&)>;

// `output`: where the kept output ends; may be null.
Status ReplayPart(Database& db, const JournalPart& part, const RecordVisit& visit,
                  uint64_t* output = nullptr);
// Returns where the job's output ends.
Result<uint64_t> ReplayOne(Database& db, JobId job, const RecordVisit& visit);

class SqliteJobReader final : public JobReader {
 public:
  explicit SqliteJobReader(JournalPlace place) : place_(std::move(place)) {}

  Result<uint64_t> ReplayJob(JobId job, const RecordVisit& visit) const override;
  Result<uint64_t> KeptOf(const std::string& user, std::set<JobId> arriving) const override;
  Result<uint64_t> SizeOfOutput() const override;
  Result<uint64_t> SizeOfRows() const override;

 private:
  const JournalPlace place_;
};

}  // namespace spate::store
