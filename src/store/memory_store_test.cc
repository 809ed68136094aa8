#include "store/testing_memory_store.h"

#include <gtest/gtest.h>

#include "os/fake_loop.h"

namespace spate::store {
namespace {

Bundle SealOf(uint32_t job) {
  Bundle bundle;
  bundle.records.push_back(engine::JobSealed{JobId(job)});
  return bundle;
}

std::vector<uint32_t> JobsOf(const std::shared_ptr<MemoryDisk>& disk) {
  os::FakeLoop loop;
  MemoryStore store(loop, disk);
  std::vector<uint32_t> jobs;
  EXPECT_TRUE(store.Replay([&](const engine::Record& r) {
    if (const auto* seal = std::get_if<engine::JobSealed>(&r)) jobs.push_back(seal->job.value);
  }));
  return jobs;
}

struct Fixture {
  os::FakeLoop loop;
  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  MemoryStore store{
      loop, disk, {.delay_min = Duration::Millis(1), .delay_max = Duration::Millis(5)}};
  std::vector<uint32_t> done;
  std::vector<Error> errors;

  void Append(uint32_t job) {
    store.Append(SealOf(job), [this, job](Status s) {
      if (s) {
        done.push_back(job);
      } else {
        errors.push_back(s.error());
      }
    });
  }
};

TEST(MemoryStore, CommitsLateAndInOrder) {
  Fixture f;
  for (uint32_t i = 1; i <= 5; ++i) f.Append(i);
  f.loop.RunUntilIdle();
  EXPECT_TRUE(f.done.empty());
  EXPECT_GT(f.store.Backlog(), 0u);
  f.loop.RunFor(Duration::Millis(25));
  EXPECT_EQ(f.done, (std::vector<uint32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(f.store.Backlog(), 0u);
  EXPECT_EQ(JobsOf(f.disk), f.done);
}

TEST(MemoryStore, CrashKeepsAPrefix) {
  Fixture f;
  for (uint32_t i = 1; i <= 5; ++i) f.Append(i);
  while (f.done.size() < 2) ASSERT_TRUE(f.loop.Step());
  f.store.Crash(1);  // the third was durable, though nobody heard of it
  f.Append(6);
  f.loop.RunFor(Duration::Seconds(1));
  EXPECT_EQ(f.done, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(JobsOf(f.disk), (std::vector<uint32_t>{1, 2, 3}));
}

TEST(MemoryStore, AFailureEndsItForEveryLaterBundle) {
  Fixture f;
  f.store.FailAfter(1, {ErrorKind::kExhausted, "disk full"});
  for (uint32_t i = 1; i <= 3; ++i) f.Append(i);
  f.loop.RunFor(Duration::Seconds(1));
  f.Append(4);
  f.loop.RunFor(Duration::Seconds(1));
  EXPECT_EQ(f.done, (std::vector<uint32_t>{1}));
  ASSERT_EQ(f.errors.size(), 3u);
  EXPECT_EQ(f.store.Backlog(), 0u);
  EXPECT_EQ(f.errors[0].kind, ErrorKind::kExhausted);
  EXPECT_EQ(JobsOf(f.disk), (std::vector<uint32_t>{1}));
}

TEST(MemoryStore, RowsAreThereAtOnceAndAfterwards) {
  Fixture f;
  Bundle bundle;
  bundle.rows.push_back({JobId(1), 0, {"a", std::string("b\0c", 3)}});
  bundle.rows.push_back({JobId(1), 2, {"d"}});
  f.store.Append(std::move(bundle), [](Status) {});
  std::vector<std::string> expected = {std::string("b\0c", 3), "d"};
  EXPECT_EQ(f.store.Rows(JobId(1), 1, 2).value(), expected);
  f.loop.RunFor(Duration::Millis(10));
  EXPECT_EQ(f.store.Rows(JobId(1), 1, 2).value(), expected);
  EXPECT_EQ(f.store.Rows(JobId(1), 2, 2).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(f.store.Rows(JobId(2), 0, 1).error().kind, ErrorKind::kNotFound);
}

TEST(MemoryStore, AttemptsAreRoundedAndOutputsKept) {
  Fixture f;
  engine::AttemptEnded ended;
  ended.end.ref = {JobId(1), 7, Attempt(1)};
  ended.end.wall = {1999};
  Bundle bundle;
  bundle.records.push_back(ended);
  auto output = std::make_shared<TaskOutput>();
  output->out = {.bytes = "hi", .spool = "", .total = 2};
  bundle.outputs.push_back(output);
  f.store.Append(std::move(bundle), [](Status) {});
  f.loop.RunFor(Duration::Millis(10));
  os::FakeLoop loop;
  MemoryStore again(loop, f.disk);
  int seen = 0;
  ASSERT_TRUE(again.Replay([&](const engine::Record& r) {
    ++seen;
    EXPECT_EQ(std::get<engine::AttemptEnded>(r).end.wall.ns, 1000);
  }));
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(f.disk->outputs.at(ended.end.ref)->out.bytes, "hi");
}

TEST(MemoryStore, DestroyedByItsCompletion) {
  os::FakeLoop loop;
  auto store = std::make_unique<MemoryStore>(loop, std::make_shared<MemoryDisk>());
  store->Append(SealOf(1), [&](Status) { store.reset(); });
  store->Append(SealOf(2), [&](Status) { FAIL(); });
  loop.RunFor(Duration::Seconds(1));
  EXPECT_EQ(store, nullptr);
}

std::vector<uint32_t> PilotsOf(const std::shared_ptr<MemoryDisk>& disk) {
  os::FakeLoop loop;
  MemoryStore store(loop, disk);
  std::vector<uint32_t> pilots;
  EXPECT_TRUE(store.ReplayPools([&](const provision::Record& record) {
    if (const auto* r = std::get_if<provision::PilotIntended>(&record)) {
      pilots.push_back(r->pilot.value);
    } else if (const auto* kept = std::get_if<provision::PilotKept>(&record)) {
      pilots.push_back(kept->pilot.value);
    }
  }));
  return pilots;
}

TEST(MemoryStore, RecordsOfPoolsAreLateAndCut) {
  using provision::PilotId, provision::PilotIntended, provision::PoolId;
  Fixture f;
  auto intend = [&](uint32_t pilot) {
    f.store.AppendPoolRecords({PilotIntended{PoolId(1 + pilot % 2), PilotId(pilot), {}}},
                              Instant{pilot * 1000}, nullptr);
  };
  intend(1);
  intend(2);
  f.store.AppendPoolRecords({provision::PilotSubmitted{PilotId(1), "x"}}, Instant{3000}, nullptr);
  EXPECT_TRUE(PilotsOf(f.disk).empty());
  f.loop.RunFor(Duration::Millis(15));
  EXPECT_EQ(PilotsOf(f.disk), (std::vector<uint32_t>{1, 2}));
  auto rows = f.store.ReadPoolLog(PoolId(2), 10);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(1).at, Instant{3000});
  EXPECT_EQ(f.store.ReadPoolLog(PoolId(2), 1)->size(), 1u);

  f.store.CutPools({provision::NumbersKept{PoolId(2), PilotId(2)},
                    provision::PoolKept{.pool = PoolId(2), .policy = {}},
                    provision::PilotKept{.pilot = PilotId(2), .pool = PoolId(1)}},
                   Instant{3000}, nullptr);
  intend(3);
  intend(4);
  f.store.Crash(2);
  EXPECT_EQ(PilotsOf(f.disk), (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(f.store.ReadPoolLog(PoolId(2), 10)->size(), 2u) << "what is older is gone";
}

}  // namespace
}  // namespace spate::store
