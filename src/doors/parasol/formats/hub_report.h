// Output of `parasol` and `paraNodeStatus` about a hub, its machines and users, to the byte:
// scripts look for these labels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doors/parasol/formats/time_text.h"

namespace spate::parasol {

inline constexpr uint64_t kSickBatchFailures = 25;  // in a row

struct HubStatus {
  uint64_t cpus_total = 0, cpus_free = 0, cpus_busy = 0;
  uint64_t nodes_total = 0, nodes_dead = 0, nodes_sick = 0;
  uint64_t jobs_running = 0, jobs_waiting = 0, jobs_finished = 0, jobs_crashed = 0;
  uint64_t spokes_free = 0, spokes_busy = 0, spokes_dead = 0;
  uint64_t active_batches = 0, total_batches = 0;
  uint64_t active_users = 0, total_users = 0;
  double days_up = 0;
};
std::string HubStatusText(const HubStatus& status);  // parasol status

struct HubMachine {
  struct Job {
    std::string user, command;
  };
  std::string name;
  uint64_t good = 0, failed = 0;
  bool dead = false;
  std::vector<Job> running;
};
std::string MachinesText(std::span<const HubMachine> machines);  // parasol list machines

struct HubJob {
  uint64_t id = 0;
  std::string user, command;
  std::string host;  // empty when it waits
  int64_t submitted = 0, started = 0;
  std::string results;  // the path of its batch's results
};
// parasol list jobs; `extended` appends the path of the results.
std::string JobsText(std::span<const HubJob> jobs, bool extended, const LocalTime& local);

struct HubUser {
  std::string name;
  uint64_t running = 0, waiting = 0, finished = 0;
  uint64_t active_batches = 0, total_batches = 0;
  int64_t priority = 10'000;  // the most urgent one of the active batches
  int64_t max_job = 0;        // of the active batches together; -1: no bound
};
std::string UsersText(std::span<const HubUser> users);  // parasol list users

struct HubBatch {
  std::string user;
  uint64_t running = 0, waiting = 0, done = 0, crashed = 0;
  int64_t priority = 10;
  int64_t max_job = -1;  // no bound
  double cpus = 0;
  uint64_t ram = 0;  // bytes
  uint64_t planned = 0;
  double mean_minutes = 0;
  std::string results;  // the path; its folder is shown
};
std::string BatchesText(std::span<const HubBatch> batches);  // parasol list batches

// parasol list sick: machines that all `users` with jobs avoid.
std::string SickText(std::span<const std::string> hosts, uint64_t users);

// parasol pstat: all columns of each job.
std::string PstatText(std::span<const HubJob> jobs);
// A line when a batch with so many failures in a row is sick, else nothing.
std::string SickBatchText(uint64_t failures);
// parasol pstat2, in three parts: all columns of jobs that run, the id of those that wait, ...
std::string Pstat2Text(std::span<const HubJob> jobs);
// ... how many of everybody's run or wait, whether the batch is sick by so many failures in a row,
std::string Pstat2CountsText(uint64_t jobs, uint64_t failures);
// and how long the file of its results is.
std::string ResultsSizeText(uint64_t bytes);

struct HubPlan {
  struct Machine {
    std::string name;
    uint64_t cpu_units = 0, ram_units = 0;
  };
  uint64_t cpu_unit = 1, ram_unit = 0;  // CPUs and bytes
  uint64_t default_cpu = 1, default_ram = 1;
  uint64_t most_cpu = 0, most_ram = 0;
  std::vector<Machine> machines;
  uint64_t busy = 0, ready = 0, blocked = 0, free = 0, dead = 0;
};
std::string PlanText(const HubPlan& plan);  // parasol plan

// One machine as paraNodeStatus sees it.
struct NodeStatus {
  struct Recent {
    std::string run;  // the message that started the job
    int32_t status = 0;
    uint64_t user_ticks = 0, system_ticks = 0;
  };
  std::string name;
  bool reachable = true;
  uint64_t busy = 0, cpus = 0;
  std::vector<std::string> job_ids;
  std::vector<std::string> running;  // messages that started the jobs
  std::vector<Recent> recent;
};
std::string NodeStatusText(std::span<const NodeStatus> nodes, bool lengthy);

}  // namespace spate::parasol
