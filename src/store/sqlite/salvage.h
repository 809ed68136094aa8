// Salvage: a sound journal of what is sound in a hub's damaged one.
//
// It is written anew, record by record, by the writer that hubs use, so that nothing of the damaged
// file's structure is taken over. Jobs without damage keep all their records. Of a damaged one the
// newest end of each task is kept; a task that may have ended without a trace, or whose text is
// damaged, is cancelled; the rest waits, and the job is held. Pools are kept when all that a hub
// needs of them is sound; else only their history is, and the numbers that they have used.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/state_check.h"

namespace spate::store {

// Is a hub's journal sound? Reads all of it and writes nothing; other processes may write.
struct HubCheck {
  CheckReport all;                                    // its problems are of no job
  std::map<uint32_t, std::vector<std::string>> jobs;  // those that are damaged, and how
  // Defects of the records of pools: a hub runs without them, and a backup is still usable.
  std::vector<std::string> pools;
  // Kept output that differs from what tasks wrote: not a defect of the journal.
  std::vector<std::string> outputs;
  uint64_t job_count = 0;
  bool journal_sound() const { return all.sound() && jobs.empty() && pools.empty(); }
  bool sound() const { return journal_sound() && outputs.empty(); }
};
// kNotFound: there is no hub.db.
Result<HubCheck> CheckHub(const std::string& hub_dir);
// The same for an open journal, of a hub or of a run.
HubCheck CheckJournal(Database& db, const JournalPlace& place);

struct SalvageReport {
  std::string kept_as;  // the damaged journal's new path; empty: it was sound, nothing was done
  struct Job {
    uint32_t number = 0;
    uint32_t tasks = 0;
    uint32_t ended = 0;      // with what is known of their ends
    uint32_t cancelled = 0;  // now, or before
    uint32_t waiting = 0;    // until the job is released
    bool lost = false;       // nobody knows what it was; nothing of it is left
  };
  std::vector<Job> jobs;  // the damaged ones
  uint64_t sound_jobs = 0;
  bool pools_lost = false;
};
// kBusy: a hub runs there. kCorrupt: SQLite cannot read the tables at all. After an error the
// journal is as it was.
Result<SalvageReport> Salvage(const std::string& hub_dir);

}  // namespace spate::store
