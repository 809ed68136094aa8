// For tests of the history commands: a state folder with real jobs, and a command to look at them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/main.h"
#include "command/history_environment.h"
#include "command/testing_world.h"
#include "history/journal_asker.h"
#include "os/real_loop.h"
#include "os/temp_dir.h"
#include "store/sqlite/sqlite_history.h"
#include "store/sqlite/sqlite_store.h"

namespace spate::cli::command {

// 2020-09-13 12:26:40 UTC
inline constexpr Instant kThen{1'600'000'000'000'000'000};

// The end of an attempt, `after` seconds from kThen.
inline engine::AttemptEnded AttemptOf(uint32_t job, TaskIndex index, uint16_t attempt, Cause cause,
                                      int32_t status, engine::Verdict verdict, int64_t after = 0) {
  engine::AttemptEnded ended;
  ended.node = NodeId(1);
  AttemptEnd& end = ended.end;
  end.ref = {JobId(job), index, Attempt(attempt)};
  end.cause = cause;
  end.status = status;
  end.memory_source = MemorySource::kRusage;
  end.slot = static_cast<uint16_t>(1 + index % 2);
  end.start = kThen + Duration::Seconds(after);
  end.wall = Duration::Millis(1500);
  end.user = Duration::Millis(1000);
  end.system = Duration::Millis(250);
  end.peak_memory = 3 << 20;
  ended.verdict = verdict;
  ended.counts = cause != Cause::kNode && cause != Cause::kStopped;
  ended.ended = end.start + end.wall;
  return ended;
}

// A job of list lines.
struct JobText {
  std::string name = "align";
  std::vector<std::string> argv = {"-j", "2", "list.txt"};
  std::string cwd = "/data/work";
  std::vector<std::string> files = {"/data/work/list.txt"};
  std::vector<std::string> rows;  // the commands
  JobPolicy policy;
  std::string user = "me";
  uint64_t keep_output = kKeepOutput;
};

class HistoryWorld {
 public:
  HistoryWorld() : loop_(std::move(*os::RealLoop::Create())) {
    setenv("TZ", "UTC0", 1);
    tzset();
    environment_.state_dir = [this](const std::string& typed) {
      return typed.empty() ? state() : typed;
    };
    environment_.here = [this](const std::string& state_dir) -> Result<client::Asker*> {
      asker_ = std::make_unique<history::JournalAsker>(SourceOf(store::JobPlace(state_dir)));
      return asker_.get();
    };
    environment_.write_out = [this](std::string_view bytes) -> Status {
      out_ += bytes;
      return {};
    };
    environment_.write_err = [this](std::string_view bytes) { err_ += bytes; };
    environment_.now = [this] { return now; };
    environment_.cwd = "/data/work";
    temp_.Write("proc/uptime", "10.00 20.00\n");
  }

  // A process as /proc shows it; it started at `start` hundredths of a second after the machine.
  void AddProcess(int64_t pid, int64_t parent, int64_t start, const std::string& environment) {
    std::string stat = fmt::format("{} (a ) b) S {} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {} 0 0",
                                   pid, parent, start);
    temp_.Write(fmt::format("proc/{}/stat", pid), stat);
    temp_.Write(fmt::format("proc/{}/environ", pid), environment);
  }
  // This process, a shepherd below it, and a task (from 1) of job 1 with a child.
  void AddRunningTask(uint32_t task) {
    int64_t owner = store::JobOwner::ThisProcess().pid;
    int64_t first = 20'000'000 + 10 * int64_t{task};
    std::string mark = fmt::format(
        "SPATE_JOB_ID=1{0}SPATE_TASK_INDEX={1}{0}SPATE_ATTEMPT=1{0}"
        "SPATE_SLOT=4{0}",
        '\0', task);
    AddProcess(owner, 1, 100, "PATH=/bin");
    AddProcess(first, owner, 200, "PATH=/bin");
    AddProcess(first + 1, first, 300, mark);
    AddProcess(first + 2, first + 1, 400, mark);
  }

  history::Source SourceOf(store::JobPlace place) {
    history::Source source(store::OpenHistory(std::move(place)));
    source.settings = [this](const store::JobRow& row) -> Result<JobSettings> {
      JobSettings made = settings;
      made.cwd = row.cwd;
      return made;
    };
    source.now = [this] { return now; };
    source.proc = temp_.Path("proc");
    return source;
  }

  Instant now = kThen + Duration::Seconds(600);
  JobSettings settings;  // of all jobs, which run in their own folders
  std::string state() const { return temp_.Path("state"); }
  const os::TempDir& temp() const { return temp_; }
  HistoryEnvironment& environment() { return environment_; }

  // A job that is open for writing, as a run holds it.
  class OpenJob {
   public:
    OpenJob(os::RealLoop& loop, store::JobDir dir, const JobText& text)
        : loop_(loop), dir_(std::move(dir)) {
      store_ = std::move(*store::SqliteStore::Open(dir_, loop_));
      row_.job = JobId(dir_.number());
      row_.name = text.name;
      row_.argv = text.argv;
      row_.cwd = text.cwd;
      row_.files = text.files;
      row_.user = text.user;
      row_.keep_output = text.keep_output;
      row_.host = "here";
      row_.pid = 4711;
      row_.created = row_.started = kThen;
      store_->PutJob(row_);
      auto count = static_cast<uint32_t>(text.rows.size());
      JobPlan plan = {.task_count = count,
                      .open = false,
                      .requests = {Needs()},
                      .runs = {{0, count, 0}},
                      .order = {},
                      .policy = text.policy};
      store::Bundle bundle;
      bundle.rows.push_back({row_.job, 0, text.rows});
      bundle.records.push_back(engine::JobAccepted{row_.job, std::move(plan)});
      Commit(std::move(bundle));
    }
    uint32_t number() const { return dir_.number(); }
    const std::string& path() const { return dir_.path(); }

    void Commit(store::Bundle bundle) {
      store_->Append(std::move(bundle), [this](Status status) {
        EXPECT_TRUE(status) << status.error().message;
        loop_.Stop();
      });
      loop_.Run();
    }
    void Record(engine::Record record, std::string out = "", std::string err = "") {
      store::Bundle bundle;
      TaskOutputPtr output;
      if (auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
        ended->end.stdout_total = out.size();
        ended->end.stderr_total = err.size();
        auto made = std::make_shared<TaskOutput>();
        made->out = {.bytes = out, .spool = "", .total = out.size()};
        made->err = {.bytes = err, .spool = "", .total = err.size()};
        output = std::move(made);
      }
      bundle.records.push_back(std::move(record));
      bundle.outputs.push_back(std::move(output));
      Commit(std::move(bundle));
    }
    // A lease of the task, and its end.
    void RunTask(engine::AttemptEnded ended, std::string out = "", std::string err = "") {
      const AttemptRef& ref = ended.end.ref;
      Record(engine::Leased{ended.node, ref.job, ref.attempt, {{ref.index, 1}}});
      Record(std::move(ended), std::move(out), std::move(err));
    }
    void PutRow(const std::function<void(store::JobRow&)>& change) {
      change(row_);
      store_->PutJob(row_);
    }
    void End(store::JobState state, JobCounts counts, int64_t after) {
      store_->PutProgress({.job = row_.job,
                           .state = state,
                           .ended = kThen + Duration::Seconds(after),
                           .counts = counts});
    }

   private:
    os::RealLoop& loop_;
    store::JobDir dir_;
    std::unique_ptr<store::SqliteStore> store_;
    store::JobRow row_;
  };
  std::unique_ptr<OpenJob> AddJob(const JobText& text) {
    auto dir = store::JobDir::Create(state());
    if (!dir) {
      ADD_FAILURE() << dir.error().message;
      return nullptr;
    }
    return std::make_unique<OpenJob>(*loop_, std::move(*dir), text);
  }

  struct Ran {
    int code = 0;
    std::string out;
    std::string err;
  };
  // `name`: of the command. It is about the hub's jobs, where the environment has a hub.
  Ran Run(std::string_view name, std::vector<std::string> argv) {
    out_.clear();
    err_.clear();
    const Command& command = Named(name);
    auto words = ParseWords(command, argv);
    if (!words) {
      ADD_FAILURE() << words.error().message;
      return {};
    }
    FakeWorld world(environment_);
    const Wiring wiring{.commands = AllCommands(), .world = &world};
    testing::internal::CaptureStderr();
    int code = command.run(
        Invocation{.words = std::move(*words), .argv = std::move(argv), .wiring = &wiring});
    return {code, out_, err_ + testing::internal::GetCapturedStderr()};
  }

 private:
  os::TempDir temp_;
  std::unique_ptr<os::RealLoop> loop_;
  HistoryEnvironment environment_;
  std::unique_ptr<history::JournalAsker> asker_;
  std::string out_, err_;
};

// Six tasks, finished: 1 and 2 succeeded, 3 failed after a further try, 4 by a signal, 5 was
// withdrawn, 6 is unknown.
inline void WriteSix(HistoryWorld::OpenJob& job) {
  using engine::Verdict;
  uint32_t n = job.number();
  job.Record(engine::Leased{NodeId(1), JobId(n), Attempt(1), {{0, 4}, {5, 1}}});
  job.Record(AttemptOf(n, 0, 1, Cause::kSuccess, 0, Verdict::kSucceeded), "one\n", "talk\n");
  job.Record(AttemptOf(n, 1, 1, Cause::kSuccess, 0, Verdict::kSucceeded, 1), "two\n");
  auto first = AttemptOf(n, 2, 1, Cause::kExit, 3, Verdict::kRetry, 2);
  first.end.note = "leftover processes: 'sleep', ended";
  first.end.left_behind = 1;
  job.Record(std::move(first), "", "first\n");
  job.Record(AttemptOf(n, 3, 1, Cause::kSignal, 9, Verdict::kFailed, 3));
  job.Record(engine::Leased{NodeId(1), JobId(n), Attempt(2), {{2, 1}}});
  job.Record(AttemptOf(n, 2, 2, Cause::kExit, 3, Verdict::kFailed, 4), "three\n", "bad\n");
  job.Record(engine::TasksWithdrawn{JobId(n), {{4, 1}}});
  job.Record(AttemptOf(n, 5, 1, Cause::kNode, 0, Verdict::kUnknown, 5));
  JobCounts counts = {.total = 6, .succeeded = 2, .failed = 2, .cancelled = 1, .unknown = 1};
  job.Record(engine::JobFinished{JobId(n), counts});
  job.End(store::JobState::kFinished, counts, 8);
}

inline JobText SixTasks() {
  JobText text;
  text.rows = {"true", "gzip 'a b.txt'", "sh bad.sh", "crash", "old line", "sleep 100"};
  text.policy.retry.retries = 1;
  return text;
}

}  // namespace spate::cli::command
