#include "node/put_files.h"

#include <gtest/gtest.h>

#include <future>
#include <set>

#include "node/node.h"
#include "os/fake_loop.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/temp_dir.h"
#include "transport/inproc.h"

namespace spate::node {
namespace {

constexpr JobId kJob(7);

TEST(PutFiles, PiecesBecomeOneFile) {
  os::TempDir dir;
  dir.Write("puts/3/0", "of an earlier process");
  auto loop = os::RealLoop::Create().value();
  PutFiles files(*loop, dir.Path("puts"));
  EXPECT_FALSE(os::Exists(dir.Path("puts/3/0")));
  std::string whole(kPutPieceBytes, 'x');
  PutFile file{.name = "in", .mode = 0644, .size = kPutPieceBytes + 2, .first_piece = 4};
  ASSERT_TRUE(files.Store(kJob, file, 4, whole));
  EXPECT_FALSE(files.Has(kJob, file));
  ASSERT_TRUE(files.Store(kJob, file, 5, "yz"));
  EXPECT_TRUE(files.Has(kJob, file));
  EXPECT_EQ(os::ReadFile(files.PathOf(kJob, file), 1 << 22).value_or(""), whole + "yz");
  EXPECT_FALSE(files.Has(JobId(8), file));
  files.Forget(kJob);
  EXPECT_FALSE(files.Has(kJob, file));
  EXPECT_FALSE(os::Exists(files.PathOf(kJob, file)));
  // Removed aside, so the job's name is free at once.
  ASSERT_TRUE(files.Store(kJob, file, 4, whole));
  auto left = [&] { return os::ListDir(dir.Path("puts")).value().size(); };
  while (left() > 1) {
    loop->At(loop->Now() + Duration::Millis(1), [&] { loop->Stop(); });
    loop->Run();
  }
  EXPECT_TRUE(os::Exists(files.PathOf(kJob, file)));
}

TEST(PutFiles, AnEmptyContentHasOnePiece) {
  os::TempDir dir;
  auto loop = os::RealLoop::Create().value();
  PutFiles files(*loop, dir.Path("puts"));
  PutFile empty{.name = "in", .mode = 0644, .size = 0, .first_piece = 0};
  ASSERT_TRUE(files.Store(kJob, empty, 0, ""));
  EXPECT_TRUE(files.Has(kJob, empty));
  EXPECT_TRUE(os::Exists(files.PathOf(kJob, empty)));
}

TEST(PutFiles, PiecesOfAnotherLengthAreRefused) {
  os::TempDir dir;
  auto loop = os::RealLoop::Create().value();
  PutFiles files(*loop, dir.Path("puts"));
  PutFile file{.name = "in", .mode = 0644, .size = 3, .first_piece = 0};
  EXPECT_FALSE(files.Store(kJob, file, 0, "xy"));
  EXPECT_FALSE(files.Store(kJob, file, 0, "wxyz"));
  EXPECT_FALSE(files.Has(kJob, file));
}

// ---- How a node gets them ----------------------------------------------------------------------

// Notes what is to be started.
class Starts final : public Executor {
 public:
  void OpenJob(JobId job, std::shared_ptr<const JobSettings>, bool) override {
    opened.push_back(job);
  }
  void CloseJob(JobId) override {}
  void Start(StartOrder order) override { orders.push_back(std::move(order)); }
  void Withdraw(const AttemptRef&) override {}
  void End(const AttemptRef&, EndHow, Cause) override {}
  void Pause(bool) override {}
  std::vector<StartOrder> orders;
  std::vector<JobId> opened;
};

// A node, and what it says to a hub that is this test.
struct FetchTest : testing::Test {
  using Link = transport::InprocPair<wire::ToNode, wire::ToHub>;

  FetchTest() {
    Offer offer;
    offer.node_name = "n1";
    offer.slots = 4;
    offer.milli_cpus = 4 * kMilliCpu;
    node = std::make_unique<Node>(NodeId(1), offer, Node::Parts{loop, starts, nullptr, &files});
    Connect();
  }
  void Connect() {
    link = transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop);
    link.first->OnMessage([this](wire::ToHub message) { said.push_back(std::move(message)); });
    node->Connect(*link.second);
    Open();
  }
  // `cat {}` with the file `{}`, and `shared` for all; a and b have the same content.
  void Open() {
    JobSettings settings;
    settings.row_kind = RowKind::kValues;
    settings.command = {"cat", "{}"};
    settings.put_patterns = {"shared", "{}"};
    settings.puts = {
        {.name = "a", .mode = 0600, .size = 1, .first_piece = 0},
        {.name = "b", .mode = 0640, .size = 1, .first_piece = 0},
        {.name = "c", .mode = 0600, .size = 1, .first_piece = 1},
        {.name = "shared", .mode = 0755, .size = kPutPieceBytes + 1, .first_piece = 2}};
    link.first->Send(wire::OpenJob{kJob, std::make_shared<const JobSettings>(settings)});
  }
  void Lease(TaskIndex first, std::vector<std::string> rows) {
    auto count = static_cast<uint32_t>(rows.size());
    link.first->Send(
        wire::Lease{Epoch(1), kJob, Attempt(1), Needs{}, {{first, count}}, std::move(rows)});
  }
  // The pieces that were asked for since the last call, each answered at once.
  std::vector<uint32_t> Answer() {
    std::vector<uint32_t> asked;
    for (size_t at = 0; loop.RunFor(Duration::Millis(1)), at < said.size(); ++at) {
      if (const auto* ends = std::get_if<wire::Ends>(&said[at])) note = ends->ends.at(0).note;
      const auto* want = std::get_if<wire::WantPiece>(&said[at]);
      if (want == nullptr) continue;
      asked.push_back(want->piece);
      link.first->Send(wire::PutPiece{kJob, want->piece,
                                      want->piece == 2 ? std::string(kPutPieceBytes, 's') : "x"});
    }
    said.clear();
    return asked;
  }

  os::TempDir dir;
  os::FakeLoop loop;
  Starts starts;
  PutFiles files{loop, dir.Path("puts")};
  Link link;
  std::vector<wire::ToHub> said;
  std::string note;  // of the last end
  std::unique_ptr<Node> node;
};

TEST_F(FetchTest, TasksStartWhenTheirFilesAreThereAndEachContentComesOnce) {
  Lease(0, {"a", "b"});
  loop.RunFor(Duration::Millis(1));
  EXPECT_TRUE(starts.orders.empty());
  EXPECT_EQ(Answer(), (std::vector<uint32_t>{0, 2, 3}));
  ASSERT_EQ(starts.orders.size(), 2u);
  const std::vector<TaskPut> puts = starts.orders[1].body.puts;
  ASSERT_EQ(puts.size(), 2u);
  EXPECT_EQ(puts[0].name, "shared");
  EXPECT_EQ(os::Stat(puts[0].from)->size, kPutPieceBytes + 1);
  EXPECT_EQ(puts[1].name, "b");
  EXPECT_EQ(puts[1].mode, 0640u);
  EXPECT_EQ(os::ReadFile(puts[1].from, 10).value_or(""), "x");
  // Files that are here are not asked for again, also not over a new connection.
  node->Disconnect();
  Connect();
  Lease(2, {"c"});
  EXPECT_EQ(Answer(), (std::vector<uint32_t>{1}));
  EXPECT_EQ(starts.orders.size(), 3u);
  // They stay for what runs.
  link.first->Send(wire::CloseJob{kJob});
  loop.RunFor(Duration::Millis(1));
  EXPECT_TRUE(os::Exists(puts[0].from));
  for (const StartOrder& order : starts.orders) {
    AttemptEnd end;
    end.ref = order.ref;
    end.slot = order.slot;
    node->OnEnded(std::move(end), nullptr);
  }
  loop.RunFor(Duration::Millis(1));
  EXPECT_FALSE(os::Exists(puts[0].from));
}

TEST_F(FetchTest, WhatIsSaidMeanwhileWaitsBehindTheLease) {
  Lease(0, {"a"});
  link.first->Send(wire::Stop{Epoch(1), kJob, {}});
  Answer();
  // The lease was stopped with all its tasks.
  EXPECT_TRUE(starts.orders.empty());
}

TEST_F(FetchTest, ALeaseThatWaitsIsNotHeldOverANewConnection) {
  Lease(0, {"a"});
  loop.RunFor(Duration::Millis(1));
  Link old = std::move(link);
  node->Disconnect();
  said.clear();
  Connect();
  Answer();
  EXPECT_TRUE(starts.orders.empty());
  Lease(0, {"a"});
  EXPECT_EQ(Answer(), (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(starts.orders.size(), 1u);
}

TEST_F(FetchTest, OnePieceIsUnderWayForAllJobs) {
  JobSettings settings;
  settings.row_kind = RowKind::kValues;
  settings.command = {"cat", "{}"};
  settings.put_patterns = {"{}"};
  settings.puts = {{.name = "in", .mode = 0600, .size = 1, .first_piece = 0}};
  constexpr uint64_t kJobs = 20;
  for (uint64_t i = kJobs; i > 0; --i) {
    JobId job(100 + i);
    link.first->Send(wire::OpenJob{job, std::make_shared<const JobSettings>(settings)});
    link.first->Send(wire::Lease{Epoch(1), job, Attempt(1), Needs{}, {{0, 1}}, {"in"}});
  }
  std::set<JobId> served;
  for (uint64_t i = 0; i < kJobs; ++i) {
    loop.RunFor(Duration::Millis(1));
    std::erase_if(said, [](const wire::ToHub& message) {
      return !std::holds_alternative<wire::WantPiece>(message);
    });
    ASSERT_EQ(said.size(), 1u);
    const auto* want = std::get_if<wire::WantPiece>(&said[0]);
    ASSERT_NE(want, nullptr);
    served.insert(want->job);
    wire::PutPiece piece{want->job, want->piece, "x"};
    said.clear();
    link.first->Send(std::move(piece));
  }
  loop.RunFor(Duration::Millis(1));
  EXPECT_EQ(served.size(), kJobs);
  EXPECT_EQ(starts.orders.size(), 4u) << "in each slot";
}

TEST_F(FetchTest, ANodeThatCannotKeepThemSaysSo) {
  dir.Write("puts", "no folder");
  Lease(0, {"a"});
  Answer();
  EXPECT_TRUE(starts.orders.empty());
  EXPECT_NE(note.find("on node n1: the job's files cannot be kept"), std::string::npos) << note;
}

TEST_F(FetchTest, AJobWhoseUserIsLookedUpWaitsAndOthersDoNot) {
  auto real = os::RealLoop::Create().value();
  std::promise<void> answer;
  KnownUsers users(
      *real,
      [&, gate = answer.get_future().share()](const std::string& name) {
        if (name == "slow") gate.wait();
        return Result<shepherd::TaskUser>(shepherd::TaskUser{.name = name});
      },
      Duration::Seconds(60));
  ASSERT_TRUE(users.Find("fast"));
  Offer offer;
  offer.node_name = "n2";
  offer.slots = 4;
  offer.milli_cpus = 4 * kMilliCpu;
  Node other(NodeId(2), offer,
             {.loop = loop, .executor = starts, .sample_load = nullptr, .users = &users});
  auto pair = transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop);
  pair.first->OnMessage([](const wire::ToHub&) {});
  other.Connect(*pair.second);
  loop.RunFor(Duration::Millis(1));
  starts.opened.clear();
  for (uint32_t job : {8, 9}) {
    JobSettings settings;
    settings.row_kind = RowKind::kValues;
    settings.command = {"echo"};
    settings.user = job == 8 ? "slow" : "fast";
    pair.first->Send(wire::OpenJob{JobId(job), std::make_shared<const JobSettings>(settings)});
    pair.first->Send(wire::Lease{Epoch(1), JobId(job), Attempt(1), Needs{}, {{0, 1}}, {""}});
  }
  loop.RunFor(Duration::Millis(1));
  EXPECT_EQ(starts.opened, std::vector{JobId(9)});
  ASSERT_EQ(starts.orders.size(), 1u);
  answer.set_value();
  users.LookUp("slow", [&] { real->Stop(); });
  real->Run();
  loop.RunFor(Duration::Millis(1));
  EXPECT_EQ(starts.opened, (std::vector{JobId(9), JobId(8)}));
  EXPECT_EQ(starts.orders.size(), 2u);
  EXPECT_EQ(starts.orders.back().ref.job, JobId(8));
}

TEST_F(FetchTest, AFileThatDidNotComeIsTheTasksFailure) {
  Lease(0, {"unknown"});
  Answer();
  EXPECT_TRUE(starts.orders.empty());
  EXPECT_NE(note.find("'unknown' did not come"), std::string::npos) << note;
}

}  // namespace
}  // namespace spate::node
