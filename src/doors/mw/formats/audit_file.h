// Lines of the audit file of CL-MW 0.4 (docs/formats/resource-file.md): what becomes of masters and
// slaves, for people and their scripts. `<-` is what was sent to somebody, `->` what came from them
// or where they went.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace spate::mw::audit {

struct Event {
  std::string who;   // one word
  std::string text;  // control bytes are escaped in the line
};

// A whole line: "11/21/2026 18:56:10 [A] SLAVE-1 -> :idle". `utc_offset` is how far local time is
// ahead of UTC then, in minutes.
std::string Line(Instant when, int utc_offset, const Event& event);

// ---------------------------------------------------------------- master and slave

Event Version(std::string_view version);

// ---------------------------------------------------------------- master
//
// Addresses are "IP:PORT", `slave` is the number of a SLAVE-n, tasks are TASK-m.

Event MasterInit(std::string_view member_id);
Event MasterReady(std::string_view address);
Event MasterEnd(std::string_view member_id);
// A connection that has not said yet who it is.
Event NewClient(std::string_view address);
Event WrongMember(std::string_view expected, std::string_view got);
Event Closed(std::string_view address);
Event WroteResourceFile(std::string_view path);

enum class Group { kUnordered, kIntermingle, kOrdered };
Event Connecting(uint64_t slave, std::string_view address, std::string_view member_id, Group group);
// An ordered or intermingled slave becomes an unordered one.
Event Freed(uint64_t slave);

enum class State { kIdle, kBusy, kShuttingDown, kDisconnected };
Event Became(uint64_t slave, State state);

Event SentTasks(uint64_t slave, uint64_t count);
Event SentConstant(uint64_t slave, uint64_t bytes);
Event GotResults(uint64_t slave, uint64_t count);
Event TryShutdown(uint64_t slave);
// A task goes back to those that wait.
Event Reclaimed(uint64_t slave, uint64_t task);

enum class Loss {
  kTimeout,   // busy and silent for too long
  kClosed,    // it closed the connection
  kProblem,   // the connection failed
  kProtocol,  // it said what makes no sense
};
// `problem`: what failed, with kProblem.
Event Lost(uint64_t slave, Loss loss, std::string_view problem = {});

// ---------------------------------------------------------------- slave

Event SlaveInit(std::string_view member_id);
Event Connected(std::string_view master, std::string_view self);
Event ConnectRefused(std::string_view master);  // "HOST:PORT"
Event GotId(uint64_t slave);
Event GotShutdown();
Event MasterClosed();

enum class End { kMasterShutdown, kMasterDisconnect, kComputationFinished };
Event SlaveEnd(End end, std::string_view member_id);

}  // namespace spate::mw::audit
