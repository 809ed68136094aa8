#include "doors/simulate/machine.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "doors/simulate/job_history.h"

namespace spate::cli {
namespace {

using engine::place::BackfillPolicy;
using engine::place::Moment;
using engine::place::Start;
using engine::place::Ticket;

GangPolicy PolicyOf(BackfillPolicy policy) {
  switch (policy) {
    case BackfillPolicy::kFcfs:
      return GangPolicy::kFcfs;
    case BackfillPolicy::kEasy:
      return GangPolicy::kEasy;
    case BackfillPolicy::kEasySjbf:
      return GangPolicy::kEasySjbf;
    case BackfillPolicy::kConservative:
      return GangPolicy::kConservative;
    case BackfillPolicy::kFair:
      return GangPolicy::kFair;
  }
  return GangPolicy::kFair;
}

// One whose user is not told shares with nobody.
uint64_t UserOf(const format::RigidJob& job) {
  constexpr uint64_t kUnknown = uint64_t{1} << 63;
  return job.user >= 0 ? static_cast<uint64_t>(job.user)
                       : kUnknown | static_cast<uint64_t>(job.number);
}

JobId JobOf(const format::RigidJob& job) {
  return JobId(static_cast<uint32_t>(job.number >> kTaskBits));
}

// One that finds no room lets nobody start; but it may get a reservation, or become the head.
bool Reserves(BackfillPolicy policy) {
  return policy == BackfillPolicy::kConservative || policy == BackfillPolicy::kFair;
}

// Resources of a simulation's nodes: cpus and time. A single task is a gang of one process.
TaskClass Placeable(const TaskClass& request, Duration time) {
  TaskClass of_gang(Needs{.milli_cpus = request.needs.milli_cpus, .time = time});
  of_gang.gang = request.gang;
  of_gang.bound = request.bound;
  if (of_gang.gang.empty()) of_gang.gang.procs = 1;
  return of_gang;
}

}  // namespace

// ---- A pool ------------------------------------------------------------------------------------

void PoolMachine::Arrive(const format::RigidJob& job, Moment estimate) {
  backfill_.Arrive({job.processors, estimate, UserOf(job)});
}

bool PoolMachine::WantsPassAfter(const format::RigidJob& job) const {
  return Reserves(rules_.policy) || job.processors <= backfill_.free();
}

// ---- Nodes -------------------------------------------------------------------------------------

NodesMachine::NodesMachine(const NodesRules& rules)
    : rules_(rules), machine_(PolicyOf(rules.policy), rules.cpus) {
  for (uint32_t cpus : rules.cpus) free_ += cpus;
}

bool NodesMachine::WantsPassAfter(const format::RigidJob& job) const {
  return Reserves(rules_.policy) || int64_t{job.processors} <= free_;
}

// A second of a trace counts as a millisecond, so that all times that a trace can have fit.
Duration NodesMachine::TimeOf(Moment units) const {
  const int64_t in_second = rules_.second == 1 ? 1'000 : rules_.second;
  return Duration{units * (Duration::Seconds(1).ns / in_second)};
}

TaskClass NodesMachine::ClassOf(const format::RigidJob& job, Moment estimate) const {
  if (rules_.requests != nullptr) {
    return Placeable(rules_.requests->at(JobOf(job))[job.request], TimeOf(estimate));
  }
  TaskClass of_gang(Needs{.time = TimeOf(estimate)});
  of_gang.gang.procs = job.processors;
  return of_gang;
}

void NodesMachine::Arrive(const format::RigidJob& job, Moment estimate) {
  const std::string user = fmt::format("{}", UserOf(job));
  processors_.push_back(job.processors);
  if (own_jobs()) {
    const JobId id(static_cast<uint32_t>(processors_.size()));
    machine_.AddJob(id, user, {ClassOf(job, estimate)});
    machine_.Arrive(id, 0);
    return;
  }
  const JobId id = JobOf(job);
  const auto& requests = rules_.requests->at(id);
  if (known_.insert(id).second) {
    std::vector<TaskClass> classes;
    for (const TaskClass& request : requests) {
      classes.push_back(Placeable(request, request.needs.time));
    }
    machine_.AddJob(id, user, std::move(classes));
  }
  machine_.Arrive(id, job.request);
}

void NodesMachine::End(Ticket ticket, Moment) {
  machine_.End(ticket);
  free_ += processors_[ticket - 1];
  if (own_jobs()) machine_.DropJob(JobId(static_cast<uint32_t>(ticket)));
}

const std::vector<Start>& NodesMachine::Pass(Moment now) {
  started_.clear();
  for (const auto& each : machine_.Pass(Instant() + TimeOf(now))) {
    started_.push_back({each.task, each.overtakes});
    free_ -= processors_[each.task - 1];
  }
  return started_;
}

}  // namespace spate::cli
