// Backfill with many gangs that wait: what a pass costs in CPU time, after an end and after an
// arrival, on a machine of 16,000 processors. No I/O. Capacity is checked before a figure is
// printed.
//
//   backfill_rate     (wanted: under 10 ms a pass; of conservative with its usual bound)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "doors/simulate/backfill/backfill.h"

namespace {

using namespace spate::engine::place;  // NOLINT: a program of one file

constexpr uint32_t kProcessors = 16'000;
constexpr int kSteps = 2'000;
constexpr uint64_t kUsers = 1'000;

double Seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) std::abort();
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Cost {
  double sum = 0;
  double worst = 0;
  int passes = 0;
  void Add(double seconds) {
    sum += seconds;
    worst = std::max(worst, seconds);
    ++passes;
  }
};

class Bench {
 public:
  explicit Bench(const BackfillRules& rules) : backfill_(rules) {}

  void Fill(uint32_t gangs) {
    while (backfill_.waiting() < gangs) {
      Arrive();
      if (gangs_.size() % 100 == 0) Pass();
    }
    Pass();
  }
  double Pass() {
    double begun = Seconds();
    const auto& started = backfill_.Pass(now_);
    double took = Seconds() - begun;
    for (const Start& start : started) {
      const Gang& gang = gangs_[start.ticket - 1];
      CHECK((used_ += gang.processors) <= kProcessors);
      // Most end long before their estimates.
      ends_.emplace(now_ + 1 + gang.estimate / 3, start.ticket);
    }
    return took;
  }
  double PassAfterEnd() {
    CHECK(!ends_.empty());
    now_ = ends_.begin()->first;
    if (auto due = backfill_.NextDue()) now_ = std::min(now_, *due);
    if (now_ < ends_.begin()->first) return Pass();
    const Ticket ticket = ends_.begin()->second;
    ends_.erase(ends_.begin());
    used_ -= gangs_[ticket - 1].processors;
    double begun = Seconds();
    backfill_.End(ticket, now_);
    return Seconds() - begun + Pass();
  }
  double PassAfterArrival() {
    double begun = Seconds();
    Arrive();
    return Seconds() - begun + Pass();
  }

 private:
  void Arrive() {
    Gang gang{1 + static_cast<uint32_t>(prng_.Below(prng_.Chance(20) ? 4'000 : 64)),
              60 + static_cast<Moment>(prng_.Below(86'400)), prng_.Below(kUsers)};
    gangs_.push_back(gang);
    backfill_.Arrive(gang);
  }

  Backfill backfill_;
  spate::Prng prng_{1};
  std::vector<Gang> gangs_;
  std::multimap<Moment, Ticket> ends_;
  Moment now_ = 0;
  uint32_t used_ = 0;
};

void Measure(const char* name, BackfillPolicy policy, uint32_t gangs, size_t reservations) {
  Bench bench({policy, kProcessors, reservations});
  bench.Fill(gangs);
  Cost end, arrival;
  for (int i = 0; i < kSteps; ++i) {
    end.Add(bench.PassAfterEnd());
    arrival.Add(bench.PassAfterArrival());
  }
  auto millis = [](double seconds) { return seconds * 1e3; };
  std::printf(
      "%-13s %7u queued %6zu reserved: end %8.4f ms (worst %8.3f), arrival %8.4f (worst %8.3f)\n",
      name, gangs, reservations, millis(end.sum / end.passes), millis(end.worst),
      millis(arrival.sum / arrival.passes), millis(arrival.worst));
}

}  // namespace

int main() {
  for (uint32_t gangs : {1'000u, 10'000u, 100'000u}) {
    Measure("fcfs", BackfillPolicy::kFcfs, gangs, 0);
    Measure("easy", BackfillPolicy::kEasy, gangs, 0);
    Measure("easy-sjbf", BackfillPolicy::kEasySjbf, gangs, 0);
    Measure("fair", BackfillPolicy::kFair, gangs, 0);
    Measure("conservative", BackfillPolicy::kConservative, gangs, 300);
    Measure("conservative", BackfillPolicy::kConservative, gangs, 1'000);
  }
  return 0;
}
