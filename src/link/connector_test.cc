#include "link/connector.h"

#include <algorithm>

#include "link/instance.h"
#include "link/reconnector.h"
#include "link/testing_link.h"

namespace spate::link {
namespace {

using namespace std::literals;
using testing::BytesOf;
using testing::EntranceTest;
using testing::FrameOf;
using testing::RawPeer;
using wire::FrameType;
using wire::RefusalCode;

class CallerTest : public EntranceTest {
 protected:
  // Something at a UNIX socket that answers whoever comes with these bytes.
  os::Address Impostor(std::string_view name, std::string answer) {
    os::Address at = At("unix:" + dir_.Path(std::string(name)));
    auto number = os::SocketAddress::Numeric(at).value().value();
    impostors_.push_back(std::make_unique<transport::Listener>(
        *loop_, os::Listen(number).value(),
        transport::Listener::Events{.arrived =
                                        [this, answer](transport::Arrival a) {
                                          guests_.push_back(std::make_unique<RawPeer>());
                                          guests_.back()->Start(
                                              *loop_, std::move(a.fd),
                                              transport::Stream::Clear::kUnixOnly);
                                          guests_.back()->stream->Send(answer);
                                        },
                                    .trouble = nullptr}));
    return at;
  }
  // Nobody listens there.
  os::Address Dead() { return At("unix:" + dir_.Path("nobody")); }

  void ExpectFailure(Target target, Self self, bool lasting, std::vector<std::string_view> texts,
                     const CallerLimits& limits = {}) {
    auto met = Call(std::move(target), std::move(self), limits);
    ASSERT_FALSE(met);
    const Error& error = met.error().error;
    const std::string message = error.message + error.remedy.text;
    EXPECT_EQ(met.error().lasting, lasting) << message;
    for (std::string_view text : texts) {
      EXPECT_NE(message.find(text), std::string::npos) << message << "\nlacks: " << text;
    }
  }

  std::vector<std::unique_ptr<transport::Listener>> impostors_;
  std::vector<std::unique_ptr<RawPeer>> guests_;
};

TEST_F(CallerTest, TellsAWrongPin) {
  OpenEntrance();
  access::Access access = AccessOf(5, access::Role::kNode);
  access.pin[0] ^= 1;
  ExpectFailure(Target::Of(access), NodeSelf(), true,
                {TcpAddress().host, "another key", "get a new access file"});
  // If another address may yet be the right one, it will be tried again.
  access.hubs.push_back(Dead());
  ExpectFailure(Target::Of(access), NodeSelf(), false, {"another key", "nobody"});
}

TEST_F(CallerTest, TellsWhyItWasRefused) {
  struct Case {
    RefusalCode code;
    bool lasting;
    const char* advice;
  };
  const Case cases[] = {
      {RefusalCode::kVersion, true, "from the newer release"},
      {RefusalCode::kCredential, true, "new access file"},
      {RefusalCode::kRole, true, "of the right role"},
      {RefusalCode::kName, false, "another name"},
      {RefusalCode::kBusy, false, "try again later"},
      {RefusalCode::kRemoved, true, ""},
      {RefusalCode::kOther, false, ""},
  };
  OpenEntrance();
  Target target = Target::Of(AccessOf(5, access::Role::kNode));
  for (const Case& each : cases) {
    gate_.refuse = wire::Refusal{each.code, "for a reason"};
    ExpectFailure(target, NodeSelf(), each.lasting, {"refused: for a reason", each.advice});
  }
}

TEST_F(CallerTest, TellsOfEveryAddress) {
  ExpectFailure({{Dead(), At("unix:/nowhere/hub")}, std::nullopt}, ClientSelf(), false,
                {"cannot reach the hub", "/nobody", "/nowhere/hub"});
  ExpectFailure({}, ClientSelf(), false, {"no address"});
}

TEST_F(CallerTest, GoesOnToTheNextAddress) {
  OpenEntrance();
  access::Access access = AccessOf(5, access::Role::kNode);
  access.hubs.insert(access.hubs.begin(), {Dead(), Impostor("ssh", "SSH-2.0-OpenSSH_9.2\r\n")});
  auto met = Call(Target::Of(access), NodeSelf());
  ASSERT_TRUE(met) << met.error().error.message;
  EXPECT_EQ(met->hub.Text(), entrance_->addresses()[0].Text());
}

TEST_F(CallerTest, WhoIsNoHub) {
  struct Case {
    const char* name;
    std::string answer;
    const char* text;
  };
  const Case cases[] = {
      {"ssh", "SSH-2.0-OpenSSH_9.2\r\n", "broke the protocol"},
      {"damaged", FrameOf(FrameType::kWelcome, "\xff"), "welcome is cut off"},
      {"no-epoch", FrameOf(FrameType::kWelcome), "welcome.protocol"},
      {"eager", FrameOf(FrameType::kToNode), "type 5 may not come here"},
      {"giant", "\xff\xff\xff\0\2"s, "a frame of 16777215 bytes"},
  };
  for (const Case& each : cases) {
    ExpectFailure(Target::Of(Impostor(each.name, each.answer)), ClientSelf(), false,
                  {each.name, each.text});
  }
  ExpectFailure(Target::Of(Impostor("silent", "")), ClientSelf(), false,
                {"no welcome came", "is it the hub"}, {.welcome = Duration::Millis(30)});
  ExpectFailure(Target::Of(Impostor("half", FrameOf(FrameType::kWelcome, "x").substr(0, 5))),
                ClientSelf(), false, {"no welcome came"}, {.welcome = Duration::Millis(30)});
}

TEST_F(CallerTest, DoesNotCallWithWhatCannotHelp) {
  OpenEntrance();
  access::Access node = AccessOf(5, access::Role::kNode);
  ExpectFailure(Target::Of(node), ClientSelf(), true, {"for a node, and this is a client"});
  ExpectFailure(Target::Of(AccessOf(6, access::Role::kClient)), NodeSelf(), true,
                {"for a client, and this is a node"});
  node.expires = Instant{1};
  ExpectFailure(Target::Of(node), NodeSelf(), true, {"expired"});
  ExpectFailure(Target::Of(At("192.0.2.1:7100")), ClientSelf(), false, {},
                {.connect = Duration::Millis(20)});
  EXPECT_TRUE(gate_.guests.empty());
}

TEST_F(CallerTest, MayEndInsideItsAnswerOrBefore) {
  OpenEntrance();
  bool done = false;
  std::unique_ptr<Connector> caller;
  auto make = [&](auto end) {
    caller = std::make_unique<Connector>(*loop_, Target::Of(UnixAddress()), ClientSelf(), end);
  };
  make([&](auto met) {
    EXPECT_TRUE(met);
    caller.reset();
    done = true;
  });
  RunUntil([&] { return done; });
  for (int turns : {0, 1, 2, 5}) {
    make([&](const auto&) {});
    int turn = 0;
    RunUntil([&] { return turn++ == turns; });
    caller.reset();
  }
}

TEST(Instance, StaysWithItsFolder) {
  os::TempDir here, there;
  auto first = LoadOrMakeInstance(here.Path("instance"));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->size(), wire::kInstanceBytes);
  EXPECT_EQ(LoadOrMakeInstance(here.Path("instance")).value(), *first);
  EXPECT_NE(LoadOrMakeInstance(there.Path("instance")).value(), *first);
  for (const char* damage : {"short", "longer than sixteen bytes"}) {
    auto damaged = LoadOrMakeInstance(here.Write("instance", damage));
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().kind, ErrorKind::kCorrupt);
  }
  EXPECT_EQ(LoadOrMakeInstance(here.Path("no/folder")).error().kind, ErrorKind::kNotFound);
}

// ------------------------------------------------------------------------------------ reconnecting

class ReconnectorTest : public CallerTest {
 protected:
  void Start(ReconnectorOptions options) {
    reconnector_.emplace(*loop_, std::move(options), Prng(1),
                         Reconnector::Events{.connected =
                                                 [this](Connector::Met met) {
                                                   ++connected_;
                                                   end_ = {.connection = std::move(met.connection)};
                                                   auto events = end_.Events();
                                                   events.closed = [this](const Ended&) {
                                                     reconnector_->Call();
                                                   };
                                                   end_.connection->Start(events);
                                                 },
                                             .trying =
                                                 [this](const Error& error, Duration pause) {
                                                   errors_.push_back(error.message);
                                                   pauses_.push_back(pause);
                                                 },
                                             .refused =
                                                 [this](const Connector::Failure& failure) {
                                                   refusals_.push_back(failure.error.message);
                                                 }});
    reconnector_->Call();
  }
  // The options of `make`, with short times for tests.
  ReconnectorOptions Quick(ReconnectorOptions options) {
    options.first = Duration::Millis(1);
    options.most = Duration::Millis(8);
    return options;
  }
  std::function<Result<Target>()> Always(Target target) {
    return [target] { return target; };
  }

  std::optional<Reconnector> reconnector_;
  testing::End end_;
  int connected_ = 0;
  std::vector<std::string> errors_, refusals_;
  std::vector<Duration> pauses_;
};

TEST_F(ReconnectorTest, CallsUntilTheHubIsThere) {
  Start(Quick(ClientOptions(ClientSelf(), Always(Target::Of(UnixAddress())))));
  RunUntil([&] { return pauses_.size() == 6; });
  std::vector<Duration> doubled;
  for (int ms : {1, 2, 4, 8, 8, 8}) doubled.push_back(Duration::Millis(ms));
  EXPECT_EQ(pauses_, doubled);
  EXPECT_NE(errors_[0].find("hub.socket"), std::string::npos);
  OpenEntrance();
  RunUntil([&] { return connected_ == 1; });
  // The hub ends, and comes back.
  RunUntil([&] { return inside_.size() == 1; });
  inside_.clear();
  RunUntil([&] { return connected_ == 2; });
  EXPECT_TRUE(refusals_.empty());
}

TEST_F(ReconnectorTest, ConnectionsThatDoNotLastMakeItSlower) {
  OpenEntrance();
  ReconnectorOptions options = ClientOptions(ClientSelf(), Always(Target::Of(UnixAddress())));
  options.first = Duration::Millis(1);
  options.most = Duration::Millis(64);
  Instant start = loop_->Now();
  Start(std::move(options));
  RunUntil([&] {
    inside_.clear();
    return connected_ == 8;
  });
  // Pauses of 1, 2, 4, 8, 16, 32 and 64 ms, at least half of each.
  EXPECT_GE(loop_->Now() - start, Duration::Millis(63));
}

// A hub that gives up nodes soon is called again before it does.
TEST_F(ReconnectorTest, PausesForATwentiethOfWhatTheHubWaits) {
  OpenEntrance({.lost_after = Duration::Millis(80)});
  Start(Quick(NodeOptions(NodeSelf(), Always(Target::Of(UnixAddress())))));
  RunUntil([&] { return connected_ == 1 && inside_.size() == 1; });
  entrance_.reset();
  inside_.clear();
  RunUntil([&] { return pauses_.size() == 6; });
  EXPECT_EQ(*std::ranges::max_element(pauses_), Duration::Millis(4)) << "of 8 ms by its options";
}

TEST_F(ReconnectorTest, ReadsTheAccessFileEachTime) {
  Target target = Target::Of(Dead());
  ReconnectorOptions options =
      Quick(ClientOptions(ClientSelf(), [&]() -> Result<Target> { return target; }));
  Start(std::move(options));
  RunUntil([&] { return errors_.size() == 2; });
  OpenEntrance();
  target = Target::Of(UnixAddress());
  RunUntil([&] { return connected_ == 1; });
}

TEST_F(ReconnectorTest, AClientStopsWhereItIsNotWanted) {
  OpenEntrance();
  gate_.refuse = wire::Refusal{RefusalCode::kCredential, "revoked"};
  Start(Quick(ClientOptions(ClientSelf(), Always(Target::Of(UnixAddress())))));
  RunUntil([&] { return refusals_.size() == 1; });
  EXPECT_NE(refusals_[0].find("revoked"), std::string::npos);
  Instant until = loop_->Now() + Duration::Millis(50);
  RunUntil([&] { return loop_->Now() > until; });
  EXPECT_EQ(gate_.guests.size(), 1u);

  gate_.refuse->code = RefusalCode::kBusy;
  reconnector_->Call();
  RunUntil([&] { return errors_.size() == 3; });

  reconnector_.reset();
  Start(Quick(ClientOptions(ClientSelf(), []() -> Result<Target> {
    return Fail(ErrorKind::kNotFound, "there is no access file");
  })));
  RunUntil([&] { return refusals_.size() == 2; });
  EXPECT_EQ(refusals_[1], "there is no access file");
}

TEST_F(ReconnectorTest, ANodeTellsOnceAndGoesOn) {
  OpenEntrance();
  gate_.refuse = wire::Refusal{RefusalCode::kCredential, "revoked"};
  Start(Quick(NodeOptions(NodeSelf(), Always(Target::Of(UnixAddress())))));
  RunUntil([&] { return gate_.guests.size() == 4; });
  EXPECT_EQ(refusals_.size(), 1u);
  gate_.refuse->reason = "expired";
  RunUntil([&] { return refusals_.size() == 2; });
  gate_.refuse.reset();
  RunUntil([&] { return connected_ == 1; });
  EXPECT_TRUE(errors_.empty());
}

TEST(Reconnector, HasThePausesThatAreWritten) {
  ReconnectorOptions client = ClientOptions({}, nullptr), node = NodeOptions({}, nullptr);
  EXPECT_EQ(client.first, Duration::Millis(100));
  EXPECT_EQ(client.most, Duration::Seconds(10));
  EXPECT_FALSE(client.stubborn);
  EXPECT_EQ(node.most, Duration::Seconds(30));
  EXPECT_TRUE(node.stubborn);
}

}  // namespace
}  // namespace spate::link
