// A node and its parts of gangs, before a hub that only listens: room is told first, and again
// behind each Hello; it starts at Go; and what an earlier process of the node left is told of, too.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "node/node.h"
#include "node/process_executor.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/temp_dir.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

constexpr Duration kDeadline = Duration::Seconds(30);

// The hub's end of a connection: what came, in a line each, but for what may come at any time.
struct Hub final : public transport::Channel<wire::ToHub, wire::ToNode> {
  void Send(wire::ToHub message) override {
    if (std::holds_alternative<wire::Hello>(message)) said.push_back("hello");
    if (const auto* room = std::get_if<wire::RoomTaken>(&message)) {
      said.push_back(fmt::format("room {}", room->ref.index));
    }
    if (const auto* running = std::get_if<wire::Running>(&message)) {
      said.push_back(fmt::format("running {}", running->ref.index));
    }
    if (const auto* back = std::get_if<wire::Returned>(&message)) {
      said.push_back(fmt::format("returned {}", back->tasks.at(0).first));
    }
    if (const auto* all = std::get_if<wire::Ends>(&message)) {
      for (size_t i = 0; i < all->ends.size(); ++i) {
        said.push_back(fmt::format("ended {}", all->ends[i].ref.index));
        ends[all->ends[i].ref.index] = all->ends[i];
        outputs[all->ends[i].ref.index] = all->outputs[i];
      }
    }
    changed();
  }
  void OnMessage(std::function<void(wire::ToNode)> receiver) override {
    tell = std::move(receiver);
  }

  std::vector<std::string> said;
  std::map<TaskIndex, AttemptEnd> ends;
  std::map<TaskIndex, TaskOutputPtr> outputs;
  std::function<void(wire::ToNode)> tell;
  std::function<void()> changed = [] {};
};

class NodePartTest : public testing::Test {
 protected:
  NodePartTest() : loop_(std::move(*os::RealLoop::Create())) {
    settings_.cwd = dir_.path();
    settings_.row_kind = RowKind::kListLine;
  }
  ~NodePartTest() override { Leave(false); }

  void Begin() {
    ProcessExecutorOptions options;
    options.slots = 2;
    options.node_folder = dir_.Path("node");
    executor_ = std::move(*ProcessExecutor::Create(*loop_, options));
    Offer offer{.node_name = "n", .slots = 2, .milli_cpus = 8000};
    offer.named = {{"gpus", {"0", "1", "2", "3"}}};
    node_.emplace(NodeId(1), offer,
                  Node::Parts{.loop = *loop_, .executor = *executor_, .sample_load = [] {
                                return MachineLoad{};
                              }});
    executor_->SetEvents(*node_);
    auto adopted = executor_->Adopt();
    ASSERT_TRUE(adopted.has_value());
    node_->Adopt(std::move(*adopted));
  }
  // The node's process ends; what runs stays for the next one, or ends.
  void Leave(bool for_adoption) {
    if (executor_ && for_adoption) executor_->LeaveForAdoption();
    node_.reset();
    executor_.reset();
  }
  std::unique_ptr<Hub> Connect() {
    auto hub = std::make_unique<Hub>();
    hub->changed = [this] { loop_->Post([this] { Look(); }); };
    node_->Connect(*hub);
    hub->tell(wire::OpenJob{JobId(1), std::make_shared<const JobSettings>(settings_)});
    return hub;
  }
  static void Lease(Hub& hub, TaskIndex index, std::string text,
                    std::shared_ptr<const GangPart> part) {
    Needs needs;
    if (part) needs.named = {{"gpus", 2}};
    if (part) needs = NeedsOfPart(needs, part->host().procs);
    hub.tell(wire::Lease{
        Epoch(1), JobId(1), Attempt(1), needs, {{index, 1}}, {std::move(text)}, std::move(part)});
  }
  static std::shared_ptr<const GangPart> Part() {
    return std::make_shared<const GangPart>(
        GangPart{1, {{"m", 1, ""}, {"n", 2, ""}}, GangShape::Start::kEach, ""});
  }
  template <typename Done>
  void RunUntil(Done done) {
    done_ = done;
    os::TimerId deadline = loop_->At(loop_->Now() + kDeadline, [this] {
      ADD_FAILURE() << "nothing happened in time";
      loop_->Stop();
    });
    loop_->Post([this] { Look(); });
    loop_->Run();
    loop_->Cancel(deadline);
    done_ = nullptr;
  }
  void Look() {
    if (done_ && done_()) loop_->Stop();
  }
  static bool Has(const Hub& hub, const std::string& line) {
    return std::ranges::find(hub.said, line) != hub.said.end();
  }
  void AwaitFile(const std::string& name) {
    done_ = [this, name] { return os::Exists(dir_.Path(name)); };
    while (!done_()) {
      loop_->At(loop_->Now() + Duration::Millis(3), [this] { loop_->Stop(); });
      loop_->Run();
    }
  }

  os::TempDir dir_;
  std::unique_ptr<os::RealLoop> loop_;
  JobSettings settings_;
  std::unique_ptr<ProcessExecutor> executor_;
  std::optional<Node> node_;
  std::function<bool()> done_;
};

constexpr const char* kTell =
    "echo $SPATE_RANK/$SPATE_RANKS on $SPATE_NODE with $SPATE_CPUS and $SPATE_GPUS; exit 0";

TEST_F(NodePartTest, RoomIsToldAndGoStarts) {
  Begin();
  auto hub = Connect();
  Lease(*hub, 4, kTell, Part());
  Lease(*hub, 5, "exit 0", nullptr);
  RunUntil([&] { return Has(*hub, "ended 5"); });
  EXPECT_TRUE(Has(*hub, "room 4"));
  EXPECT_FALSE(Has(*hub, "running 4"));
  node_->Disconnect();
  auto again = Connect();
  Lease(*again, 6, "exit 0", Part());  // without room
  again->tell(wire::Go{Epoch(1), {JobId(1), 4, Attempt(1)}});
  RunUntil([&] { return Has(*again, "ended 4"); });
  std::vector<std::string> said = again->said;
  ASSERT_GE(said.size(), 4u);
  said.resize(4);
  EXPECT_EQ(said, (std::vector<std::string>{"hello", "ended 5", "room 4", "running 4"}));
  const AttemptEnd& end = again->ends[4];
  EXPECT_EQ(end.cause, Cause::kSuccess) << end.note;
  EXPECT_EQ(again->outputs[4]->out.bytes, "1/3 on n with 1 and 0,1\n2/3 on n with 1 and 2,3\n");
  ASSERT_EQ(end.processes.size(), 2u);
  EXPECT_EQ(end.processes[1].rank, 2u);
  EXPECT_EQ(end.processes[1].stdout_bytes, 24u);
  // It has room now, and gives it back.
  RunUntil([&] { return Has(*again, "room 6"); });
  again->tell(wire::Stop{Epoch(1), JobId(1), {}});
  RunUntil([&] { return Has(*again, "returned 6"); });
  EXPECT_FALSE(Has(*again, "running 6"));
}

TEST_F(NodePartTest, APartThatRunsIsToldOfByTheNextProcess) {
  Begin();
  auto hub = Connect();
  Lease(*hub, 4, "touch up$SPATE_RANK; until test -e go; do sleep 0.01; done; cat $SPATE_MACHINES",
        Part());
  Lease(*hub, 5, "touch up; until test -e go; do sleep 0.01; done", nullptr);
  hub->tell(wire::Go{Epoch(1), {JobId(1), 4, Attempt(1)}});
  for (const char* name : {"up1", "up2", "up"}) AwaitFile(name);
  Leave(true);
  Begin();
  auto again = Connect();
  EXPECT_EQ(again->said, (std::vector<std::string>{"hello", "room 4"}));
  again->tell(wire::Go{Epoch(1), {JobId(1), 4, Attempt(1)}});
  dir_.Write("go", "");
  RunUntil([&] { return Has(*again, "ended 4") && Has(*again, "ended 5"); });
  EXPECT_FALSE(Has(*again, "running 4"));
  EXPECT_EQ(again->outputs[4]->out.bytes, "m:1\nn:2\nm:1\nn:2\n");
  EXPECT_EQ(again->ends[4].processes.at(1).stdout_bytes, 8u);
  auto left = os::ListDir(dir_.Path("node/spool"));
  ASSERT_TRUE(left.has_value());
  EXPECT_TRUE(left->empty());
}

TEST_F(NodePartTest, MoreThanOneCommandIsRefused) {
  settings_.row_kind = RowKind::kResident;
  settings_.command = {"/bin/cat"};
  Begin();
  auto hub = Connect();
  Lease(*hub, 4, "x", Part());
  hub->tell(wire::Go{Epoch(1), {JobId(1), 4, Attempt(1)}});
  RunUntil([&] { return Has(*hub, "ended 4"); });
  EXPECT_EQ(hub->ends[4].cause, Cause::kStart);
  EXPECT_EQ(hub->ends[4].status, 126);
  EXPECT_TRUE(hub->ends[4].note.starts_with("a gang's task must be a single command"))
      << hub->ends[4].note;
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
