#include "doors/pmc/run/run_logs.h"

#include <algorithm>
#include <utility>

#include "doors/pmc/run/agent.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"

namespace spate::pmc {
namespace {

// A log that is full or gone must not end the run.
void Write(const os::Fd& file, std::string_view text) {
  if (file.valid()) (void)os::WriteAll(file.get(), text, "a log");
}

std::string FolderOf(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string BaseOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<RunLogs> RunLogs::Open(const Options& options, const std::vector<Host>& hosts, Instant now) {
  RunLogs logs;
  auto open = [](bool wanted, const std::string& path, os::OpenHow how) -> Result<os::Fd> {
    return wanted ? os::OpenWrite(path, how) : os::Fd();
  };
  auto resource = TRY(open(options.resource_log, options.dag + ".resource", os::OpenHow::kAppend));
  logs.resource_ = std::move(resource);
  auto jobstate =
      TRY(open(options.jobstate_log, os::JoinPath(FolderOf(options.dag), "jobstate.log"),
               os::OpenHow::kAppend));
  logs.jobstate_ = std::move(jobstate);
  auto dagman =
      TRY(open(options.monitord_hack, options.dag + ".dagman.out", os::OpenHow::kTruncate));
  logs.dagman_ = std::move(dagman);
  for (const Host& host : hosts) {
    logs.free_.push_back({host.facts.name, static_cast<int64_t>(host.ranks.size()),
                          int64_t{CpusOf(options, host)} * kMilliCpu,
                          static_cast<int64_t>(MemoryOf(options, host))});
    logs.PutResources(now, logs.free_.size() - 1);
  }
  Write(logs.jobstate_, JobstateStart(now));
  Write(logs.dagman_,
        DagmanStart(now, os::UtcOffsetMinutes(now), os::OwnPid(), BaseOf(options.dag)));
  return logs;
}

void RunLogs::PutResources(Instant now, size_t host) {
  if (!resource_.valid()) return;
  const Free& free = free_[host];
  auto positive = [](int64_t value) { return static_cast<uint64_t>(std::max<int64_t>(value, 0)); };
  Write(resource_,
        ResourceLine(now, {free.host, positive(free.slots), positive(free.milli_cpus / kMilliCpu),
                           positive(free.memory_mb)}));
}

void RunLogs::Use(Instant now, size_t host, const Needs& needs, bool taken) {
  const int64_t sign = taken ? -1 : 1;
  Free& free = free_[host];
  free.slots += sign;
  free.milli_cpus += sign * int64_t{needs.milli_cpus};
  free.memory_mb += sign * static_cast<int64_t>(needs.memory >> 20);
  PutResources(now, host);
}

void RunLogs::Append(const TaskEvent& event) {
  if (jobstate_.valid()) Write(jobstate_, JobstateLines(event));
  if (dagman_.valid()) Write(dagman_, DagmanLines(event));
}

void RunLogs::End(Instant now, bool ok) {
  Write(jobstate_, JobstateEnd(now, ok));
  Write(dagman_, DagmanEnd(now, os::UtcOffsetMinutes(now), os::OwnPid(), ok));
}

}  // namespace spate::pmc
