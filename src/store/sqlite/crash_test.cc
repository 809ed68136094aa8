// The journal against its worst days: kill -9 at any moment, flipped bytes, a full disk.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/prng.h"
#include "core/engine/engine.h"
#include "core/engine/record_job.h"
#include "core/provision/durable.h"
#include "store/record_codec.h"
#include "store/sqlite/database.h"
#include "store/sqlite/hub_scan.h"
#include "store/sqlite/job_journal.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/state_check.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

constexpr uint32_t kEach = 4;  // tasks in a bundle

std::string TextOf(TaskIndex index) {
  return std::string(index % 900, static_cast<char>('a' + index % 26)) + std::to_string(index);
}

// Bundle k: a lease and the ends of four tasks, each with its output.
Bundle BundleNumber(uint32_t k) {
  Bundle bundle;
  TaskIndex first = k * kEach;
  bundle.records.push_back(engine::Leased{NodeId(1), JobId(1), Attempt(1), {{first, kEach}}});
  for (TaskIndex i = first; i < first + kEach; ++i) {
    auto ended = EndOf(i);
    ended.end.stdout_total = TextOf(i).size();
    bundle.records.push_back(ended);
    bundle.outputs.push_back(OutputOf(TextOf(i)));
  }
  return bundle;
}

Bundle AcceptBundle(uint32_t tasks) {
  JobPlan plan = {.task_count = tasks, .requests = {Needs()}, .runs = {{0, tasks, 0}}};
  RowChunk chunk{JobId(1), 0, {}};
  for (uint32_t i = 0; i < tasks; ++i) chunk.rows.push_back("row " + std::to_string(i));
  Bundle bundle;
  bundle.rows.push_back(std::move(chunk));
  bundle.records.push_back(engine::JobAccepted{JobId(1), plan});
  return bundle;
}

// The child: appends bundles from `next` on, and writes a byte for each that is durable.
[[noreturn]] void WriteUntilKilled(const std::string& state, uint32_t next, int acks) {
  auto loop = std::move(*os::RealLoop::Create());
  auto dir = JobDir::Open(state, 1);
  if (!dir) _exit(2);
  auto store = SqliteStore::Open(*dir, *loop);
  if (!store) _exit(3);
  std::function<void()> append = [&] {
    (*store)->Append(BundleNumber(next++), [&](Status status) {
      if (!status || write(acks, "+", 1) != 1) _exit(4);
      append();
    });
  };
  for (int in_flight = 0; in_flight < 7; ++in_flight) append();
  loop->Run();
  _exit(5);
}

// Bundles whose records came back, all in order and whole.
uint32_t WholeBundles(const std::string& state) {
  auto loop = std::move(*os::RealLoop::Create());
  auto dir = JobDir::Open(state, 1);
  EXPECT_TRUE(dir);
  auto store = SqliteStore::Open(*dir, *loop);
  if (!store) {
    // Killed before the first commit was durable.
    EXPECT_EQ(store.error().kind, ErrorKind::kNotFound) << MessageOf(store.error());
    EXPECT_TRUE(os::RemoveFile(dir->DbPath()));
    return 0;
  }
  uint32_t records = 0;
  auto replayed = (*store)->Replay([&](const engine::Record& r) {
    uint32_t k = records / (kEach + 1);
    uint32_t at = records % (kEach + 1);
    if (at == 0) {
      EXPECT_EQ(std::get<engine::Leased>(r).tasks[0].first, k * kEach);
    } else {
      EXPECT_EQ(std::get<engine::AttemptEnded>(r).end.ref.index, k * kEach + at - 1);
    }
    ++records;
  });
  EXPECT_TRUE(replayed) << MessageOf(replayed.error());
  EXPECT_EQ(records % (kEach + 1), 0u) << "half a bundle came back";
  return records / (kEach + 1);
}

// Without a replay: the journal has no job that would take these records.
std::map<TaskIndex, std::vector<AttemptEntry>> AttemptsOf(JobJournal& history) {
  std::map<TaskIndex, std::vector<AttemptEntry>> attempts;
  EXPECT_TRUE(history.AttemptsBetween(0, UINT64_MAX, [&](uint64_t, const AttemptEntry& attempt) {
    attempts[attempt.record.end.ref.index].push_back(attempt);
    return true;
  }));
  return attempts;
}

// Every attempt's output is its own, in spite of what was cut off in between.
void CheckOutputs(const std::string& state, uint32_t bundles) {
  {
    auto loop = std::move(*os::RealLoop::Create());
    auto dir = JobDir::Open(state, 1);
    auto store = SqliteStore::Open(*dir, *loop);
    (*store)->PutJob(ExampleJob(bundles * kEach));
  }
  auto history = SqliteJobJournal::Open(state, 1);
  ASSERT_TRUE(history) << MessageOf(history.error());
  const auto attempts = AttemptsOf(*history);
  ASSERT_EQ(attempts.size(), bundles * kEach);
  for (const auto& [i, all] : attempts) {
    ASSERT_EQ(all.size(), 1u);
    std::string text;
    auto read = history->ReadOutput(all.front(), Stream::kStdout,
                                    [&](std::string_view bytes, uint64_t) { text += bytes; });
    ASSERT_TRUE(read) << MessageOf(read.error());
    ASSERT_EQ(text, TextOf(i));
  }
}

// Runs `child` (it never ends by itself) with a pipe to write a byte for each durable bundle, and
// kills it after some of them. Returns how many there were.
template <typename Child>
uint32_t AcknowledgedUntilKilled(Prng& prng, Child child) {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  pid_t pid = fork();
  EXPECT_GE(pid, 0);
  if (pid == 0) {
    close(pipe_ends[0]);
    child(pipe_ends[1]);
  }
  close(pipe_ends[1]);
  uint64_t wanted = prng.Below(60);
  uint32_t acknowledged = 0;
  char byte;
  while (acknowledged < wanted && read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;
  kill(pid, SIGKILL);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << status;
  while (read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;
  close(pipe_ends[0]);
  return acknowledged;
}

TEST(Crash, KilledWriterLosesNothingThatWasAcknowledged) {
  os::TempDir temp;
  std::string state = temp.Path("state");
  {
    auto dir = JobDir::Create(state);
  }
  Prng prng(20240607);
  uint32_t bundles = 0;
  for (int life = 0; life < 12; ++life) {
    uint32_t acknowledged =
        AcknowledgedUntilKilled(prng, [&](int acks) { WriteUntilKilled(state, bundles, acks); });
    uint32_t now = WholeBundles(state);
    EXPECT_GE(now, bundles + acknowledged);
    EXPECT_LE(now, bundles + acknowledged + 500);
    bundles = now;
  }
  EXPECT_GT(bundles, 100u);
  CheckOutputs(state, bundles);
}

// ---------------------------------------------------------------------------------------- hub

constexpr uint32_t kHubJobs = 3;

// Bundle k is of job 1 + k % 3; every tenth finishes its job, and the job's next one reopens it.
Bundle HubBundle(uint32_t k) {
  JobId job(1 + k % kHubJobs);
  uint32_t round = k / kHubJobs;
  Bundle bundle;
  if (round > 0 && round % 10 == 0) {
    bundle.records.push_back(engine::TasksReopened{job, {{0, 1}}});
  }
  Bundle ends = HubWorld::Ends(job, round * kEach, kEach, "job" + std::to_string(job.value) + ".");
  std::ranges::move(ends.records, std::back_inserter(bundle.records));
  bundle.outputs = std::move(ends.outputs);
  if (round % 10 == 9) {
    uint32_t all = (round + 1) * kEach;
    bundle.records.push_back(engine::JobFinished{job, {.total = all, .succeeded = all}});
  }
  return bundle;
}

[[noreturn]] void RunHubUntilKilled(const std::string& path, uint32_t next, int acks) {
  auto loop = std::move(*os::RealLoop::Create());
  auto dir = HubDir::Open(path);
  if (!dir) _exit(2);
  auto store = SqliteStore::Open(*dir, *loop);
  if (!store) _exit(3);
  std::function<void()> append = [&] {
    (*store)->Append(HubBundle(next++), [&](Status status) {
      if (!status || write(acks, "+", 1) != 1) _exit(4);
      append();
    });
  };
  for (int in_flight = 0; in_flight < 7; ++in_flight) append();
  loop->Run();
  _exit(5);
}

// Ends of this job that came back, in order.
uint32_t EndsOfJob(SqliteStore& store, JobId job) {
  uint32_t ends = 0;
  auto replayed = store.ReplayJob(job, [&](const engine::Record& r) {
    const auto* ended = std::get_if<engine::AttemptEnded>(&r);
    if (ended == nullptr) return;
    EXPECT_EQ(ended->end.ref.job, job);
    EXPECT_EQ(ended->end.ref.index, ends);
    ++ends;
  });
  EXPECT_TRUE(replayed) << MessageOf(replayed.error());
  EXPECT_EQ(ends % kEach, 0u) << "half a bundle came back";
  return ends;
}

// Bundles that came back; every job has its own, and Replay those of the unfinished ones.
uint32_t WholeHubBundles(HubWorld& world) {
  uint32_t bundles = 0;
  std::map<uint32_t, uint32_t> replayed;
  EXPECT_TRUE(world.store().Replay([&](const engine::Record& r) {
    if (std::holds_alternative<engine::AttemptEnded>(r)) ++replayed[JobOf(r).value];
  }));
  for (uint32_t number = 1; number <= kHubJobs; ++number) {
    JobId job(number);
    uint32_t ends = EndsOfJob(world.store(), job);
    bundles += ends / kEach;
    bool finished = ends > 0 && ends / kEach % 10 == 0;
    EXPECT_EQ(replayed[number], finished ? 0 : ends);
    auto row = world.store().ReadJob(job);
    EXPECT_EQ(row->last_seq != 0, finished);
    EXPECT_EQ(row->state == JobState::kFinished, finished);
    if (finished) {
      EXPECT_EQ(row->counts.succeeded, ends);
    }
    auto history = SqliteJobJournal::Open(world.place(), number);
    EXPECT_TRUE(history);
    auto attempts = AttemptsOf(*history);
    for (TaskIndex i = 0; i < ends; i += 7) {
      EXPECT_FALSE(attempts[i].empty());
      if (attempts[i].empty()) break;
      std::string text;
      auto read = history->ReadOutput(attempts[i].back(), Stream::kStdout,
                                      [&](std::string_view bytes, uint64_t) { text += bytes; });
      EXPECT_TRUE(read) << MessageOf(read.error());
      EXPECT_EQ(text, "job" + std::to_string(number) + "." + std::to_string(i));
    }
  }
  return bundles;
}

TEST(Crash, KilledHubLosesNothingOfAnyJob) {
  HubWorld world;
  for (uint32_t i = 0; i < kHubJobs; ++i) world.Submit(100);
  Prng prng(7);
  uint32_t bundles = 0;
  for (int life = 0; life < 8; ++life) {
    world.Close();
    uint32_t acknowledged = AcknowledgedUntilKilled(
        prng, [&](int acks) { RunHubUntilKilled(world.path(), bundles, acks); });
    world.Open();
    uint32_t now = WholeHubBundles(world);
    EXPECT_GE(now, bundles + acknowledged);
    bundles = now;
  }
  EXPECT_GT(bundles, 100u);
}

// -------------------------------------------------------------------------------------- pools

// A user's rule and pilots in turn: how many of both came back.
struct PilotsAndRules {
  provision::Durable pools;
  uint32_t rules = 0;
  std::string problem;

  explicit PilotsAndRules(SqliteStore& store) {
    auto of_pools = store.ReplayPools([this](const provision::Record& r) { pools.Apply(r); });
    auto others = store.Replay([this](const engine::Record& record) {
      const auto* changed = std::get_if<engine::UserChanged>(&record);
      if (changed != nullptr) rules = changed->rule.weight;
    });
    for (const Status& status : {of_pools, others}) {
      if (!status) problem = status.error().message;
    }
  }
  uint32_t pilots() const { return pools.last_pilot().value; }
};

// A pilot is intended, and then a user's rule changed, again and again. All pilots but the newest
// have ended; each tenth cuts the journal.
[[noreturn]] void AskForPilotsUntilKilled(const std::string& path, int acks) {
  auto loop = std::move(*os::RealLoop::Create());
  auto dir = HubDir::Open(path);
  if (!dir) _exit(2);
  auto store = SqliteStore::Open(*dir, *loop);
  if (!store) _exit(3);
  PilotsAndRules now(**store);
  if (!now.problem.empty()) _exit(6);
  auto append = [&](auto& self) -> void {
    auto done = [&](Status status) {
      if (!status || write(acks, "+", 1) != 1) _exit(4);
      self(self);
    };
    if (now.pilots() > now.rules) {
      Bundle bundle;
      bundle.records.push_back(engine::UserChanged{"ada", {.weight = ++now.rules}});
      return (*store)->Append(std::move(bundle), done);
    }
    std::vector<provision::Record> records;
    for (const auto& [id, pilot] : now.pools.pilots()) {
      records.push_back(provision::PilotEnded{.pilot = id});
    }
    records.push_back(provision::PilotIntended{
        provision::PoolId(1), provision::PilotId(now.pilots() + 1), Instant{now.pilots()}});
    for (const provision::Record& record : records) now.pools.Apply(record);
    (*store)->AppendPoolRecords(std::move(records), Instant{1'000'000 * now.pilots()}, done);
    if (now.pilots() % 10 == 0) {
      (*store)->CutPools(now.pools.Images(), Instant{1'000'000 * (now.pilots() - 5)}, nullptr);
    }
  };
  for (int in_flight = 0; in_flight < 7; ++in_flight) append(append);
  loop->Run();
  _exit(5);
}

TEST(Crash, KilledHubLosesNoPilot) {
  HubWorld world;
  provision::PoolPolicy policy;
  policy.name = "pool";
  ASSERT_TRUE(Await(world.loop(), [&](auto done) {
    world.store().AppendPoolRecords({provision::PoolChanged{provision::PoolId(1), policy}}, {},
                                    done);
  }));
  Prng prng(8);
  uint32_t steps = 0;
  for (int life = 0; life < 8; ++life) {
    world.Close();
    uint32_t acknowledged = AcknowledgedUntilKilled(
        prng, [&](int acks) { AskForPilotsUntilKilled(world.path(), acks); });
    world.Open();
    PilotsAndRules now(world.store());
    ASSERT_EQ(now.problem, "");
    EXPECT_GE(now.pilots() + now.rules, steps + acknowledged);
    EXPECT_LE(now.pilots() - now.rules, 1u) << "a later one is there, and an earlier one is not";
    EXPECT_EQ(now.pools.pilots().size(), now.pilots() > 0 ? 1u : 0u) << "half a change came back";
    steps = now.pilots() + now.rules;
  }
  EXPECT_GT(steps, 100u);
}

// ------------------------------------------------------------------------------------- damage

struct Content {
  std::vector<std::string> records;  // encoded, or the index of an end
  std::vector<std::string> rows;
  friend bool operator==(const Content&, const Content&) = default;
};

// All of a journal, or the first error.
Result<Content> ReadAll(const JobDir& dir, os::Loop& loop, uint32_t tasks) {
  auto store = SqliteStore::Open(dir, loop);
  if (!store) return std::unexpected(std::move(store.error()));
  Content content;
  auto replayed = (*store)->Replay([&](const engine::Record& r) {
    if (const auto* ended = std::get_if<engine::AttemptEnded>(&r)) {
      content.records.push_back(std::to_string(AttemptChecksum(0, {*ended, {}})));
    } else {
      content.records.push_back(EncodeRecord(r).data);
    }
  });
  if (!replayed) return std::unexpected(std::move(replayed.error()));
  auto rows = (*store)->Rows(JobId(1), 0, tasks);
  if (!rows) return std::unexpected(std::move(rows.error()));
  content.rows = std::move(*rows);
  return content;
}

TEST(Crash, FlippedBytesAreRefusedAndTheFileIsLeftAlone) {
  StoreWorld world;
  constexpr uint32_t kTasks = 600;
  ASSERT_TRUE(world.Put(ExampleJob(kTasks)));
  ASSERT_TRUE(world.Commit(AcceptBundle(kTasks)));
  for (uint32_t k = 0; k < kTasks / kEach; ++k) {
    world.store().Append(BundleNumber(k), [](Status) {});
  }
  world.CloseStore();
  std::string path = world.dir().DbPath();
  std::string sound = os::ReadFile(path, 10 << 20).value();
  auto original = ReadAll(world.dir(), world.loop(), kTasks);
  ASSERT_TRUE(original);
  Prng prng(7);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = sound;
    size_t at = prng.Below(damaged.size());
    damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1 + prng.Below(255)));
    ASSERT_TRUE(os::WriteFile(path, damaged));
    auto content = ReadAll(world.dir(), world.loop(), kTasks);
    if (content) {
      // The byte said nothing of ours: free space, or the job's row.
      EXPECT_EQ(*content, *original) << "byte " << at;
    } else {
      ++refused;
      EXPECT_TRUE(content.error().kind == ErrorKind::kCorrupt ||
                  content.error().kind == ErrorKind::kNotFound)
          << "byte " << at << ": " << MessageOf(content.error());
      EXPECT_FALSE(content.error().message.empty());
    }
    // The readers of history take it as it comes, or say what is wrong.
    auto history = SqliteJobJournal::Open(world.state(), 1);
    if (history) {
      (void)history->Statistics();
      (void)history->Tasks({}, [](const TaskSummary&) { return true; });
    }
    auto report = CheckJob(world.state(), 1);
    EXPECT_TRUE(content || !report || !report->sound()) << "byte " << at;
    ASSERT_EQ(os::ReadFile(path, 10 << 20).value(), damaged) << "byte " << at;
  }
  EXPECT_GT(refused, 120);
}

void MakeOlder(const std::string& path) {
  auto db = Database::Open(path, DbMode::kWrite);
  ASSERT_TRUE(db && db->Run(kMakeOlder));
}

int64_t VersionOf(const std::string& path) {
  return OpenJournalToRead(path)->QueryInt("PRAGMA user_version").value_or(-1);
}

TEST(Crash, AnOlderHubIsReadAsItIsAndUpgradedByItsFirstWrite) {
  HubWorld world;
  const JobId job = world.Submit(3);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 0, 2)));
  world.Close();
  const std::string path = world.path() + "/hub.db";
  MakeOlder(path);
  world.Open();
  auto records = [&] {
    int count = 0;
    EXPECT_TRUE(world.store().Replay([&](const engine::Record&) { ++count; }));
    return count;
  };
  EXPECT_EQ(records(), 4);
  EXPECT_TRUE(CheckHub(world.path())->sound());
  EXPECT_EQ(VersionOf(path), 0);
  EXPECT_FALSE(os::Exists(path + "-v0")) << "it was only read";
  ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 2, 1, "text")));
  EXPECT_EQ(VersionOf(path), kSchemaVersion);
  EXPECT_EQ(VersionOf(path + "-v0"), 0);
  world.Reopen();
  EXPECT_EQ(records(), 6);
  EXPECT_TRUE(CheckHub(world.path())->sound());
}

// The copy of before the upgrade is the way back.
TEST(Crash, AnOlderRunIsUpgradedAndItsCopyIsNamed) {
  StoreWorld world;
  ASSERT_TRUE(world.Put(ExampleJob(5)));
  ASSERT_TRUE(world.Commit(AcceptBundle(5)));
  world.CloseStore();
  const std::string path = world.dir().DbPath();
  MakeOlder(path);
  ASSERT_TRUE(OpenJournal(path));
  EXPECT_EQ(VersionOf(path), kSchemaVersion);
  auto copy = OpenJournalToRead(path + "-v0");
  ASSERT_TRUE(copy) << MessageOf(copy.error());
  EXPECT_EQ(ReadJobRow(*copy, JobId(1))->counts.total, 5u);
  EXPECT_TRUE(CheckJob(world.state(), 1)->sound());
  {
    auto db = Database::Open(path, DbMode::kWrite);
    ASSERT_TRUE(db->Run("PRAGMA user_version = 99"));
  }
  auto newer = OpenJournalToRead(path);
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().message.find(fmt::format("mv {0}-v0 {0}", path)), std::string::npos)
      << newer.error().message;
}

// The copy of before the upgrade has numbers that nodes have seen used since.
TEST(Crash, ANewerHubIsRestoredFromABackup) {
  HubWorld world;
  world.Close();
  const std::string path = world.path() + "/hub.db";
  {
    auto db = Database::Open(path, DbMode::kWrite);
    ASSERT_TRUE(db->Run("PRAGMA user_version = 99"));
  }
  ASSERT_TRUE(os::WriteFile(path + "-v0", "of before"));
  auto newer = OpenJournalToRead(path);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().kind, ErrorKind::kNewer);
  ASSERT_EQ(newer.error().remedy.commands.size(), 1u);
  EXPECT_EQ(newer.error().remedy.commands[0].command, "hub restore");
  EXPECT_EQ(newer.error().message.find("mv "), std::string::npos) << newer.error().message;
}

TEST(Crash, OtherFilesAndNewerVersionsAreRefused) {
  StoreWorld world;
  ASSERT_TRUE(world.Put(ExampleJob(1)));
  world.CloseStore();
  std::string path = world.dir().DbPath();
  auto open = [&] { return SqliteStore::Open(world.dir(), world.loop()); };
  {
    auto db = Database::Open(path, DbMode::kWrite);
    std::string sql = "PRAGMA user_version = " + std::to_string(kSchemaVersion + 1);
    ASSERT_TRUE(db->Run(sql.c_str()));
  }
  std::string before = os::ReadFile(path, 1 << 20).value();
  auto newer = open();
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().kind, ErrorKind::kNewer);
  EXPECT_NE(newer.error().message.find("its format is 2, and this release reads 0 to 1"),
            std::string::npos)
      << MessageOf(newer.error());
  EXPECT_EQ(os::ReadFile(path, 1 << 20).value(), before);
  ASSERT_TRUE(os::WriteFile(path, std::string(5000, 'x')));
  EXPECT_EQ(open().error().kind, ErrorKind::kCorrupt);
  ASSERT_TRUE(os::WriteFile(path, before.substr(0, before.size() / 2)));
  auto half = open();
  if (half)
    EXPECT_EQ((*half)->Replay([](const engine::Record&) {}).error().kind, ErrorKind::kCorrupt);
  ASSERT_TRUE(os::WriteFile(path, ""));
  EXPECT_EQ(open().error().kind, ErrorKind::kNotFound);
}

// ---------------------------------------------------------------------------------- disk full

// Appends until the store gives up; returns the bundles that were acknowledged.
uint32_t FillUntilError(StoreWorld& world, uint32_t next, Error& error) {
  uint32_t acknowledged = 0;
  int errors = 0;
  std::function<void()> append = [&] {
    world.store().Append(BundleNumber(next++), [&](Status status) {
      if (!status) {
        // All that is queued behind it, and all that comes later, gets the error.
        if (++errors == 1) {
          error = status.error();
          world.store().Append(BundleNumber(next++), [&](Status later) {
            EXPECT_EQ(later.error().message, error.message);
            world.loop().Stop();
          });
        }
        return;
      }
      EXPECT_EQ(errors, 0);
      ++acknowledged;
      append();
    });
  };
  constexpr int kInFlight = 20;
  for (int in_flight = 0; in_flight < kInFlight; ++in_flight) append();
  world.loop().Run();
  EXPECT_EQ(errors, kInFlight);
  EXPECT_EQ(world.store().Backlog(), 0u);
  return acknowledged;
}

void ExpectResumable(StoreWorld& world, uint32_t acknowledged) {
  world.Reopen();
  uint32_t bundles = static_cast<uint32_t>(world.Replayed().size()) / (kEach + 1);
  EXPECT_GE(bundles, acknowledged);
  ASSERT_TRUE(world.Commit(BundleNumber(bundles)));
  world.Reopen();
  EXPECT_EQ(world.Replayed().size(), (bundles + 1) * (kEach + 1));
  auto report = CheckJob(world.state(), 1);
  for (const std::string& problem : report->problems) {
    // There is no JobAccepted and no row in these journals.
    if (problem.find("the job has 0") == std::string::npos &&
        problem.find("row of table job is missing") == std::string::npos) {
      ADD_FAILURE() << problem;
    }
  }
}

TEST(Crash, AFullDatabaseEndsTheStoreAndResumes) {
  StoreWorld world({.page_limit = 40});
  Error error;
  uint32_t acknowledged = FillUntilError(world, 0, error);
  EXPECT_GT(acknowledged, 10u);
  EXPECT_EQ(error.kind, ErrorKind::kExhausted);
  EXPECT_NE(error.message.find("no space left"), std::string::npos);
  world.options().page_limit = 0;
  ExpectResumable(world, acknowledged);
}

TEST(Crash, AFileSizeLimitEndsTheStoreAndResumes) {
  StoreWorld world;
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = {.rlim_cur = 300'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Error error;
  uint32_t acknowledged = FillUntilError(world, 0, error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_GT(acknowledged, 10u);
  EXPECT_EQ(error.kind, ErrorKind::kExhausted) << MessageOf(error);
  ExpectResumable(world, acknowledged);
}

TEST(Crash, AFullFileSystemEndsTheStoreAndResumes) {
  os::TempDir temp;
  std::string disk = temp.Path("disk");
  ASSERT_TRUE(os::MakeDir(disk));
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "may not mount a small file system here";
  }
  {
    StoreWorld world({}, disk + "/state");
    Error error;
    uint32_t acknowledged = FillUntilError(world, 0, error);
    EXPECT_GT(acknowledged, 10u);
    EXPECT_EQ(error.kind, ErrorKind::kExhausted) << MessageOf(error);
    world.CloseStore();
    // A new job is refused in time, and leaves nothing.
    auto other = JobDir::Create(disk + "/state");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind, ErrorKind::kExhausted) << MessageOf(other.error());
    EXPECT_EQ(RunNumbers(disk + "/state")->size(), 1u);
    ASSERT_EQ(mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0);
    ExpectResumable(world, acknowledged);
  }
  EXPECT_EQ(umount(disk.c_str()), 0);
}

}  // namespace
}  // namespace spate::store
