// Our own jobs as a workload: what journals say of their tasks, record by record.
//
// A task counts once, with its last attempt, however that ended. It is submitted when its job was;
// where it waited for tasks that ended, came later, or had run before, when that was over.
//
// Memory: 32 bytes for each task of a job that is taken, and its edges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/engine/record.h"
#include "core/model/graph.h"
#include "doors/simulate/formats/swf.h"

namespace spate::cli {

struct HistoryMachine {
  uint32_t nodes = 1;
  uint32_t cpus = 1;  // of each
};

// RigidJob::number of a history is its job's number, and in the last bits its own, from 1.
inline constexpr int kTaskBits = 32;

class JobHistory {
 public:
  // An accepted job. Its records follow in order, perhaps among those of others.
  void AddJob(JobId job, std::string_view user, Instant created);
  // Records of jobs that were not added are passed over. kInvalid: there are too many tasks.
  Status Apply(const engine::Record& record);
  Status AcceptEnd(const engine::AttemptEnded& ended);

  // Times in microseconds since the first submission; in its order. kNotFound: no task has ended
  // that fits the machine.
  Result<format::Workload> WorkloadOn(const HistoryMachine& machine);
  // Requests of that workload's jobs, by RigidJob::request, with estimates of their tasks; once.
  std::map<JobId, std::vector<TaskClass>> DrainRequests() { return std::move(requests_); }

 private:
  struct Task {
    int64_t ready_us = 0;
    int64_t start_us = 0;  // of the last attempt that has ended; 0: it never started
    int64_t end_us = 0;
    uint32_t request = 0;
    uint16_t attempt = 0;
    bool ended = false;
  };
  struct Job {
    int64_t user = 0;
    int64_t created_us = 0;
    int64_t last_end_us = 0;
    std::vector<TaskClass> requests;
    std::vector<Task> tasks;
    std::vector<Edge> edges;
  };

  Job* Find(JobId job);
  Status Grow(Job& job, uint32_t count, const std::vector<TaskClass>& requests,
              const std::vector<RequestRun>& runs);
  static void Assign(Job& job, const std::vector<TaskClass>& requests,
                     const std::vector<RequestRun>& runs);
  static void WaitForParents(Job& job);
  static std::vector<int64_t> EstimatesOf(const Job& job);
  void AddTasks(JobId id, Job& job, const HistoryMachine& machine, format::Workload& workload);

  std::map<JobId, Job> jobs_;
  std::map<std::string, int64_t, std::less<>> users_;
  std::map<JobId, std::vector<TaskClass>> requests_;
  uint64_t tasks_ = 0;
};

}  // namespace spate::cli
