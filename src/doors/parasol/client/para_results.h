// Keeps a para.results up to date with the hub: a process of the user writes it, line by line, as
// ends become durable there. How far that came stands in the batch's state
// (docs/formats/parasol.md).
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "doors/parasol/client/batch_link.h"
#include "doors/parasol/client/site_setting.h"

namespace spate::parasol {

// The folder of what is kept of the user's batches, and what is kept of one.
std::string ParaStateRoot(const client::Surroundings& here);
ParaState StateOf(const client::HubSetting& setting, const std::string& results);

// Appends what has ended since. Several processes may do it at once, each line is written once;
// also after one was killed. An error leaves the file as it was. A batch that the hub does not know
// has no ends.
Status CatchUpResults(BatchLink& link);

// The owner of this folder or file, if that is another user than we are; else empty.
std::string OwnerOf(const std::string& path);

// Makes sure that a process follows the batch until all of it has ended, and keeps its results up
// to date meanwhile; it goes on when this program ends. Failing that, the next program that looks
// into the batch brings them up to date.
void FollowResults(BatchLink& link);
// After the batch has ended: until that process has gone, too, so that nobody works in the folder
// any more; at most two seconds.
void AwaitFollower(BatchLink& link);

// `spate __para-results RESULTS`: that process. nullopt: these are other words.
std::optional<int> ParaResultsEntry(int argc, char** argv);

}  // namespace spate::parasol
