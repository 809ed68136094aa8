// The log that SQLite keeps beside a journal (FILE-wal), as far as SQLite does not look: it reads
// up to the first frame that is damaged, and takes what is behind it for never written. So a bit
// that turned over ends the log silently, with all that was durable behind it.
//
// The format is in https://www.sqlite.org/fileformat2.html#walformat.
#pragma once

#include <string>

#include "base/result.h"
#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"

namespace spate::store {

// kCorrupt: what was durable lies behind a damaged frame of the log of this database, or its header
// is damaged. To be called before the database is opened, while nobody has it. A commit that was
// cut short by a power failure is no damage: nobody was told of it.
Status CheckLog(const std::string& db_path);

// kCorrupt: the journal ends before the record in JournalPlace::BeganPath, because SQLite takes a
// log that was cut off for a complete one. To be called before `db` reads: the journal may grow.
Status CheckMark(Database& db, const JournalPlace& place);

}  // namespace spate::store
