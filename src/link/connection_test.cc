#include "link/connection.h"

#include "link/testing_link.h"

namespace spate::link {
namespace {

using namespace std::literals;
using testing::BytesOf;
using testing::End;
using testing::FrameOf;
using testing::Got;
using testing::LinkTest;
using testing::RawPeer;
using wire::FrameType;
using Why = Ended::Why;

class ConnectionTest : public LinkTest {};

TEST_F(ConnectionTest, FramesGoBothWays) {
  for (bool over_tls : {false, true}) {
    End hub, node;
    Open(hub, node, over_tls);
    std::string large(3 << 20, 'x');
    EXPECT_TRUE(node.connection->Send(FrameType::kToHub, "hi"));
    EXPECT_FALSE(node.connection->Send(FrameType::kToHub, large));
    (void)node.connection->Send(FrameType::kOutputPiece, "");
    EXPECT_TRUE(hub.connection->Send(FrameType::kToNode, "hello"));
    RunUntil([&] { return hub.got.size() == 3 && node.got.size() == 1; });
    EXPECT_EQ(hub.got, (std::vector<Got>{{FrameType::kToHub, "hi"},
                                         {FrameType::kToHub, large},
                                         {FrameType::kOutputPiece, ""}}));
    EXPECT_EQ(node.got, (std::vector<Got>{{FrameType::kToNode, "hello"}}));
    EXPECT_EQ(node.writable, 1);
    (void)hub.connection->Send(FrameType::kToNode, "bye");
    hub.connection->Close();
    EXPECT_FALSE(hub.connection->Send(FrameType::kToNode, "late"));
    RunUntil([&] { return node.ended.has_value(); });
    EXPECT_TRUE(node.IsEnded(Why::kByPeer)) << node.Why();
    EXPECT_EQ(node.got.back().message, "bye");
    node.connection.reset();
    RunUntil([&] { return hub.ended.has_value(); });
    EXPECT_TRUE(hub.IsEnded(Why::kAsked)) << hub.Why();
  }
}

// The next owner misses nothing: neither frames that came at once, nor the end.
TEST_F(ConnectionTest, NothingIsGivenOutBeforeTheNextOwner) {
  for (bool is_over : {false, true}) {
    End hub;
    RawPeer peer;
    auto [a, b] = transport::MakePair();
    hub.connection = std::make_unique<Connection>(*loop_, std::move(a), nullptr,
                                                  FrameTypes{FrameType::kGreeting});
    auto events = hub.Events();
    bool accepted = false;
    events.frame = [&](auto, auto) {
      hub.connection->Accept(TypesToHub(wire::Role::kNode));
      accepted = true;
    };
    hub.connection->Start(events);
    peer.Start(*loop_, std::move(b), transport::Stream::Clear::kUnixOnly);
    peer.stream->Send(FrameOf(FrameType::kGreeting) + FrameOf(FrameType::kToHub, "at once"));
    RunUntil([&] { return accepted; });
    peer.stream->Send(FrameOf(FrameType::kToHub, "later"));
    RunUntil([&] { return peer.stream->queued() == 0; });
    if (is_over) {
      hub.connection->Refuse({});
      RunUntil([&] { return peer.closed.has_value(); });
      peer.stream.reset();
    }
    int turns = 0;
    RunUntil([&] { return ++turns == 20; });
    EXPECT_TRUE(hub.got.empty());
    EXPECT_FALSE(hub.ended);
    hub.connection->Start(hub.Events());
    RunUntil([&] { return hub.got.size() == 2 || hub.ended; });
    EXPECT_EQ(hub.IsEnded(Why::kAsked), is_over) << hub.Why();
    if (!is_over) {
      EXPECT_EQ(hub.got,
                (std::vector<Got>{{FrameType::kToHub, "at once"}, {FrameType::kToHub, "later"}}));
    }
  }
}

TEST_F(ConnectionTest, APauseHoldsFramesThatHaveCome) {
  End hub;
  RawPeer peer;
  OpenRaw(hub, peer);
  bool paused = false;
  auto events = hub.Events();
  events.frame = [&](auto, auto bytes) {
    EXPECT_FALSE(paused);
    hub.got.push_back({FrameType::kToHub, std::string(bytes)});
    paused = true;
    hub.connection->PauseReading(true);
    loop_->Post([&] {
      paused = false;
      hub.connection->PauseReading(false);
    });
  };
  hub.connection->Start(events);
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += FrameOf(FrameType::kToHub, std::to_string(i));
  peer.stream->Send(bytes);
  RunUntil([&] { return hub.got.size() == 100; });
  ASSERT_EQ(hub.got.size(), 100u);
  EXPECT_EQ(hub.got[99].message, "99");
}

// -------------------------------------------------------------------------------- signs of life

constexpr Duration kFar = Duration::Seconds(1000);

TEST_F(ConnectionTest, SaysThatItLives) {
  End hub;
  RawPeer peer;
  OpenRaw(hub, peer, {.heartbeat = Duration::Millis(2), .silent = kFar, .cut = kFar});
  RunUntil([&] { return peer.Frames().size() >= 4; });
  for (const Got& frame : peer.Frames()) EXPECT_EQ(frame, (Got{FrameType::kHeartbeat, ""}));
  EXPECT_TRUE(hub.got.empty());
}

TEST_F(ConnectionTest, NoHeartbeatsBesideMessages) {
  End hub;
  RawPeer peer;
  OpenRaw(hub, peer, {.heartbeat = Duration::Millis(40), .silent = kFar, .cut = kFar});
  Instant last = loop_->Now();
  bool in_time = true;
  size_t sent = 0;
  RunUntil([&] {
    in_time = in_time && loop_->Now() - std::exchange(last, loop_->Now()) < Duration::Millis(30);
    (void)hub.connection->Send(FrameType::kToNode, "x");
    return ++sent == 1000;
  });
  if (!in_time) GTEST_SKIP() << "this machine is too busy to tell";
  for (const Got& frame : peer.Frames()) EXPECT_EQ(frame.type, FrameType::kToNode);
}

TEST_F(ConnectionTest, HeartbeatsKeepBothEndsContent) {
  End hub, node;
  Open(hub, node, true,
       {.heartbeat = Duration::Millis(2), .silent = Duration::Seconds(2), .cut = kFar});
  Instant until = loop_->Now() + Duration::Millis(2200);
  RunUntil([&] { return loop_->Now() > until; });
  EXPECT_TRUE(hub.silences.empty());
  EXPECT_TRUE(node.silences.empty());
  EXPECT_FALSE(hub.ended || node.ended) << hub.Why() << node.Why();
}

TEST_F(ConnectionTest, ASilentPeerIsToldOfAndHeardAgain) {
  End hub;
  RawPeer peer;
  OpenRaw(hub, peer,
          {.heartbeat = Duration::Millis(5), .silent = Duration::Millis(20), .cut = kFar});
  RunUntil([&] { return hub.silences.size() == 1; });
  peer.stream->Send(FrameOf(FrameType::kHeartbeat));
  RunUntil([&] { return hub.silences.size() == 3; });
  EXPECT_EQ(hub.silences, (std::vector{true, false, true}));
  EXPECT_FALSE(hub.ended);
}

TEST_F(ConnectionTest, ALongSilenceEndsIt) {
  auto counts = std::make_shared<Counts>();
  End hub;
  RawPeer peer;
  Instant start = loop_->Now();
  OpenRaw(hub, peer,
          {.heartbeat = Duration::Millis(5),
           .silent = Duration::Millis(20),
           .cut = Duration::Millis(60)},
          counts);
  RunUntil([&] { return hub.ended.has_value(); });
  EXPECT_TRUE(hub.IsEnded(Why::kSilent)) << hub.Why();
  EXPECT_EQ(hub.silences, std::vector{true});
  EXPECT_GE(loop_->Now() - start, Duration::Millis(60));
  EXPECT_EQ(counts->silent, 1u);
  RunUntil([&] { return peer.closed.has_value(); });
}

TEST_F(ConnectionTest, HalfAFrameAndThenNothingEndsItToo) {
  End hub;
  RawPeer peer;
  OpenRaw(hub, peer,
          {.heartbeat = Duration::Millis(5),
           .silent = Duration::Millis(20),
           .cut = Duration::Millis(40)});
  peer.stream->Send(FrameOf(FrameType::kToHub, "half a frame").substr(0, 9));
  RunUntil([&] { return hub.ended.has_value(); });
  EXPECT_TRUE(hub.IsEnded(Why::kSilent)) << hub.Why();
  EXPECT_TRUE(hub.got.empty());
}

TEST_F(ConnectionTest, APeerThatIsNotReadIsNotSilent) {
  End hub;
  RawPeer peer;
  OpenRaw(hub, peer,
          {.heartbeat = Duration::Millis(5),
           .silent = Duration::Millis(20),
           .cut = Duration::Millis(40)});
  hub.connection->PauseReading(true);
  peer.stream->Send(FrameOf(FrameType::kToHub, "unread"));
  Instant until = loop_->Now() + Duration::Millis(150);
  RunUntil([&] { return loop_->Now() > until; });
  EXPECT_TRUE(hub.silences.empty());
  EXPECT_FALSE(hub.ended) << hub.Why();
  hub.connection->PauseReading(false);
  RunUntil([&] { return hub.got.size() == 1; });
  RunUntil([&] { return hub.ended.has_value(); });
  EXPECT_TRUE(hub.IsEnded(Why::kSilent)) << hub.Why();
}

TEST_F(ConnectionTest, WhoStoodStillItselfBlamesNobody) {
  End hub;
  RawPeer peer;
  OpenRaw(hub, peer,
          {.heartbeat = Duration::Millis(20),
           .silent = Duration::Millis(40),
           .cut = Duration::Millis(80)});
  Instant woke{};
  loop_->Post([&] {
    for (Instant until = loop_->Now() + Duration::Millis(200); loop_->Now() < until;) continue;
    woke = loop_->Now();
  });
  RunUntil([&] { return hub.ended.has_value(); });
  EXPECT_GE(loop_->Now() - woke, Duration::Millis(80));
}

// ------------------------------------------------------------------------------------- breaches

TEST_F(ConnectionTest, WhoBreaksTheProtocolIsRefused) {
  struct Case {
    std::string bytes;
    const char* text;
  };
  const Case cases[] = {
      {"\0\0\0\0"s, "a frame of 0 bytes"},
      {"\1\0\0\1\6"s, "a frame of 16777217 bytes"},
      {"\xff\xff\xff\xff\6"s, "a frame of 4294967295 bytes"},
      {"GET / HTTP/1.1\r\n"s, "a frame of 542393671 bytes"},
      {"\1\0\0\0\x0a"s, "unknown type 10"},
      {FrameOf(FrameType::kGreeting), "a frame of type 1 may not come here"},
      {FrameOf(FrameType::kToNode), "a frame of type 5 may not come here"},
      {FrameOf(FrameType::kRequest), "a frame of type 8 may not come here"},
      {FrameOf(FrameType::kRefusal, "\xff"), "refusal is cut off"},
  };
  auto counts = std::make_shared<Counts>();
  for (const Case& each : cases) {
    End hub;
    RawPeer peer;
    OpenRaw(hub, peer, {}, counts);
    // Whole frames before it count, later ones do not.
    peer.stream->Send(FrameOf(FrameType::kToHub, "good") + each.bytes + FrameOf(FrameType::kToHub));
    RunUntil([&] { return peer.closed.has_value(); });
    ASSERT_TRUE(peer.Refusal()) << each.text;
    EXPECT_EQ(peer.Refusal()->code, wire::RefusalCode::kBreach);
    EXPECT_NE(peer.Refusal()->reason.find(each.text), std::string::npos) << peer.Refusal()->reason;
    RunUntil([&] { return hub.ended.has_value(); });
    EXPECT_TRUE(hub.IsEnded(Why::kBreach)) << hub.Why();
    EXPECT_NE(hub.Why().find(each.text), std::string::npos) << hub.Why();
    EXPECT_EQ(hub.got.size(), 1u);
  }
  EXPECT_EQ(counts->breaches, std::size(cases));
}

TEST_F(ConnectionTest, ARefusalSaysWhy) {
  End hub, node;
  Open(hub, node, true);
  hub.connection->Refuse({wire::RefusalCode::kName, "there is another n1"});
  RunUntil([&] { return hub.ended && node.ended; });
  EXPECT_TRUE(node.IsEnded(Why::kRefused)) << node.Why();
  EXPECT_EQ(node.ended->refusal, (wire::Refusal{wire::RefusalCode::kName, "there is another n1"}));
  EXPECT_TRUE(hub.IsEnded(Why::kAsked)) << hub.Why();
}

TEST_F(ConnectionTest, APeerThatTakesNothingIsCutOff) {
  ConnectionLimits limits;
  limits.stream.window = 64 * 1024;
  limits.stream.queue = 1 << 20;
  End hub;
  RawPeer peer;
  OpenRaw(hub, peer, limits);
  peer.stream->PauseReading(true);
  std::string message(50'000, 'x');
  int sent = 0;
  RunUntil([&] {
    if (!hub.ended) (void)hub.connection->Send(FrameType::kToNode, message), ++sent;
    return hub.ended.has_value();
  });
  EXPECT_TRUE(hub.IsEnded(Why::kOverrun)) << hub.Why();
  EXPECT_LT(sent, 100);
}

TEST_F(ConnectionTest, MayEndInsideEachOfItsFunctions) {
  for (int which = 0; which < 5; ++which) {
    End hub;
    RawPeer peer;
    OpenRaw(hub, peer,
            {.heartbeat = Duration::Millis(2),
             .silent = which == 2 ? Duration::Millis(5) : kFar,
             .cut = kFar});
    bool called = false;
    auto end = [&] {
      called = true;
      hub.connection.reset();
    };
    auto events = hub.Events();
    if (which == 0 || which == 4) events.frame = [&](auto, auto) { end(); };
    if (which == 1) events.closed = [&](const Ended&) { end(); };
    if (which == 2) events.silent = [&](bool) { end(); };
    if (which == 3) events.writable = [&] { end(); };
    hub.connection->Start(events);
    if (which == 0) peer.stream->Send(FrameOf(FrameType::kToHub) + FrameOf(FrameType::kToHub));
    if (which == 1) peer.stream->Send("\0\0\0\0"s);
    if (which == 3) (void)hub.connection->Send(FrameType::kToNode, std::string(1 << 20, 'x'));
    if (which == 4) {  // out of what it held while it paused
      hub.connection->PauseReading(true);
      peer.stream->Send(FrameOf(FrameType::kToHub) + FrameOf(FrameType::kToHub));
      hub.connection->PauseReading(false);
    }
    RunUntil([&] { return called; });
  }
}

// ------------------------------------------------------------------------------------------ shares

// Two of three connections have room for a long frame; the third is read when one of them is done,
// and short frames pass meanwhile.
TEST_F(ConnectionTest, LongFramesWaitForRoom) {
  auto share = std::make_shared<Share>(*loop_, ShareLimits{.short_frame = 1000, .memory = 200'000});
  End ends[4];
  RawPeer peers[4];
  const std::string frame = FrameOf(FrameType::kToHub, std::string(90'000, 'x'));
  for (int i = 0; i < 4; ++i) {
    OpenRaw(ends[i], peers[i]);
    ends[i].connection->SetShare(share);
    ends[i].connection->Start(ends[i].Events());
  }
  EXPECT_EQ(share->members(), 4u);
  for (int i : {0, 1}) {
    peers[i].stream->Send(frame.substr(0, 80'000));
    RunUntil([&] { return share->used() > static_cast<size_t>(i) * 90'000; });
  }
  peers[2].stream->Send(frame);
  peers[3].stream->Send(FrameOf(FrameType::kToHub, "short"));
  RunUntil([&] { return ends[3].got.size() == 1; });
  EXPECT_TRUE(ends[2].got.empty());
  peers[0].stream->Send(frame.substr(80'000));
  RunUntil([&] { return ends[0].got.size() == 1 && ends[2].got.size() == 1; });
  EXPECT_EQ(ends[2].got[0].message.size(), 90'000u);
  // A connection that goes gives its room back.
  ends[1].connection.reset();
  RunUntil([&] { return share->used() == 0; });
  EXPECT_EQ(share->members(), 3u);
}

// Those who read nothing close the windows of all connections of their user, and of no other user.
TEST_F(ConnectionTest, WhatIsNotReadCountsForTheUser) {
  auto share = std::make_shared<Share>(
      *loop_, ShareLimits{.unread = 4u << 20, .look_again = Duration::Millis(1)});
  End lazy[3], busy, other;
  RawPeer lazy_peers[3], peer, other_peer;
  for (int i = 0; i < 3; ++i) {
    OpenRaw(lazy[i], lazy_peers[i]);
    lazy[i].connection->SetShare(share);
    lazy[i].connection->Start(lazy[i].Events());
    lazy_peers[i].stream->PauseReading(true);
  }
  OpenRaw(busy, peer);
  busy.connection->SetShare(share);
  bool writable = false;
  auto events = busy.Events();
  events.writable = [&] { writable = true; };
  busy.connection->Start(std::move(events));
  OpenRaw(other, other_peer);
  other.connection->SetShare(std::make_shared<Share>(*loop_));
  other.connection->Start(other.Events());
  EXPECT_TRUE(busy.connection->Send(FrameType::kToNode, "x"));
  const std::string much(3u << 20, 'x');
  for (End& each : lazy) each.connection->Send(FrameType::kToNode, much);
  EXPECT_FALSE(busy.connection->Send(FrameType::kToNode, "x"));
  EXPECT_TRUE(other.connection->Send(FrameType::kToNode, "x"));
  EXPECT_FALSE(writable);
  for (End& each : lazy) each.connection.reset();
  RunUntil([&] { return writable; });
  EXPECT_TRUE(busy.connection->Send(FrameType::kToNode, "x"));
}

// A connection with much to say does not keep another one, of another user, waiting.
TEST_F(ConnectionTest, WorkEndsWithItsTurn) {
  auto share = std::make_shared<Share>(*loop_, ShareLimits{.turn = Duration::Millis(1)});
  End busy, other;
  RawPeer many, one;
  OpenRaw(busy, many);
  OpenRaw(other, one);
  int before = -1;
  int taken = 0;
  busy.connection->SetShare(share);
  auto events = busy.Events();
  events.frame = [&](auto, auto) {
    ++taken;
    Instant until = loop_->Now() + Duration::Millis(1);
    while (loop_->Now() < until) {
    }
    if (taken == 1) one.stream->Send(FrameOf(FrameType::kToHub, "hi"));
  };
  busy.connection->Start(std::move(events));
  auto quick = other.Events();
  quick.frame = [&](auto, auto) { before = taken; };
  other.connection->Start(std::move(quick));
  std::string frames;
  for (int i = 0; i < 300; ++i) frames += FrameOf(FrameType::kToHub, "x");
  many.stream->Send(frames);
  RunUntil([&] { return taken == 300 && before >= 0; });
  EXPECT_LT(before, 250) << "it had to wait for all of them";
}

}  // namespace
}  // namespace spate::link
