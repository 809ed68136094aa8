// The wait of people who ask about a large job: the first question after it has grown, and
// the next ones, which have the state that the first one kept.
//
//   history_rate [STATE [TASKS]]    (default: a folder below /var/tmp, 1,000,000 tasks)
//
// A run of TASKS tasks that have ended, one in 100 by a second try, in the order of their ends on
// 64 slots. With STATE the folder stays, for `spate job info 1 --state STATE` and its like.
// Checked: counts and attempts.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "store/sqlite/sqlite_history.h"
#include "store/sqlite/sqlite_store.h"
#include "wire/client_codec.h"

namespace spate {
namespace {

constexpr uint32_t kBundle = 256;
constexpr uint32_t kSlots = 64;

double Wall() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

template <typename T>
T Need(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "history_rate: {}\n", result.error().message);
  std::exit(1);
}

bool IsRetried(uint32_t task) { return task % 100 == 7; }

class Writer {
 public:
  Writer(const std::string& state, uint32_t tasks)
      : tasks_(tasks),
        loop_(Need(os::RealLoop::Create())),
        dir_(Need(store::JobDir::Create(state))),
        store_(Need(store::SqliteStore::Open(dir_, *loop_))) {}

  void Write() {
    Accept();
    for (uint32_t first = 0; first < tasks_; first += kBundle) {
      Append(EndsOf(first, std::min(kBundle, tasks_ - first)));
      while (store_->Backlog() > (4u << 20)) RunOne();
    }
    store::Bundle last;
    last.records.push_back(engine::JobFinished{kJob, {.total = tasks_, .succeeded = tasks_}});
    Append(std::move(last));
    row_.state = store::JobState::kFinished;
    row_.counts.succeeded = tasks_;
    row_.ended = Instant{row_.started.ns + int64_t{tasks_} * 10'000};
    store_->PutJob(row_);
    while (pending_ > 0) RunOne();
  }

 private:
  static constexpr JobId kJob{1};

  void Accept() {
    JobSettings settings;
    settings.name = "bench";
    settings.cwd = "/tmp";
    store::JobRow row;
    row.job = kJob;
    row.name = settings.name;
    row.user = "me";
    row.argv = {"spate", "run", "list.txt"};
    row.settings = wire::EncodeSettings(settings);
    row.counts.total = tasks_;
    row.cwd = settings.cwd;
    row.created = row.started = {1'800'000'000'000'000'000};
    row_ = row;
    store_->PutJob(std::move(row));
    store::Bundle bundle;
    for (uint32_t first = 0; first < tasks_; first += 4096) {
      store::RowChunk chunk{kJob, first, {}};
      for (uint32_t i = first; i < std::min(tasks_, first + 4096); ++i) {
        chunk.rows.push_back(fmt::format("gzip -9 < in/{:07}.txt > out/{:07}.gz", i, i));
      }
      bundle.rows.push_back(std::move(chunk));
    }
    JobPlan plan = {.task_count = tasks_, .requests = {Needs()}, .runs = {{0, tasks_, 0}}};
    plan.policy.retry.retries = 1;
    bundle.records.push_back(engine::JobAccepted{kJob, std::move(plan)});
    Append(std::move(bundle));
  }

  static engine::AttemptEnded End(uint32_t task, uint16_t attempt) {
    engine::AttemptEnded ended;
    ended.node = NodeId(1);
    ended.end.ref = {kJob, task, Attempt(attempt)};
    ended.end.slot = static_cast<uint16_t>(1 + task % kSlots);
    ended.end.start = {1'800'000'000'000'000'000 + int64_t{task} * 10'000};
    ended.end.wall = Duration::Micros(600 + task % 10'007);
    ended.end.peak_memory = (1500 + task % 64) << 10;
    ended.ended = ended.end.start + ended.end.wall;
    if (IsRetried(task) && attempt == 1) {
      ended.end.cause = Cause::kExit;
      ended.end.status = 1;
      ended.verdict = Verdict::kRetry;
    }
    return ended;
  }
  // A lease, and its ends as they come from many slots.
  static store::Bundle EndsOf(uint32_t first, uint32_t count) {
    store::Bundle bundle;
    auto& records = bundle.records;
    std::vector<uint32_t> again;
    records.push_back(engine::Leased{NodeId(1), kJob, Attempt(1), {{first, count}}});
    for (uint32_t step = 0; step < kSlots; ++step) {
      for (uint32_t i = (step * 37) % kSlots; i < count; i += kSlots) {
        records.push_back(End(first + i, 1));
        if (IsRetried(first + i)) again.push_back(first + i);
      }
    }
    for (uint32_t task : again) {
      records.push_back(engine::Leased{NodeId(1), kJob, Attempt(2), {{task, 1}}});
      records.push_back(End(task, 2));
    }
    return bundle;
  }

  void Append(store::Bundle bundle) {
    ++pending_;
    store_->Append(std::move(bundle), [this](Status status) {
      CHECK(status.has_value());
      --pending_;
      if (waiting_) loop_->Stop();
    });
  }
  void RunOne() {
    waiting_ = true;
    loop_->Run();
    waiting_ = false;
  }

  const uint32_t tasks_;
  store::JobRow row_;
  std::unique_ptr<os::RealLoop> loop_;
  store::JobDir dir_;
  std::unique_ptr<store::SqliteStore> store_;
  uint64_t pending_ = 0;
  bool waiting_ = false;
};

// As `task info 1.LAST` asks.
void Ask(const std::string& state, uint32_t tasks, const char* which) {
  double wall = Wall();
  auto history = store::OpenHistory(store::JobPlace(state));
  auto journal = Need(history->Open(1));
  auto counts = Need(journal->Counts());
  CHECK(counts.succeeded == tasks);
  auto attempts = Need(journal->Attempts(tasks - 1));
  CHECK(attempts.size() == (IsRetried(tasks - 1) ? 2u : 1u));
  const double asked = Wall() - wall;
  wall = Wall();
  auto statistics = Need(journal->Statistics());
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  fmt::print("{} question: {:.0f} ms, statistics {:.0f} ms (median {} us), {} MB\n", which,
             asked * 1e3, (Wall() - wall) * 1e3, statistics.median_wall.micros(),
             use.ru_maxrss / 1024);
}

}  // namespace
}  // namespace spate

int main(int argc, char** argv) {
  const std::string state = argc > 1 ? argv[1] : "/var/tmp/spate-history-rate";
  const auto tasks =
      static_cast<uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1'000'000);
  if (!spate::os::Exists(state + "/jobs/1")) spate::Writer(state, tasks).Write();
  spate::Ask(state, tasks, "a");
  spate::Ask(state, tasks, "the next");
  auto file = spate::os::Stat(state + "/jobs/1/replay");
  fmt::print("file: {:.1f} bytes a task\n", file ? double(file->size) / tasks : 0.0);
  if (argc <= 1) CHECK(spate::os::RemoveTree(state).has_value());
}
