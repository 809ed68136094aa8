// Messages of pegasus-mpi-cluster on standard error. Programs of others match on these texts, so
// they are the original's (docs/formats/pmc-records.md says which).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace spate::pmc {

enum class LogLevel : int { kFatal, kError, kWarn, kInfo, kDebug, kTrace };

// "[info] text", with its newline; always one line.
std::string LogLine(LogLevel level, std::string_view text);
// "ABORT: text", with its newline: the program ends with 1 after it.
std::string AbortLine(std::string_view text);
// The first lines of a run, and those of --version. An empty field has no line.
struct Banner {
  std::string_view version, compiled, compiler, mpi;
};
std::string BannerLines(const Banner& banner);

// Level kInfo, or kError for those that report trouble.
inline constexpr std::string_view kNoWorker = "At least one worker process is required";
inline constexpr std::string_view kStarting = "Starting workflow";
inline constexpr std::string_view kFinished = "Workflow finished";
inline constexpr std::string_view kAborting = "Aborting workflow";
inline constexpr std::string_view kMaxFailures = "Max failures reached";
inline constexpr std::string_view kWallTimeOver = "Workflow wall time exceeded!";
inline constexpr std::string_view kMerging = "Merging stdio from workers";
inline constexpr std::string_view kShutdown = "Sending shutdown to workers";
inline constexpr std::string_view kSucceeded = "Workflow succeeded";
inline constexpr std::string_view kFailed = "Workflow failed";

std::string MaxFilesText(uint64_t files);
std::string MasterText(uint64_t workers);
std::string MaxWallTimeText(Duration time);

// kDebug: of the start of a run, and of each try.
std::string HostText(std::string_view host, uint64_t workers, uint64_t memory_mb, uint64_t cpus);
std::string WorkflowText(uint64_t tasks, uint64_t edges, uint64_t done);
std::string TaskStartText(std::string_view task, int worker, std::string_view host);
std::string TaskEndText(std::string_view task, int status, Duration wall);

// kTrace: one for each start of a task.
std::string SchedulingText(std::string_view task);
// kError: one for each try. `status` is as wait(2) gives it, though the text says "exitcode".
std::string TaskFailedText(std::string_view task, int status);
// kError: forwarding.
std::string ForwardFailedText(std::string_view task);

// For AbortLine.
std::string NoHostText(std::string_view task);
std::string DagLockedText(std::string_view path);

// Host scripts: kDebug the first one, and the second where `status` is 0.
std::string HostScriptStartText(uint64_t worker, std::string_view path);
std::string HostScriptEndText(int status);
std::string HostScriptTimeoutText(Duration limit);

// Totals of a run.
struct RunStatistics {
  Duration runtime;   // of all tries, also the failed ones
  Duration wall;      // since before the workers came
  Duration makespan;  // from the first task's start to the last one's end
  uint64_t workers = 0;
  uint64_t succeeded = 0;  // tasks, in this run
  uint64_t bytes_sent = 0, bytes_received = 0;
  uint64_t file_hits = 0, file_misses = 0;  // of open files for forwarding
};
// Texts of kInfo, in their order.
std::vector<std::string> StatisticsTexts(const RunStatistics& run);

}  // namespace spate::pmc
