// HubPeople: users and the administrator stop, continue, kill and signal jobs and tasks, and look
// at what runs. Every stop is undone in the end: a stop may arrive late, when its user has long
// continued the job, so somebody looks after jobs that nobody means to continue.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/model/processes.h"
#include "core/model/run_look.h"
#include "sim/hub_people.h"
#include "sim/mock_executor.h"
#include "wire/field_bytes.h"

namespace spate::sim {
namespace {

constexpr Duration kTendEvery = Duration::Seconds(30);
constexpr int kStopLooks = 16;  // a client that stops asks so often whether all stands still

}  // namespace

// An order about the whole job, or about some of its tasks.
wire::Steer HubPeople::AnySteering(const SimJob& job, Steering what) {
  wire::Steer steer{.what = what};
  if (prng_.Chance(60)) {
    steer.jobs = Only(job.id);
    return steer;
  }
  const auto first = static_cast<uint32_t>(1 + prng_.Below(job.totals.back()));
  const auto last = first + static_cast<uint32_t>(prng_.Below(3));
  steer.tasks = {{.job = job.id.value, .ranges = {{first, last}}}};
  return steer;
}

void HubPeople::PlanSteering(const SimJob& job) {
  if (!parts_.options.steer) return;
  while (prng_.Chance(60)) Freeze(job);
  while (prng_.Chance(40)) Signal(job);
  while (prng_.Chance(40)) LookAtProcesses(job);
  if (!prng_.Chance(15)) return;
  Query(job.user, Wait(span_ * 2),
        OfUnended(job.id, [kill = AnySteering(job, Steering::kKill)] { return kill; }));
}

// Asks until all stands still, as `spate job stop` does.
void HubPeople::Freeze(const SimJob& job) {
  ++stops_[job.id];
  const wire::Steer stop = AnySteering(job, Steering::kStop);
  auto make = OfUnended(job.id, [stop] { return stop; });
  auto looks = std::make_shared<int>(0);
  auto heard = [this, &job, stop, looks](const Result<HubProcess::Answers>& answers) {
    if (answers && !answers->empty() && ++*looks < kStopLooks) {
      const auto done = wire::FromBytes<wire::Steer::Answer>("an answer", answers->front());
      if (done && done->frozen < done->running) return false;
    }
    Thaw(job, stop);
    return true;
  };
  const std::string& user = prng_.Chance(20) ? kAdmin : job.user;
  Query(
      user, Wait(span_),
      [this, &job, make = std::move(make)](HubProcess& hub) {
        Wish wish = make(hub);
        if (wish.when == Wish::When::kNever) --stops_[job.id];
        return wish;
      },
      std::move(heard));
}

// Continues what was stopped, or the whole job.
void HubPeople::Thaw(const SimJob& job, wire::Steer stopped) {
  stopped.what = Steering::kContinue;
  if (prng_.Chance(30)) stopped = {.jobs = Only(job.id), .what = Steering::kContinue};
  auto make = OfUnended(job.id, [stopped] { return stopped; });
  Query(
      job.user, Wait(span_),
      [this, &job, make = std::move(make)](HubProcess& hub) {
        Wish wish = make(hub);
        if (wish.when == Wish::When::kNever) --stops_[job.id];
        return wish;
      },
      [this, &job](const auto&) {
        --stops_[job.id];
        return true;
      });
}

void HubPeople::TendStopped() {
  parts_.loop.At(parts_.loop.Now() + kTendEvery, [this] {
    HubProcess* hub = parts_.hub();
    for (const SimJob& job : parts_.workload.jobs()) {
      if (hub == nullptr || stops_[job.id] > 0) continue;
      const engine::Engine& engine = hub->engine();
      if (!engine.StopOf(job.id) && engine.StoppedTasks(job.id).empty()) continue;
      ++stops_[job.id];
      Thaw(job, {.jobs = Only(job.id)});
    }
    TendStopped();
  });
}

// A signal that no task ends by, or KILL; to all processes or the first ones, those of a rank, or a
// process that may be another's.
void HubPeople::Signal(const SimJob& job) {
  wire::Steer signal = AnySteering(job, Steering::kSignal);
  signal.signal = 10;
  signal.all = prng_.Chance(50);
  if (prng_.Chance(20)) signal.rank = static_cast<uint32_t>(prng_.Below(4));
  if (prng_.Chance(30) && !signal.tasks.empty()) {
    signal.node = AnyNode();
    signal.pid = MockExecutor::PidOf(static_cast<uint16_t>(1 + prng_.Below(parts_.options.slots)));
  }
  Query(job.user, Wait(span_), OfUnended(job.id, [signal] { return signal; }));
}

void HubPeople::LookAtProcesses(const SimJob& job) {
  const auto task = static_cast<uint32_t>(1 + prng_.Below(job.totals.back()));
  const TasksOfJob one{.job = job.id.value, .ranges = {{task, task}}};
  wire::Question look = wire::LookAtRun{.task = one, .wish = {.use = true}};
  if (prng_.Chance(70)) look = wire::ListProcesses{};
  if (prng_.Chance(20)) look = wire::ListProcesses{.tasks = {{.jobs = Only(job.id)}}};
  Query(job.user, Wait(span_), OfUnended(job.id, [look] { return look; }));
}

}  // namespace spate::sim
