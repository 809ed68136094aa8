// The engine with many nodes: what a placement pass and a batch of ends cost. No I/O. Answers are
// checked before a figure is printed.
//
//   engine_nodes     (DESIGN wants a pass over 1,000 nodes and 100 kinds of request under 10 ms)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/engine/engine.h"

namespace {

using namespace spate;          // NOLINT: a program of one file
using namespace spate::engine;  // NOLINT

double Seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) std::abort();
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Bench {
 public:
  void Join(uint32_t nodes) {
    std::vector<Event> events;
    for (uint32_t n = 1; n <= nodes; ++n) {
      Offer offer{.node_name = "n" + std::to_string(n), .slots = 16, .milli_cpus = 16000};
      offer.memory = 1 << 20;
      events.push_back(NodeJoined{NodeId(n), offer, {}});
    }
    Step(events);
  }
  // `tasks` tasks that make `kinds` different requests in turn.
  double Submit(uint32_t job, const char* user, uint32_t tasks, uint32_t kinds) {
    JobPlan plan;
    plan.task_count = tasks;
    plan.user = user;
    for (uint32_t k = 0; k < kinds; ++k)
      plan.requests.emplace_back(Needs{.memory = k, .named = {}});
    if (kinds == 1) {
      plan.runs = {{0, tasks, 0}};
    } else {
      for (uint32_t i = 0; i < tasks; ++i) plan.runs.push_back({i, 1, i % kinds});
    }
    return Step({SubmitJob{JobId(job), std::move(plan), {}}});
  }
  // Ends `count` tasks in one step, the oldest first.
  double EndBatch(size_t count) {
    std::map<NodeId, AttemptsEnded> ends;
    for (; count > 0 && !held_.empty(); --count) {
      auto [node, ref] = held_.front();
      held_.pop_front();
      ends[node].node = node;
      ends[node].ends.push_back({.ref = ref, .start = now_, .wall = wall});
    }
    std::vector<Event> events;
    for (auto& [node, event] : ends) events.push_back(std::move(event));
    return Step(events);
  }
  size_t held() const { return held_.size(); }
  const Engine& engine() const { return engine_; }

  Duration wall = Duration::Seconds(1);

 private:
  double Step(const std::vector<Event>& events) {
    out_.Clear();
    now_ = now_ + Duration::Micros(100);
    double start = Seconds();
    engine_.Step({now_, events}, out_);
    double took = Seconds() - start;
    for (const Send& send : out_.sends) {
      const auto& lease = std::get<SendLease>(send);
      for (const TaskRange& range : lease.tasks) {
        for (uint32_t i = 0; i < range.count; ++i) {
          held_.push_back({lease.node, {lease.job, range.first + i, lease.attempt}});
        }
      }
    }
    return took;
  }

  Engine engine_;
  Instant now_{1'700'000'000'000'000'000};
  Output out_;
  std::deque<std::pair<NodeId, AttemptRef>> held_;
};

void Kinds() {
  Bench bench;
  bench.Join(1000);
  double fill = bench.Submit(1, "", 100'000, 100);
  CHECK(bench.held() == 16'000);
  double longest = 0;
  for (int i = 0; i < 100; ++i) longest = std::max(longest, bench.EndBatch(256));
  std::printf(
      "1,000 nodes x 100 kinds: first pass %.2f ms for 16,000 tasks, then at most %.2f ms\n",
      fill * 1e3, longest * 1e3);
}

void ManyNodes(const char* what, uint32_t users, Duration wall) {
  Bench bench;
  bench.wall = wall;
  bench.Join(10'000);
  for (uint32_t u = 1; u <= users; ++u) {
    bench.Submit(u, ("u" + std::to_string(u)).c_str(), 1'000'000 / users, 1);
  }
  double sum = 0;
  uint64_t ended = 0;
  for (int i = 0; i < 1000; ++i) {
    size_t before = std::min<size_t>(bench.held(), 256);
    sum += bench.EndBatch(256);
    ended += before;
  }
  uint64_t succeeded = 0;
  for (uint32_t u = 1; u <= users; ++u) succeeded += bench.engine().Counts(JobId(u))->succeeded;
  CHECK(succeeded == ended);
  std::printf("10,000 nodes, %s: %.2f us for an end, in batches of 256\n", what,
              sum * 1e6 / static_cast<double>(ended));
}

}  // namespace

int main() {
  Kinds();
  ManyNodes("one job of long tasks", 1, Duration::Seconds(1));
  ManyNodes("one job of short tasks", 1, Duration::Millis(1));
  ManyNodes("10 users, long tasks", 10, Duration::Seconds(1));
  ManyNodes("10 users, short tasks", 10, Duration::Millis(1));
}
