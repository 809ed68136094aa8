// For tests of a hub's journal: its folder, a loop, and jobs to write.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "store/sqlite/testing_store.h"

namespace spate::store {

// Makes a journal whose attempts have no output one of the older version.
inline constexpr const char* kMakeOlder =
    "ALTER TABLE attempt DROP COLUMN output_sums; PRAGMA user_version = 0";

class HubWorld {
 public:
  explicit HubWorld(SqliteOptions options = {}) : options_(options) {
    loop_ = std::move(*os::RealLoop::Create());
    Open();
  }

  std::string path() const { return temp_.Path("state/hub"); }
  JobPlace place() const { return JobPlace::Hub(path()); }
  os::RealLoop& loop() { return *loop_; }
  SqliteStore& store() { return *store_; }

  void Close() {
    store_.reset();
    dir_.reset();
  }
  void Open() {
    auto dir = HubDir::Open(path());
    ASSERT_TRUE(dir) << MessageOf(dir.error());
    dir_ = std::make_unique<HubDir>(std::move(*dir));
    auto store = SqliteStore::Open(*dir_, *loop_, options_);
    ASSERT_TRUE(store) << MessageOf(store.error());
    store_ = std::move(*store);
  }
  void Reopen() {
    Close();
    Open();
  }

  Status Commit(Bundle bundle) {
    return Await(*loop_, [&](auto done) { store_->Append(std::move(bundle), done); });
  }
  Status Record(engine::Record record) {
    Bundle bundle;
    bundle.records.push_back(std::move(record));
    return Commit(std::move(bundle));
  }
  Status Put(JobRow row) {
    return Await(*loop_, [&](auto done) { store_->PutJob(std::move(row), done); });
  }

  static JobRow RowOf(JobId job, uint32_t tasks, std::string user = "ada") {
    JobRow row = ExampleJob(tasks);
    row.job = job;
    row.name = "job" + std::to_string(job.value);
    row.user = std::move(user);
    row.state = JobState::kQueued;
    return row;
  }
  static Bundle Accept(JobId job, uint32_t tasks) {
    JobPlan plan = {.task_count = tasks, .requests = {Needs()}, .runs = {{0, tasks, 0}}};
    RowChunk chunk{job, 0, {}};
    for (uint32_t i = 0; i < tasks; ++i) {
      chunk.rows.push_back("row " + std::to_string(job.value) + "." + std::to_string(i + 1));
    }
    Bundle bundle;
    bundle.rows.push_back(std::move(chunk));
    bundle.records.push_back(engine::JobAccepted{job, plan});
    return bundle;
  }
  // Accepts a job under the next number.
  JobId Submit(uint32_t tasks, std::string user = "ada") {
    JobId job = store_->NextJobId();
    store_->PutJob(RowOf(job, tasks, std::move(user)));
    EXPECT_TRUE(Commit(Accept(job, tasks)));
    return job;
  }
  // A lease of these tasks and their ends, each with `text` and its number as output.
  static Bundle Ends(JobId job, TaskIndex first, uint32_t count, const std::string& text = "") {
    Bundle bundle;
    bundle.records.push_back(engine::Leased{NodeId(1), job, Attempt(1), {{first, count}}});
    for (TaskIndex i = first; i < first + count; ++i) {
      bundle.records.push_back(EndOf(i, Cause::kSuccess, job));
      auto& end = std::get<engine::AttemptEnded>(bundle.records.back()).end;
      std::string output = text.empty() ? "" : text + std::to_string(i);
      end.stdout_total = output.size();
      bundle.outputs.push_back(output.empty() ? nullptr : OutputOf(output));
    }
    return bundle;
  }
  Status Finish(JobId job, uint32_t tasks) {
    Bundle bundle;
    bundle.records.push_back(engine::JobFinished{job, {.total = tasks, .succeeded = tasks}});
    bundle.now = Instant{1'600'000'009'000'000'000};
    return Commit(std::move(bundle));
  }

 private:
  os::TempDir temp_;
  SqliteOptions options_;
  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<HubDir> dir_;
  std::unique_ptr<SqliteStore> store_;
};

}  // namespace spate::store
