// Tail: the ends of one job's attempts in a journal, as they become durable. For whoever
// passes them on to a waiting person.
//
// Thread: one at a time. Nothing is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/attempt_entry.h"
#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/output_file.h"

namespace spate::store {

class Tail {
 public:
  // kNotFound: there is no such job. kCorrupt.
  static Result<Tail> Open(const JournalPlace& place, JobId job);

  struct End {
    uint64_t seq = 0;
    AttemptEntry attempt;
  };
  struct News {
    std::vector<End> ends;  // ascending
    uint64_t seq = 0;       // where the next Read goes on
    bool more = false;      // the next Read has something to look at, at once
    bool finished = false;  // these were the last ends (until the job is reopened)
  };
  // The ends with a number of the sequence above `after` (0: from the beginning), at most `most`.
  // Nothing new costs 4 us, an end 0.5 us, one of another job among them 0.05 us; a call looks at a
  // bounded part of the journal. kNotFound: the job was removed meanwhile.
  Result<News> Read(uint64_t after, size_t most);

  Result<OutputReader::Extent> ReadOutput(const AttemptEntry& attempt, Stream stream,
                                          const OutputReader::Visitor& visit) {
    return output_.Read(attempt, stream, visit);
  }

 private:
  Tail(Database db, JobId job, std::string output_path)
      : db_(std::move(db)), job_(job), output_(std::move(output_path)) {}
  Status ReadEnds(uint64_t first, uint64_t last, size_t most, News& news);

  Database db_;
  JobId job_;
  Statement range_, newest_;
  OutputReader output_;
};

}  // namespace spate::store
