// A journal on a network file system, read from a machine that does not write it, or after the
// process that wrote it was killed.
//
// Locks may not reach from one machine to the other, so SQLite would not know of a commit that goes
// on there, and would take its rollback journal for one that a dead process has left. And a reader
// must not roll back what such a one has left: it may write nothing. So both files are copied to a
// temporary folder, again until nothing has changed meanwhile, and rolled back there.
#pragma once

#include <string>

#include "base/result.h"
#include "store/sqlite/database.h"

namespace spate::store {

// True if the journal at `path` must not be read in its place. Costs two looks at the folder.
bool NeedsCopy(const std::string& path);

// True if a rollback journal with a transaction lies next to it: one is open, or was cut off.
bool HasRollback(const std::string& path);

// Copies one moment; later changes are not in it. kBusy: it changes too fast to be copied.
Result<Database> OpenCopy(const std::string& path);

}  // namespace spate::store
