#include "transport/tcp/stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "os/socket.h"
#include "transport/tcp/testing_peer.h"

namespace spate::transport {
namespace {

using Why = Closed::Why;

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

class StreamTest : public TlsTest {};

TEST_F(StreamTest, BytesBothWaysThenGoodbye) {
  Peer hub, client;
  Connect(hub, client);
  EXPECT_TRUE(client.stream->Send("early "));  // before it is open
  RunUntil([&] { return hub.opened && client.opened; });
  client.stream->Send("hello");
  hub.stream->Send("world");
  RunUntil([&] { return hub.got.size() == 11 && client.got.size() == 5; });
  EXPECT_EQ(hub.got, "early hello");
  EXPECT_EQ(client.got, "world");
  client.stream->Send("last words");
  client.stream->Close();
  EXPECT_FALSE(client.stream->Send("too late"));
  client.stream->Close();
  RunUntil([&] { return hub.closed && client.closed; });
  EXPECT_EQ(hub.got, "early hellolast words");
  EXPECT_TRUE(hub.Ended(Why::kByPeer)) << hub.Why();
  EXPECT_TRUE(client.Ended(Why::kAsked)) << client.Why();
  EXPECT_EQ(hub.opened, 1);
  EXPECT_EQ(hub_tls_->counts().opened, 1u);
  EXPECT_EQ(hub_tls_->counts().broken, 0u);
}

TEST_F(StreamTest, OverTcpOfBothFamilies) {
  for (const char* text : {"127.0.0.1:0", "[::1]:0"}) {
    auto any = os::SocketAddress::Numeric(os::ParseAddress(text).value()).value().value();
    auto listener = os::Listen(any);
    if (!listener && text[0] == '[') continue;  // no IPv6 here
    ASSERT_TRUE(listener);
    auto at = os::LocalAddress(listener->get()).value();
    auto fd = os::StartConnect(at);
    ASSERT_TRUE(fd);
    Peer hub, client;
    client.Start(*loop_, std::move(*fd), *client_tls_);
    loop_->WatchRead(listener->get(), [&] {
      auto accepted = os::Accept(listener->get());
      ASSERT_TRUE(accepted && *accepted);
      hub.Start(*loop_, std::move((*accepted)->fd), *hub_tls_);
      hub.stream->Send("hello");
      hub.stream->Close();  // before it is open: it just ends
    });
    RunUntil([&] { return hub.closed && client.closed; });
    EXPECT_TRUE(hub.Ended(Why::kAsked));
    EXPECT_TRUE(client.Ended(Why::kLost)) << client.Why();

    hub.closed = client.closed = std::nullopt;
    fd = os::StartConnect(at);
    ASSERT_TRUE(fd);
    client.Start(*loop_, std::move(*fd), *client_tls_);
    loop_->WatchRead(listener->get(), [&] {
      hub.Start(*loop_, std::move(os::Accept(listener->get()).value().value().fd), *hub_tls_);
      hub.stream->Send("hello");
    });
    RunUntil([&] { return client.got == "hello"; });
    loop_->Unwatch(listener->get());
  }
}

TEST_F(StreamTest, InClearOverAUnixSocket) {
  auto [a, b] = MakePair();
  Peer one, other;
  one.Start(*loop_, std::move(a), Stream::Clear::kUnixOnly);
  other.Start(*loop_, std::move(b), Stream::Clear::kUnixOnly);
  one.stream->Send("hello");
  RunUntil([&] { return other.got == "hello"; });
  EXPECT_FALSE(one.stream->ExportKey("x"));
  other.stream->Send("answer");
  other.stream->Close();
  RunUntil([&] { return one.closed && other.closed; });
  EXPECT_EQ(one.got, "answer");
  EXPECT_TRUE(one.Ended(Why::kByPeer));
  EXPECT_TRUE(other.Ended(Why::kAsked));
}

// Both ends of one connection, each with a secret.
class SharedSecretTest : public StreamTest {
 protected:
  static Bytes32 Secret(uint8_t byte) {
    Bytes32 secret;
    secret.fill(byte);
    return secret;
  }
  void Meet(Tls& listener, Tls& caller) {
    auto [a, b] = MakePair();
    listener_.Start(*loop_, std::move(a), listener);
    caller_.Start(*loop_, std::move(b), caller);
    RunUntil([&] {
      return (listener_.opened && caller_.opened) || (listener_.closed && caller_.closed);
    });
  }
  Peer listener_, caller_;
};

TEST_F(SharedSecretTest, LetsInWhoKnowsIt) {
  auto listener = Tls::ForSharedSecret(Tls::End::kListener, Secret(1)).value();
  auto caller = Tls::ForSharedSecret(Tls::End::kCaller, Secret(1)).value();
  Meet(*listener, *caller);
  ASSERT_TRUE(listener_.opened && caller_.opened) << listener_.Why() << "; " << caller_.Why();
  EXPECT_EQ(listener_.stream->ExportKey("x").value(), caller_.stream->ExportKey("x").value());
  caller_.stream->Send("hello");
  RunUntil([&] { return listener_.got == "hello"; });
}

TEST_F(SharedSecretTest, NeitherEndOpensWithAnotherOne) {
  auto listener = Tls::ForSharedSecret(Tls::End::kListener, Secret(1)).value();
  auto caller = Tls::ForSharedSecret(Tls::End::kCaller, Secret(2)).value();
  Meet(*listener, *caller);
  EXPECT_EQ(listener_.opened + caller_.opened, 0);
  EXPECT_TRUE(listener_.Ended(Why::kBroken)) << listener_.Why();
  EXPECT_TRUE(caller_.Ended(Why::kBroken)) << caller_.Why();
}

TEST_F(SharedSecretTest, ACallerTakesNoCertificateInItsPlace) {
  auto caller = Tls::ForSharedSecret(Tls::End::kCaller, Secret(1)).value();
  Meet(*hub_tls_, *caller);
  EXPECT_EQ(listener_.opened + caller_.opened, 0);
  EXPECT_TRUE(caller_.Ended(Why::kBroken)) << caller_.Why();
}

TEST_F(SharedSecretTest, AListenerLetsNobodyInWithoutIt) {
  auto listener = Tls::ForSharedSecret(Tls::End::kListener, Secret(1)).value();
  Meet(*listener, *client_tls_);
  EXPECT_EQ(listener_.opened + caller_.opened, 0);
  EXPECT_TRUE(listener_.Ended(Why::kBroken)) << listener_.Why();
}

TEST_F(StreamTest, ClearTcpMustBeAskedFor) {
  auto any = os::SocketAddress::Numeric(os::ParseAddress("127.0.0.1:0").value()).value().value();
  auto listener = os::Listen(any);
  ASSERT_TRUE(listener);
  auto at = os::LocalAddress(listener->get()).value();
  auto fd = os::StartConnect(at);
  ASSERT_TRUE(fd);
  Stream allowed(*loop_, std::move(*fd), Stream::Clear::kTcpToo);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Stream(*loop_, os::StartConnect(at).value(), Stream::Clear::kUnixOnly), "is_unix");
}

// ------------------------------------------------------------------------------ the send window

// Sends `text` as long as the window is open, and goes on when it opens again.
struct Pourer {
  Stream* stream;
  const std::string& text;
  size_t at = 0;
  size_t most = 0;  // queued at once

  void Pour() {
    while (at < text.size()) {
      std::string_view piece = std::string_view(text).substr(at, 5000);
      at += piece.size();
      bool open = stream->Send(std::string(piece));
      most = std::max(most, stream->queued());
      if (!open) return;
    }
    stream->Close();
  }
};

TEST_F(StreamTest, AWindowFullAtATime) {
  std::string text = Pattern(8 << 20);
  StreamLimits limits{.window = 100 * 1000};
  for (bool in_clear : {false, true}) {
    auto [a, b] = MakePair();
    Peer hub, client;
    if (in_clear) {
      hub.Start(*loop_, std::move(a), Stream::Clear::kUnixOnly);
      client.stream =
          std::make_unique<Stream>(*loop_, std::move(b), Stream::Clear::kUnixOnly, limits);
    } else {
      hub.Start(*loop_, std::move(a), *hub_tls_);
      client.stream = std::make_unique<Stream>(*loop_, std::move(b), *client_tls_, limits);
    }
    Pourer pourer{client.stream.get(), text};
    StreamEvents events = client.Events();
    events.opened = [&] { pourer.Pour(); };
    events.writable = [&] {
      EXPECT_LE(client.stream->queued(), limits.window / 2);
      ++client.writable;
      pourer.Pour();
    };
    client.stream->Start(std::move(events));
    RunUntil([&] { return hub.closed && client.closed; });
    EXPECT_TRUE(hub.got == text) << in_clear;
    EXPECT_TRUE(hub.Ended(Why::kByPeer)) << hub.Why();
    EXPECT_GT(client.writable, 10);
    EXPECT_LT(pourer.most, limits.window + 5000);
  }
}

TEST_F(StreamTest, APeerThatTakesNothingIsGivenUp) {
  auto [a, b] = MakePair();
  Peer one;
  one.Start(*loop_, std::move(a), Stream::Clear::kUnixOnly,
            StreamLimits{.window = 1000, .queue = 1 << 20});
  EXPECT_TRUE(one.stream->Send(std::string(999, 'x')));
  EXPECT_FALSE(one.stream->Send("x"));
  EXPECT_FALSE(one.stream->Send("x"));  // taken all the same
  EXPECT_EQ(one.stream->queued(), 1001u);
  RunUntil([&] { return one.writable == 1; });
  EXPECT_EQ(one.stream->queued(), 0u);
  while (!one.closed) {
    one.stream->Send(std::string(100 * 1000, 'x'));
    RunUntil([&] { return true; });
  }
  EXPECT_TRUE(one.Ended(Why::kOverrun)) << one.Why();
  EXPECT_FALSE(one.stream->Send("x"));
}

// ---------------------------------------------------------------------------------- ways to end

TEST_F(StreamTest, TheWrongPinEndsItBeforeAnythingIsSaid) {
  Bytes32 pin = identity_.pin();
  pin[31] ^= 1;
  auto wrong = Tls::ForClient(pin);
  ASSERT_TRUE(wrong);
  auto [a, b] = MakePair();
  Peer hub, client;
  hub.Start(*loop_, std::move(a), *hub_tls_);
  client.Start(*loop_, std::move(b), **wrong);
  client.stream->Send("secret");
  RunUntil([&] { return hub.closed && client.closed; });
  EXPECT_TRUE(client.Ended(Why::kWrongPin)) << client.Why();
  EXPECT_EQ((*wrong)->counts().wrong_pin, 1u);
  EXPECT_EQ(client.opened + hub.opened, 0);
  EXPECT_EQ(hub.got, "");
}

TEST_F(StreamTest, AnotherHubWithTheSameNameIsNotTheHub) {
  auto other = Identity::Make();
  ASSERT_TRUE(other);
  EXPECT_NE(other->pin(), identity_.pin());
  auto impostor = Tls::ForHub(*other);
  auto [a, b] = MakePair();
  Peer hub, client;
  hub.Start(*loop_, std::move(a), **impostor);
  client.Start(*loop_, std::move(b), *client_tls_);
  RunUntil([&] { return hub.closed && client.closed; });
  EXPECT_TRUE(client.Ended(Why::kWrongPin)) << client.Why();
}

TEST_F(StreamTest, AnEndWithoutGoodbyeIsALoss) {
  for (bool hub_dies : {false, true}) {
    Peer hub, client;
    Open(hub, client);
    (hub_dies ? hub : client).stream.reset();  // as the system closes it for a killed process
    Peer& left = hub_dies ? client : hub;
    RunUntil([&] { return left.closed.has_value(); });
    EXPECT_TRUE(left.Ended(Why::kLost)) << left.Why();
    EXPECT_FALSE((hub_dies ? hub : client).closed);
  }
  EXPECT_EQ(hub_tls_->counts().broken, 0u);
}

TEST_F(StreamTest, WhoNeverFinishesTheHandshakeIsLate) {
  StreamLimits limits{.handshake = Duration::Millis(30)};
  auto [a, b] = MakePair();
  Peer hub;
  Instant start = loop_->Now();
  hub.Start(*loop_, std::move(a), *hub_tls_, limits);
  // The first bytes of a ClientHello, and the rest never comes.
  ASSERT_EQ(os::SendSome(b.get(), std::string_view("\x16\x03\x01\x02\x00\x01\x00", 7)).bytes, 7u);
  RunUntil([&] { return hub.closed.has_value(); });
  EXPECT_TRUE(hub.Ended(Why::kLate)) << hub.Why();
  EXPECT_GE(loop_->Now() - start, limits.handshake);
  EXPECT_EQ(hub_tls_->counts().late, 1u);

  auto [c, d] = MakePair();
  Peer client;  // reaches somebody who takes connections and is silent
  client.Start(*loop_, std::move(c), *client_tls_, limits);
  RunUntil([&] { return client.closed.has_value(); });
  EXPECT_TRUE(client.Ended(Why::kLate)) << client.Why();
}

TEST_F(StreamTest, CloseDoesNotWaitForeverForASilentPeer) {
  StreamLimits limits{.goodbye = Duration::Millis(30)};
  auto [a, b] = MakePair();
  Peer one;  // all is sent, and its peer neither reads nor ends
  one.Start(*loop_, std::move(a), Stream::Clear::kUnixOnly, limits);
  RunUntil([&] { return one.opened == 1; });
  one.stream->Send("x");
  one.stream->Close();
  RunUntil([&] { return one.closed.has_value(); });
  EXPECT_TRUE(one.Ended(Why::kAsked)) << one.Why();

  auto [c, d] = MakePair();
  Peer other;  // more than the socket holds
  other.Start(*loop_, std::move(c), Stream::Clear::kUnixOnly, limits);
  RunUntil([&] { return other.opened == 1; });
  other.stream->Send(std::string(8 << 20, 'x'));
  other.stream->Close();
  RunUntil([&] { return other.closed.has_value(); });
  EXPECT_TRUE(other.Ended(Why::kLost)) << other.Why();
}

TEST_F(StreamTest, LastWordsArriveThoughMoreComesIn) {
  auto any = os::SocketAddress::Numeric(os::ParseAddress("127.0.0.1:0").value()).value().value();
  auto listener = os::Listen(any);
  ASSERT_TRUE(listener);
  auto fd = os::StartConnect(os::LocalAddress(listener->get()).value());
  ASSERT_TRUE(fd);
  Peer hub, client;
  client.Start(*loop_, std::move(*fd), *client_tls_);
  client.stream->Send(std::string(2 << 20, 'x'));
  loop_->WatchRead(listener->get(), [&] {
    hub.stream = std::make_unique<Stream>(
        *loop_, std::move(os::Accept(listener->get()).value().value().fd), *hub_tls_);
    StreamEvents events = hub.Events();
    events.bytes = [&](std::string_view) {
      hub.stream->Send("you are refused");
      hub.stream->Close();
    };
    hub.stream->Start(std::move(events));
  });
  // Closed at once, with bytes unread, the socket would be reset.
  RunUntil([&] { return hub.closed && client.closed; });
  EXPECT_EQ(client.got, "you are refused");
  EXPECT_TRUE(client.Ended(Why::kByPeer)) << client.Why();
  EXPECT_TRUE(hub.Ended(Why::kAsked)) << hub.Why();
  loop_->Unwatch(listener->get());
}

TEST_F(StreamTest, MayEndInsideAnyOfItsFunctions) {
  for (int which = 0; which < 4; ++which) {
    Peer hub, client;
    auto [a, b] = MakePair();
    StreamLimits limits{.window = 10};
    bool ended = false;
    auto end = [&, kept = std::string("what the function holds lives on")] {
      client.stream.reset();
      ended = true;
      EXPECT_EQ(kept.size(), 32u);
    };
    client.stream = std::make_unique<Stream>(*loop_, std::move(b), *client_tls_, limits);
    StreamEvents events = client.Events();
    if (which == 0) events.opened = end;
    if (which == 1) events.bytes = [=](std::string_view) { end(); };
    if (which == 2) events.writable = end;
    if (which == 3) events.closed = [=](const Closed&) { end(); };
    client.stream->Start(std::move(events));
    client.stream->Send("more than the window");
    hub.Start(*loop_, std::move(a), *hub_tls_);
    hub.stream->Send("hello");
    if (which == 3) {
      RunUntil([&] { return client.got == "hello"; });
      client.stream->Close();
    }
    RunUntil([&] { return ended && hub.closed; });
  }
}

// ---------------------------------------------------------------------------------- keys of TLS

TEST_F(StreamTest, ExportedKeysAreEqualAtBothEndsAndNowhereElse) {
  Peer hub[2], client[2];
  auto [a, b] = MakePair();
  Stream waiting(*loop_, std::move(a), *hub_tls_);
  EXPECT_FALSE(waiting.ExportKey("spate"));
  std::vector<Bytes32> keys;
  for (int i = 0; i < 2; ++i) {
    Open(hub[i], client[i]);
    for (const char* label : {"EXPORTER-spate", "EXPORTER-spate-2"}) {
      auto key = hub[i].stream->ExportKey(label);
      ASSERT_TRUE(key);
      EXPECT_EQ(*key, client[i].stream->ExportKey(label).value());
      EXPECT_EQ(std::ranges::find(keys, *key), keys.end());
      keys.push_back(*key);
    }
  }
}

TEST_F(StreamTest, KeysAreChangedAlongTheWay) {
  Peer hub, client;
  Open(hub, client, StreamLimits{.records_of_a_key = 3});
  std::string text = Pattern(1 << 20);
  client.stream->Send(text);
  hub.stream->Send(text);
  RunUntil([&] { return hub.got.size() == text.size() && client.got.size() == text.size(); });
  EXPECT_TRUE(hub.got == text);
  EXPECT_TRUE(client.got == text);
}

// OpenSSL reads nothing while a message of its own waits for room. Both ends, with no room left at
// either, would wait for each other.
TEST_F(StreamTest, KeysAreChangedWhereBothQueuesAreFull) {
  const StreamLimits limits{.records_of_a_key = 1};
  const std::string text = Pattern(4 << 20);
  for (const int room : {10'000, 12'000, 21'000}) {
    auto [a, b] = MakePair();
    for (const os::Fd* fd : {&a, &b}) {
      ASSERT_EQ(setsockopt(fd->get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
    }
    Peer hub, client;
    hub.Start(*loop_, std::move(a), *hub_tls_, limits);
    client.Start(*loop_, std::move(b), *client_tls_, limits);
    client.stream->Send(text);
    hub.stream->Send(text);
    RunUntil([&] { return hub.got.size() == text.size() && client.got.size() == text.size(); });
    ASSERT_TRUE(hub.got == text && client.got == text) << room;
  }
}

TEST_F(StreamTest, AFloodOfKeyUpdatesIsCutOff) {
  Peer hub, client;
  Open(hub, client, StreamLimits{.queue = 1 << 30, .records_of_a_key = 1});
  client.stream->Send(std::string(1100 * 16384, 'x'));
  RunUntil([&] { return hub.closed.has_value(); });
  EXPECT_TRUE(hub.Ended(Why::kBroken)) << hub.Why();
  EXPECT_EQ(hub_tls_->counts().broken, 1u);
  EXPECT_GT(hub.got.size(), 900u * 16384);  // as many are no flood
}

TEST_F(StreamTest, APausedReaderTakesNothing) {
  for (bool in_clear : {false, true}) {
    Peer hub, client;
    if (in_clear) {
      auto [a, b] = MakePair();
      hub.Start(*loop_, std::move(a), Stream::Clear::kUnixOnly);
      client.Start(*loop_, std::move(b), Stream::Clear::kUnixOnly);
    } else {
      Open(hub, client);
    }
    hub.stream->PauseReading(true);
    client.stream->Send(std::string(1 << 20, 'x'));
    // Until neither the socket nor the peer's window take more: the peer's queue stands still.
    size_t queued = 0;
    RunUntil(
        [&] { return std::exchange(queued, client.stream->queued()) == queued && queued > 0; });
    EXPECT_EQ(hub.got, "");
    // It still speaks.
    hub.stream->Send("hi");
    RunUntil([&] { return client.got == "hi"; });
    EXPECT_EQ(hub.got, "");
    hub.stream->PauseReading(false);
    RunUntil([&] { return hub.got.size() == 1u << 20; });
  }
}

// One that pauses inside `bytes` gets no more, although TLS has more at hand; and none is lost.
TEST_F(StreamTest, PausingHoldsAtEveryPiece) {
  Peer client;
  auto [a, b] = MakePair();
  Stream hub(*loop_, std::move(a), *hub_tls_);
  std::string got;
  bool paused = false;
  hub.Start({.opened = nullptr,
             .bytes =
                 [&](std::string_view bytes) {
                   EXPECT_FALSE(paused);
                   got += bytes;
                   paused = true;
                   hub.PauseReading(true);
                   loop_->Post([&] {
                     paused = false;
                     hub.PauseReading(false);
                   });
                 },
             .writable = nullptr,
             .closed = nullptr});
  client.Start(*loop_, std::move(b), *client_tls_);
  // Short records, of which OpenSSL takes several at once, and long ones.
  RunUntil([&] { return client.opened == 1; });
  hub.PauseReading(true);
  std::string sent;
  for (size_t size : {1, 1, 1, 300'000, 1, 1, 1}) {
    std::string text;
    while (text.size() < size) text += static_cast<char>(sent.size() + text.size() % 251);
    client.stream->Send(text);
    sent += text;
    if (size == 1) RunUntil([&] { return client.stream->queued() == 0; });
    if (size > 1) hub.PauseReading(false);
    if (size > 1) RunUntil([&] { return got.size() == sent.size(); });
    if (size > 1) hub.PauseReading(true);
  }
  hub.PauseReading(false);
  RunUntil([&] { return got.size() == sent.size(); });
  EXPECT_EQ(got, sent);
}

TEST_F(StreamTest, CloseEndsAPause) {
  Peer hub, client;
  Open(hub, client);
  hub.stream->PauseReading(true);
  client.stream->Send("for nobody");
  hub.stream->Close();
  RunUntil([&] { return client.closed.has_value(); });
  EXPECT_TRUE(client.Ended(Why::kByPeer)) << client.Why();
  client.stream.reset();
  RunUntil([&] { return hub.closed.has_value(); });
  EXPECT_TRUE(hub.Ended(Why::kAsked)) << hub.Why();
}

// -------------------------------------------------------------------------------- bounded work

// Passes bytes on, those of `from` in large pieces once somebody says so: as much as a socket
// holds is then there for one turn.
class Holder {
 public:
  Holder(os::RealLoop& loop, os::Fd from, os::Fd to)
      : loop_(loop), from_(std::move(from)), to_(std::move(to)) {
    loop_.WatchRead(from_.get(), [this] {
      Take(from_, held_);
      if (!hold || held_.size() >= kPiece) Give(to_, held_);
    });
    loop_.WatchRead(to_.get(), [this] {
      std::string back;
      Take(to_, back);
      Give(from_, back);
    });
  }
  ~Holder() {
    loop_.Unwatch(from_.get());
    loop_.Unwatch(to_.get());
  }
  bool hold = false;

 private:
  static constexpr size_t kPiece = 150 * 1000;
  static void Take(os::Fd& fd, std::string& text) {
    char buffer[8192];
    text.append(buffer, os::Receive(fd.get(), buffer, sizeof(buffer)).bytes);
  }
  static void Give(os::Fd& fd, std::string& text) {
    text.erase(0, os::SendSome(fd.get(), text).bytes);
  }
  os::RealLoop& loop_;
  os::Fd from_, to_;
  std::string held_;
};

TEST_F(StreamTest, OneTurnReadsABoundedNumberOfBytes) {
  constexpr size_t kBytes = 4 << 20;
  for (bool in_clear : {false, true}) {
    auto [hub_end, to] = MakePair();
    auto [client_end, from] = MakePair();
    Holder holder(*loop_, std::move(from), std::move(to));
    Peer hub, client;
    if (in_clear) {
      hub.stream = std::make_unique<Stream>(*loop_, std::move(hub_end), Stream::Clear::kUnixOnly);
      client.Start(*loop_, std::move(client_end), Stream::Clear::kUnixOnly);
    } else {
      hub.stream = std::make_unique<Stream>(*loop_, std::move(hub_end), *hub_tls_);
      client.Start(*loop_, std::move(client_end), *client_tls_);
    }
    size_t got = 0;
    size_t in_turn = 0;
    size_t most = 0;
    StreamEvents events = hub.Events();
    events.opened = [&] { holder.hold = true; };
    events.bytes = [&](std::string_view bytes) {
      got += bytes.size();
      in_turn += bytes.size();
      most = std::max(most, in_turn);
      if (got >= kBytes - 300 * 1000) holder.hold = false;
    };
    hub.stream->Start(std::move(events));
    client.stream->Send(std::string(kBytes, 'x'));
    // Between two posts of one chain each watch gets one turn at most.
    std::function<void()> look = [&] {
      in_turn = 0;
      got < kBytes && !hub.closed ? loop_->Post(look) : loop_->Stop();
    };
    loop_->Post(look);
    loop_->Run();
    EXPECT_EQ(got, kBytes);
    const size_t bound = in_clear ? 256 * 1024 : 64 * 1024;
    EXPECT_LE(most, bound) << in_clear;
    EXPECT_GT(most, in_clear ? bound / 4 : bound / 4 * 3) << in_clear;
  }
}

}  // namespace
}  // namespace spate::transport
