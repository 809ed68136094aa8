#include "store/sqlite/job_journal.h"
#include "store/sqlite/job_list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "store/sqlite/output_file.h"
#include "store/sqlite/state_check.h"
#include "store/sqlite/testing_store.h"

namespace spate::store {
namespace {

using engine::Verdict;

Bundle Accept(uint32_t count) {
  JobPlan plan = {.task_count = count, .requests = {Needs()}, .runs = {{0, count, 0}}};
  RowChunk chunk{JobId(1), 0, {}};
  for (uint32_t i = 0; i < count; ++i) chunk.rows.push_back("command " + std::to_string(i));
  Bundle bundle;
  bundle.rows.push_back(std::move(chunk));
  bundle.records.push_back(engine::JobAccepted{JobId(1), plan});
  return bundle;
}

// A job of ten: 0-3 succeeded, 4 failed after a retry, 5 failed and reopened, 6 withdrawn, 7
// leased, 8 handed back, 9 never touched.
void WriteTen(StoreWorld& world) {
  ASSERT_TRUE(world.Put(ExampleJob(10)));
  ASSERT_TRUE(world.Commit(Accept(10)));
  Bundle bundle;
  bundle.records.push_back(engine::Leased{NodeId(1), JobId(1), Attempt(1), {{0, 6}, {7, 2}}});
  for (TaskIndex i = 0; i < 4; ++i) {
    bundle.records.push_back(EndOf(i));
    bundle.outputs.push_back(i == 2 ? nullptr : OutputOf("out" + std::to_string(i), "err"));
    auto& end = std::get<engine::AttemptEnded>(bundle.records.back()).end;
    end.stdout_total = i == 2 ? 0 : 4;
    end.stderr_total = i == 2 ? 0 : 3;
  }
  auto again = EndOf(4, Cause::kExit);
  again.verdict = Verdict::kRetry;
  again.end.note = "first try";
  bundle.records.push_back(again);
  bundle.records.push_back(EndOf(5, Cause::kSignal));
  ASSERT_TRUE(world.Commit(std::move(bundle)));
  Bundle more;
  more.records.push_back(engine::TasksWithdrawn{JobId(1), {{6, 1}}});
  more.records.push_back(engine::Returned{NodeId(1), JobId(1), Attempt(1), {{8, 1}}});
  more.records.push_back(engine::TasksReopened{JobId(1), {{5, 1}}});
  more.records.push_back(engine::Leased{NodeId(1), JobId(1), Attempt(2), {{4, 1}}});
  auto last = EndOf(4, Cause::kMemory);
  last.end.ref.attempt = Attempt(2);
  last.end.peak_memory = 1 << 30;
  last.end.stdout_total = 200'000;
  more.records.push_back(last);
  auto output = std::make_shared<TaskOutput>();
  std::string text = std::string(100'000, 'a') + std::string(100'000, 'z');
  output->out = {.bytes = "", .spool = world.temp().Write("spool", text), .total = text.size()};
  more.outputs.push_back(output);
  ASSERT_TRUE(world.Commit(std::move(more)));
}

std::vector<TaskIndex> TasksOf(JobJournal& history, uint32_t states) {
  std::vector<TaskIndex> indices;
  EXPECT_TRUE(history.Tasks({.states = states}, [&](const TaskSummary& task) {
    indices.push_back(task.index);
    return true;
  }));
  return indices;
}

std::string Read(JobJournal& history, const AttemptEntry& attempt, Stream stream) {
  std::string text;
  auto extent = history.ReadOutput(attempt, stream, [&](std::string_view bytes, uint64_t skipped) {
    if (skipped > 0) text += "<" + std::to_string(skipped) + ">";
    text += bytes;
  });
  EXPECT_TRUE(extent);
  return text;
}

TEST(History, TasksAndCountsWhileItRuns) {
  StoreWorld world;
  WriteTen(world);
  auto history = SqliteJobJournal::Open(world.state(), 1);
  ASSERT_TRUE(history) << MessageOf(history.error());
  EXPECT_EQ(history->summary().standing, JobStanding::kRunning);
  EXPECT_TRUE(history->summary().owner);
  JobCounts expected = {
      .total = 10, .queued = 3, .leased = 1, .succeeded = 4, .failed = 1, .cancelled = 1};
  EXPECT_EQ(*history->Counts(), expected);
  using Indices = std::vector<TaskIndex>;
  EXPECT_EQ(TasksOf(*history, TaskFilter::Bit(TaskState::kSucceeded)), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(TasksOf(*history, TaskFilter::Bit(TaskState::kFailed)), (Indices{4}));
  EXPECT_EQ(TasksOf(*history, TaskFilter::Bit(TaskState::kQueued)), (Indices{5, 8, 9}));
  EXPECT_EQ(TasksOf(*history, TaskFilter::Bit(TaskState::kLeased)), (Indices{7}));
  EXPECT_EQ(TasksOf(*history, TaskFilter::Bit(TaskState::kCancelled)), (Indices{6}));
  EXPECT_EQ(*history->RowText(9), "command 9");
  EXPECT_EQ(history->RowText(10).error().kind, ErrorKind::kNotFound);
}

TEST(History, WhatComesBackOfCancelledTasksIsCancelled) {
  StoreWorld world;
  WriteTen(world);
  Bundle bundle;
  bundle.records.push_back(engine::TasksCancelled{JobId(1), {{7, 1}}, ""});
  bundle.records.push_back(engine::Returned{NodeId(1), JobId(1), Attempt(1), {{7, 1}}});
  bundle.records.push_back(engine::Leased{NodeId(1), JobId(1), Attempt(2), {{8, 2}}});
  bundle.records.push_back(engine::JobCancelled{JobId(1), ""});
  bundle.records.push_back(engine::Returned{NodeId(1), JobId(1), Attempt(2), {{8, 2}}});
  ASSERT_TRUE(world.Commit(std::move(bundle)));
  auto history = SqliteJobJournal::Open(world.state(), 1);
  ASSERT_TRUE(history) << MessageOf(history.error());
  using Indices = std::vector<TaskIndex>;
  EXPECT_EQ(TasksOf(*history, TaskFilter::Bit(TaskState::kCancelled)), (Indices{5, 6, 7, 8, 9}));
}

TEST(History, ADeadOwnerMeansInterrupted) {
  StoreWorld world;
  WriteTen(world);
  world.LeaveJob();
  auto history = SqliteJobJournal::Open(world.state(), 1);
  ASSERT_TRUE(history);
  EXPECT_EQ(history->summary().standing, JobStanding::kInterrupted);
  EXPECT_EQ(history->Counts()->leased, 0u);
  EXPECT_EQ(history->Counts()->queued, 4u);
  JobCounts expected = {.total = 10, .succeeded = 4, .failed = 1, .cancelled = 1};
  EXPECT_EQ(history->summary().row.counts, expected);
}

TEST(History, AttemptsAndOutput) {
  StoreWorld world;
  WriteTen(world);
  auto history = SqliteJobJournal::Open(world.state(), 1);
  ASSERT_TRUE(history);
  auto task = history->Task(4);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->state, TaskState::kFailed);
  EXPECT_EQ(task->attempts, 2u);
  EXPECT_EQ(task->tries, 2u);
  EXPECT_EQ(task->last->record.end.cause, Cause::kMemory);
  auto attempts = history->Attempts(4);
  ASSERT_EQ(attempts->size(), 2u);
  EXPECT_EQ(attempts->at(0).record.end.note, "first try");
  EXPECT_EQ(Read(*history, attempts->at(0), Stream::kStdout), "");
  EXPECT_EQ(Read(*history, attempts->at(1), Stream::kStdout),
            std::string(100'000, 'a') + std::string(100'000, 'z'));
  auto first = history->Task(1);
  EXPECT_EQ(Read(*history, *first->last, Stream::kStdout), "out1");
  EXPECT_EQ(Read(*history, *first->last, Stream::kStderr), "err");
  EXPECT_EQ(history->Task(10).error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(history->Task(9)->last);
  EXPECT_EQ(history->Task(5)->tries, 0u);
  EXPECT_EQ(history->Task(5)->attempts, 1u);
}

TEST(History, Statistics) {
  StoreWorld world;
  WriteTen(world);
  auto statistics = SqliteJobJournal::Open(world.state(), 1)->Statistics();
  ASSERT_TRUE(statistics);
  EXPECT_EQ(statistics->attempts, 7u);
  EXPECT_EQ(statistics->median_wall, Duration::Micros(602));
  EXPECT_EQ(SqliteJobJournal::Open(world.state(), 1)->Pace()->mean_wall, Duration::Micros(602));
  EXPECT_EQ(statistics->total_user, Duration::Micros(7 * 300));
  EXPECT_EQ(statistics->peak_memory, 1u << 30);
  EXPECT_EQ(statistics->peak_task, 4u);
  EXPECT_EQ(statistics->first_start, EndOf(0).end.start);
  EXPECT_EQ(statistics->last_end, EndOf(5).end.start + EndOf(5).end.wall);
  EXPECT_GT(statistics->tasks_per_second, 1000);
  EXPECT_EQ(statistics->output_bytes, 21u + 200'000);
}

TEST(History, RefreshSeesWhatCameLater) {
  StoreWorld world;
  WriteTen(world);
  auto history = SqliteJobJournal::Open(world.state(), 1);
  EXPECT_EQ(history->Counts()->succeeded, 4u);
  Bundle bundle;
  bundle.records.push_back(EndOf(7));
  ASSERT_TRUE(world.Commit(std::move(bundle)));
  EXPECT_EQ(history->Counts()->succeeded, 4u);
  history->Refresh();
  EXPECT_EQ(history->Counts()->succeeded, 5u);
}

TEST(History, ListOfJobs) {
  os::TempDir temp;
  std::string state = temp.Path("state");
  auto loop = std::move(*os::RealLoop::Create());
  auto write = [&](const std::string& name, std::optional<JobState> end) {
    auto dir = JobDir::Create(state);
    auto store = SqliteStore::Open(*dir, *loop);
    JobRow row = ExampleJob(1);
    row.name = name;
    (*store)->PutJob(row);
    if (end) (*store)->PutProgress({.job = JobId(1), .state = *end, .ended = Instant{5000}});
    store->reset();
    return std::move(*dir);
  };
  {
    auto dir = write("first", JobState::kFinished);
  }
  {
    auto dir = write("second", std::nullopt);
  }
  {
    auto dir = write("third", JobState::kStopped);
  }
  {
    auto dir = JobDir::Create(state);
  }  // came to nothing
  temp.Write("state/jobs/5/job.db", "this is no database, and it is long enough to be seen");
  auto running = write("sixth", std::nullopt);
  std::string text;
  auto add = [&](const JobSummary& job) {
    text += fmt::format("{} {} {}\n", job.number, job.row.name, WordOf(job.standing));
    EXPECT_EQ(job.problem.empty(), job.number != 5);
    return true;
  };
  ASSERT_TRUE(VisitJobs(state, *JobNumbers(state), add));
  EXPECT_EQ(text,
            "6 sixth running\n5  damaged\n3 third stopped\n2 second interrupted\n"
            "1 first finished\n");
  EXPECT_TRUE(IsFrozen({JobPath(state, 1), false}));
  EXPECT_FALSE(IsFrozen(running.place()));
  // Reading a finished job leaves nothing beside its database.
  EXPECT_FALSE(os::Exists(JobPath(state, 1) + "/job.db-shm"));
  EXPECT_EQ(SummarizeJob(state, 4).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(SqliteJobJournal::Open(state, 5).error().kind, ErrorKind::kCorrupt);
  EXPECT_TRUE(JobNumbers(temp.Path("nowhere"))->empty());
}

TEST(StateCheck, ASoundJob) {
  StoreWorld world;
  WriteTen(world);
  world.CloseStore();
  uint64_t seen = 0;
  auto report = CheckJob(world.state(), 1, [&](const engine::Record&) { ++seen; });
  ASSERT_TRUE(report) << MessageOf(report.error());
  for (const std::string& problem : report->problems) ADD_FAILURE() << problem;
  EXPECT_EQ(report->attempts, 7u);
  EXPECT_EQ(report->log_records, 6u);
  EXPECT_EQ(seen, 13u);
  EXPECT_EQ(report->rows, 10u);
  EXPECT_EQ(report->output_bytes, 21u + 200'000);
  EXPECT_EQ(CheckJob(world.state(), 2).error().kind, ErrorKind::kNotFound);
}

TEST(StateCheck, EveryKindOfDamage) {
  const std::pair<const char*, const char*> cases[] = {
      {"UPDATE attempt SET wall_us = wall_us + 1 WHERE seq = 4", "row 4 of table attempt"},
      {"UPDATE attempt SET verdict = 9 WHERE seq = 4", "row 4 of table attempt"},
      {"DELETE FROM attempt WHERE seq = 4", "record 4 is missing"},
      {"UPDATE log SET data = x'0102' WHERE seq = 1", "row 1 of table log (checksum)"},
      {"UPDATE log SET kind = 5 WHERE seq = 1", "row 1 of table log (checksum)"},
      {"UPDATE attempt_rare SET note = 'x'", "of table attempt (checksum)"},
      {"DELETE FROM attempt_rare WHERE note IS NOT NULL", "of table attempt (checksum)"},
      {"INSERT INTO attempt_rare(seq) VALUES(1)", "of table attempt_rare (it belongs"},
      {"UPDATE rows SET checksum = 1", "the text of tasks 1 to 10 is damaged (checksum)"},
      {"UPDATE rows SET count = 9", "the text of tasks 1 to 9 is damaged"},
      {"DELETE FROM rows", "the text of tasks 1 to 10 is missing"},
      {"UPDATE job_text SET argv = '['", "row 1 of table job"},
      {"UPDATE job SET last_seq = 5", "row 1 of table job (checksum)"},
      {"DELETE FROM job", "the row of table job is missing"},
  };
  for (const auto& [sql, expected] : cases) {
    StoreWorld world;
    WriteTen(world);
    world.CloseStore();
    {
      auto db = Database::Open(world.dir().DbPath(), DbMode::kWrite);
      ASSERT_TRUE(db->Run(sql)) << sql;
    }
    auto report = CheckJob(world.state(), 1);
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->sound()) << sql;
    bool found = std::ranges::any_of(report->problems, [&](const std::string& problem) {
      return problem.find(expected) != std::string::npos;
    });
    EXPECT_TRUE(found) << sql << "\n" << (report->sound() ? "" : report->problems[0]);
  }
}

TEST(StateCheck, OutputThatIsCutShort) {
  StoreWorld world;
  WriteTen(world);
  world.CloseStore();
  auto fd = os::OpenWrite(world.dir().place().OutputPath({}), os::OpenHow::kReadWrite);
  ASSERT_TRUE(os::Truncate(fd->get(), 20, "output"));
  auto report = CheckJob(world.state(), 1);
  ASSERT_EQ(report->problems.size(), 2u);
  EXPECT_NE(report->problems[0].find("output' has 20 bytes"), std::string::npos);
  auto history = SqliteJobJournal::Open(world.state(), 1);
  auto task = history->Task(4);
  auto read = history->ReadOutput(*task->last, Stream::kStdout, [](std::string_view, uint64_t) {});
  EXPECT_EQ(read.error().kind, ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace spate::store
