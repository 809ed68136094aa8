// Shared parts of the commands that stop, continue, kill and signal jobs and tasks.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "command/hub_screen.h"
#include "wire/questions.h"

namespace spate::cli {

// The question about the jobs and tasks that the words name: numbers and ranges of jobs, last, all,
// JOB.INDEX; or, for a signal alone, an id of `spate ps`: JOB.TASK[.RANK]@NODE:PID. --user names
// all unfinished jobs of a user.
Result<wire::Steer> SteerOf(const HubScreen& screen, Steering what,
                            std::span<const std::string> words);
// Asks it, and reports the jobs and tasks as `done` ("stopped"). For a stop it waits until all
// processes stand still, up to 5 s, and names the nodes that have not said so. The exit code.
Result<int> Steer(const HubScreen& screen, wire::Steer question, std::string_view done);

}  // namespace spate::cli
