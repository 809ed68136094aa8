// Keeps a para.results up to date with the hub: a process of the user writes it, line by line, as
// ends become durable there. Beside it lies a file that says how far that came
// (docs/formats/parasol.md).
#pragma once

#include <optional>
#include <string>

#include "apps/batch_link.h"
#include "base/result.h"

namespace spate::apps {

// Appends what has ended since. Several processes may do it at once, each line is written once;
// also after one was killed. An error leaves the file as it was. A batch that the hub does not know
// has no ends.
Status CatchUpResults(BatchLink& link);

// Makes sure that a process follows the batch until all of it has ended, and keeps its results up
// to date meanwhile; it goes on when this program ends. Failing that, the next program that looks
// into the batch brings them up to date.
void FollowResults(os::RealLoop& loop, const std::string& results);
// After the batch has ended: until that process has gone, too, so that nobody works in the folder
// any more; at most two seconds.
void AwaitFollower(BatchLink& link);
// The hub's job of the batch; 0 when it knows none.
Result<JobId> JobOfBatch(BatchLink& link);

// `spate __para-results RESULTS`: that process. nullopt: these are other words.
std::optional<int> ParaResultsEntry(int argc, char** argv);

}  // namespace spate::apps
