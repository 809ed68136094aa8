// Server and client together.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rapidcheck.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/file.h"
#include "os/handover.h"
#include "os/temp_dir.h"
#include "present/advice.h"
#include "remote/testing_remote.h"

namespace spate::remote {
namespace {

bool IsHeld(const std::string& lock) {
  auto fd = os::OpenWrite(lock, os::OpenHow::kReadWrite);
  return fd && !os::TryLockWhole(fd->get()).value_or(true);
}

TEST_F(RemoteTest, StreamsAndExitCode) {
  auto server = Serve(TicketOf("n2"));
  for (auto [command, code] : std::vector<std::pair<std::string, int>>{
           {"cat; echo bad >&2; exit 7", 7},
           {"cat; echo bad >&2; kill -TERM $$", 143},
           {"cat; echo bad >&2", 0},
       }) {
    auto caller = Call(command);
    ASSERT_TRUE(os::WriteAll(caller->in.write.get(), "some input", "a pipe"));
    caller->in.write.Reset();
    Await(*caller);
    ASSERT_TRUE(*caller->result) << caller->result->error().message;
    EXPECT_EQ(**caller->result, code);
    EXPECT_EQ(caller->output, "some input");
    EXPECT_EQ(caller->errors, "bad\n");
  }
  RunUntil([&] { return server->sessions() == 0; });
}

TEST_F(RemoteTest, WordsAreNoText) {
  auto server = Serve(TicketOf("n2"));
  auto caller = CallWords({.words = {"printf", "%s|", "a b", "$HOME", "", "*"}});
  Await(*caller);
  EXPECT_EQ(caller->output, "a b|$HOME||*|");
  EXPECT_EQ(**caller->result, 0);
}

TEST_F(RemoteTest, OnceMeansOnce) {
  bool over = false;
  auto server = Serve(TicketOf("n2"), {.once = true});
  server->WhenOver([&] { over = true; });
  auto caller = CallWords({.words = {"cat"}});
  ASSERT_TRUE(os::WriteAll(caller->in.write.get(), "first\n", "a pipe"));
  AwaitOutput(*caller, "first\n");
  EXPECT_TRUE(server->is_used());
  auto second = CallWords({.words = {"echo", "second"}});
  Await(*second);
  EXPECT_FALSE(*second->result);
  EXPECT_EQ(second->output, "");
  caller->in.write.Reset();
  Await(*caller);
  EXPECT_EQ(**caller->result, 0);
  RunUntil([&] { return over; });
}

TEST_F(RemoteTest, AClientThatIsSilentIsGone) {
  auto server = Serve(TicketOf("n2"), {.session = {.silence = Duration::Millis(200)}});
  auto caller = CallWords({.words = {"sleep", "600"}});  // says nothing
  RunUntil([&] { return server->sessions() == 1; });
  RunUntil([&] { return server->sessions() == 0; });
  Await(*caller);
  EXPECT_FALSE(*caller->result);
}

TEST_F(RemoteTest, AServerThatIsSilentIsGone) {
  auto server = Serve(TicketOf("n2"));  // says nothing
  auto caller = CallWords({.words = {"sleep", "600"}}, Duration::Millis(200));
  Await(*caller);
  ASSERT_FALSE(*caller->result);
  EXPECT_NE(caller->result->error().message.find("nothing was heard"), std::string::npos);
}

TEST_F(RemoteTest, BothSayThatTheyAreThere) {
  auto server = Serve(TicketOf("n2"), {.session = {.silence = Duration::Millis(200)}});
  auto caller = CallWords({.words = {"sleep", "1"}}, Duration::Millis(200));
  Await(*caller);
  ASSERT_TRUE(*caller->result) << caller->result->error().message;
  EXPECT_EQ(**caller->result, 0);
}

TEST_F(RemoteTest, AnEndIsTold) {
  auto server = Serve(TicketOf("n2"));
  auto caller = CallWords({.words = {"sh", "-c", "echo up; sleep 600"}});
  AwaitOutput(*caller, "up\n");
  bool done = false;
  server->Dismiss("the task has ended", [&] { done = true; });
  Await(*caller);
  ASSERT_FALSE(*caller->result);
  EXPECT_NE(caller->result->error().message.find("the task has ended"), std::string::npos);
  RunUntil([&] { return done; });
}

TEST_F(RemoteTest, ThroughALobby) {
  OpenLobby();
  auto server = Serve(TicketOf("n2"));
  auto caller = Call("echo hello");
  Await(*caller);
  EXPECT_EQ(caller->output, "hello\n");
  // Calls that the lobby has handed over do not need it any more.
  caller = Call("echo up; read x; echo $x");
  AwaitOutput(*caller, "up\n");
  lobby_.reset();
  ASSERT_TRUE(os::WriteAll(caller->in.write.get(), "late\n", "a pipe"));
  Await(*caller);
  EXPECT_EQ(caller->output, "up\nlate\n");
}

TEST_F(RemoteTest, APartThatStartsLateIsAwaited) {
  OpenLobby();
  auto caller = Call("echo hello");
  bool refused = false;
  loop_->At(loop_->Now() + Duration::Millis(100), [&] { refused = true; });
  RunUntil([&] { return refused; });
  EXPECT_FALSE(caller->result);
  auto server = Serve(TicketOf("n2"));
  Await(*caller);
  EXPECT_EQ(caller->output, "hello\n");
}

TEST_F(RemoteTest, APartThatDoesNotComeIsSaid) {
  for (bool by_lobby : {false, true}) {
    if (by_lobby) OpenLobby();
    auto caller = Call("echo hello", "n2", Duration::Millis(50));
    Await(*caller);
    ASSERT_FALSE(*caller->result);
    EXPECT_EQ(caller->result->error().kind, ErrorKind::kUnavailable);
    EXPECT_NE(caller->result->error().message.find("node n2"), std::string::npos);
  }
}

TEST_F(RemoteTest, WhyANodeCannotBeReachedIsSaid) {
  for (auto [node, at, text] : std::vector<std::tuple<const char*, const char*, const char*>>{
           {"n1", "", "Its part has ended"},
           {"n2", "", "started with --gang-port none"},
           {"n2", "127.0.0.1:1", "which listens for its own machine only"},
           {"n2", "192.0.2.254:1", "a firewall is in between"},
       }) {
    ticket_.hosts[1].at = ParseLobbies(at).value();
    auto caller = Call("echo hello", node, Duration::Millis(10));
    Await(*caller);
    ASSERT_FALSE(*caller->result);
    const std::string said = present::TextOf(caller->result->error());
    EXPECT_NE(said.find(text), std::string::npos) << said;
  }
}

TEST_F(RemoteTest, NobodyElseGetsIn) {
  OpenLobby();
  auto server = Serve(TicketOf("n2"));
  // Another gang's members do not even find the part.
  Ticket right = ticket_;
  ticket_.secret[0] ^= 1;
  auto caller = Call("echo hello", "n2", Duration::Millis(50));
  Await(*caller);
  ASSERT_FALSE(*caller->result);
  EXPECT_EQ(caller->output, "");
  // Somebody who has seen its id, but knows no secret.
  auto pair = os::MakeSocketPair().value();
  ASSERT_TRUE(os::SetNonBlocking(pair.a.get(), true));
  ASSERT_TRUE(os::HandOver(InboxName(KeysOfPart(right.secret, "n2").id), pair.b.get()));
  pair.b.Reset();
  auto tls = transport::Tls::ForSharedSecret(transport::Tls::End::kCaller,
                                             KeysOfPart(ticket_.secret, "n2").key);
  transport::Peer peer;
  peer.Start(*loop_, std::move(pair.a), **tls);
  RunUntil([&] { return peer.closed.has_value(); });
  EXPECT_EQ(peer.opened, 0);
  RunUntil([&] { return server->sessions() == 0; });
}

TEST_F(RemoteTest, AStrangerInThePartsPlaceGetsNothing) {
  // It has the name, and the key of another part of the same gang.
  auto inbox = os::HandoverInbox::Open(InboxName(KeysOfPart(ticket_.secret, "n2").id));
  ASSERT_TRUE(inbox);
  auto tls = transport::Tls::ForSharedSecret(transport::Tls::End::kListener,
                                             KeysOfPart(ticket_.secret, "n1").key);
  auto caller = Call("echo hello");
  std::optional<os::Fd> taken;
  RunUntil([&] {
    auto fd = inbox->Receive();
    if (fd && *fd) taken = std::move(**fd);
    return taken.has_value();
  });
  ASSERT_TRUE(os::SetNonBlocking(taken->get(), true));
  transport::Peer peer;
  peer.Start(*loop_, std::move(*taken), **tls);
  Await(*caller);
  ASSERT_FALSE(*caller->result);
  EXPECT_NE(caller->result->error().message.find("is not of this gang"), std::string::npos)
      << caller->result->error().message;
  EXPECT_EQ(peer.opened, 0);
  EXPECT_EQ(peer.got, "");
}

TEST_F(RemoteTest, AServerThatSpeaksOtherwiseIsNamed) {
  const PartKeys keys = KeysOfPart(ticket_.secret, "n2");
  std::string start;
  AppendFrame(start, FrameType::kStart, "true");
  for (auto [bytes, text] : std::vector<std::pair<std::string, const char*>>{
           {start, "node n2 sent a frame of type 1 that may not come now; its Spate is of"},
           {"nonsense", "node n2 sent bytes that are not a frame of spate remote; its Spate is of"},
       }) {
    auto inbox = os::HandoverInbox::Open(InboxName(keys.id));
    ASSERT_TRUE(inbox);
    auto tls = transport::Tls::ForSharedSecret(transport::Tls::End::kListener, keys.key);
    auto caller = Call("echo hello");
    std::optional<os::Fd> taken;
    RunUntil([&] {
      auto fd = inbox->Receive();
      if (fd && *fd) taken = std::move(**fd);
      return taken.has_value();
    });
    ASSERT_TRUE(os::SetNonBlocking(taken->get(), true));
    transport::Peer peer;
    peer.Start(*loop_, std::move(*taken), **tls);
    peer.stream->Send(bytes);
    Await(*caller);
    ASSERT_FALSE(*caller->result);
    EXPECT_NE(caller->result->error().message.find(text), std::string::npos)
        << caller->result->error().message;
  }
}

TEST_F(RemoteTest, MuchOutputWaitsForItsReader) {
  auto server = Serve(TicketOf("n2"));
  constexpr size_t kBytes = 50'000'000;
  os::TempDir dir;
  auto caller = Call("head -c 50000000 /dev/zero; echo end >&2; touch " + dir.Path("done"));
  // Nobody reads: the window and the client's backlog fill up, and no more is asked for.
  bool later = false;
  loop_->At(loop_->Now() + Duration::Millis(300), [&] { later = true; });
  RunUntil([&] { return later; });
  EXPECT_FALSE(caller->result);
  EXPECT_FALSE(os::Exists(dir.Path("done")));
  Await(*caller);
  EXPECT_TRUE(os::Exists(dir.Path("done")));
  EXPECT_EQ(caller->output.size(), kBytes);
  EXPECT_EQ(caller->errors, "end\n");
  EXPECT_EQ(**caller->result, 0);
}

TEST_F(RemoteTest, InputAfterTheEndIsLeft) {
  auto server = Serve(TicketOf("n2"));
  auto caller = Call("head -c 500000 /dev/zero; exit 3");
  // The connection has gone, and what it brought waits for its reader.
  RunUntil([&] { return caller->client && server->sessions() == 1; });
  RunUntil([&] { return server->sessions() == 0; });
  EXPECT_FALSE(caller->result);
  ASSERT_TRUE(os::WriteAll(caller->in.write.get(), "too late", "a pipe"));
  bool later = false;
  loop_->At(loop_->Now() + Duration::Millis(50), [&] { later = true; });
  RunUntil([&] { return later; });
  Await(*caller);
  EXPECT_EQ(caller->output.size(), 500'000u);
  EXPECT_EQ(**caller->result, 3);
}

TEST_F(RemoteTest, InputThatIsNotTakenHoldsNothingUp) {
  auto server = Serve(TicketOf("n2"));
  auto caller = Call("trap 'echo got it; exit 9' USR1; echo up; while :; do sleep 0.05; done");
  ASSERT_TRUE(os::SetNonBlocking(caller->in.write.get(), true));
  std::string much(1 << 20, 'x');
  size_t sent = 0;
  AwaitOutput(*caller, "up\n");
  loop_->WatchWrite(caller->in.write.get(), [&] {
    auto step = write(caller->in.write.get(), much.data(), much.size() - sent);
    if (step > 0) sent += static_cast<size_t>(step);
  });
  bool later = false;
  loop_->At(loop_->Now() + Duration::Millis(200), [&] { later = true; });
  RunUntil([&] { return later; });
  loop_->Unwatch(caller->in.write.get());
  EXPECT_LT(sent, much.size());
  constexpr int kUser1 = 10;
  EXPECT_TRUE(caller->client->Signal(kUser1));
  Await(*caller);
  EXPECT_EQ(**caller->result, 9);
  EXPECT_EQ(caller->output, "up\ngot it\n");
}

TEST_F(RemoteTest, MuchInputGoesThrough) {
  auto server = Serve(TicketOf("n2"));
  auto caller = Call("wc -c");
  ASSERT_TRUE(os::SetNonBlocking(caller->in.write.get(), true));
  size_t left = 5'000'000;
  std::string some(1 << 16, 'x');
  loop_->WatchWrite(caller->in.write.get(), [&] {
    auto step = write(caller->in.write.get(), some.data(), std::min(some.size(), left));
    if (step > 0) left -= static_cast<size_t>(step);
    if (left > 0) return;
    loop_->Unwatch(caller->in.write.get());
    caller->in.write.Reset();
  });
  Await(*caller);
  EXPECT_EQ(caller->output, "5000000\n");
}

TEST_F(RemoteTest, ACommandEndsWithItsClient) {
  os::TempDir dir;
  std::string lock = dir.Write("lock", "");
  auto server = Serve(TicketOf("n2"));
  auto caller = Call("exec flock -n " + lock + " sh -c 'echo up; exec sleep 1000'");
  AwaitOutput(*caller, "up\n");
  EXPECT_TRUE(IsHeld(lock));
  caller->client.reset();
  RunUntil([&] { return server->sessions() == 0 && !IsHeld(lock); });
}

TEST_F(RemoteTest, WhatACommandLeavesBehindStays) {
  os::TempDir dir;
  std::string lock = dir.Write("lock", "");
  auto server = Serve(TicketOf("n2"));
  const std::string out = dir.Path("out"), go = dir.Path("go");
  // It ends with the test, however that does.
  auto caller = Call("flock -n " + lock + " sh -c 'echo up; while test -e " + lock +
                     " && ! test -e " + go + "; do sleep 0.02; done' >" + out +
                     " 2>&1 < /dev/null & until grep -q up " + out + "; do sleep 0.02; done");
  Await(*caller);
  EXPECT_EQ(**caller->result, 0);
  RunUntil([&] { return server->sessions() == 0; });
  EXPECT_TRUE(IsHeld(lock));
  dir.Write("go", "");
  RunUntil([&] { return !IsHeld(lock); });
}

TEST_F(RemoteTest, AServerThatEndsEndsAll) {
  auto server = Serve(TicketOf("n2"));
  auto a = Call("echo up; exec sleep 1000");
  auto b = Call("trap '' TERM; echo up; while :; do sleep 0.1; done");
  AwaitOutput(*a, "up\n");
  AwaitOutput(*b, "up\n");
  bool over = false;
  server->End([&] { over = true; });
  Await(*a);
  Await(*b);
  ASSERT_FALSE(*a->result);
  EXPECT_NE(a->result->error().message.find("was lost"), std::string::npos);
  RunUntil([&] { return over; });
  EXPECT_EQ(server->sessions(), 0u);
}

TEST_F(RemoteTest, ManyAtOnce) {
  OpenLobby();
  auto server = Serve(TicketOf("n2"));
  std::vector<std::unique_ptr<Member>> callers;
  for (int i = 0; i < 64; ++i) callers.push_back(Call("echo " + std::to_string(i)));
  for (int i = 0; i < 64; ++i) {
    Await(*callers[static_cast<size_t>(i)]);
    EXPECT_EQ(callers[static_cast<size_t>(i)]->output, std::to_string(i) + "\n");
  }
}

TEST_F(RemoteTest, StrangersMakeRoom) {
  auto server = Serve(TicketOf("n2"), {.sessions = 8, .strangers = 4, .session = {}});
  std::vector<os::Fd> strangers;
  const std::string name = InboxName(KeysOfPart(ticket_.secret, "n2").id);
  for (int i = 0; i < 20; ++i) {
    auto pair = os::MakeSocketPair().value();
    Status given;
    RunUntil([&] {
      given = os::HandOver(name, pair.b.get());
      return given || given.error().kind != ErrorKind::kBusy;
    });
    ASSERT_TRUE(given) << given.error().message;
    strangers.push_back(std::move(pair.a));
  }
  auto caller = Call("echo hello");
  Await(*caller);
  EXPECT_EQ(caller->output, "hello\n");
  EXPECT_LE(server->sessions(), 5u);
}

TEST_F(RemoteTest, AMemberThatSaysNonsenseIsCutOff) {
  auto server = Serve(TicketOf("n2"));
  const PartKeys keys = KeysOfPart(ticket_.secret, "n2");
  auto tls = transport::Tls::ForSharedSecret(transport::Tls::End::kCaller, keys.key);
  auto says = [&](const std::string& bytes) {
    auto pair = os::MakeSocketPair().value();
    EXPECT_TRUE(os::SetNonBlocking(pair.a.get(), true));
    EXPECT_TRUE(os::HandOver(InboxName(keys.id), pair.b.get()));
    pair.b.Reset();
    transport::Peer peer;
    peer.Start(*loop_, std::move(pair.a), **tls);
    peer.stream->Send(bytes);
    RunUntil([&] { return peer.opened > 0 || peer.closed; });
    peer.stream->Close();
    RunUntil([&] { return peer.closed.has_value() && server->sessions() == 0; });
  };
  std::string start;
  AppendFrame(start, FrameType::kStart, "cat; exec sleep 1000");
  std::string input;
  AppendFrame(input, FrameType::kInput, "early");
  std::string large(kBodyMost, 'x');
  std::string flood = start;
  for (int i = 0; i < 40; ++i) AppendFrame(flood, FrameType::kInput, large);
  for (const std::string& bytes : {input, start + start, start + "nonsense", flood}) says(bytes);
  EXPECT_TRUE(rc::check([&](const std::string& noise) { says(start + noise); }));
}

// ------------------------------------------------------------------------------- other addresses

// Something else that listens where a lobby might be: it says `text` to whoever comes.
class OtherService {
 public:
  OtherService(os::RealLoop& loop, std::string text)
      : fd_(os::Listen(
                os::SocketAddress::Numeric(os::ParseAddress("127.0.0.1:0").value()).value().value())
                .value()),
        address_(os::ParseAddress(os::LocalAddress(fd_.get()).value().Text()).value()),
        listener_(loop, std::move(fd_),
                  {[this, text](transport::Arrival arrival) {
                     (void)os::SendSome(arrival.fd.get(), text);
                     arrivals_.push_back(std::move(arrival));
                   },
                   nullptr}) {}
  const os::Address& address() const { return address_; }

 private:
  os::Fd fd_;
  const os::Address address_;
  std::vector<transport::Arrival> arrivals_;
  transport::Listener listener_;
};

TEST_F(RemoteTest, AnAddressOfSomethingElseIsPassed) {
  handshake_ = Duration::Millis(500);
  for (const char* text : {"", "HTTP/1.0 400 Bad Request\r\n\r\n"}) {
    OpenLobby();
    auto server = Serve(TicketOf("n2"));
    OtherService other(*loop_, text);
    ticket_.hosts[1].at.insert(ticket_.hosts[1].at.begin(), other.address());
    auto caller = Call("echo hello");
    Await(*caller);
    ASSERT_TRUE(*caller->result) << caller->result->error().message;
    EXPECT_EQ(caller->output, "hello\n");
  }
}

TEST_F(RemoteTest, SomethingElseAtEveryAddressIsFinal) {
  OtherService a(*loop_, "220 mail\r\n"), b(*loop_, "HTTP/1.0 400 Bad Request\r\n\r\n");
  ticket_.hosts[1].at = {a.address(), b.address()};
  const Instant begun = loop_->Now();
  auto caller = Call("echo hello", "n2", Duration::Seconds(50));
  Await(*caller);
  ASSERT_FALSE(*caller->result);
  EXPECT_LT(loop_->Now() - begun, Duration::Seconds(40));
  EXPECT_EQ(caller->result->error().kind, ErrorKind::kPermission);
  EXPECT_NE(caller->result->error().message.find("is not of this gang"), std::string::npos)
      << caller->result->error().message;
}

// The values of TCP_USER_TIMEOUT of all connected sockets of this process with `port` at an end.
std::vector<int> UserTimeoutsAt(uint16_t port) {
  std::vector<int> values;
  auto is_at = [&](const sockaddr_in& address) { return ntohs(address.sin_port) == port; };
  constexpr int kMost = 200;
  for (int fd = 3; fd < kMost; ++fd) {
    sockaddr_in own{}, peer{};
    socklen_t size = sizeof(own), peer_size = sizeof(peer);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) continue;
    if (own.sin_family != AF_INET || (!is_at(own) && !is_at(peer))) continue;
    int value = -1, keepalive = 0;
    socklen_t value_size = sizeof(value), keepalive_size = sizeof(keepalive);
    getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &value_size);
    getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &keepalive, &keepalive_size);
    EXPECT_EQ(keepalive, 1);
    values.push_back(value);
  }
  return values;
}

// A pager that is stopped takes nothing for as long as its user likes.
TEST_F(RemoteTest, AReaderMayWaitLongerThanAMinute) {
  OpenLobby();
  auto server = Serve(TicketOf("n2"));
  auto caller = Call("echo up; read x");
  AwaitOutput(*caller, "up\n");
  EXPECT_EQ(UserTimeoutsAt(ticket_.hosts[1].at.front().port), (std::vector<int>{0, 0}));
  caller->in.write.Reset();
  Await(*caller);
}

}  // namespace
}  // namespace spate::remote
