// The engine with many waiting gangs: what a step costs in CPU time that has a pass over them. No
// I/O. Answers are checked before a figure is printed.
//
//   gang_rate     (wanted: under 10 ms for a pass over 10,000 queued gangs and 1,000 nodes)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "core/engine/engine.h"

namespace {

using namespace spate;          // NOLINT: a program of one file
using namespace spate::engine;  // NOLINT

constexpr uint32_t kNodes = 1000;
constexpr uint32_t kSlots = 16;
constexpr uint32_t kJobs = 10'000;

double Seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) std::abort();
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Running {
  AttemptRef ref;
  std::vector<NodeId> nodes;
};

class Bench {
 public:
  // `kinds`: how many different requests there are; single tasks run beside the gangs or not.
  Bench(GangPolicy policy, uint32_t kinds, bool singles) : prng_(1) {
    std::vector<Event> events = {ChangeGangPolicy{policy}};
    for (uint32_t n = 1; n <= kNodes; ++n) {
      Offer offer{.node_name = "n" + std::to_string(n), .slots = kSlots, .milli_cpus = 16000};
      events.push_back(NodeJoined{NodeId(n), offer, {}});
    }
    Step(events);
    if (singles) Step({Single(8 * kNodes)});
    events.clear();
    for (uint32_t i = 0; i < kJobs; ++i) events.push_back(Gang(kinds));
    Step(events);
    CHECK(!running_.empty());
  }

  // A gang ends, so that others may start; the worst and the median of so many.
  void Measure(const char* name, const char* beside, uint32_t kinds) {
    std::vector<double> took;
    uint32_t started = 0;
    for (int i = 0; i < 60 && !running_.empty(); ++i) {
      const size_t before = running_.size();
      took.push_back(EndOne());
      started += static_cast<uint32_t>(running_.size() + 1 - before);
    }
    CHECK(started > 0);
    std::sort(took.begin(), took.end());
    std::printf("%-13s %6u kinds %-22s median %7.3f ms  worst %7.3f ms  (%u started)\n", name,
                kinds, beside, took[took.size() / 2] * 1e3, took.back() * 1e3, started);
  }

 private:
  SubmitJob Single(uint32_t tasks) {
    JobPlan plan;
    plan.task_count = tasks;
    plan.user = "bob";
    plan.requests = {Needs{.time = Duration::Seconds(3600)}};
    plan.runs = {{0, tasks, 0}};
    return {JobId(++jobs_), std::move(plan)};
  }
  SubmitJob Gang(uint32_t kinds) {
    const uint64_t kind = prng_.Below(kinds);
    TaskClass of_gang(Needs{.time = Duration::Seconds(static_cast<int64_t>(60 + kind))});
    const auto nodes = static_cast<uint32_t>(1 + kind % 60);
    of_gang.gang = {.procs = nodes * static_cast<uint32_t>(1 + kind % 8), .nodes = nodes};
    JobPlan plan;
    plan.task_count = 1;
    plan.user = "u" + std::to_string(jobs_ % 10);
    plan.requests = {of_gang};
    plan.runs = {{0, 1, 0}};
    return {JobId(++jobs_), std::move(plan)};
  }
  double EndOne() {
    auto at = running_.begin();
    std::advance(at, static_cast<ptrdiff_t>(prng_.Below(running_.size())));
    const Running gang = at->second;
    running_.erase(at);
    std::vector<Event> events;
    for (NodeId node : gang.nodes) {
      events.push_back(AttemptsEnded{node, {{.ref = gang.ref, .slot = 1, .start = now_}}});
    }
    return Step(events);
  }
  double Step(const std::vector<Event>& events) {
    out_.Clear();
    now_ = now_ + Duration::Seconds(1);
    const double start = Seconds();
    engine_.Step({now_, events}, out_);
    const double took = Seconds() - start;
    std::vector<Event> rooms;
    for (const Record& record : out_.records) {
      const auto* leased = std::get_if<GangLeased>(&record);
      if (leased == nullptr) continue;
      Running& gang = running_[leased->job];
      gang.ref = {leased->job, leased->index, leased->attempt};
      for (const GangLeased::Part& part : leased->parts) {
        gang.nodes.push_back(part.node);
        rooms.push_back(RoomTaken{part.node, gang.ref});
      }
    }
    if (rooms.empty()) return took;
    Output out;
    engine_.Step({now_, rooms}, out);
    return took;
  }

  Engine engine_;
  Prng prng_;
  Instant now_{1'700'000'000'000'000'000};
  Output out_;
  std::map<JobId, Running> running_;
  uint32_t jobs_ = 0;
};

}  // namespace

int main() {
  for (GangPolicy policy : {GangPolicy::kFair, GangPolicy::kFcfs, GangPolicy::kEasy,
                            GangPolicy::kEasySjbf, GangPolicy::kConservative}) {
    for (uint32_t kinds : {100u, kJobs}) {
      Bench(policy, kinds, false).Measure(WordOf(policy), "", kinds);
    }
    Bench(policy, 100, true).Measure(WordOf(policy), "beside single tasks", 100);
  }
  return 0;
}
