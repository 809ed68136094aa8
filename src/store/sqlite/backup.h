// Copies of a hub's journal, and a hub made from one.
//
// A backup is one SQLite database: the journal as it was at one moment, and a table `kept_file`
// (name, bytes) with the small files beside it that others know the hub by: its key and first
// access files. The output of tasks, and files that came home, are not in it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace spate::store {

// Writes `file` anew, whole or not at all, with mode 0600; a hub may run and write meanwhile.
// Returns of when the backup is that it replaces, if it does. kNotFound: there is no hub. kExists:
// the file is something else than a backup.
Result<std::optional<Instant>> BackUpHub(const std::string& hub_dir, const std::string& file);

// Makes a hub in a folder that has no journal: kExists. When this fails, or is cut off, no hub
// begins anew there. kBusy: a hub runs there. kCorrupt: `file`
// is no backup, or damaged. The hub's next life and next job get numbers far beyond those of the
// backup, so that nodes which know more than it does take neither for something that they have
// seen.
Status RestoreHub(const std::string& file, const std::string& hub_dir);

}  // namespace spate::store
