// Pilots that are plain processes of a host: what the host's shell is told, and what it answers.
// How it is reached is the driver's: over ssh, or here.
//
// Each text is a script for `sh -s`. It does nothing before its last line, so that one which was
// cut off on its way does nothing at all. The host must be Linux.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pool/driver.h"
#include "pool/grant.h"

namespace spate::pool {

// Rejects specs that a process cannot have, next to CheckSpec: options, several hosts.
Status CheckProcessSpec(std::string_view system, const PilotSpec& spec);

// "PID.START.BOOT": the process, the clock ticks at which it started, and which start of the host
// this was, so that no other process is ever taken for it.
bool IsProcessId(std::string_view id);

// The files of a spec, where they are not shared. A start script reads them from its stdin, behind
// itself: the others in their order, then the program. Whoever sends it sets variables before it:
//   spate_sizes   bytes of the others, with blanks between
//   spate_sum     SHA-256 of the program, if there is one
//   spate_bytes   of the program that follows; 0: none does
// Its exit status is 44 when the host has not got the program, and none follows.
struct BroughtFiles {
  std::string program;              // command[0], if it is one of them; else ""
  std::vector<std::string> others;  // each for this pilot alone
};
BroughtFiles FilesToBring(const PilotSpec& spec);
// Starts the pilot and writes its id. A second start with the same tag writes the first one's.
std::string StartScript(std::string_view system, const PilotSpec& spec);
std::optional<std::string> ReadStarted(std::string_view out);

std::string ListScript(const PilotQuery& query);
// `whom` is the host's way in, for errors.
Result<std::vector<ListedPilot>> ReadListed(std::string_view whom, const PilotQuery& query,
                                            const Outcome& outcome);

// SIGTERM; the pilot ends its tasks.
std::string StopScript(std::span<const std::string> ids);

// Checks that a pilot of this spec can run there. Says what the host is.
std::string ProbeScript(const PilotSpec& spec);

// Cpus and memory are the host's own.
Grant GrantOfProcess(std::string_view system, const GrantInput& input);

}  // namespace spate::pool
