// Long texts of a submitter cost others nothing: they are cut or not read, and removed in pieces.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/model/job_facts.h"
#include "store/sqlite/json_words.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

constexpr size_t kMost = 64 << 10;

JobRow LongRow(HubWorld& world) {
  JobRow row = HubWorld::RowOf(world.store().NextJobId(), 1);
  row.argv.assign(2'000, std::string(1'000, 'w'));
  row.files.assign(2'000, "/" + std::string(1'000, 'f'));
  row.name = std::string(1'000'000, 'n');
  row.cwd = "/" + std::string(1'000'000, 'c');
  return row;
}

size_t BytesOf(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

void ExpectCut(const JobRow& row) {
  EXPECT_TRUE(row.cut);
  EXPECT_LE(BytesOf(row.argv), kMost + 3);
  EXPECT_GT(BytesOf(row.argv), kMost - 2'000);
  EXPECT_LE(BytesOf(row.files), kMost + 3);
  EXPECT_EQ(row.name, std::string(1'021, 'n') + "...");
  EXPECT_EQ(row.cwd.size(), 4'096u);
}

TEST(LongTexts, AreCutWithAMark) {
  HubWorld world;
  JobRow row = LongRow(world);
  ASSERT_TRUE(world.Put(row));
  ASSERT_TRUE(world.Commit(HubWorld::Accept(row.job, 1)));
  const JobRow kept = *world.store().ReadJob(row.job);
  ExpectCut(kept);
  // A row that is written again, with other settings, keeps its cut texts.
  ASSERT_TRUE(world.Put(kept));
  const JobRow again = *world.store().ReadJob(row.job);
  EXPECT_EQ(again.argv, kept.argv);
  EXPECT_TRUE(again.cut);
  const JobId usual = world.Submit(1);
  EXPECT_FALSE(world.store().ReadJob(usual)->cut);
  EXPECT_TRUE(CheckHub(world.path())->sound());
}

TEST(LongTexts, OfOlderJournalsAreCutByTheUpgrade) {
  HubWorld world;
  const JobRow row = LongRow(world);
  const JobId job = world.Submit(1);
  const JobId damaged = world.Submit(1);
  const std::string path = world.path() + "/hub.db";
  world.Close();
  {
    auto db = Database::Open(path, DbMode::kWrite);
    const std::string argv = ToJson(row.argv), files = ToJson(row.files);
    const NewValue texts[] = {{"argv", "?1"}, {"files", "?2"}};
    for (const auto& [id, sum] : {std::pair{job, SumWith("job_text", texts)}, {damaged, "1"}}) {
      auto write = *db->Prepare(
          fmt::format("UPDATE job_text SET argv = ?1, files = ?2, checksum = {} WHERE job = {}",
                      sum, id.value));
      write.BindText(0, argv);
      write.BindText(1, files);
      ASSERT_TRUE(write.RunOnce());
    }
    const NewValue names[] = {{"name", "?1"}, {"cwd", "?2"}};
    auto write =
        *db->Prepare(fmt::format("UPDATE job SET name = ?1, cwd = ?2, checksum = {} WHERE id = {}",
                                 SumWith("job", names), job.value));
    write.BindText(0, row.name);
    write.BindText(1, row.cwd);
    ASSERT_TRUE(write.RunOnce());
    ASSERT_TRUE(db->Run(kMakeOlder));
  }
  world.Open();
  EXPECT_EQ(world.store().ReadJob(job)->argv, row.argv) << "it was only read";
  ASSERT_TRUE(world.Record(engine::NodeDrained{NodeId(7)}));
  ExpectCut(*world.store().ReadJob(job));
  EXPECT_EQ(world.store().ReadJob(damaged).error().kind, ErrorKind::kCorrupt);
  EXPECT_TRUE(os::Exists(path + "-v0"));
  auto check = CheckHub(world.path());
  ASSERT_TRUE(check);
  EXPECT_EQ(check->jobs.size(), 1u) << "the damaged one";
}

// A hub reads the user and the state for each question, without the texts: they may be damaged.
TEST(LongTexts, AreNotReadWithTheRest) {
  HubWorld world;
  const JobId job = world.Submit(1);
  world.Close();
  {
    auto db = Database::Open(world.path() + "/hub.db", DbMode::kWrite);
    ASSERT_TRUE(db->Run("UPDATE job_text SET argv = 'no list'"));
  }
  world.Open();
  const auto rows = world.store().ReadJobsBetween(job, job, 1);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().damage, "");
  EXPECT_EQ(rows->front().user, "ada");
  EXPECT_TRUE(rows->front().settings.empty());
  EXPECT_EQ(world.store().ReadJob(job).error().kind, ErrorKind::kCorrupt);
}

// Ten jobs, each with more bytes than one commit removes: others are written in between.
void ExpectOthersBetween(const std::function<void(HubWorld&, JobId)>& make_long) {
  constexpr int kJobs = 10;
  HubWorld world;
  for (int i = 0; i < kJobs; ++i) {
    const JobId job = world.Submit(1);
    make_long(world, job);
    JobRow row = *world.store().ReadJob(job);
    row.submission = fmt::format("s{}", i);
    ASSERT_TRUE(world.Put(row));
    ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 0, 1)));
    ASSERT_TRUE(world.Finish(job, 1));
  }
  int forgotten = 0;
  int forgotten_before_other = kJobs;
  for (int i = 1; i <= kJobs; ++i) {
    world.store().ForgetJob(JobId(static_cast<uint32_t>(i)), [&](Status status) {
      EXPECT_TRUE(status);
      ++forgotten;
    });
  }
  // The names of their submissions are free at once.
  JobRow next = HubWorld::RowOf(world.store().NextJobId(), 1);
  next.submission = fmt::format("s{}", kJobs - 1);
  world.store().PutJob(next);
  ASSERT_TRUE(Await(world.loop(), [&](auto done) {
    world.store().PutNode({.id = NodeId(9), .name = "n9"}, [&, done](Status status) {
      forgotten_before_other = forgotten;
      done(std::move(status));
    });
  }));
  EXPECT_LT(forgotten_before_other, 3);
  while (forgotten < kJobs) ASSERT_TRUE(world.Record(engine::NodeDrained{NodeId(9)}));
  EXPECT_EQ(*world.store().FindSubmission(next.submission), next.job);
  ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(next.job, done); }));
  auto db = OpenJournalToRead(world.path() + "/hub.db");
  for (const char* table : {"job", "job_text", "shared", "shared_by", "rows", "attempt", "span"}) {
    EXPECT_EQ(*db->QueryInt(fmt::format("SELECT COUNT(*) FROM {}", table)), 0) << table;
  }
  EXPECT_EQ(*db->QueryInt("SELECT COUNT(*) FROM log WHERE job > 0"), 0);
  EXPECT_TRUE(CheckHub(world.path())->sound());
}

std::string Noise(size_t size, uint32_t seed) {
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>((seed = seed * 1'664'525 + 1'013'904'223) >> 24);
  return text;
}

TEST(LongTexts, GoBitByBitWithTheirJobs) {
  ExpectOthersBetween([](HubWorld& world, JobId job) {
    JobRow row = HubWorld::RowOf(job, 1);
    row.settings = Noise(5 << 20, job.value);
    ASSERT_TRUE(world.Put(row));
  });
}

TEST(LongTexts, RowsOfTasksGoBitByBit) {
  ExpectOthersBetween([](HubWorld& world, JobId job) {
    Bundle bundle;
    bundle.rows.push_back({job, 1, {}});
    for (uint32_t i = 0; i < 100; ++i) bundle.rows.back().rows.push_back(Noise(60'000, i));
    ASSERT_TRUE(world.Commit(std::move(bundle)));
  });
}

TEST(LongTexts, RecordsGoBitByBit) {
  ExpectOthersBetween([](HubWorld& world, JobId job) {
    Bundle bundle = HubWorld::Ends(job, 0, 1);
    auto& end = std::get<engine::AttemptEnded>(bundle.records.back());
    end.verdict = engine::Verdict::kRetry;
    end.end.note = Noise(1, 7) + std::string(1 << 20, 'n');
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(world.Commit(bundle));
  });
}

TEST(LongTexts, UploadsThatDoNotEndGoBitByBit) {
  HubWorld world;
  constexpr uint32_t kUploads = 5;
  for (uint32_t upload = 1; upload <= kUploads; ++upload) {
    Bundle bundle;
    bundle.rows.push_back({world.store().NextJobId(), 0, {}});
    for (uint32_t i = 0; i < 100; ++i) bundle.rows.back().rows.push_back(Noise(60'000, i));
    ASSERT_TRUE(world.Commit(std::move(bundle)));
  }
  uint32_t forgotten = 0;
  for (uint32_t upload = 1; upload <= kUploads; ++upload) {
    world.store().ForgetJob(JobId(upload), [&](const Status&) { ++forgotten; });
  }
  ASSERT_TRUE(world.Record(engine::NodeDrained{NodeId(9)}));
  EXPECT_LT(forgotten, 3u);
  while (forgotten < kUploads) ASSERT_TRUE(world.Record(engine::NodeDrained{NodeId(9)}));
  auto db = OpenJournalToRead(world.path() + "/hub.db");
  EXPECT_EQ(*db->QueryInt("SELECT COUNT(*) FROM rows"), 0);
}

TEST(LongTexts, ACutEndsWithACharacter) {
  std::vector<std::string> texts = {std::string(kMost - 3, 'a'), "h\xc3\xa9h\xc3\xa9", "b"};
  EXPECT_TRUE(CutTexts(texts));
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts.back(), "h...");
  EXPECT_TRUE(CutTexts(texts = std::vector<std::string>(100'000)));
  EXPECT_LE(texts.size(), kMost + 1);
  texts = {"a", std::string(kMost - 4, 'b')};
  EXPECT_FALSE(CutTexts(texts));
  EXPECT_EQ(CutText("h\xc3\xa9llo", 2), "h...");
  EXPECT_EQ(CutText("hello", 5), "hello");
}

}  // namespace
}  // namespace spate::store
