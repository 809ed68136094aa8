// Single bits of a journal are turned over. What is read then is what was written, or somebody is
// told; a job that is damaged keeps no other one from running.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "base/prng.h"
#include "core/engine/record_job.h"
#include "store/record_codec.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/testing_pools.h"

namespace spate::store {
namespace {

// SPATE_FLIPS asks for more.
int Rounds(int usual) {
  const char* more = std::getenv("SPATE_FLIPS");
  return more == nullptr ? usual : std::atoi(more);
}

constexpr uint32_t kTasks = 300;

std::string TextOf(const engine::Record& record) {
  const auto* ended = std::get_if<engine::AttemptEnded>(&record);
  if (ended == nullptr) return EncodeRecord(record).data;
  const AttemptEnd& e = ended->end;
  return fmt::format("{}.{}.{} {} {} {}", e.ref.job.value, e.ref.index, e.ref.attempt.value,
                     static_cast<int>(ended->verdict), static_cast<int>(e.cause), e.status);
}

// The parts of a job that decide which commands run, for whom, and which do not run again.
struct Known {
  std::vector<std::string> records;
  std::string user, cwd, settings, submission;
  std::vector<std::string> argv;
  friend bool operator==(const Known&, const Known&) = default;
};

class Flipped {
 public:
  Flipped() {
    JobId done = Submit(40);
    EXPECT_TRUE(world_.Commit(HubWorld::Ends(done, 0, 40, "out")));
    EXPECT_TRUE(world_.Finish(done, 40));
    for (int i = 0; i < 4; ++i) Submit(kTasks);
    for (TaskIndex first = 0; first < kTasks / 2; first += 30) {
      for (uint32_t job = 2; job <= 5; ++job) {
        EXPECT_TRUE(world_.Commit(HubWorld::Ends(JobId(job), first, 30)));
      }
    }
    world_.store().PutNode({NodeId(1), "n1", "i", "ada", Instant{1000}, false});
    world_.store().PutCredential({1, "node", "ada", "secret", Instant{1000}, {}, {}});
    EXPECT_TRUE(world_.Record(engine::NodeDrained{NodeId(1)}));
    world_.store().AppendPoolRecords(pools_.Next(150), pools_.now(), nullptr);
    world_.store().CutPools(pools_.durable().Images(), Instant{0}, nullptr);
    world_.store().AppendPoolRecords(pools_.Next(50), pools_.now(), nullptr);
    for (uint32_t pool = 1; pool <= PoolLife::kPools; ++pool) {
      for (const PoolLogRow& row : pools_.LogOf(provision::PoolId(pool))) {
        log_.insert(BytesOf(row.record));
      }
    }
    world_.Close();
    sound_ = os::ReadFile(path(), 64 << 20).value();
    auto read = Read();
    EXPECT_TRUE(read);
    original_ = *read;
    EXPECT_EQ(original_.size(), 4u);
  }
  std::string path() const { return world_.path() + "/hub.db"; }

  enum class Outcome : uint8_t { kSound, kSetAside, kRefused };
  Outcome Flip(size_t bit) {
    std::string damaged = sound_;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_TRUE(os::WriteFile(path(), damaged));
    aside_.clear();
    auto read = Read();
    EXPECT_EQ(os::ReadFile(path(), 64 << 20).value(), damaged) << "bit " << bit;
    if (!read) {
      EXPECT_FALSE(read.error().message.empty());
      if (std::getenv("SPATE_FLIPS")) fmt::print("{}: {}\n", bit / 8, read.error().message);
      return Outcome::kRefused;
    }
    for (const auto& [job, known] : original_) {
      if (aside_.contains(job)) continue;
      auto at = read->find(job);
      EXPECT_TRUE(at != read->end()) << "bit " << bit << ": job " << job << " is lost";
      if (at != read->end()) EXPECT_TRUE(at->second == known) << "bit " << bit << ", job " << job;
    }
    for (const auto& [job, known] : *read) EXPECT_TRUE(original_.contains(job)) << "bit " << bit;
    return aside_.empty() ? Outcome::kSound : Outcome::kSetAside;
  }
  size_t bits() const { return sound_.size() * 8; }
  const std::set<uint32_t>& aside() const { return aside_; }
  int pools_lost() const { return pools_lost_; }

 private:
  JobId Submit(uint32_t tasks) {
    JobId job = world_.store().NextJobId();
    JobRow row = HubWorld::RowOf(job, tasks);
    row.submission = fmt::format("ada:{}", job.value);
    row.settings = std::string(700, 's') + row.submission;
    world_.store().PutJob(std::move(row));
    EXPECT_TRUE(world_.Commit(HubWorld::Accept(job, tasks)));
    return job;
  }

  // Reads like a hub that starts.
  Result<std::map<uint32_t, Known>> Read() {
    auto dir = HubDir::Open(world_.path());
    if (!dir) return std::unexpected(dir.error());
    auto store = SqliteStore::Open(*dir, world_.loop());
    if (!store) return std::unexpected(store.error());
    std::map<uint32_t, Known> all;
    for (;;) {
      all.clear();
      size_t before = (*store)->damaged().size();
      auto replayed = (*store)->Replay([&](const engine::Record& record) {
        if (JobOf(record) != JobId()) all[JobOf(record).value].records.push_back(TextOf(record));
      });
      if (replayed) break;
      if ((*store)->damaged().size() == before) return std::unexpected(replayed.error());
    }
    for (const auto& [job, why] : (*store)->damaged()) aside_.insert(job.value);
    auto rows = (*store)->ReadJobs(WhichJobs::kUnfinished);
    if (!rows) return std::unexpected(rows.error());
    for (const JobRow& short_row : *rows) {
      if (aside_.contains(short_row.job.value)) continue;
      auto row = (*store)->ReadJob(short_row.job);
      if (!row) {
        aside_.insert(short_row.job.value);  // the hub holds it when it wants its settings
        continue;
      }
      Known& known = all[row->job.value];
      known.user = row->user;
      known.cwd = row->cwd;
      known.settings = row->settings;
      known.argv = row->argv;
      known.submission = row->submission;
    }
    for (const auto& [job, known] : all) CheckText(**store, JobId(job));
    EXPECT_GT((*store)->NextJobId().value, 5u);
    auto nodes = (*store)->ReadNodes();
    auto credentials = (*store)->ReadCredentials();
    if (!nodes || !credentials) return Fail(ErrorKind::kCorrupt, "nodes or credentials");
    for (const CredentialRow& row : *credentials) EXPECT_EQ(row.secret, "secret");
    if (auto pools = ReadPools(**store); !pools) return std::unexpected(pools.error());
    return all;
  }
  // They are as they were, or somebody is told and no number is used again.
  Status ReadPools(SqliteStore& store) {
    provision::Durable durable;
    auto apply = [&](const provision::Record& record) {
      EXPECT_TRUE(durable.Admits(record));
      durable.Apply(record);
    };
    auto replayed = store.ReplayPools(apply);
    if (replayed) {
      EXPECT_EQ(durable.Digest(), pools_.durable().Digest());
    } else {
      ++pools_lost_;
      EXPECT_TRUE(durable.pools().empty());
      if (auto numbers = store.ReplayPools(apply); !numbers) return numbers;
      EXPECT_EQ(durable.last_pilot(), pools_.durable().last_pilot());
    }
    auto rows = store.ReadPoolLog(provision::PoolId(1), 1000);
    if (!rows) return {};
    for (const PoolLogRow& row : *rows) EXPECT_TRUE(log_.contains(BytesOf(row.record)));
    return {};
  }
  void CheckText(SqliteStore& store, JobId job) {
    for (TaskIndex i = 0; i < kTasks; i += 60) {
      auto rows = store.Rows(job, i, 1);
      if (rows) {
        EXPECT_EQ(rows->front(), fmt::format("row {}.{}", job.value, i + 1));
      } else {
        aside_.insert(job.value);  // the hub holds it then
      }
    }
  }

  HubWorld world_;
  std::string sound_;
  std::map<uint32_t, Known> original_;
  std::set<uint32_t> aside_;
  PoolLife pools_;
  std::set<std::string> log_;
  int pools_lost_ = 0;
};

TEST(Flips, OfAHubsJournalRunNothingWrongAndStopNoOtherJob) {
  Flipped hub;
  Prng prng(11);
  std::map<Flipped::Outcome, int> seen;
  int alone = 0;
  int rounds = Rounds(150);
  for (int i = 0; i < rounds; ++i) {
    auto outcome = hub.Flip(prng.Below(hub.bits()));
    ++seen[outcome];
    if (outcome == Flipped::Outcome::kSetAside && hub.aside().size() == 1) ++alone;
  }
  fmt::print(
      "{} flips: {} without effect, {} set jobs aside ({} of them one alone), {} refused, {} lost "
      "pools\n",
      rounds, seen[Flipped::Outcome::kSound], seen[Flipped::Outcome::kSetAside], alone,
      seen[Flipped::Outcome::kRefused], hub.pools_lost());
  EXPECT_GT(hub.pools_lost(), 0);
  EXPECT_GT(alone, rounds / 8);
  EXPECT_LT(seen[Flipped::Outcome::kRefused], rounds / 5);
}

// Damage to the fields that `spate run --resume` searches by. It never makes the run seem missing.
TEST(Flips, OfARunsJournalAreNoReasonToBeginAnew) {
  StoreWorld world;
  JobRow written = ExampleJob(kTasks);
  ASSERT_TRUE(world.Put(written));
  Bundle bundle = HubWorld::Accept(JobId(1), kTasks);
  ASSERT_TRUE(world.Commit(std::move(bundle)));
  for (TaskIndex first = 0; first < kTasks; first += 100) {
    ASSERT_TRUE(world.Commit(HubWorld::Ends(JobId(1), first, 50)));
  }
  std::string path = world.dir().DbPath();
  world.LeaveJob();
  std::string sound = os::ReadFile(path, 64 << 20).value();
  Prng prng(12);
  int damaged = 0;
  int rounds = Rounds(150);
  for (int i = 0; i < rounds; ++i) {
    size_t bit = prng.Below(sound.size() * 8);
    std::string bytes = sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    ASSERT_TRUE(os::WriteFile(path, bytes));
    auto summary = SummarizeJob(world.state(), 1);
    ASSERT_TRUE(summary) << "bit " << bit << ": " << MessageOf(summary.error());
    const bool newer = summary->standing == JobStanding::kNewer;  // the number of the version
    if (summary->standing == JobStanding::kDamaged || newer) {
      ++damaged;
      EXPECT_FALSE(summary->problem.empty());
      continue;
    }
    EXPECT_EQ(summary->row.cwd, written.cwd) << "bit " << bit;
    EXPECT_EQ(summary->row.argv, written.argv) << "bit " << bit;
    EXPECT_EQ(summary->row.files, written.files) << "bit " << bit;
    EXPECT_EQ(summary->standing, JobStanding::kInterrupted) << "bit " << bit;
  }
  EXPECT_GT(damaged, 0);
}

}  // namespace
}  // namespace spate::store
