#include "doors/pmc/formats/messages.h"

#include <fmt/format.h>

#include "base/units.h"

namespace spate::pmc {
namespace {

std::string_view NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kFatal:
      return "fatal";
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kTrace:
      return "trace";
  }
  return "";
}

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string Seconds(std::string_view what, Duration time) {
  return fmt::format("{}: {:.6f} seconds ({:.6f} minutes)", what, time.seconds(),
                     time.seconds() / 60);
}

}  // namespace

std::string LogLine(LogLevel level, std::string_view text) {
  return fmt::format("[{}] {}\n", NameOf(level), EscapeForScreen(text));
}

std::string AbortLine(std::string_view text) {
  return fmt::format("ABORT: {}\n", EscapeForScreen(text));
}

std::string BannerLines(const Banner& banner) {
  std::string lines;
  auto add = [&](std::string_view label, std::string_view text) {
    if (!text.empty()) lines += fmt::format("{}: {}\n", label, text);
  };
  add("Version", banner.version);
  add("Compiled", banner.compiled);
  add("Compiler", banner.compiler);
  add("MPI", banner.mpi);
  return lines;
}

std::string MaxFilesText(uint64_t files) { return fmt::format("Max cached files: {}", files); }
std::string MasterText(uint64_t workers) {
  return fmt::format("Master starting with {} workers", workers);
}
std::string MaxWallTimeText(Duration time) {
  return fmt::format("Max walltime: {:.6f} minutes", time.seconds() / 60);
}

std::string SchedulingText(std::string_view task) {
  return fmt::format("Scheduling task {}", task);
}
std::string HostText(std::string_view host, uint64_t workers, uint64_t memory_mb, uint64_t cpus) {
  return fmt::format("Host {}: workers: {}, memory: {} MB, CPUs: {}", host, workers, memory_mb,
                     cpus);
}
std::string WorkflowText(uint64_t tasks, uint64_t edges, uint64_t done) {
  return fmt::format("Workflow: tasks: {}, edges: {}, done before: {}", tasks, edges, done);
}
std::string TaskStartText(std::string_view task, int worker, std::string_view host) {
  return fmt::format("Task {} runs in worker {} on host {}", task, worker, host);
}
std::string TaskEndText(std::string_view task, int status, Duration wall) {
  return fmt::format("Task {} ended with status {} after {:.6f} seconds", task, status,
                     wall.seconds());
}

std::string TaskFailedText(std::string_view task, int status) {
  return fmt::format("Task {} failed with exitcode {}", task, status);
}
std::string ForwardFailedText(std::string_view task) {
  return fmt::format("Task {} failed due to collective I/O errors", task);
}

std::string NoHostText(std::string_view task) {
  return fmt::format("FATAL ERROR: No host is capable of running task {}", task);
}
std::string DagLockedText(std::string_view path) {
  return fmt::format("DAG file is already locked by another process: {}", path);
}

std::string HostScriptStartText(uint64_t worker, std::string_view path) {
  return fmt::format("Worker {}: Launching host script {}", worker, path);
}
std::string HostScriptEndText(int status) {
  return fmt::format("Host script {} with status {}", status == 0 ? "exited" : "failed", status);
}
std::string HostScriptTimeoutText(Duration limit) {
  return fmt::format("Host script timed out after {} seconds", limit.millis() / 1000);
}

std::vector<std::string> StatisticsTexts(const RunStatistics& run) {
  const double wall = run.wall.seconds();
  const auto workers = static_cast<double>(run.workers);
  const uint64_t uses = run.file_hits + run.file_misses;
  auto used = [&](double processes) { return Ratio(run.runtime.seconds(), wall * processes); };
  double hit_rate =
      uses == 0 ? 1 : Ratio(static_cast<double>(run.file_hits), static_cast<double>(uses));
  return {
      fmt::format("Resource utilization (with master): {:.6f}", used(workers + 1)),
      fmt::format("Resource utilization (without master): {:.6f}", used(workers)),
      Seconds("Total runtime of tasks", run.runtime),
      // Scripts cut the seconds out: the fourth word of the line, with "[info]" the first.
      Seconds("Wall time", run.wall),
      Seconds("Makespan", run.makespan),
      fmt::format("Throughput: {:.6f} tasks/second",
                  Ratio(static_cast<double>(run.succeeded), run.makespan.seconds())),
      fmt::format("Bytes sent to workers: {}", run.bytes_sent),
      fmt::format("Bytes received from workers: {}", run.bytes_received),
      fmt::format("File descriptor cache hit rate: {:.6f}", hit_rate),
  };
}

}  // namespace spate::pmc
