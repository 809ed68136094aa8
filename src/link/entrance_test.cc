#include "link/entrance.h"

#include <fmt/format.h>

#include "link/testing_link.h"
#include "os/file.h"
#include "os/process.h"

namespace spate::link {
namespace {

using namespace std::literals;
using testing::BytesOf;
using testing::EntranceTest;
using testing::FrameOf;
using testing::RawPeer;
using wire::FrameType;
using wire::RefusalCode;

class HubEntranceTest : public EntranceTest {
 protected:
  // A peer that got through TLS, and says what it likes.
  void Knock(RawPeer& peer, size_t which = 0, bool over_tls = true) {
    os::Fd fd = os::StartConnect(entrance_->addresses()[which]).value();
    if (over_tls) {
      peer.Start(*loop_, std::move(fd), *client_tls_);
    } else {
      peer.Start(*loop_, std::move(fd), transport::Stream::Clear::kTcpToo);
    }
    RunUntil([&] { return peer.opened == 1 || peer.closed; });
  }
  wire::Greeting Greeting() {
    wire::Greeting greeting{.product = "1.0", .role = wire::Role::kNode};
    greeting.node_name = "n1";
    greeting.instance = std::string(wire::kInstanceBytes, 'i');
    return greeting;
  }
  // Proved for the peer's connection.
  wire::Greeting Proved(const RawPeer& peer, const access::Access& access) {
    wire::Greeting greeting = Greeting();
    Bytes32 nonce{};
    Bytes32 proof = access::MakeProof(
        access.secret, {.connection_key = peer.stream->ExportKey(access::kExportLabel).value(),
                        .nonce = nonce,
                        .serial = access.serial,
                        .role = access.role});
    greeting.serial = access.serial;
    greeting.nonce.assign(nonce.begin(), nonce.end());
    greeting.proof.assign(proof.begin(), proof.end());
    return greeting;
  }
  // The hub's refusal of this greeting.
  RefusalCode RefusalOf(RawPeer& peer, const wire::Greeting& greeting) {
    peer.stream->Send(FrameOf(FrameType::kGreeting, BytesOf(greeting)));
    RunUntil([&] { return peer.closed || !inside_.empty(); });
    auto refusal = peer.Refusal();
    EXPECT_TRUE(refusal) << peer.got;
    reason_ = refusal ? refusal->reason : "";
    return refusal ? refusal->code : RefusalCode::kOther;
  }
  std::string reason_;
};

TEST_F(HubEntranceTest, LetsInWhoHasACredential) {
  OpenEntrance();
  auto met = Call(Target::Of(AccessOf(5, access::Role::kNode)), NodeSelf());
  ASSERT_TRUE(met) << met.error().error.message;
  EXPECT_EQ(met->welcome, (wire::Welcome{"1.0", wire::kProtocol, Epoch(3), NodeId(7), 15'000}));
  ASSERT_EQ(inside_.size(), 1u);
  const Guest& guest = inside_[0]->visitor.guest;
  EXPECT_EQ(guest.greeting.serial, 5u);
  EXPECT_EQ(guest.greeting.node_name, "n1");
  EXPECT_EQ(guest.greeting.instance, "0123456789abcdef");
  EXPECT_FALSE(guest.local);
  EXPECT_TRUE(guest.peer.starts_with("127.0.0.1:")) << guest.peer;
  EXPECT_EQ(inside_[0]->visitor.admission.node, NodeId(7));
  // Both go on with what their roles allow.
  testing::End node{.connection = std::move(met->connection)};
  node.connection->Start(node.Events());
  (void)node.connection->Send(FrameType::kToHub, "hello");
  (void)inside_[0]->end.connection->Send(FrameType::kToNode, "work");
  RunUntil([&] { return node.got.size() == 1 && inside_[0]->end.got.size() == 1; });
  EXPECT_EQ(entrance_->counts().accepted, 1u);
  EXPECT_EQ(entrance_->strangers(), 0u);
}

TEST_F(HubEntranceTest, SaysHowLongAPeerMaySayNothing) {
  OpenEntrance({.silence = Duration::Millis(150)});
  // A peer that says nothing all the same is cut off; one that was told is not.
  RawPeer deaf;
  Knock(deaf, 1, false);
  deaf.stream->Send(FrameOf(FrameType::kGreeting, BytesOf(Greeting())));
  RunUntil([&] { return inside_.size() == 1; });
  auto met = Call(Target::Of(AccessOf(5, access::Role::kNode)), NodeSelf());
  ASSERT_TRUE(met) << met.error().error.message;
  testing::End node{.connection = std::move(met->connection)};
  node.connection->Start(node.Events());
  RunUntil([&] { return deaf.closed.has_value(); });
  EXPECT_TRUE(inside_[0]->end.IsEnded(Ended::Why::kSilent)) << inside_[0]->end.Why();
  EXPECT_GE(inside_[0]->end.ended->quiet, Duration::Millis(150));
  Instant until = loop_->Now() + Duration::Millis(300);
  RunUntil([&] { return loop_->Now() > until; });
  EXPECT_FALSE(node.ended) << node.Why();
}

TEST_F(HubEntranceTest, AClientAsksAndIsAnswered) {
  OpenEntrance();
  auto met = Call(Target::Of(AccessOf(5, access::Role::kAdmin)), ClientSelf());
  ASSERT_TRUE(met) << met.error().error.message;
  EXPECT_EQ(inside_[0]->visitor.guest.greeting.role, wire::Role::kAdmin);
  testing::End client{.connection = std::move(met->connection)};
  client.connection->Start(client.Events());
  (void)client.connection->Send(FrameType::kRequest, "how many?");
  (void)inside_[0]->end.connection->Send(FrameType::kReply, "two");
  RunUntil([&] { return client.got.size() == 1 && inside_[0]->end.got.size() == 1; });
  // And may not speak as a node.
  (void)client.connection->Send(FrameType::kToHub, "hello");
  RunUntil([&] { return client.ended.has_value(); });
  EXPECT_EQ(client.ended->refusal->code, RefusalCode::kBreach);
  EXPECT_EQ(entrance_->counts().breaches, 1u);
}

TEST_F(HubEntranceTest, OnAUnixSocketTheSystemSaysWho) {
  OpenEntrance({{.address = UnixAddress(), .permissions = 0666}});
  EXPECT_EQ(os::Stat(dir_.Path("hub.socket")).value().permissions, 0666u);
  auto met = Call(Target::Of(UnixAddress()), ClientSelf());
  ASSERT_TRUE(met) << met.error().error.message;
  const Guest& guest = inside_.at(0)->visitor.guest;
  ASSERT_TRUE(guest.local);
  EXPECT_EQ(guest.local->pid, os::OwnPid());
  EXPECT_EQ(guest.local->user, os::EffectiveUser());
  auto account = os::AccountById(os::EffectiveUser());
  EXPECT_EQ(guest.user, account ? account->name : "");
  EXPECT_EQ(guest.greeting.serial, 0u);
  EXPECT_FALSE(guest.Proves({}));
  // Visitors stay when the entrance is closed; the socket's file does not.
  entrance_.reset();
  EXPECT_FALSE(os::Exists(dir_.Path("hub.socket")));
  testing::End client{.connection = std::move(met->connection)};
  client.connection->Start(client.Events());
  (void)client.connection->Send(FrameType::kRequest, "still there?");
  RunUntil([&] { return inside_[0]->end.got.size() == 1; });
}

TEST_F(HubEntranceTest, InClearOverTcpOnThisMachineOnly) {
  auto open = [&](std::string_view at) {
    return Entrance::Open(*loop_, {{.address = At(at), .clear = true}}, identity_, "1.0", gate_,
                          {});
  };
  for (std::string_view at : {"0.0.0.0:0", "*:0"}) {
    auto entrance = open(at);
    ASSERT_FALSE(entrance);
    EXPECT_NE(entrance.error().message.find("without TLS"), std::string::npos)
        << entrance.error().message;
  }
  OpenEntrance({{.address = At("127.0.0.1:0"), .clear = true}});
  auto met = Call(Target::Of(TcpAddress()), ClientSelf());
  ASSERT_TRUE(met) << met.error().error.message;
  EXPECT_FALSE(inside_.at(0)->visitor.guest.local);
}

TEST_F(HubEntranceTest, SaysWhereItCannotListen) {
  OpenEntrance();
  auto other = Entrance::Open(*loop_, {{.address = TcpAddress()}}, identity_, "1.0", gate_, {});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("cannot listen at '127.0.0.1:"), std::string::npos);
}

// --------------------------------------------------------------------------------------- refusals

TEST_F(HubEntranceTest, AWrongProofIsRefused) {
  OpenEntrance();
  access::Access access = AccessOf(5, access::Role::kNode);
  struct Case {
    const char* what;
    std::function<void(wire::Greeting&)> change;
  };
  const Case cases[] = {
      {"another secret's", [](auto& g) { g.proof[0] ^= 1; }},
      {"another nonce's", [](auto& g) { g.nonce[31] ^= 1; }},
      {"another serial's", [](auto& g) { g.serial = 6; }},
      {"another role's", [](auto& g) { g.role = wire::Role::kAdmin; }},
      {"too short", [](auto& g) { g.proof.resize(31); }},
      {"too long", [](auto& g) { g.nonce += 'x'; }},
      {"none", [](auto& g) { g.serial = 0; }},
  };
  gate_.credentials[6] = {access.secret, wire::Role::kNode};
  for (const Case& each : cases) {
    RawPeer peer;
    Knock(peer);
    wire::Greeting greeting = Proved(peer, access);
    each.change(greeting);
    EXPECT_EQ(RefusalOf(peer, greeting), RefusalCode::kCredential) << each.what;
  }
  EXPECT_EQ(entrance_->counts().refused, std::size(cases));
  // The same without a change.
  RawPeer peer;
  Knock(peer);
  peer.stream->Send(FrameOf(FrameType::kGreeting, BytesOf(Proved(peer, access))));
  RunUntil([&] { return inside_.size() == 1; });
}

TEST_F(HubEntranceTest, AGreetingIsGoodForItsConnectionOnly) {
  OpenEntrance();
  access::Access access = AccessOf(5, access::Role::kNode);
  RawPeer heard, replayer;
  Knock(heard);
  wire::Greeting greeting = Proved(heard, access);
  Knock(replayer);
  EXPECT_EQ(RefusalOf(replayer, greeting), RefusalCode::kCredential);
  // In clear too: over a UNIX socket nobody is who a credential says.
  RawPeer local;
  Knock(local, 1, false);
  EXPECT_EQ(RefusalOf(local, greeting), RefusalCode::kCredential);
  EXPECT_NE(reason_.find("without TLS"), std::string::npos);
  heard.stream->Send(FrameOf(FrameType::kGreeting, BytesOf(greeting)));
  RunUntil([&] { return inside_.size() == 1; });
}

TEST_F(HubEntranceTest, AnotherVersionIsToldSo) {
  OpenEntrance();
  struct Case {
    uint32_t oldest, newest;
    const char* text;
  };
  for (const Case& each : {Case{39, 40, "you are spate 9.9 and speak 39 to 40"},
                           Case{1, 1, "you are spate 9.9 and speak 1 to 1"}}) {
    RawPeer peer;
    Knock(peer, 1, false);
    wire::Greeting greeting = Greeting();
    greeting.product = "9.9";
    greeting.protocol = each.newest;
    greeting.oldest_protocol = each.oldest;
    EXPECT_EQ(RefusalOf(peer, greeting), RefusalCode::kVersion);
    EXPECT_NE(reason_.find(each.text), std::string::npos) << reason_;
  }
  EXPECT_EQ(of_other_protocol_, (std::vector<uint32_t>{40, 1}));
}

TEST_F(HubEntranceTest, WhatTheGateSaysIsSaid) {
  OpenEntrance();
  gate_.refuse = wire::Refusal{RefusalCode::kName, "there is another n1"};
  RawPeer peer;
  Knock(peer, 1, false);
  EXPECT_EQ(RefusalOf(peer, Greeting()), RefusalCode::kName);
  EXPECT_EQ(reason_, "there is another n1");
}

TEST_F(HubEntranceTest, StrangersThatBreakTheProtocol) {
  OpenEntrance();
  wire::Greeting nameless = Greeting();
  nameless.node_name.clear();
  const std::string cases[] = {
      "GET / HTTP/1.1\r\n\r\n",
      "\1\x40\0\0\1"s,        // a greeting of 16,385 bytes
      "\xff\xff\xff\xff\1"s,  // and of 4 GB
      FrameOf(FrameType::kHeartbeat),
      FrameOf(FrameType::kToHub, "let me in"),
      FrameOf(FrameType::kRequest),
      FrameOf(FrameType::kGreeting, "\xff"),
      FrameOf(FrameType::kGreeting, BytesOf(nameless)),
  };
  for (size_t which : {0, 1}) {
    for (const std::string& bytes : cases) {
      RawPeer peer;
      Knock(peer, which, which == 0);
      peer.stream->Send(bytes);
      RunUntil([&] { return peer.closed.has_value(); });
      ASSERT_TRUE(peer.Refusal());
      EXPECT_EQ(peer.Refusal()->code, RefusalCode::kBreach);
    }
  }
  EXPECT_EQ(entrance_->counts().breaches, 2 * std::size(cases));
  RunUntil([&] { return entrance_->strangers() == 0; });
  EXPECT_TRUE(gate_.guests.empty());
}

// -------------------------------------------------------------------------------------- strangers

TEST_F(HubEntranceTest, WhoSaysNothingIsCutOff) {
  OpenEntrance({.greeting = Duration::Millis(100)});
  RawPeer silent, half, no_tls;
  os::Fd fd = os::StartConnect(entrance_->addresses()[0]).value();
  Knock(silent);
  Knock(half, 1, false);
  half.stream->Send(FrameOf(FrameType::kGreeting, BytesOf(Greeting())).substr(0, 20));
  RunUntil([&] { return silent.closed && half.closed && entrance_->strangers() == 0; });
  EXPECT_EQ(entrance_->counts().late, 3u);
  EXPECT_TRUE(gate_.guests.empty());
}

TEST_F(HubEntranceTest, SilentStrangersMakeRoomForOthers) {
  OpenEntrance(
      {.greeting = Duration::Seconds(1000), .strangers = 3, .patience = Duration::Millis(250)});
  std::vector<os::Fd> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(os::StartConnect(entrance_->addresses()[0]).value());
  auto met = Call(Target::Of(AccessOf(5, access::Role::kNode)), NodeSelf());
  ASSERT_TRUE(met) << met.error().error.message;
  EXPECT_GE(entrance_->counts().evicted, 5u);
  EXPECT_EQ(entrance_->counts().late, 0u);
  // At the other address nobody was in the way.
  EXPECT_TRUE(Call(Target::Of(UnixAddress()), ClientSelf()));
}

TEST_F(HubEntranceTest, ThoseWhoAreInTakeNoPlace) {
  OpenEntrance({.strangers = 1, .patience = Duration::Seconds(1000)});
  access::Access access = AccessOf(5, access::Role::kNode);
  std::vector<Connector::Met> met;
  for (int i = 0; i < 10; ++i) {
    auto one = Call(Target::Of(access), NodeSelf());
    ASSERT_TRUE(one) << one.error().error.message;
    met.push_back(std::move(*one));
  }
  EXPECT_EQ(inside_.size(), 10u);
}

TEST_F(HubEntranceTest, MayBeClosedByAVisitor) {
  OpenEntrance();
  auto entrance = Entrance::Open(*loop_, {{.address = At("unix:" + dir_.Path("s"))}}, identity_,
                                 "1.0", gate_, {.arrived = [&](Visitor) { entrance_.reset(); }});
  ASSERT_TRUE(entrance);
  entrance_ = std::move(*entrance);
  RawPeer stranger;
  Knock(stranger, 0, false);
  (void)Call(Target::Of(At("unix:" + dir_.Path("s"))), ClientSelf());
  EXPECT_EQ(entrance_, nullptr);
  RunUntil([&] { return stranger.closed.has_value(); });
}

// A large site has as many nodes; fewer are used where so many files may not be open.
TEST_F(HubEntranceTest, ManyIdleNodes) {
  os::OpenFileLimit limit = os::GetOpenFileLimit();
  ASSERT_TRUE(os::SetOpenFileLimit(limit.most));
  size_t nodes = std::min<size_t>(1000, (limit.most - 100) / 2);
  OpenEntrance({.connection = {.heartbeat = Duration::Millis(500)}});
  access::Access access = AccessOf(5, access::Role::kNode);
  std::vector<std::unique_ptr<Connector>> callers;
  std::vector<testing::End> ends(nodes);
  size_t met = 0;
  for (size_t i = 0; i < nodes; ++i) {
    callers.push_back(std::make_unique<Connector>(
        *loop_, Target::Of(access), NodeSelf(),
        [&, i](auto result) {
          ASSERT_TRUE(result) << result.error().error.message;
          ends[i].connection = std::move(result->connection);
          ends[i].connection->Start(ends[i].Events());
          ++met;
        },
        CallerLimits{.connect = Duration::Seconds(60),
                     .welcome = Duration::Seconds(60),
                     .connection = {.heartbeat = Duration::Millis(500)}}));
  }
  RunUntil([&] { return met == nodes; });
  EXPECT_EQ(inside_.size(), nodes);
  Instant until = loop_->Now() + Duration::Seconds(1);
  RunUntil([&] { return loop_->Now() > until; });
  for (testing::End& end : ends) EXPECT_FALSE(end.ended) << end.Why();
  EXPECT_EQ(entrance_->counts().evicted + entrance_->counts().late, 0u);
}

}  // namespace
}  // namespace spate::link
