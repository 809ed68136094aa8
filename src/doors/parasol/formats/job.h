// A batch of Parasol: its jobs, and what became of each time that one was submitted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/body.h"

namespace spate::parasol {

// One try of a job. Times are seconds since 1970.
struct ParasolSubmission {
  std::string id;    // of the hub's job
  std::string host;  // empty as long as it is not known
  double cpu_seconds = 0;
  int64_t submitted = 0, started = 0, ended = 0;
  int32_t status = 0;  // as wait(2) gives it
  bool got_status = false;
  bool submit_error = false;
  bool in_queue = false;
  bool queue_error = false;
  int32_t tracking_error = 0;  // 3 when neither queued nor running nor in the results
  bool running = false;
  bool crashed = false;
  bool slow = false;
  bool hung = false;
  bool ran_ok = false;
  std::string err_file;
  friend bool operator==(const ParasolSubmission&, const ParasolSubmission&) = default;
};

struct ParasolJob {
  std::string command;  // with the clauses carried out
  double cpus = 0;      // 0: the hub's default
  uint64_t ram = 0;     // bytes; 0: the hub's default
  std::vector<Check> checks;
  std::vector<ParasolSubmission> submissions;  // the newest first
  std::string spec;                            // the line of the job list
  friend bool operator==(const ParasolJob&, const ParasolJob&) = default;
};

// Failed in a way that makes para submit it again.
inline bool NeedsRerun(const ParasolSubmission& submission) {
  return submission.submit_error || submission.queue_error || submission.tracking_error != 0 ||
         submission.crashed || submission.hung;
}

}  // namespace spate::parasol
