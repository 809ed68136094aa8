// The logs that Pegasus' programs read while a run goes on: DAG.resource, jobstate.log and
// DAG.dagman.out (docs/formats/pmc-records.md). One that cannot be written is told once, and left.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/needs.h"
#include "doors/pmc/formats/event_logs.h"
#include "doors/pmc/formats/options.h"
#include "doors/pmc/run/hosts.h"
#include "os/fd.h"

namespace spate::pmc {

class RunLogs {
 public:
  // Opens those that the options want, and begins them.
  static Result<RunLogs> Open(const Options& options, const std::vector<Host>& hosts, Instant now);
  // Writes to jobstate and dagman.
  void Append(const TaskEvent& event);
  // A task takes room on a host, or leaves it (`taken` false).
  void Use(Instant now, size_t host, const Needs& needs, bool taken);
  void End(Instant now, bool ok);

 private:
  RunLogs() = default;
  void PutResources(Instant now, size_t host);

  os::Fd resource_, jobstate_, dagman_;  // invalid: not wanted
  struct Free {
    std::string host;
    int64_t slots = 0, milli_cpus = 0, memory_mb = 0;
  };
  std::vector<Free> free_;  // by host
};

}  // namespace spate::pmc
