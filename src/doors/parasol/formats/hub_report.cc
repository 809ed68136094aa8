#include "doors/parasol/formats/hub_report.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "doors/parasol/formats/results.h"

namespace spate::parasol {
namespace {

constexpr std::string_view kVersion = "12.20";  // of the Parasol that scripts meet here
constexpr double kGigabyte = 1 << 30;

// "DIR/" of "DIR/para.results".
std::string_view FolderOf(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

std::string_view ShortHost(std::string_view host) {
  return host.empty() ? "none" : host.substr(0, host.find('.'));
}

std::string RunningLine(const HubJob& job) {
  return fmt::format("r {} {} {} {} {}\n", job.id, job.user, ProgramOf(job.command), job.started,
                     job.host);
}

std::string LongNodeText(const NodeStatus& node) {
  std::string text;
  for (const std::string& run : node.running) {
    text += fmt::format("{} running {}\n", node.name, run);
  }
  for (const NodeStatus::Recent& job : node.recent) {
    text += fmt::format("{0} recent {1}\n{0} result {2} {3} {4}\n", node.name, job.run, job.status,
                        job.user_ticks, job.system_ticks);
  }
  return text + fmt::format("{} summary {} running {} recent\n\n", node.name, node.running.size(),
                            node.recent.size());
}

std::string ShortNodeText(const NodeStatus& node) {
  std::string text = fmt::format("{} {} of {} CPUs busy", node.name, node.busy, node.cpus);
  if (!node.job_ids.empty()) text += ". Jobs:";
  for (const std::string& id : node.job_ids) text += " " + id;
  return text + "\n";
}

}  // namespace

std::string HubStatusText(const HubStatus& status) {
  return fmt::format(
      "CPUs total: {}\nCPUs free: {}\nCPUs busy: {}\n"
      "Nodes total: {}\nNodes dead: {}\nNodes sick?: {}\n"
      "Jobs running:  {}\nJobs waiting:  {}\nJobs finished: {}\nJobs crashed:  {}\n"
      "Spokes free: {}\nSpokes busy: {}\nSpokes dead: {}\n"
      "Active batches: {}\nTotal batches: {}\nActive users: {}\nTotal users: {}\n"
      "Days up: {:f}\nVersion: {}\n",
      status.cpus_total, status.cpus_free, status.cpus_busy, status.nodes_total, status.nodes_dead,
      status.nodes_sick, status.jobs_running, status.jobs_waiting, status.jobs_finished,
      status.jobs_crashed, status.spokes_free, status.spokes_busy, status.spokes_dead,
      status.active_batches, status.total_batches, status.active_users, status.total_users,
      status.days_up, kVersion);
}

std::string MachinesText(std::span<const HubMachine> machines) {
  std::string text;
  for (const HubMachine& machine : machines) {
    std::string start =
        fmt::format("{:<10} good {}, err {}, ", machine.name, machine.good, machine.failed);
    if (machine.dead) {
      text += start + "dead\n";
    } else if (machine.running.empty()) {
      text += start + "idle\n";
    } else {
      for (const HubMachine::Job& job : machine.running) {
        text += fmt::format("{}running {:<10} {} \n", start, job.user, job.command);
      }
    }
  }
  return text;
}

std::string JobsText(std::span<const HubJob> jobs, bool extended, const LocalTime& local) {
  std::string text;
  for (const HubJob& job : jobs) {
    text += fmt::format("{:<4} {:<10} {:<10} {} {}", job.id, ShortHost(job.host), job.user,
                        DateTimeText(local(job.host.empty() ? job.submitted : job.started)),
                        job.command);
    if (extended) text += " " + job.results;
    text += '\n';
  }
  return text;
}

std::string UsersText(std::span<const HubUser> users) {
  std::string text;
  for (const HubUser& user : users) {
    text += fmt::format(
        "{} {} jobs running, {} waiting, {} finished, {} of {} batches active, priority={}, "
        "maxJob={}\n",
        user.name, user.running, user.waiting, user.finished, user.active_batches,
        user.total_batches, user.priority, user.max_job);
  }
  return text;
}

std::string BatchesText(std::span<const HubBatch> batches) {
  std::string text = "#user     run   wait   done crash pri max cpu  ram  plan min batch\n";
  for (const HubBatch& batch : batches) {
    text += fmt::format("{:<8} {:4} {:6} {:6} {:5} {:3} {:3} {:3} {:4.1f}g {:4} {:3} {}\n",
                        batch.user, batch.running, batch.waiting, batch.done, batch.crashed,
                        batch.priority, batch.max_job, std::lround(batch.cpus),
                        static_cast<double>(batch.ram) / kGigabyte, batch.planned,
                        static_cast<int64_t>(batch.mean_minutes), FolderOf(batch.results));
  }
  return text;
}

std::string SickText(std::span<const std::string> hosts, uint64_t users) {
  std::string text;
  if (hosts.empty()) return text;
  for (const std::string& host : hosts) text += host + "\n";
  return text + fmt::format("Strength of evidence: {} users\n", users);
}

std::string PstatText(std::span<const HubJob> jobs) {
  std::string text;
  for (const HubJob& job : jobs) {
    text += !job.host.empty() ? RunningLine(job)
                              : fmt::format("q {} {} {} {} none\n", job.id, job.user,
                                            ProgramOf(job.command), job.submitted);
  }
  return text;
}

std::string Pstat2Text(std::span<const HubJob> jobs) {
  std::string text;
  for (const HubJob& job : jobs) {
    text += job.host.empty() ? fmt::format("q {}\n", job.id) : RunningLine(job);
  }
  return text;
}

std::string SickBatchText(uint64_t failures) {
  if (failures < kSickBatchFailures) return "";
  return fmt::format("Sick Batch: consecutive crashes ({}) >= sick batch threshold ({})\n",
                     failures, kSickBatchFailures);
}

std::string Pstat2CountsText(uint64_t jobs, uint64_t failures) {
  return fmt::format("Total Jobs: {}\n", jobs) + SickBatchText(failures);
}

std::string ResultsSizeText(uint64_t bytes) { return fmt::format("Results Size: {}\n", bytes); }

std::string PlanText(const HubPlan& plan) {
  std::string text = fmt::format(
      "cpuUnit={}, ramUnit={}\njob default units: Cpu={}, ram={}\nmax cluster units: Cpu={}, "
      "ram={}\n-----\n",
      plan.cpu_unit, plan.ram_unit, plan.default_cpu, plan.default_ram, plan.most_cpu,
      plan.most_ram);
  for (const HubPlan::Machine& machine : plan.machines) {
    text += fmt::format("mach: {} c={} cpu units; r={} ram units\n", machine.name,
                        machine.cpu_units, machine.ram_units);
  }
  return text +
         fmt::format("# machines: busy {} ready {} blocked {} free {} dead {}\nend of planning\n",
                     plan.busy, plan.ready, plan.blocked, plan.free, plan.dead);
}

std::string NodeStatusText(std::span<const NodeStatus> nodes, bool lengthy) {
  std::string text;
  uint64_t busy = 0, cpus = 0, running = 0, recent = 0;
  for (const NodeStatus& node : nodes) {
    if (!node.reachable) {
      text += fmt::format("{} unreachable\n", node.name);
      continue;
    }
    text += lengthy ? LongNodeText(node) : ShortNodeText(node);
    busy += node.busy;
    cpus += node.cpus;
    running += node.running.size();
    recent += node.recent.size();
  }
  if (lengthy) return text + fmt::format("{} running, {} recent\n", running, recent);
  return text + fmt::format("{} of {} CPUs busy total\n", busy, cpus);
}

}  // namespace spate::parasol
