// jobstate.log    EPOCH TASK STATE NUMBER.0 - - NUMBER; ends have words of their own
// dagman.out      mm/dd/yy hh:mm:ss TEXT, in local time; texts as HTCondor's DAGMan has them
// resource        EPOCH,SLOTS,CPUS,MB,HOST
//
// Control bytes of names are escaped, and commas of hosts, so that each line stays what it is.

#include "doors/pmc/formats/event_logs.h"

#include <fmt/format.h>

#include "base/utc.h"
#include "doors/pmc/formats/escape.h"

namespace spate::pmc {
namespace {

// Seconds since 1970, with six decimals.
std::string Epoch(Instant when) {
  return fmt::format("{}.{:06}", when.ns / 1000000000, when.ns % 1000000000 / 1000);
}

std::string JobstateLine(Instant when, std::string_view text) {
  return fmt::format("{} {}\n", Epoch(when), text);
}

std::string DagmanLine(Instant when, UtcOffset offset, std::string_view text) {
  // 2026-11-21T18:56:10Z
  std::string date = FormatUtc(when + Duration::Seconds(int64_t{offset} * 60));
  std::string_view at = date;
  return fmt::format("{}/{}/{} {} {}\n", at.substr(5, 2), at.substr(8, 2), at.substr(2, 2),
                     at.substr(11, 8), text);
}

}  // namespace

std::string JobstateLines(const TaskEvent& event) {
  std::string task = Escape(event.task);
  auto state = [&](std::string_view name) {
    return JobstateLine(event.when,
                        fmt::format("{} {} {}.0 - - {}", task, name, event.number, event.number));
  };
  switch (event.stage) {
    case TaskStage::kSubmitted:
      return state("SUBMIT");
    case TaskStage::kStarted:
      return state("EXECUTE");
    case TaskStage::kEnded:
      break;
  }
  // The status stands where other lines have the number of the job.
  return state("JOB_TERMINATED") +
         JobstateLine(event.when, fmt::format("{} {} {} - - {}", task,
                                              event.status == 0 ? "JOB_SUCCESS" : "JOB_FAILURE",
                                              event.status, event.number));
}

std::string JobstateStart(Instant when) {
  return JobstateLine(when, "INTERNAL *** PMC_STARTED ***");
}

std::string JobstateEnd(Instant when, bool ok) {
  return JobstateLine(when, fmt::format("INTERNAL *** PMC_FINISHED {} ***", ok ? 0 : 1));
}

std::string DagmanLines(const TaskEvent& event) {
  std::string task = Escape(event.task);
  auto line = [&](std::string_view text) { return DagmanLine(event.when, event.offset, text); };
  auto log_event = [&](std::string_view name) {
    return line(fmt::format("Event: {} for Condor Node {} ({}.0)", name, task, event.number));
  };
  switch (event.stage) {
    case TaskStage::kSubmitted:
      return line(fmt::format("Submitting Condor Node {} job(s)...", task)) +
             log_event("ULOG_SUBMIT");
    case TaskStage::kStarted:
      return log_event("ULOG_EXECUTE");
    case TaskStage::kEnded:
      break;
  }
  std::string end = event.status == 0 ? "completed successfully."
                                      : fmt::format("failed with status {}.", event.status);
  return log_event("ULOG_JOB_TERMINATED") +
         line(fmt::format("Node {} job proc ({}.0) {}", task, event.number, end));
}

std::string DagmanStart(Instant when, UtcOffset offset, int64_t pid, std::string_view dag) {
  auto line = [&](std::string_view text) { return DagmanLine(when, offset, text); };
  return line("This log is made up for pegasus-monitord: no DAGMan runs here") +
         line("** condor_scheduniv_exec.0.0 (CONDOR_DAGMAN) STARTING UP") +
         line(fmt::format("** PID = {}", pid)) + line(fmt::format("Parsing {} ...", Escape(dag)));
}

std::string DagmanEnd(Instant when, UtcOffset offset, int64_t pid, bool ok) {
  return DagmanLine(
      when, offset,
      fmt::format("**** condor_scheduniv_exec.0.0 (condor_DAGMAN) pid {} EXITING WITH STATUS {}",
                  pid, ok ? 0 : 1));
}

std::string ResourceLine(Instant when, const FreeResources& free) {
  return fmt::format("{},{},{},{},{}\n", Epoch(when), free.slots, free.cpus, free.memory_mb,
                     Escape(free.host, ","));
}

}  // namespace spate::pmc
