// The hub's one release point, and what it does not release.
#include "hub/hub.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/fake_loop.h"
#include "store/testing_memory_store.h"
#include "transport/inproc.h"

namespace spate::hub {
namespace {

class Ears final : public Watcher {
 public:
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override {
    ended.push_back(notice);
    outputs.push_back(output ? output->out.bytes : "");
  }
  void OnHeld(const engine::NoticeHeld&) override {}
  void OnFinished(const engine::NoticeFinished&) override { ++finished; }
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error&) override { ++failures; }

  std::vector<engine::NoticeEnded> ended;
  std::vector<std::string> outputs;  // of `ended`
  int finished = 0;
  int failures = 0;
};

constexpr JobId kJob(1);
constexpr NodeId kNode(1);
constexpr Duration kCommit = Duration::Millis(5);

// Notes of each bundle with records whether it was urgent.
class NotingStore final : public store::MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  void Append(store::Bundle bundle, std::function<void(Status)> done) override {
    if (!bundle.records.empty()) urgent.push_back(bundle.urgent);
    MemoryStore::Append(std::move(bundle), std::move(done));
  }
  std::vector<bool> urgent;
};

struct HubTest : testing::Test {
  using Link = transport::InprocPair<wire::ToNode, wire::ToHub>;

  HubTest() {
    hub.SetSettings(kJob, std::make_shared<JobSettings>());
    store::Bundle rows;
    rows.rows.push_back({kJob, 0, {"a", "b"}});
    store.Append(std::move(rows), [](Status) {});
    hub.Post(
        engine::SubmitJob{kJob, {.task_count = 2, .requests = {Needs{}}, .runs = {{0, 2, 0}}}});
    loop.RunFor(kCommit * 3);
  }

  // A new node that says hello, and keeps what it is sent.
  Link Join(std::vector<wire::ToNode>& got) {
    Link link = transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop);
    link.second->OnMessage([&](wire::ToNode message) { got.push_back(std::move(message)); });
    hub.Connect(kNode, *link.first);
    Offer offer;
    offer.slots = 1;
    offer.milli_cpus = kMilliCpu;
    link.second->Send(wire::Hello{kNode, offer});
    return link;
  }
  static std::vector<uint32_t> AttemptsOf(const std::vector<wire::ToNode>& messages) {
    std::vector<uint32_t> attempts;
    for (const wire::ToNode& message : messages) {
      if (const auto* lease = std::get_if<wire::Lease>(&message)) {
        attempts.push_back(lease->attempt.value);
      }
    }
    return attempts;
  }

  os::FakeLoop loop;
  NotingStore store{
      loop, std::make_shared<store::MemoryDisk>(), {.delay_min = kCommit, .delay_max = kCommit}};
  Ears ears;
  Hub hub{loop, store, ears, Epoch(1)};
};

TEST_F(HubTest, LeasesWaitForTheirCommit) {
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  loop.RunFor(Duration::Millis(4));
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(hub.engine().Counts(kJob)->leased, 2u);
  loop.RunFor(Duration::Millis(2));
  ASSERT_EQ(got.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<wire::OpenJob>(got[0]));
  EXPECT_EQ(std::get<wire::Lease>(got[1]).rows, (std::vector<std::string>{"a", "b"}));
}

TEST_F(HubTest, NodesGetTheEnvironmentThatJobsShare) {
  JobSettings settings;
  settings.cwd = "/here";
  settings.environment = {"A=1", "B=2"};
  hub.SetSettings(kJob, std::make_shared<JobSettings>(settings));
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  loop.RunFor(kCommit * 2);
  ASSERT_GE(got.size(), 1u);
  const auto& open = std::get<wire::OpenJob>(got[0]);
  EXPECT_EQ(open.settings->environment, settings.environment);
  EXPECT_EQ(open.settings->cwd, "/here");
}

TEST_F(HubTest, PiecesOfFilesGoToNodesThatHaveTheJob) {
  JobSettings settings;
  settings.puts = {{.name = "in", .mode = 0644, .size = 3, .first_piece = 1}};
  hub.SetSettings(kJob, std::make_shared<JobSettings>(settings));
  store::Bundle pieces;
  pieces.rows.push_back({kJob, kFirstPieceRow, {"x", "abc"}});
  store.Append(std::move(pieces), [](Status) {});
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  link.second->Send(wire::WantPiece{kJob, 1});
  loop.RunFor(Duration::Millis(1));
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(std::get<wire::PutPiece>(got[0]).bytes, "") << "no task of the job is there yet";
  loop.RunFor(kCommit * 2);
  size_t before = got.size();
  // The first is of no file.
  for (auto want :
       {wire::WantPiece{kJob, 0}, wire::WantPiece{JobId(2), 1}, wire::WantPiece{kJob, 1}}) {
    link.second->Send(want);
    loop.RunFor(Duration::Millis(1));
  }
  ASSERT_EQ(got.size(), before + 3);
  for (size_t i : {before, before + 1}) {
    EXPECT_EQ(std::get<wire::PutPiece>(got[i]).bytes, "");
  }
  const auto& piece = std::get<wire::PutPiece>(got.back());
  EXPECT_EQ(piece.piece, 1u);
  EXPECT_EQ(piece.bytes, "abc");
  // A node that asks for many at once does not keep the hub from its work.
  for (int i = 0; i < 1000; ++i) link.second->Send(wire::WantPiece{kJob, 1});
  loop.RunFor(Duration::Millis(1));
  EXPECT_LE(got.size(), before + 3 + 10);
  EXPECT_EQ(ears.failures, 0);
}

TEST_F(HubTest, NoticesWaitForTheirCommit) {
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  loop.RunFor(kCommit * 2);
  wire::Ends ends;
  for (TaskIndex i : {0, 1}) {
    AttemptEnd end;
    end.ref = {kJob, i, Attempt(1)};
    ends.ends.push_back(end);
    ends.outputs.push_back(nullptr);
  }
  link.second->Send(std::move(ends));
  loop.RunFor(Duration::Millis(4));
  EXPECT_TRUE(hub.engine().Finished(kJob));
  EXPECT_TRUE(ears.ended.empty());
  EXPECT_FALSE(hub.Settled());
  loop.RunFor(Duration::Millis(2));
  EXPECT_EQ(ears.ended.size(), 2u);
  EXPECT_EQ(ears.finished, 1);
  EXPECT_TRUE(hub.Settled());
}

TaskOutputPtr Says(std::string text) {
  auto output = std::make_shared<TaskOutput>();
  output->out = {text, "", text.size()};
  return output;
}

// News of an attempt count only from the node that holds it, in whatever order they come.
TEST_F(HubTest, ANodeSaysNothingOfAnotherOnesTasks) {
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  loop.RunFor(kCommit * 2);
  Link liar = transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop);
  liar.second->OnMessage([](wire::ToNode) {});
  hub.Connect(NodeId(2), *liar.first);
  liar.second->Send(wire::Hello{NodeId(2), {.node_name = "n2", .slots = 1}, {}});
  AttemptEnd first, second;
  first.ref = {kJob, 0, Attempt(1)};
  second.ref = {kJob, 1, Attempt(1)};
  wire::Ends forged{1, {first, second}, {Says("false"), Says("false")}};
  liar.second->Send(forged);
  link.second->Send(wire::Ends{1, {first, second}, {Says("true"), nullptr}});
  liar.second->Send(forged);
  loop.RunFor(kCommit * 3);
  EXPECT_EQ(ears.outputs, (std::vector<std::string>{"true", ""}));
  EXPECT_TRUE(hub.engine().Finished(kJob));
}

TEST_F(HubTest, IsUrgentWhereSomebodyHasNothingElseToWaitFor) {
  EXPECT_EQ(std::exchange(store.urgent, {}), std::vector<bool>{true});  // the job is accepted
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  loop.RunFor(kCommit * 2);
  EXPECT_EQ(std::exchange(store.urgent, {}), std::vector<bool>{true});  // a lease for a free slot
  for (TaskIndex i : {0, 1}) {
    AttemptEnd end;
    end.ref = {kJob, i, Attempt(1)};
    link.second->Send(wire::Ends{i + 1u, {end}, {nullptr}});
    loop.RunFor(kCommit * 2);
  }
  EXPECT_EQ(store.urgent, (std::vector<bool>{false, true}));  // an end; the job's
}

// Else a retry would take it up from a journal that lacks its last records.
TEST_F(HubTest, ForgetsWhatIsDurablyFinishedOnly) {
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  loop.RunFor(kCommit * 2);
  hub.Post(engine::CancelJob{kJob});
  link.second->Send(wire::Returned{1, kJob, Attempt(1), {{0, 2}}});
  loop.RunFor(Duration::Millis(4));
  EXPECT_TRUE(hub.engine().Finished(kJob));
  EXPECT_FALSE(hub.Unload(kJob));
  loop.RunFor(kCommit * 2);
  EXPECT_EQ(ears.finished, 1);
  EXPECT_TRUE(hub.Unload(kJob));
}

// A node that comes back before the commit of a lease of its old life must not get that lease.
TEST_F(HubTest, LeasesOfAnOldLifeOfANodeAreDropped) {
  std::vector<wire::ToNode> old_life;
  std::vector<wire::ToNode> new_life;
  {
    Link old_link = Join(old_life);
    loop.RunFor(Duration::Millis(4));
    hub.Disconnect(kNode, engine::LastNodes::kEnded);
  }
  Link link = Join(new_life);
  loop.RunFor(kCommit * 6);
  EXPECT_TRUE(old_life.empty());
  EXPECT_EQ(AttemptsOf(new_life), (std::vector<uint32_t>{2}));
}

// Tasks that were leased and never sent cannot have run: they are queued again at once, and no loss
// counts.
TEST_F(HubTest, LeasesThatNeverLeftComeBack) {
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  loop.RunFor(Duration::Millis(4));
  EXPECT_EQ(hub.engine().Counts(kJob)->leased, 2u);
  hub.Disconnect(kNode, engine::LastNodes::kMayReturn);
  loop.RunFor(kCommit * 3);
  EXPECT_EQ(hub.engine().Counts(kJob)->queued, 2u);
  EXPECT_TRUE(ears.ended.empty());
  EXPECT_TRUE(got.empty());
}

// It would get leases that nobody can send.
// Nodes have their time to find room from when they were asked, however slow the disk is.
TEST_F(HubTest, GangsAreGivenUpLateOnceTheirLeasesHaveLeft) {
  constexpr Duration kSlow = Duration::Seconds(30);
  constexpr JobId kGang(2);
  store::MemoryStore slow{
      loop, std::make_shared<store::MemoryDisk>(), {.delay_min = kSlow, .delay_max = kSlow}};
  Hub other{loop, slow, ears, Epoch(1)};
  other.SetSettings(kGang, std::make_shared<JobSettings>());
  store::Bundle rows;
  rows.rows.push_back({kGang, 0, {"a"}});
  slow.Append(std::move(rows), [](Status) {});
  std::vector<wire::ToNode> got;
  Link link = transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop);
  link.second->OnMessage([&](wire::ToNode message) { got.push_back(std::move(message)); });
  other.Connect(kNode, *link.first);
  link.second->Send(
      wire::Hello{kNode, {.node_name = "n1", .slots = 1, .milli_cpus = kMilliCpu}, {}});
  TaskClass gang(Needs{});
  gang.gang.procs = 1;
  other.Post(engine::SubmitJob{kGang, {.task_count = 1, .requests = {gang}, .runs = {{0, 1, 0}}}});
  auto count = [&](auto kind) {
    return std::ranges::count_if(got, [](const wire::ToNode& message) {
      return std::holds_alternative<decltype(kind)>(message);
    });
  };
  while (count(wire::Lease()) == 0) loop.RunFor(Duration::Millis(10));
  EXPECT_EQ(count(wire::Stop()), 0);
  loop.RunFor(Duration::Seconds(9));
  EXPECT_EQ(count(wire::Stop()), 0);
  loop.RunFor(Duration::Seconds(2));
  EXPECT_EQ(count(wire::Stop()), 1);
}

TEST_F(HubTest, NobodyJoinsByAnOldConnection) {
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  hub.Disconnect(kNode, engine::LastNodes::kEnded);  // the hello is under way
  loop.RunFor(kCommit * 3);
  EXPECT_EQ(hub.engine().Counts(kJob)->leased, 0u);
}

TEST_F(HubTest, NothingLeavesAfterAFailedCommit) {
  store.FailAfter(0, {ErrorKind::kExhausted, "no space left on device"});
  std::vector<wire::ToNode> got;
  Link link = Join(got);
  loop.RunFor(kCommit * 4);
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(ears.failures, 1);
  hub.Post(engine::HoldJob{kJob, true});
  loop.RunFor(kCommit * 4);
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(ears.failures, 1);
}

}  // namespace
}  // namespace spate::hub
