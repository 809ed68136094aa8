// A hub for tests of para: it keeps what was submitted; what becomes of it the test says.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doors/parasol/formats/results.h"
#include "doors/parasol/programs/batch_hub.h"
#include "os/fd.h"
#include "os/file.h"

namespace spate::parasol {

// State that outlives a command.
struct FakeHubWorld {
  struct Task {
    uint64_t id = 0, job = 0;
    std::string command;
    int64_t submitted = 0;
    bool unended = true, running = false;
    int64_t started = 0;
  };

  Instant now{1'800'000'000'000'000'000};
  std::vector<Task> tasks;
  uint64_t next_id = 100'000'000;
  std::vector<std::string> lines;  // ends that are not in para.results
  std::vector<std::string> log;    // what was called, where that changes something
  std::string results, folder;
  bool known = true;      // the batch
  bool of_owner = false;  // the asking user is another one
  uint64_t others = 0;    // jobs of other users
  bool sick = false;
  uint64_t failures_in_row = 0;
  JobId held;
  std::vector<SickNode> sick_nodes;
  BatchHub::Freed freed = BatchHub::Freed::kFreed;
  std::map<uint64_t, std::string> err;
  // Called by WaitForChange and Pause, after the time went on.
  std::function<Status()> on_wait = [] { return Status(); };
  std::function<void()> on_submit = [] {};
  // Errors of the next calls of QueryState, Submit (after it has taken the jobs) and CatchUp.
  std::optional<Error> ask, submit, catch_up;

  int64_t seconds() const { return now.ns / 1'000'000'000; }
  Task& At(size_t index) { return tasks.at(index); }
  void Start(size_t index) {
    At(index).running = true;
    At(index).started = seconds();
  }
  void End(size_t index, int32_t status, uint64_t took = 0) {
    Task& task = At(index);
    task.running = task.unended = false;
    int64_t started = task.started == 0 ? seconds() : task.started;
    lines.push_back(ResultsLine({.status = status,
                                 .host = "n1",
                                 .id = std::to_string(task.id),
                                 .program = "p",
                                 .user_ticks = 100 * took,
                                 .system_ticks = 50,
                                 .submitted = task.submitted,
                                 .started = started,
                                 .ended = started + static_cast<int64_t>(took),
                                 .user = "u",
                                 .err_file = fmt::format("/tmp/para{}.err", task.id),
                                 .command = task.command}));
  }
  void EndAll(int32_t status) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].unended) End(i, status);
    }
  }
};

class FakeHub : public BatchHub {
 public:
  explicit FakeHub(FakeHubWorld& world) : world_(world) {}

  Result<State> QueryState() override {
    if (world_.ask) return std::unexpected(*std::exchange(world_.ask, std::nullopt));
    State state{
        .known = world_.known, .submitted = world_.tasks.size(), .everybody = world_.others};
    for (const auto& task : world_.tasks) {
      if (!task.unended) continue;
      ++state.everybody;
      state.unended.push_back({task.id, task.id});
      if (task.running) state.running.push_back({task.id, "n1", task.started});
    }
    state.sick = world_.sick;
    state.failures_in_row = world_.failures_in_row;
    state.held = world_.held;
    state.sick_nodes = world_.sick_nodes;
    return state;
  }
  Result<State> QueryForReport() override {
    auto state = TRY(QueryState());
    state.of_owner = world_.of_owner;
    return state;
  }
  Status CatchUp() override {
    if (world_.of_owner) return {};
    if (world_.catch_up) return std::unexpected(*std::exchange(world_.catch_up, std::nullopt));
    if (world_.lines.empty()) return {};
    auto file = TRY(os::OpenWrite(world_.results, os::OpenHow::kAppend));
    for (const std::string& line : std::exchange(world_.lines, {})) {
      TRY(os::WriteAll(file.get(), line, ""));
    }
    return {};
  }
  Result<std::vector<Submitted>> SubmittedFrom(uint64_t first) override {
    std::vector<Submitted> list;
    for (size_t i = first; i < world_.tasks.size(); ++i) {
      list.push_back({world_.tasks[i].id, world_.tasks[i].job, world_.tasks[i].submitted});
    }
    return list;
  }
  Result<uint64_t> Submit(std::span<const Submission> jobs, uint64_t known,
                          const std::string& folder, int64_t now) override {
    world_.on_submit();
    if (known != world_.tasks.size()) return Fail(ErrorKind::kExists, "the hub has other tasks");
    world_.folder = folder;
    std::string line = "submit";
    uint64_t first = world_.next_id;
    for (const Submission& job : jobs) {
      line += fmt::format(" {}", job.job);
      world_.tasks.push_back(
          {.id = world_.next_id++, .job = job.job, .command = job.what->command, .submitted = now});
    }
    if (jobs.size() < 20) world_.log.push_back(line);
    if (world_.submit) return std::unexpected(*std::exchange(world_.submit, std::nullopt));
    return first;
  }
  Result<uint64_t> Chill() override {
    uint64_t count = 0;
    for (auto& task : world_.tasks) {
      count += task.unended && !task.running;
      task.unended = task.running;
    }
    world_.log.push_back("chill");
    return count;
  }
  Status Remove(std::span<const uint64_t> ids) override {
    std::string line = "remove";
    for (uint64_t id : ids) {
      line += fmt::format(" {}", id);
      for (auto& task : world_.tasks) {
        if (task.id == id) task.unended = task.running = false;
      }
    }
    world_.log.push_back(line);
    return {};
  }
  Status SetPriority(int64_t priority) override { return Log("priority", priority); }
  Status SetMaxJob(int64_t most) override { return Log("maxJob", most); }
  Status ClearSick() override {
    world_.sick = false;
    world_.sick_nodes.clear();
    return LogOfBatch("clear");
  }
  Status ResetCounts() override { return LogOfBatch("reset"); }
  Result<Freed> Free() override {
    if (world_.freed == Freed::kFreed) world_.tasks.clear();
    return world_.freed;
  }
  Result<std::string> FetchStderr(uint64_t id, const std::string& host) override {
    world_.log.push_back(fmt::format("fetch {} {}", id, host));
    if (world_.err.contains(id)) return world_.err[id];
    return Fail(ErrorKind::kNotFound, "it is gone");
  }
  Status WaitForChange(Duration most) override { return Pause(most); }
  void Settle() override { world_.log.push_back("settle"); }
  Status Pause(Duration time) override {
    world_.now = world_.now + time;
    return world_.on_wait();
  }

 private:
  Status LogOfBatch(std::string_view what) {
    return world_.known ? Log(what, 0) : Fail(ErrorKind::kNotFound, "Batch not found.");
  }
  Status Log(std::string_view what, int64_t number) {
    world_.log.push_back(fmt::format("{} {}", what, number));
    return {};
  }

  FakeHubWorld& world_;
};

}  // namespace spate::parasol
