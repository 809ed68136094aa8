// What a hub's journal costs: ends of one job among many, a list of jobs, a start, a tail.
//
//   hub_store_rate [STATE [TASKS]]    (default: a folder below /var/tmp, 500,000 tasks)
//
// 1,000 jobs of 1,000 queued tasks lie in the journal. One further job of TASKS tasks has its ends
// written in bundles of 256, another one's between them. Checked: how many come back.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "base/check.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/tail.h"

namespace spate {
namespace {

constexpr uint32_t kQueuedJobs = 1000;
constexpr uint32_t kQueuedTasks = 1000;
constexpr uint32_t kBundle = 256;

double Wall() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

template <typename T>
T Need(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "hub_store_rate: {}\n", result.error().message);
  std::exit(1);
}

class Bench {
 public:
  Bench(std::string path, uint32_t tasks)
      : path_(std::move(path)), tasks_(tasks), loop_(Need(os::RealLoop::Create())) {
    Open();
  }
  ~Bench() {
    store_.reset();
    dir_.reset();
    CHECK(os::RemoveTree(path_).has_value());
  }

  void Submit() {
    double wall = Wall();
    for (uint32_t i = 0; i < kQueuedJobs; ++i) Accept(kQueuedTasks);
    Drain();
    fmt::print("submit {} jobs of {} tasks: {:.2f} s\n", kQueuedJobs, kQueuedTasks, Wall() - wall);
  }

  void Ends() {
    JobId job = Accept(tasks_);
    JobId other = Accept(tasks_);
    Drain();
    double wall = Wall();
    for (uint32_t first = 0; first < tasks_; first += kBundle) {
      Append(EndsOf(job, first, std::min(kBundle, tasks_ - first)));
      if (first % (4 * kBundle) == 0) Append(EndsOf(other, first / 4, kBundle / 4));
      while (store_->Backlog() > (4u << 20)) RunOne();
    }
    Drain();
    wall = Wall() - wall;
    fmt::print("ends: {:.0f}/s\n", 1.06 * tasks_ / wall);
    Follow(job);
  }

  void Start() {
    double wall = Wall();
    Open();
    uint64_t records = 0;
    CHECK(store_->Replay([&](const engine::Record&) { ++records; }).has_value());
    fmt::print("start: {} records replayed in {:.2f} s\n", records, Wall() - wall);
  }

  void List() {
    store::JobPlace place = store::JobPlace::Hub(path_);
    double wall = Wall();
    auto numbers = Need(store::JobNumbers(place));
    size_t listed = 0;
    CHECK(store::VisitJobs(place, numbers, [&](const store::JobSummary&) {
            return ++listed > 0;
          }).has_value());
    CHECK(listed == kQueuedJobs + 2);
    fmt::print("list {} jobs: {:.1f} ms\n", listed, (Wall() - wall) * 1e3);
  }

 private:
  void Open() {
    store_.reset();
    dir_.reset();
    dir_ = std::make_unique<store::HubDir>(Need(store::HubDir::Open(path_)));
    store_ = Need(store::SqliteStore::Open(*dir_, *loop_));
  }

  void Follow(JobId job) {
    auto tail = Need(store::SqliteTail::Open({path_, true}, job));
    double wall = Wall();
    uint64_t after = 0;
    uint32_t ends = 0;
    for (bool more = true; more;) {
      auto news = Need(tail.Read(after, 1000));
      ends += static_cast<uint32_t>(news.ends.size());
      after = news.seq;
      more = news.more;
    }
    CHECK(ends == tasks_);
    double read = Wall() - wall;
    wall = Wall();
    for (int i = 0; i < 1000; ++i) (void)Need(tail.Read(after, 1000));
    fmt::print("tail: {:.2f} us an end, {:.1f} us when nothing is new\n", read / tasks_ * 1e6,
               (Wall() - wall) * 1e3);
  }

  JobId Accept(uint32_t tasks) {
    store::JobRow row;
    row.job = store_->NextJobId();
    row.name = "job";
    row.user = "me";
    row.argv = {"-j", "8", "list.txt"};
    row.settings = std::string(8000, 'x');  // with an environment
    row.state = store::JobState::kQueued;
    row.counts.total = tasks;
    JobId job = row.job;
    store_->PutJob(std::move(row));
    store::Bundle bundle;
    for (uint32_t first = 0; first < tasks; first += 4096) {
      store::RowChunk chunk{job, first, {}};
      for (uint32_t i = first; i < std::min(tasks, first + 4096); ++i) {
        chunk.rows.push_back(fmt::format("gzip -9 < in/{:07}.txt > out/{:07}.gz", i, i));
      }
      bundle.rows.push_back(std::move(chunk));
    }
    JobPlan plan = {.task_count = tasks, .requests = {Needs()}, .runs = {{0, tasks, 0}}};
    bundle.records.push_back(engine::JobAccepted{job, std::move(plan)});
    Append(std::move(bundle));
    return job;
  }

  static store::Bundle EndsOf(JobId job, uint32_t first, uint32_t count) {
    store::Bundle bundle;
    bundle.records.push_back(engine::Leased{NodeId(1), job, Attempt(1), {{first, count}}});
    for (uint32_t i = first; i < first + count; ++i) {
      engine::AttemptEnded ended;
      ended.node = NodeId(1);
      ended.end.ref = {job, i, Attempt(1)};
      ended.end.slot = static_cast<uint16_t>(1 + i % 64);
      ended.end.start = {1'800'000'000'000'000'000 + int64_t{i} * 10'000};
      ended.end.wall = Duration::Micros(600 + i % 101);
      ended.end.peak_memory = (1500 + i % 64) << 10;
      bundle.records.push_back(ended);
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
  void Drain() {
    while (pending_ > 0) RunOne();
  }

  std::string path_;
  uint32_t tasks_;
  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<store::HubDir> dir_;
  std::unique_ptr<store::SqliteStore> store_;
  uint64_t pending_ = 0;
  bool waiting_ = false;
};

}  // namespace
}  // namespace spate

int main(int argc, char** argv) {
  std::string state = argc > 1 ? argv[1] : "/var/tmp/spate-hub-store-rate";
  auto tasks = static_cast<uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 500'000);
  spate::Bench bench(state + "/hub", tasks);
  bench.Submit();
  bench.Ends();
  bench.List();
  bench.Start();
}
