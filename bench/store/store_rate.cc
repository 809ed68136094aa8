// What the journal costs: rows of text accepted, ends of tasks committed and replayed, and for each
// task its CPU, its growth of the file and the bytes written.
//
//   store_rate [STATE [TASKS]]    (default: a folder below /var/tmp, 200,000 tasks)
//
// "paced": 8 ends and a lease each 2 ms, as 4,000 tasks a second make them. "flood": as fast as the
// store takes them. Checked: every record comes back from replay, every row is the right one.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "base/check.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "store/attempt_entry.h"
#include "store/sqlite/sqlite_store.h"

namespace spate {
namespace {

constexpr uint32_t kBundle = 8;

double Seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
double Wall() { return Seconds(CLOCK_MONOTONIC); }
double Cpu() { return Seconds(CLOCK_PROCESS_CPUTIME_ID); }

uint64_t WrittenBytes() {
  std::string io = os::ReadFile("/proc/self/io", 4096).value_or("");
  size_t at = io.find("\nwrite_bytes: ");
  return at == std::string::npos ? 0 : std::strtoull(io.c_str() + at + 14, nullptr, 10);
}

double PeakMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::string RowText(uint32_t i) {
  return fmt::format("gzip -9 < /data/in/sample-{:07}.txt > out/{:07}.gz", i, i);
}

// One job: its folder, its store, and a loop to wait on.
class Bench {
 public:
  Bench(const std::string& state, uint32_t tasks) : state_(state), tasks_(tasks) {
    loop_ = std::move(*os::RealLoop::Create());
    auto dir = store::JobDir::Create(state);
    if (!dir) Die(dir.error());
    dir_ = std::make_unique<store::JobDir>(std::move(*dir));
    Open();
  }
  ~Bench() {
    store_.reset();
    CHECK(dir_->Remove().has_value());
  }

  void Open() {
    store_.reset();
    auto store = store::SqliteStore::Open(*dir_, *loop_);
    if (!store) Die(store.error());
    store_ = std::move(*store);
  }

  void AcceptRows() {
    double wall = Wall();
    double cpu = Cpu();
    for (uint32_t first = 0; first < tasks_; first += 4096) {
      store::Bundle bundle;
      store::RowChunk chunk{JobId(1), first, {}};
      for (uint32_t i = first; i < std::min(tasks_, first + 4096); ++i) {
        chunk.rows.push_back(RowText(i));
      }
      bundle.rows.push_back(std::move(chunk));
      Append(std::move(bundle));
      while (store_->Backlog() > (16u << 20)) RunOne();
    }
    store::Bundle bundle;
    JobPlan plan = {.task_count = tasks_, .requests = {Needs()}, .runs = {{0, tasks_, 0}}};
    bundle.records.push_back(engine::JobAccepted{JobId(1), plan});
    Append(std::move(bundle));
    Drain();
    wall = Wall() - wall;
    cpu = Cpu() - cpu;
    Open();  // the log is folded into the file
    fmt::print("accept {} rows: {:.2f} s wall, {:.2f} s CPU with making them, {:.1f} bytes a row\n",
               tasks_, wall, cpu, FileBytes() / tasks_);
  }

  void Ends(bool paced) {
    double wall = Wall();
    double cpu = Cpu();
    double bytes = FileBytes();
    uint64_t written = WrittenBytes();
    uint32_t first = ended_;
    uint32_t count = paced ? std::min(tasks_ / 2, 20'000u) : tasks_ - first;
    Instant due = loop_->Now();
    for (; ended_ < first + count; ended_ += kBundle) {
      Append(EndsOf(ended_, std::min(kBundle, first + count - ended_)));
      if (paced) {
        due = due + Duration::Millis(2);
        loop_->At(due, [this] { loop_->Stop(); });
        loop_->Run();
      } else {
        while (store_->Backlog() > (4u << 20)) RunOne();
      }
    }
    Drain();
    wall = Wall() - wall;
    cpu = Cpu() - cpu;
    written = WrittenBytes() - written;
    double n = count;
    fmt::print("{}: {:.0f} ends/s, {:.1f} us CPU each, {:.0f} bytes written each",
               paced ? "paced" : "flood", n / wall, cpu / n * 1e6,
               static_cast<double>(written) / n);
    Open();  // the log is folded into the file
    fmt::print(", {:.1f} bytes of growth each\n", (FileBytes() - bytes) / n);
  }

  void Replay() {
    double wall = Wall();
    uint64_t ends = 0;
    uint64_t others = 0;
    auto status = store_->Replay([&](const engine::Record& r) {
      const auto* end = std::get_if<engine::AttemptEnded>(&r);
      if (end == nullptr) {
        ++others;
        return;
      }
      CHECK(end->end.ref.index == ends);
      ++ends;
    });
    if (!status) Die(status.error());
    CHECK(ends == ended_);
    wall = Wall() - wall;
    fmt::print("replay {} ends and {} others: {:.2f} s\n", ends, others, wall);
  }

  void ReadRows() {
    double wall = Wall();
    for (uint32_t first = 0; first < tasks_; first += kBundle) {
      uint32_t count = std::min(kBundle, tasks_ - first);
      auto rows = store_->Rows(JobId(1), first, count);
      if (!rows) Die(rows.error());
      CHECK(rows->at(0) == RowText(first));
    }
    wall = Wall() - wall;
    fmt::print("rows of all tasks, {} at a time: {:.2f} s\n", kBundle, wall);
  }

 private:
  [[noreturn]] static void Die(const Error& error) {
    fmt::print(stderr, "store_rate: {}\n", error.message);
    std::exit(1);
  }

  static store::Bundle EndsOf(uint32_t first, uint32_t count) {
    store::Bundle bundle;
    bundle.records.push_back(engine::Leased{NodeId(1), JobId(1), Attempt(1), {{first, count}}});
    for (uint32_t i = first; i < first + count; ++i) {
      engine::AttemptEnded ended;
      ended.node = NodeId(1);
      ended.end.ref = {JobId(1), i, Attempt(1)};
      ended.end.memory_source = MemorySource::kRusage;
      ended.end.slot = static_cast<uint16_t>(1 + i % 2);
      ended.end.start = {1'800'000'000'000'000'000 + int64_t{i} * 250'000};
      ended.end.wall = Duration::Micros(600 + i % 101);
      ended.end.user = Duration::Micros(200 + i % 71);
      ended.end.system = Duration::Micros(300 + i % 73);
      ended.end.peak_memory = (1500 + i % 64) << 10;
      bundle.records.push_back(ended);
    }
    return bundle;
  }

  void Append(store::Bundle bundle) {
    ++pending_;
    store_->Append(std::move(bundle), [this](Status status) {
      if (!status) Die(status.error());
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
  double FileBytes() {
    auto db = os::Stat(dir_->DbPath());
    auto wal = os::Stat(dir_->DbPath() + "-wal");
    return static_cast<double>((db ? db->size : 0) + (wal ? wal->size : 0));
  }

  std::string state_;
  uint32_t tasks_;
  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<store::JobDir> dir_;
  std::unique_ptr<store::SqliteStore> store_;
  uint32_t ended_ = 0;
  uint64_t pending_ = 0;
  bool waiting_ = false;
};

}  // namespace
}  // namespace spate

int main(int argc, char** argv) {
  std::string state = argc > 1 ? argv[1] : "/var/tmp/spate-store-rate";
  auto tasks = static_cast<uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 200'000);
  spate::Bench bench(state, tasks);
  bench.AcceptRows();
  bench.Ends(true);
  bench.Ends(false);
  bench.Replay();
  bench.ReadRows();
  fmt::print("peak memory: {:.0f} MB\n", spate::PeakMb());
}
