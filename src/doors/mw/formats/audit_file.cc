// MM/DD/YYYY HH:MM:SS [A] WHO TEXT, in local time. Strings that others chose stand in quotes, as
// Lisp prints them; control bytes are escaped, so that an event is one line whatever is in it.

#include "doors/mw/formats/audit_file.h"

#include <fmt/format.h>

#include "base/units.h"
#include "base/utc.h"
#include "doors/mw/formats/lisp_text.h"

namespace spate::mw::audit {
namespace {

Event OfSlave(uint64_t slave, std::string text) {
  return {fmt::format("SLAVE-{}", slave), std::move(text)};
}

std::string_view NameOf(Group group) {
  switch (group) {
    case Group::kUnordered:
      return ":unordered";
    case Group::kIntermingle:
      return ":intermingle";
    case Group::kOrdered:
      return ":ordered";
  }
  return "?";
}

std::string_view NameOf(State state) {
  switch (state) {
    case State::kIdle:
      return ":idle";
    case State::kBusy:
      return ":busy";
    case State::kShuttingDown:
      return ":shutting-down";
    case State::kDisconnected:
      return ":disconnected";
  }
  return "?";
}

std::string_view NameOf(End end) {
  switch (end) {
    case End::kMasterShutdown:
      return "MASTER-SHUTDOWN";
    case End::kMasterDisconnect:
      return "MASTER-DISCONNECT";
    case End::kComputationFinished:
      return "COMPUTATION-FINISHED";
  }
  return "?";
}

}  // namespace

std::string Line(Instant when, int utc_offset, const Event& event) {
  // 2026-11-21T18:56:10Z
  std::string date = FormatUtc(when + Duration::Seconds(int64_t{utc_offset} * 60));
  std::string_view at = date;
  return fmt::format("{}/{}/{} {} [A] {} {}\n", at.substr(5, 2), at.substr(8, 2), at.substr(0, 4),
                     at.substr(11, 8), EscapeForScreen(event.who), EscapeForScreen(event.text));
}

Event Version(std::string_view version) {
  return {"VERSION", fmt::format("CL-MW: Version {}", version)};
}

Event MasterInit(std::string_view member_id) {
  return {"INIT", fmt::format("MASTER {}", LispString(member_id))};
}

Event MasterReady(std::string_view address) { return {"MASTER", fmt::format("READY {}", address)}; }

Event MasterEnd(std::string_view member_id) {
  return {"FINI", fmt::format("SHUTDOWN {}", LispString(member_id))};
}

Event NewClient(std::string_view address) { return {"NEW-CLIENT", fmt::format("-> {}", address)}; }

Event WrongMember(std::string_view expected, std::string_view got) {
  return {"NEW-CLIENT", fmt::format("<- EXPECTED MEMBER {} GOT MEMBER {}", LispString(expected),
                                    LispString(got))};
}

Event Closed(std::string_view address) { return {"EOF", fmt::format("-> {}", address)}; }

Event WroteResourceFile(std::string_view path) {
  return {"RESFILE", fmt::format("Generated resource file: {}", LispString(path))};
}

Event Connecting(uint64_t slave, std::string_view address, std::string_view member_id,
                 Group group) {
  return OfSlave(slave, fmt::format("{} -> [{}] :connecting [{}]", address, LispString(member_id),
                                    NameOf(group)));
}

Event Freed(uint64_t slave) { return OfSlave(slave, "-> :unordered"); }

Event Became(uint64_t slave, State state) {
  return OfSlave(slave, fmt::format("-> {}", NameOf(state)));
}

Event SentTasks(uint64_t slave, uint64_t count) {
  return OfSlave(slave, fmt::format("<- {} tasks", count));
}

Event SentConstant(uint64_t slave, uint64_t bytes) {
  return OfSlave(slave, fmt::format("<- a constant of {} bytes", bytes));
}

Event GotResults(uint64_t slave, uint64_t count) {
  return OfSlave(slave, fmt::format("-> {} results", count));
}

Event TryShutdown(uint64_t slave) { return OfSlave(slave, "<- TRY-SHUTDOWN"); }

Event Reclaimed(uint64_t slave, uint64_t task) {
  return OfSlave(slave, fmt::format("R TASK-{}", task));
}

Event Lost(uint64_t slave, Loss loss, std::string_view problem) {
  switch (loss) {
    case Loss::kTimeout:
      return OfSlave(slave, "TIMEOUT -> :disconnected");
    case Loss::kClosed:
      return OfSlave(slave, "CEOF -> :disconnected");
    case Loss::kProblem:
      return OfSlave(slave, fmt::format("PROBLEM -> :disconnecting {}", LispString(problem)));
    case Loss::kProtocol:
      return OfSlave(slave, "STUPID -> :disconnecting");
  }
  return OfSlave(slave, "?");
}

Event SlaveInit(std::string_view member_id) {
  return {"INIT", fmt::format("SLAVE {}", LispString(member_id))};
}

Event Connected(std::string_view master, std::string_view self) {
  return {"MASTER", fmt::format("<- CONNECTED TO {} FROM {}", master, self)};
}

Event ConnectRefused(std::string_view master) {
  return {"MASTER", fmt::format("<- CONNECT REFUSED {}", master)};
}

Event GotId(uint64_t slave) { return {"MASTER", fmt::format("-> ID SLAVE-{}", slave)}; }

Event GotShutdown() { return {"MASTER", "-> SHUTDOWN"}; }

Event MasterClosed() { return {"MASTER", "-> CEOF"}; }

Event SlaveEnd(End end, std::string_view member_id) {
  return {"FINI", fmt::format("{} {}", NameOf(end), LispString(member_id))};
}

}  // namespace spate::mw::audit
