// For tests of the journal: a state folder, a loop, and bundles to write.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "os/real_loop.h"
#include "os/temp_dir.h"
#include "store/sqlite/sqlite_store.h"

namespace spate::store {

inline const char* MessageOf(const Error& error) { return error.message.c_str(); }

inline engine::AttemptEnded EndOf(TaskIndex index, Cause cause = Cause::kSuccess,
                                  JobId job = JobId(1)) {
  engine::AttemptEnded ended;
  ended.node = NodeId(1);
  ended.end.ref = {job, index, Attempt(1)};
  ended.end.cause = cause;
  ended.end.memory_source = MemorySource::kRusage;
  ended.end.slot = static_cast<uint16_t>(1 + index % 2);
  ended.end.status = cause == Cause::kSuccess ? 0 : 1;
  ended.end.start = {1'600'000'000'000'000'000 + int64_t{index} * 250'000};
  ended.end.wall = Duration::Micros(600 + index % 7);
  ended.end.user = Duration::Micros(300);
  ended.end.system = Duration::Micros(400);
  ended.end.peak_memory = 1500 << 10;
  ended.verdict = cause == Cause::kSuccess ? engine::Verdict::kSucceeded : engine::Verdict::kFailed;
  ended.ended = ended.end.start + ended.end.wall;
  return ended;
}

inline TaskOutputPtr OutputOf(std::string out, std::string err = "") {
  auto output = std::make_shared<TaskOutput>();
  output->out = {.bytes = out, .spool = "", .total = out.size()};
  output->err = {.bytes = err, .spool = "", .total = err.size()};
  return output;
}

inline JobRow ExampleJob(uint32_t total) {
  JobRow row;
  row.job = JobId(1);
  row.name = "example";
  row.argv = {"spate", "run", "list.txt"};
  row.cwd = "/tmp";
  row.files = {"/tmp/list.txt"};
  row.settings = "{}";
  row.user = "me";
  row.host = "here";
  row.pid = 4711;
  row.created = row.started = {1'600'000'000'000'000'000};
  row.counts.total = total;
  return row;
}

// Waits for what `call` starts, which gets the function to call at its end.
template <typename Call>
Status Await(os::RealLoop& loop, Call call) {
  Status result;
  call([&](Status status) {
    result = std::move(status);
    loop.Stop();
  });
  loop.Run();
  return result;
}

// A state folder with one job that a test opens and closes.
class StoreWorld {
 public:
  // The state folder is a temporary one unless it is named.
  explicit StoreWorld(SqliteOptions options = {}, std::string named = "")
      : state_(named.empty() ? temp_.Path("state") : std::move(named)), options_(options) {
    loop_ = std::move(*os::RealLoop::Create());
    auto dir = JobDir::Create(state_);
    if (!dir) ADD_FAILURE() << MessageOf(dir.error());
    dir_ = std::make_unique<JobDir>(std::move(*dir));
    Reopen();
  }

  const std::string& state() const { return state_; }
  const os::TempDir& temp() const { return temp_; }
  const JobDir& dir() const { return *dir_; }
  SqliteStore& store() { return *store_; }
  os::RealLoop& loop() { return *loop_; }
  SqliteOptions& options() { return options_; }

  void CloseStore() { store_.reset(); }
  // Drops the lock too.
  void LeaveJob() {
    store_.reset();
    dir_.reset();
  }
  void Reopen() {
    store_.reset();
    auto store = SqliteStore::Open(*dir_, *loop_, options_);
    ASSERT_TRUE(store) << MessageOf(store.error());
    store_ = std::move(*store);
  }

  // Appends and waits for its end.
  Status Commit(Bundle bundle) {
    return Await(*loop_, [&](auto done) { store_->Append(std::move(bundle), done); });
  }
  Status Put(JobRow row) {
    return Await(*loop_, [&](auto done) { store_->PutJob(std::move(row), done); });
  }

  std::vector<engine::Record> Replayed() {
    std::vector<engine::Record> records;
    Status status = store_->Replay([&](const engine::Record& r) { records.push_back(r); });
    if (!status) ADD_FAILURE() << MessageOf(status.error());
    return records;
  }

 private:
  os::TempDir temp_;
  std::string state_;
  SqliteOptions options_;
  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<JobDir> dir_;
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace spate::store
