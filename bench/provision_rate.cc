// What a step of the provisioner costs with 1,000 pilots in the queue and 10,000 gone, and 1,000
// classes of tasks in demand. Answers are checked before a figure is printed.
//
//   provision_rate     (wanted: every step under 1 ms)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/provision/provisioner.h"

namespace {

using namespace spate;             // NOLINT: a program of one file
using namespace spate::provision;  // NOLINT

constexpr uint32_t kQueued = 1000;
constexpr uint32_t kGone = 10'000;
constexpr uint32_t kClasses = 1000;
const PoolId kPool(1);

double Seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) std::abort();
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Bench {
 public:
  Bench() {
    Output out;
    machine_.Resume(now_, out);
    PoolPolicy policy{.name = "p", .max_pilots = 2 * kQueued, .backlog = kQueued};
    policy.time_limit = Duration::Seconds(3600);
    policy.submit_interval = {};
    policy.shape.milli_cpus = 4000;
    Step({SetPool{kPool, policy}});
    DemandChanged demand;
    for (uint32_t i = 0; i < kClasses; ++i) demand.classes.push_back(Class(i, 1'000'000));
    Step({demand});
    CHECK(machine_.Info(kPool)->queued == kQueued);
    for (uint32_t i = 1; i <= kQueued; ++i) Step({Answered(i)});
  }
  static ClassDemand Class(uint32_t number, uint32_t ready) {
    ClassDemand demand{.key = {JobId(1 + number), 0}, .user = "ann"};
    demand.ready = ready;
    demand.takes = Duration::Seconds(100);
    return demand;
  }
  static SubmitAnswered Answered(uint32_t pilot) {
    return {kPool, PilotId(pilot), std::to_string(pilot)};
  }
  double Step(std::vector<Event> events) {
    Output out;
    double start = Seconds();
    machine_.Step({now_, events}, out);
    double took = Seconds() - start;
    for (Ask& ask : out.asks) {
      if (auto* query = std::get_if<Query>(&ask)) query_ = query->query;
    }
    return took;
  }
  // A pilot's whole life from its first node on, each news a step; the next one is asked for.
  void Life(uint32_t pilot, std::vector<double>& costs) {
    PilotId id(pilot);
    NodeShape shape{.slots = 4, .milli_cpus = 4000};
    Pass(Duration::Seconds(1));
    costs.push_back(Step({NodeJoined{id, NodeId(pilot), shape, now_ + Duration::Seconds(3600)}}));
    costs.push_back(Step({NodeBusy{id, NodeId(pilot)}}));
    costs.push_back(Step({DemandChanged{{Class(pilot % kClasses, 999'000 + pilot % 7)}}}));
    costs.push_back(Step({NodeIdle{id, NodeId(pilot), now_}}));
    costs.push_back(Step({NodeLeft{id, NodeId(pilot)}}));
    Pass(Duration::Seconds(11));
    costs.push_back(Step({}));
    QueryAnswered answer{kPool, query_, {}};
    answer.jobs.push_back({id, std::to_string(pilot), JobStatus::kEnded, ""});
    for (const PilotInfo& info : machine_.Pilots(kPool)) {
      if (info.pilot != id) answer.jobs.push_back({info.pilot, info.id, JobStatus::kQueued, "P"});
    }
    CHECK(answer.jobs.size() == kQueued + 1);
    answers_.push_back(Step({std::move(answer)}));
    costs.push_back(Step({Answered(kQueued + pilot)}));  // the one in its place
  }
  void Pass(Duration time) { now_ = now_ + time; }
  const Provisioner& machine() const { return machine_; }
  std::vector<double>& answers() { return answers_; }

 private:
  Provisioner machine_;
  Instant now_{1'700'000'000'000'000'000};
  uint32_t query_ = 0;
  std::vector<double> answers_;
};

void Print(const char* what, std::vector<double>& costs) {
  std::sort(costs.begin(), costs.end());
  auto at = [&](double part) {
    return costs[static_cast<size_t>(part * static_cast<double>(costs.size() - 1))] * 1e6;
  };
  std::printf("%-32s %6zu steps: median %7.1f us, 99.9 %% %7.1f us, worst %7.1f us\n", what,
              costs.size(), at(0.5), at(0.999), at(1));
}

}  // namespace

int main() {
  Bench bench;
  std::vector<double> costs;
  for (uint32_t pilot = 1; pilot <= kGone; ++pilot) bench.Life(pilot, costs);
  bench.machine().CheckInvariants();
  PoolInfo info = *bench.machine().Info(kPool);
  CHECK(info.queued == kQueued);
  CHECK(info.joined == 0);
  Print("news of one pilot or class", costs);
  Print("an answer about 1,000 pilots", bench.answers());
  return 0;
}
