// Every kind of row of a hub's journal, written by the writer that hubs use while another user's
// job waits. After each restart all of it comes back, no job is excluded, and the check that
// `spate state check` makes finds no damage.
//
// The tables are complete by their types: a new kind of record or of change does not compile, or
// fails, until it is written here.
#include <gtest/gtest.h>

#include <set>
#include <type_traits>

#include "core/engine/record_job.h"
#include "store/record_codec.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

constexpr int kLives = 3;
constexpr int kTimesALife = 2;

// A record of each type, of this job if it has one.
template <size_t kIndex>
engine::Record Example(JobId job) {
  std::variant_alternative_t<kIndex, engine::Record> record{};
  if constexpr (requires { record.end.ref.job; }) {
    return EndOf(0, Cause::kSuccess, job);
  } else {
    if constexpr (requires { record.job; }) record.job = job;
    return record;
  }
}
template <size_t... kIndex>
std::vector<engine::Record> ExamplesOf(JobId job, std::index_sequence<kIndex...>) {
  return {Example<kIndex>(job)...};
}
constexpr size_t kRecordTypes = std::variant_size_v<engine::Record>;
engine::Record ExampleOf(size_t index, JobId job) {
  return ExamplesOf(job, std::make_index_sequence<kRecordTypes>())[index];
}

// "job accepted", "attempt ended": also a name of a test with '_' for ' '.
std::string NameOf(const engine::Record& record) {
  if (std::holds_alternative<engine::AttemptEnded>(record)) return "attempt ended";
  return RecordKindName(EncodeRecord(record).kind);
}

// Two users' jobs; one of them waits, whatever happens to the other.
class EveryKind : public testing::Test {
 protected:
  EveryKind() : waits_(world_.Submit(3, "ada")), other_(world_.Submit(3, "bob")) {}

  void ExpectSoundAfterRestart(bool pools_sound = true) {
    world_.Reopen();
    int of_waiting = 0;
    Status replayed = world_.store().Replay([&](const engine::Record& record) {
      if (JobOf(record) == waits_) ++of_waiting;
      if (JobOf(record) == JobId()) came_back_.insert(NameOf(record));
    });
    EXPECT_TRUE(replayed) << MessageOf(replayed.error());
    EXPECT_EQ(of_waiting, 1) << "the job that waits";
    for (const auto& [job, why] : world_.store().damaged()) ADD_FAILURE() << why;
    auto check = CheckHub(world_.path());
    ASSERT_TRUE(check) << MessageOf(check.error());
    for (const std::string& problem : check->all.problems) ADD_FAILURE() << problem;
    for (const auto& [job, problems] : check->jobs) ADD_FAILURE() << problems.front();
    EXPECT_EQ(check->pools.empty(), pools_sound);
  }

  HubWorld world_;
  const JobId waits_;
  const JobId other_;
  std::set<std::string> came_back_;  // of no job
};

class EveryRecord : public EveryKind, public testing::WithParamInterface<size_t> {
 protected:
  // A job is accepted once.
  JobId JobFor(size_t index) {
    if (!std::holds_alternative<engine::JobAccepted>(ExampleOf(index, {}))) return other_;
    const JobId job = world_.store().NextJobId();
    EXPECT_TRUE(world_.Put(HubWorld::RowOf(job, 0)));
    return job;
  }
};

TEST_P(EveryRecord, IsSoundAfterEachRestart) {
  JobId newest;
  for (int life = 0; life < kLives; ++life) {
    for (int time = 0; time < kTimesALife; ++time) {
      const engine::Record record = ExampleOf(GetParam(), JobFor(GetParam()));
      newest = JobOf(record);
      ASSERT_TRUE(world_.Record(record));
    }
    ExpectSoundAfterRestart();
  }
  if (newest != JobId()) {
    Status read = world_.store().ReplayJob(
        newest, [&](const engine::Record& record) { came_back_.insert(NameOf(record)); });
    EXPECT_TRUE(read) << MessageOf(read.error());
  }
  EXPECT_TRUE(came_back_.contains(NameOf(ExampleOf(GetParam(), newest))));
}

INSTANTIATE_TEST_SUITE_P(All, EveryRecord, testing::Range(size_t{0}, kRecordTypes),
                         [](const auto& each) {
                           std::string name = NameOf(ExampleOf(each.param, JobId(1)));
                           for (char& c : name) c = isalnum(c) != 0 ? c : '_';
                           return name;
                         });

TEST_F(EveryKind, TheTableOfRecordsIsThatOfTheJournal) {
  std::set<int> kinds;
  for (size_t i = 0; i < kRecordTypes; ++i) {
    const engine::Record record = ExampleOf(i, JobId(1));
    if (std::holds_alternative<engine::AttemptEnded>(record)) continue;
    kinds.insert(EncodeRecord(record).kind);
  }
  EXPECT_EQ(kinds.size(), static_cast<size_t>(kRecordKindLast));
  EXPECT_EQ(*kinds.begin(), 1);
  EXPECT_EQ(*kinds.rbegin(), kRecordKindLast);
}

// ---- All else that the writer writes ----------------------------------------------------------

constexpr JobId kEnded(2);  // the other user's
constexpr Instant kNow{1'600'000'000'000'000'000};

provision::PoolChanged AddedPool() {
  provision::PoolChanged added{.pool = provision::PoolId(1), .policy = {}};
  added.policy.name = "pool";
  added.policy.settings.system = "slurm";
  return added;
}

// An example of each type, for the n-th call.
template <typename Change>
Change ExampleChange(uint32_t n) {
  if constexpr (std::is_same_v<Change, JobRow>) {
    return HubWorld::RowOf(kEnded, 3, "bob");
  } else if constexpr (std::is_same_v<Change, JobProgress>) {
    return {
        .job = kEnded, .state = JobState::kFinished, .started = {}, .ended = kNow, .counts = {}};
  } else if constexpr (std::is_same_v<Change, NodeRow>) {
    return {.id = NodeId(n), .name = "node" + std::to_string(n), .created = kNow};
  } else if constexpr (std::is_same_v<Change, NodesForgotten>) {
    return {Instant::Never()};
  } else if constexpr (std::is_same_v<Change, CredentialRow>) {
    return {.serial = n, .role = "node", .user = "root", .secret = "s", .created = kNow};
  } else if constexpr (std::is_same_v<Change, EpochBegun>) {
    return {Epoch(n)};
  } else if constexpr (std::is_same_v<Change, ForgetPiece>) {
    return {kEnded, std::make_shared<bool>(false)};
  } else if constexpr (std::is_same_v<Change, OutputEnd>) {
    return {kEnded, 0};
  } else if constexpr (std::is_same_v<Change, SpansKnown>) {
    return {std::make_shared<SpansOfJobs>()};
  } else if constexpr (std::is_same_v<Change, PoolsChanged>) {
    return {{{provision::PoolId(1), AddedPool()}}, kNow};
  } else if constexpr (std::is_same_v<Change, PoolsCut>) {
    return {{provision::NumbersKept{provision::PoolId(1), {}},
             provision::PoolKept{.pool = provision::PoolId(1), .policy = AddedPool().policy}},
            kNow};
  } else if constexpr (std::is_same_v<Change, PoolsSetAside>) {
    return {};
  } else {
    static_assert(std::is_same_v<Change, PoolsCopied>, "a kind of change without an example");
    return {{}, {provision::PoolId(1), {}}};
  }
}

template <typename Change>
class EveryChange : public EveryKind {};

template <typename Variant>
struct TypesOf;
template <typename... T>
struct TypesOf<std::variant<T...>> {
  using Types = testing::Types<T...>;
};
TYPED_TEST_SUITE(EveryChange, TypesOf<RowChange>::Types, );

TYPED_TEST(EveryChange, IsSoundAfterEachRestart) {
  ASSERT_EQ(this->other_, kEnded);
  ASSERT_TRUE(this->world_.Commit(HubWorld::Ends(kEnded, 0, 3)));
  ASSERT_TRUE(this->world_.Finish(kEnded, 3));
  uint32_t n = 0;
  for (int life = 0; life < kLives; ++life) {
    for (int time = 0; time < kTimesALife; ++time) {
      this->world_.Close();
      JournalWriter writer({this->world_.path(), true});
      ASSERT_TRUE(writer.Open());
      WriteItem item;
      item.changes.emplace_back(ExampleChange<TypeParam>(++n));
      Status written = writer.Commit(std::span(&item, 1));
      ASSERT_TRUE(written) << MessageOf(written.error());
      writer.Close();
      this->world_.Open();
      // A record after it, which every replay visits.
      ASSERT_TRUE(this->world_.Record(engine::NodeDrained{NodeId(n)}));
    }
    this->ExpectSoundAfterRestart(!std::is_same_v<TypeParam, PoolsSetAside>);
  }
  EXPECT_TRUE(this->came_back_.contains("node drained"));
}

// A life of a pool with a record of each kind, and then an image of it.
TEST_F(EveryKind, EveryRecordOfPools) {
  using provision::End, provision::NumbersKept, provision::PilotEnded, provision::PilotId,
      provision::PilotIntended, provision::PilotJoined, provision::PilotKept,
      provision::PilotQueuedAgain, provision::PilotSubmitted, provision::PilotUnwanted,
      provision::PoolClosed, provision::PoolForgotten, provision::PoolId, provision::PoolKept,
      provision::PoolLearned, provision::PoolPaused, provision::PoolResumed, provision::Why;
  const PoolId pool(1);
  const PilotId one(1), two(2);
  const std::vector<provision::Record> life = {
      AddedPool(),
      PoolPaused{pool, "a wish", kNow},
      PoolResumed{pool},
      PoolLearned{pool, {.slots = 4, .milli_cpus = 4000}},
      PilotIntended{pool, one, kNow},
      PilotSubmitted{one, "17"},
      PilotJoined{one, kNow},
      PilotQueuedAgain{one, kNow},
      PilotIntended{pool, two, kNow},
  };
  const std::vector<provision::Record> image = {
      NumbersKept{pool, two},
      PoolKept{.pool = pool, .policy = AddedPool().policy},
      PilotKept{.pilot = one, .pool = pool, .intended = kNow, .id = "17"},
      PilotKept{.pilot = two, .pool = pool, .intended = kNow},
  };
  const std::vector<provision::Record> end = {
      PilotUnwanted{one, Why::kIdle, "idle"}, PilotEnded{one, End::kEnded, "over", kNow},
      PoolClosed{pool}, PilotEnded{two, End::kEnded, "over", kNow}, PoolForgotten{pool}};
  std::set<size_t> kinds;
  for (const auto* records : {&life, &image, &end}) {
    for (const provision::Record& record : *records) kinds.insert(record.index());
    ASSERT_TRUE(Await(world_.loop(), [&](auto done) {
      if (records == &image) return world_.store().CutPools(image, kNow, done);
      world_.store().AppendPoolRecords(*records, kNow, done);
    }));
    ExpectSoundAfterRestart();
    size_t read = 0;
    EXPECT_TRUE(world_.store().ReplayPools([&](const provision::Record&) { ++read; }));
    EXPECT_EQ(read, records == &life    ? life.size()
                    : records == &image ? image.size()
                                        : image.size() + end.size());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<provision::Record>);
}

}  // namespace
}  // namespace spate::store
