// The engine with many waiting jobs: what one step costs in CPU time. No I/O. Answers are checked
// before a figure is printed.
//
//   engine_jobs     (wanted: under 1 ms a step, 10 ms for one that looks at every node)
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "core/engine/engine.h"

namespace {

using namespace spate;          // NOLINT: a program of one file
using namespace spate::engine;  // NOLINT

constexpr uint32_t kNodes = 1000;
constexpr uint32_t kSlots = 16;

double Seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) std::abort();
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Held {
  NodeId node;
  AttemptRef ref;
};

class Bench {
 public:
  Bench() {
    std::vector<Event> events;
    for (uint32_t n = 1; n <= kNodes; ++n) {
      Offer offer{.node_name = "n" + std::to_string(n), .slots = kSlots, .milli_cpus = 16000};
      events.push_back(NodeJoined{NodeId(n), offer, {}});
    }
    Step(events);
  }

  SubmitJob Job(uint32_t tasks = 1, std::string user = "ada", uint32_t milli_cpus = 1000) {
    JobPlan plan;
    plan.task_count = tasks;
    plan.user = std::move(user);
    plan.requests = {Needs{.milli_cpus = milli_cpus, .named = {}}};
    plan.runs = {{0, tasks, 0}};
    return {JobId(++jobs_), std::move(plan), {}};
  }
  // `count` jobs in one step.
  double Submit(uint32_t count, const std::function<SubmitJob(uint32_t)>& make) {
    std::vector<Event> events;
    for (uint32_t i = 0; i < count; ++i) events.push_back(make(i));
    double took = Step(events);
    // What the bench frees here would be gathered in the next step, 8 ms of it for 100,000 jobs.
    if (count > 1) {
      events = {};
      out_ = {};
      malloc_trim(0);
    }
    return took;
  }
  double Submit(uint32_t count) {
    return Submit(count, [this](uint32_t) { return Job(); });
  }
  double End(Cause cause = Cause::kSuccess) {
    CHECK(!held_.empty());
    auto [node, ref] = held_.front();
    held_.pop_front();
    AttemptEnd end{.ref = ref, .cause = cause, .start = now_, .wall = Duration::Seconds(5)};
    end.status = cause == Cause::kSuccess ? 0 : 1;
    return Step({AttemptsEnded{node, {end}}});
  }
  double Step(const std::vector<Event>& events, Duration after = Duration::Micros(100)) {
    out_.Clear();
    now_ = now_ + after;
    double start = Seconds();
    engine_.Step({now_, events}, out_);
    double took = Seconds() - start;
    for (const Send& send : out_.sends) {
      const auto* lease = std::get_if<SendLease>(&send);
      for (size_t r = 0; lease != nullptr && r < lease->tasks.size(); ++r) {
        const TaskRange& range = lease->tasks[r];
        for (uint32_t i = 0; i < range.count; ++i) {
          held_.push_back({lease->node, {lease->job, range.first + i, lease->attempt}});
        }
      }
    }
    return took;
  }
  size_t held() const { return held_.size(); }

 private:
  Engine engine_;
  Instant now_{1'700'000'000'000'000'000};
  Output out_;
  std::deque<Held> held_;
  uint32_t jobs_ = 0;
};

// Up to 200 steps, or as many as a second allows: their median and the worst.
void Measure(const std::string& what, const std::function<double()>& step) {
  std::vector<double> took;
  double start = Seconds();
  while (took.size() < 200 && (took.size() < 5 || Seconds() - start < 1)) took.push_back(step());
  std::sort(took.begin(), took.end());
  std::printf("%-58s %10.3f %10.3f\n", what.c_str(), took[took.size() / 2] * 1e3,
              took.back() * 1e3);
  std::fflush(stdout);
}

void Once(const std::string& what, double took) {
  std::printf("%-58s %10.3f\n", what.c_str(), took * 1e3);
  std::fflush(stdout);
}

double LookAtAll(Bench& bench) { return bench.Step({SetUser{"ada", UserRule()}}); }

// All slots run one-task jobs, and `queued` more wait.
void OneTaskJobs(uint32_t queued) {
  std::string name = std::to_string(queued) + " one-task jobs queued: ";
  Bench bench;
  bench.Submit(kNodes * kSlots, [&](uint32_t) { return bench.Job(1, "bob"); });
  bench.Submit(queued);
  CHECK(bench.held() == kNodes * kSlots);
  Measure(name + "submit", [&] { return bench.Submit(1); });
  CHECK(bench.held() == kNodes * kSlots);
  Measure(name + "end", [&] { return bench.End(); });
  CHECK(bench.held() == kNodes * kSlots);
  Measure(name + "look at all nodes", [&] { return LookAtAll(bench); });
}

// A task fails, and its retry is due while all slots are taken.
void Retries(uint32_t queued) {
  Bench bench;
  auto retried = [&](uint32_t) {
    SubmitJob job = bench.Job(1, "bob");
    job.plan.policy.retry = {.retries = 1, .delay = Duration::Millis(1)};
    return job;
  };
  bench.Submit(kNodes * kSlots, retried);
  bench.Submit(queued);
  CHECK(bench.held() == kNodes * kSlots);
  Measure(std::to_string(queued) + " one-task jobs queued: retry due", [&] {
    bench.End(Cause::kExit);
    return bench.Step({}, Duration::Millis(2));
  });
  CHECK(bench.held() == kNodes * kSlots);
}

// An array runs, and 10,000 jobs wait that fit no node.
void Misfits(const char* what, const std::function<uint32_t(uint32_t)>& cpus) {
  std::string name = std::string("10000 jobs that fit nowhere, ") + what + ": ";
  Bench bench;
  bench.Submit(10'000, [&](uint32_t i) { return bench.Job(1, "ada", cpus(i)); });
  CHECK(bench.held() == 0);
  bench.Submit(1, [&](uint32_t) { return bench.Job(100'000, "bob"); });
  CHECK(bench.held() == kNodes * kSlots);
  Measure(name + "submit", [&] {
    return bench.Submit(1, [&](uint32_t i) { return bench.Job(1, "ada", cpus(i)); });
  });
  Measure(name + "end", [&] { return bench.End(); });
  CHECK(bench.held() == kNodes * kSlots);
  Measure(name + "look at all nodes", [&] { return LookAtAll(bench); });
}

// 10,000 jobs at their --max-running, with room left on the nodes.
void MaxRunning() {
  Bench bench;
  bench.Submit(10'000, [&](uint32_t) {
    SubmitJob job = bench.Job(100);
    job.plan.policy.max_running = 1;
    return job;
  });
  CHECK(bench.held() == 10'000);
  Measure("10000 jobs at --max-running: end", [&] { return bench.End(); });
  CHECK(bench.held() == 10'000);
  Measure("10000 jobs at --max-running: look at all nodes", [&] { return LookAtAll(bench); });
}

// 1,000 users at their bound, each with 100 jobs that wait, and room left on the nodes.
void UsersAtBound() {
  Bench bench;
  std::vector<Event> rules;
  auto user = [](uint32_t i) { return "user" + std::to_string(i % 1000); };
  for (uint32_t u = 0; u < 1000; ++u) rules.push_back(SetUser{user(u), {.max_running = 1}});
  bench.Step(rules);
  bench.Submit(100'000, [&](uint32_t i) { return bench.Job(1, user(i)); });
  CHECK(bench.held() == 1000);
  Measure("1000 users at their bound, 100000 jobs: end", [&] { return bench.End(); });
  CHECK(bench.held() == 1000);
  Measure("1000 users at their bound, 100000 jobs: look at all nodes",
          [&] { return LookAtAll(bench); });
}

void ManyQueued() {
  Bench bench;
  bench.Submit(kNodes * kSlots + 200'000);
  Measure("200000 one-task jobs queued: submit", [&] { return bench.Submit(1); });
}

void FirstFill() {
  Bench bench;
  Once("10000 one-task jobs submitted at once to idle nodes", bench.Submit(10'000));
  CHECK(bench.held() == 10'000);
}

}  // namespace

int main() {
  std::printf("%-58s %10s %10s\n", "a step, in ms of CPU time", "median", "worst");
  for (uint32_t queued : {1'000u, 10'000u, 100'000u}) OneTaskJobs(queued);
  for (uint32_t queued : {1'000u, 10'000u, 100'000u}) Retries(queued);
  Misfits("of one kind", [](uint32_t) { return 64'000u; });
  Misfits("each another", [](uint32_t i) { return 64'000u + i; });
  MaxRunning();
  UsersAtBound();
  ManyQueued();
  FirstFill();
}
