// A site's node at its port (node/port.h), and who asks it there.
#include "node/port.h"

#include <gtest/gtest.h>

#include "doors/parasol/row/wait_status.h"
#include "doors/parasol/site/node_asker.h"
#include "doors/parasol/site/node_kit.h"
#include "os/socket.h"
#include "os/temp_dir.h"
#include "remote/lobby.h"
#include "wire/field_bytes.h"

namespace spate::parasol {
namespace {

access::Access HubAccess() {
  access::Access hub;
  hub.hubs = {{.host = "head", .port = 18150}};
  hub.serial = 2;
  hub.role = access::Role::kNode;
  hub.user = "*";
  return hub;
}

class NodePortTest : public ::testing::Test {
 protected:
  NodePortTest() : loop_(std::move(os::RealLoop::Create().value())) {
    kit_ = MakeNodeKit(HubAccess(), {.host = "127.0.0.1", .port = 1}).value();
  }
  void Open() {
    node::Port::Options options{.folder = dir_.path()};
    options.site = {.listen = {{.host = "127.0.0.1", .port = 0}},
                    .key = kit_.key,
                    .access = kit_.port,
                    .peers = std::nullopt};
    node::Port::Events events;
    events.report = [] { return NodeReport{.slots = 3, .running = {"7 ann"}}; };
    events.stop = [this] { ++stops_; };
    events.log = [this](const std::string& text) { log_ += text; };
    auto port = node::Port::Open(*loop_, "1.0", std::move(options), std::move(events));
    ASSERT_TRUE(port) << port.error().message;
    port_ = std::move(*port);
    kit_.port.hubs = {os::ParseAddress(port_->addresses().front().Text()).value()};
  }
  Result<std::string> Ask(const access::Access& access, wire::Question question) {
    Result<std::string> got;
    ForEachAtOnce(*loop_, 1, 1, [&](size_t, std::function<void()> done) {
      asker_ = std::make_unique<NodeAsker>(*loop_, access, question, [&, done](auto answer) {
        got = std::move(answer);
        done();
      });
    });
    asker_.reset();
    return got;
  }

  std::unique_ptr<os::RealLoop> loop_;
  NodeKit kit_;
  os::TempDir dir_;
  std::unique_ptr<node::Port> port_;
  std::unique_ptr<NodeAsker> asker_;
  std::string log_;
  int stops_ = 0;
};

TEST_F(NodePortTest, AnswersAndStops) {
  Open();
  for (int i = 0; i < 3; ++i) {
    auto told = Ask(kit_.port, wire::LookAtNode());
    ASSERT_TRUE(told) << told.error().message;
    auto report = wire::FromBytes<NodeReport>("report", *told).value();
    EXPECT_EQ(report.slots, 3u);
    EXPECT_EQ(report.running, std::vector<std::string>{"7 ann"});
  }
  EXPECT_FALSE(Ask(kit_.port, wire::ListNodes()));
  EXPECT_EQ(stops_, 0);
  EXPECT_EQ(Ask(kit_.port, wire::StopNode()).value(), "");
  Instant end = loop_->Now() + Duration::Seconds(30);
  while (stops_ == 0 && loop_->Now() < end) {
    loop_->At(loop_->Now() + Duration::Millis(1), [&] { loop_->Stop(); });
    loop_->Run();
  }
  EXPECT_EQ(stops_, 1);
  EXPECT_EQ(log_, "");
}

// Members of gangs come to the same address, and none who says nothing shuts others out.
TEST_F(NodePortTest, IsWhereGangsKnock) {
  Open();
  const os::SocketAddress at = port_->addresses().front();
  const std::string self = at.Text();
  EXPECT_EQ(port_->ListenFor(at, ""), self);
  std::vector<os::Fd> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(os::StartConnect(at).value());
  os::Fd member = os::StartConnect(at).value();
  const std::string knock = remote::KnockAt(Bytes32{});
  ASSERT_TRUE(Ask(kit_.port, wire::LookAtNode()));
  EXPECT_EQ(os::SendSome(member.get(), knock).bytes, knock.size());
  ASSERT_TRUE(Ask(kit_.port, wire::LookAtNode()));
  char byte = 0;
  EXPECT_NE(os::Receive(member.get(), &byte, 1).kind, os::IoStep::Kind::kWouldBlock)
      << "no gang of that id runs here";
}

TEST_F(NodePortTest, TakesOnlyItsOwnAccess) {
  Open();
  access::Access wrong = kit_.port;
  wrong.secret[0] ^= 1;
  EXPECT_FALSE(Ask(wrong, wire::StopNode()));
  wrong = kit_.port;
  wrong.serial = 2;
  EXPECT_FALSE(Ask(wrong, wire::StopNode()));
  // The kit of another node.
  NodeKit other = MakeNodeKit(HubAccess(), kit_.port.hubs.front()).value();
  EXPECT_FALSE(Ask(other.port, wire::StopNode()));
  other.port.pin = kit_.port.pin;
  EXPECT_FALSE(Ask(other.port, wire::StopNode()));
  EXPECT_EQ(stops_, 0);
  EXPECT_NE(log_.find("refused 127.0.0.1:"), std::string::npos);
}

TEST_F(NodePortTest, KitsGoThroughText) {
  os::TempDir dir;
  std::string path = dir.Path("kit");
  ASSERT_TRUE(SaveNodeKit(path, kit_));
  auto read = LoadNodeKit(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->hub, kit_.hub);
  EXPECT_EQ(read->port, kit_.port);
  EXPECT_EQ(read->key, kit_.key);
  std::string text = FormatNodeKit(kit_);
  for (const char* part : {"[hub]\n", "[port]\n", "[key]\n"}) {
    std::string cut = text;
    cut.erase(cut.find(part), std::string(part).size());
    EXPECT_FALSE(ParseNodeKit(cut, "kit")) << part;
  }
  EXPECT_FALSE(ParseNodeKit("", "kit"));
  NodeKit mixed = kit_;
  mixed.key = transport::Identity::Make()->ToPem();
  EXPECT_FALSE(ParseNodeKit(FormatNodeKit(mixed), "kit"));
  // An error never shows a secret.
  std::string damaged = text;
  size_t secret = damaged.find("secret = ");
  damaged[secret + 12] = 'z';
  auto error = ParseNodeKit(damaged, "kit");
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().message.find(damaged.substr(secret + 9, 8)), std::string::npos);
}

TEST(SiteStatus, WaitStatuses) {
  EXPECT_EQ(WaitStatusOf(Cause::kSuccess, 0), 0);
  EXPECT_EQ(WaitStatusOf(Cause::kExit, 3), 768);
  EXPECT_EQ(WaitStatusOf(Cause::kSignal, 11), 11);
  EXPECT_EQ(WaitStatusOf(Cause::kStart, 127), 256);
}

}  // namespace
}  // namespace spate::parasol
