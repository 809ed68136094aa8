// The engine alone: tasks through Step with a null shell, whose node ends at once everything that
// it was leased. No I/O, no store, no commit. Answers are checked before a figure is printed.
//
//   engine_rate [TASKS]     (default 1,000,000; DESIGN wants at least 1,000,000 tasks/s, 0.95 of
//                            the rate with 10,000 queued, and 100 bytes for a queued task)
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "core/engine/engine.h"

namespace {

using namespace spate;          // NOLINT: a program of one file
using namespace spate::engine;  // NOLINT

// Which earlier task a task waits for.
enum class Shape : uint8_t {
  kNone,
  kTree,    // each has two children
  kRandom,  // any of the thousand before it
  kStars,   // each thousandth has a chain of a thousand behind it
};

struct Case {
  const char* name;
  uint32_t tasks = 0;  // of each job
  uint32_t jobs = 1;   // one after the other
  uint32_t batch = 8;  // ends in one Step
  bool shuffle = false;
  uint32_t fail_one_in = 0;  // first attempts that fail and are tried again
  uint32_t requests = 1;     // distinct requests, taking turns
  Shape shape = Shape::kNone;
  bool roots_fail = false;  // and all else is cancelled
};

std::vector<Edge> MakeEdges(const Case& c) {
  std::vector<Edge> edges;
  Prng prng(2);
  for (uint32_t i = 1; i < c.tasks && c.shape != Shape::kNone; ++i) {
    if (c.shape == Shape::kTree) edges.push_back({(i - 1) / 2, i});
    if (c.shape == Shape::kRandom) {
      edges.push_back({i - 1 - static_cast<uint32_t>(prng.Below(std::min(i, 1000u))), i});
    }
    if (c.shape == Shape::kStars && i % 1000 != 0) edges.push_back({i - 1, i});
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

struct Figures {
  double rate = 0;            // tasks/s, null shell included
  double longest_step = 0;    // seconds, without the step that accepts the job
  double accept = 0;          // seconds for the step that accepts the job
  double state_bytes = 0;     // for a queued task, as the engine counts them
  double resident_bytes = 0;  // for a queued task, as the system counts them
  uint64_t leases = 0;
};

double Seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) std::abort();
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

uint64_t ResidentBytes() {
  unsigned long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%*u %lu", &pages) != 1) std::abort();
  std::fclose(file);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

JobPlan MakePlan(const Case& c) {
  JobPlan plan;
  plan.task_count = c.tasks;
  plan.policy.retry.retries = c.fail_one_in > 0 ? 1 : 0;
  for (uint32_t r = 0; r < c.requests; ++r)
    plan.requests.emplace_back(Needs{.memory = r, .named = {}});
  if (c.requests == 1) {
    plan.runs = {{0, c.tasks, 0}};
  } else {
    for (uint32_t i = 0; i < c.tasks; ++i) plan.runs.push_back({i, 1, i % c.requests});
  }
  if (c.shuffle) {
    Prng prng(1);
    plan.order.resize(c.tasks);
    for (uint32_t i = 0; i < c.tasks; ++i) plan.order[i] = i;
    for (uint32_t i = c.tasks; i > 1; --i) std::swap(plan.order[i - 1], plan.order[prng.Below(i)]);
  }
  return plan;
}

class Bench {
 public:
  // The clock costs too much to time each step in a run that measures the rate.
  Bench(const Case& c, bool time_steps) : case_(c), time_steps_(time_steps) {}

  Figures Run() {
    Step(NodeJoined{
        NodeId(1),
        {.node_name = "node", .slots = 16, .milli_cpus = 16000, .memory = 1 << 20, .named = {}}});
    double working = 0;
    for (uint32_t job = 1; job <= case_.jobs; ++job) {
      Accept(JobId(job));
      double start = Seconds();
      while (!held_.empty()) EndBatch();
      working += Seconds() - start;
      CHECK(engine_.Finished(JobId(job)));
      JobCounts counts = *engine_.Counts(JobId(job));
      CHECK(case_.roots_fail ? counts.cancelled == case_.tasks - counts.failed
                             : counts.succeeded == case_.tasks);
    }
    figures_.rate = double{1} * case_.tasks * case_.jobs / working;
    return figures_;
  }

 private:
  void Accept(JobId job) {
    uint64_t before = ResidentBytes();
    uint64_t state_before = engine_.StateBytes();
    SubmitJob submit{.job = job, .plan = MakePlan(case_), .edges = MakeEdges(case_)};
    double start = Seconds();
    Step(std::move(submit));
    figures_.accept = Seconds() - start;
    events_.clear();
    out_.Clear();
    figures_.resident_bytes = (double(ResidentBytes()) - double(before)) / case_.tasks;
    figures_.state_bytes = double(engine_.StateBytes() - state_before) / case_.tasks;
  }

  void Step(Event event) {
    events_.clear();
    events_.push_back(std::move(event));
    out_.Clear();
    now_ = now_ + Duration::Micros(10);
    engine_.Step({now_, events_}, out_);
    for (const Send& send : out_.sends) {
      const auto& lease = std::get<SendLease>(send);
      ++figures_.leases;
      for (const TaskRange& range : lease.tasks) {
        for (uint32_t i = 0; i < range.count; ++i) {
          held_.push_back({lease.job, range.first + i, lease.attempt});
        }
      }
    }
  }

  void EndBatch() {
    AttemptsEnded event{NodeId(1), {}};
    size_t count = std::min<size_t>(case_.batch, held_.size());
    event.ends.resize(count);
    for (size_t i = 0; i < count; ++i) {
      AttemptEnd& end = event.ends[i];
      end.ref = held_.front();
      held_.pop_front();
      end.start = now_;
      end.wall = Duration::Micros(500);
      if (case_.roots_fail || (case_.fail_one_in > 0 && end.ref.attempt.value == 1 &&
                               end.ref.index % case_.fail_one_in == 0)) {
        end.cause = Cause::kExit;
        end.status = 1;
      }
    }
    double start = time_steps_ ? Seconds() : 0;
    Step(std::move(event));
    if (time_steps_) figures_.longest_step = std::max(figures_.longest_step, Seconds() - start);
  }

  Case case_;
  bool time_steps_;
  Engine engine_;
  Instant now_{1'700'000'000'000'000'000};
  Output out_;
  std::vector<Event> events_;
  std::deque<AttemptRef> held_;
  Figures figures_;
};

Figures Measure(const Case& c) {
  std::vector<double> rates;
  for (int i = 0; i < 5; ++i) rates.push_back(Bench(c, /*time_steps=*/false).Run().rate);
  std::sort(rates.begin(), rates.end());
  Figures figures = Bench(c, /*time_steps=*/true).Run();
  figures.rate = rates[2];
  return figures;
}

}  // namespace

int main(int argc, char** argv) {
  uint32_t tasks = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1'000'000;
  if (tasks < 1000) {
    std::fprintf(stderr, "engine_rate: TASKS must be at least 1000\n");
    return 2;
  }
  mallopt(M_MMAP_THRESHOLD, 64 << 10);  // large blocks go back to the system, and can be counted
  uint32_t small = std::min<uint32_t>(10'000, tasks);
  const Case cases[] = {
      {.name = "10,000 queued at a time, ends by 8", .tasks = small, .jobs = tasks / small},
      {.name = "all queued, ends by 8", .tasks = tasks},
      {.name = "all queued, ends by 256", .tasks = tasks, .batch = 256},
      {.name = "all queued, ends one by one", .tasks = tasks, .batch = 1},
      {.name = "shuffled, ends by 8", .tasks = tasks, .shuffle = true},
      {.name = "1 in 10 tried twice, ends by 8", .tasks = tasks, .fail_one_in = 10},
      {.name = "every task tried twice, ends by 8", .tasks = tasks, .fail_one_in = 1},
      {.name = "4 requests taking turns, ends by 8", .tasks = tasks, .requests = 4},
      {.name = "100 requests taking turns, ends by 8", .tasks = tasks, .requests = 100},
      {.name = "10,000 requests taking turns, by 8", .tasks = tasks, .requests = 10'000},
      {.name = "a tree of two children each, by 8", .tasks = tasks, .shape = Shape::kTree},
      {.name = "a parent among the last 1,000, by 8", .tasks = tasks, .shape = Shape::kRandom},
      {.name = "1,000 behind each, roots fail",
       .tasks = tasks,
       .shape = Shape::kStars,
       .roots_fail = true},
      {.name = "the same, a tenth of the roots",
       .tasks = tasks / 10,
       .shape = Shape::kStars,
       .roots_fail = true},
  };
  std::printf("engine alone, %u tasks, one node of 16 slots, medians of 5\n", tasks);
  std::printf("%-38s %11s %6s %9s %10s %8s %8s\n", "", "tasks/s", "ratio", "longest", "accept",
              "state", "RSS");
  std::printf("%-38s %11s %6s %9s %10s %8s %8s\n", "", "", "", "step us", "ms", "B/task", "B/task");
  double base = 0;
  for (const Case& c : cases) {
    Figures f = Measure(c);
    if (base == 0) base = f.rate;
    std::printf("%-38s %11.0f %6.2f %9.1f %10.2f %8.1f %8.1f\n", c.name, f.rate, f.rate / base,
                f.longest_step * 1e6, f.accept * 1e3, f.state_bytes, f.resident_bytes);
    std::fflush(stdout);
  }
}
