// Peers that break TLS, by malice or by a broken network between.
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <rapidcheck.h>

#include <optional>
#include <vector>

#include "os/socket.h"
#include "transport/tcp/testing_peer.h"

namespace spate::transport {
namespace {

using Why = Closed::Why;

class HostileTest : public TlsTest {
 protected:
  // How a hub takes these bytes, when nothing comes after them.
  Closed HubHears(std::string_view bytes) {
    auto [a, b] = MakePair();
    Peer hub;
    hub.Start(*loop_, std::move(a), *hub_tls_);
    EXPECT_EQ(os::SendSome(b.get(), bytes).bytes, bytes.size());
    os::ShutdownWrite(b.get());
    RunUntil([&] { return hub.closed.has_value(); });
    EXPECT_EQ(hub.opened, 0);
    EXPECT_EQ(hub.got, "");
    return hub.closed.value_or(Closed{Why::kAsked, ""});
  }
};

std::string HelloOfVersion(int version) {
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                       SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), version);
  std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(ssl.get());
  SSL_do_handshake(ssl.get());
  char* data = nullptr;
  long size = BIO_get_mem_data(SSL_get_wbio(ssl.get()), &data);
  return {data, static_cast<size_t>(size)};
}

TEST_F(HostileTest, OlderTlsIsRefused) {
  Closed closed = HubHears(HelloOfVersion(TLS1_2_VERSION));
  EXPECT_EQ(closed.why, Why::kBroken);
  EXPECT_NE(closed.text.find("older than 1.3"), std::string::npos) << closed.text;
  EXPECT_EQ(hub_tls_->counts().broken, 1u);
  // The same way of asking, to see that the version is what is refused.
  EXPECT_EQ(HubHears(HelloOfVersion(TLS1_3_VERSION)).why, Why::kLost);
}

TEST_F(HostileTest, WhatIsNotTlsIsRefused) {
  for (std::string_view text : {"GET / HTTP/1.0\r\n\r\n", "CONNECT head:1 HTTP/1.1\r\n\r\n",
                                "SSH-2.0-OpenSSH_9.2\r\n", "{\"hello\": \"world\"}\n"}) {
    Closed closed = HubHears(text);
    EXPECT_EQ(closed.why, Why::kBroken) << text;
    EXPECT_NE(closed.text.find("does not speak TLS"), std::string::npos) << closed.text;
  }
  EXPECT_EQ(hub_tls_->counts().broken, 4u);
  EXPECT_EQ(HubHears("").why, Why::kLost);
}

TEST_F(HostileTest, AClientMeetsSomethingElse) {
  auto [a, b] = MakePair();
  Peer client;
  client.Start(*loop_, std::move(a), *client_tls_);
  std::string_view text = "220 mail.example.org ESMTP\r\n";
  ASSERT_EQ(os::SendSome(b.get(), text).bytes, text.size());
  RunUntil([&] { return client.closed.has_value(); });
  EXPECT_TRUE(client.Ended(Why::kBroken)) << client.Why();
}

TEST_F(HostileTest, AnyBytesEndIt) {
  std::string hello = HelloOfVersion(TLS1_3_VERSION);
  EXPECT_TRUE(rc::check([&](const std::string& noise) {
    Why why = HubHears(noise).why;
    RC_ASSERT(why == Why::kBroken || why == Why::kLost);
  }));
  EXPECT_TRUE(rc::check([&] {
    std::string damaged = hello;
    damaged[*rc::gen::inRange<size_t>(0, hello.size())] = *rc::gen::arbitrary<char>();
    Why why = HubHears(damaged).why;
    RC_ASSERT(why == Why::kBroken || why == Why::kLost);
  }));
}

// ------------------------------------------------------------------- somebody stands in between

// Passes bytes on in both directions, and does one thing to those from `from`.
class Relay {
 public:
  enum class Deed : uint8_t { kCut, kFlip };
  Relay(os::RealLoop& loop, os::Fd from, os::Fd to, size_t at, Deed deed)
      : loop_(loop), from_(std::move(from)), to_(std::move(to)), at_(at), deed_(deed) {
    loop_.WatchRead(from_.get(), [this] { Pass(from_, to_, true); });
    loop_.WatchRead(to_.get(), [this] { Pass(to_, from_, false); });
  }
  ~Relay() { Cut(); }
  bool done() const { return done_; }

 private:
  void Cut() {
    for (os::Fd* fd : {&from_, &to_}) {
      if (*fd) loop_.Unwatch(fd->get());
      fd->Reset();
    }
  }
  void Pass(os::Fd& from, os::Fd& to, bool watched) {
    char buffer[4096];
    auto step = os::Receive(from.get(), buffer, sizeof(buffer));
    if (step.kind == os::IoStep::Kind::kWouldBlock) return;
    if (step.kind != os::IoStep::Kind::kDone) return Cut();
    size_t end = passed_ + step.bytes;
    size_t size = step.bytes;
    if (watched && !done_ && at_ < end) {
      done_ = true;
      if (deed_ == Deed::kFlip) buffer[at_ - passed_] ^= 0x10;
      if (deed_ == Deed::kCut) size = at_ - passed_;
    }
    if (watched) passed_ = end;
    EXPECT_EQ(os::SendSome(to.get(), {buffer, size}).bytes, size);
    if (done_ && deed_ == Deed::kCut) Cut();
  }

  os::RealLoop& loop_;
  os::Fd from_, to_;
  const size_t at_;
  const Deed deed_;
  size_t passed_ = 0;
  bool done_ = false;
};

struct Outcome {
  bool done = false;
  Closed hub{Why::kAsked, ""}, client{Why::kAsked, ""};
};

class RelayTest : public HostileTest {
 protected:
  // A handshake, 3000 bytes in pieces both ways, goodbyes; through a relay.
  Outcome Run(size_t at, Relay::Deed deed, bool from_hub) {
    auto [hub_end, hub_relay] = MakePair();
    auto [client_end, client_relay] = MakePair();
    if (!from_hub) std::swap(hub_relay, client_relay);
    Relay relay(*loop_, std::move(hub_relay), std::move(client_relay), at, deed);
    Peer hub, client;
    StreamLimits limits{.goodbye = Duration::Millis(20)};
    hub.Start(*loop_, std::move(hub_end), *hub_tls_, limits);
    client.Start(*loop_, std::move(client_end), *client_tls_, limits);
    for (Peer* peer : {&hub, &client}) peer->stream->Send(text_);
    auto close_both = [&] {
      hub.stream->Close();
      client.stream->Close();
    };
    os::TimerId timer = 0;
    RunUntil([&] {
      if (hub.got.size() == text_.size() && client.got.size() == text_.size()) close_both();
      // A larger length only makes its reader wait, as a silent peer does.
      if (relay.done() && timer == 0) {
        timer = loop_->At(loop_->Now() + Duration::Millis(20), close_both);
      }
      return hub.closed && client.closed;
    });
    loop_->Cancel(timer);
    // Whatever happens, only the truth comes through.
    EXPECT_TRUE(text_.starts_with(hub.got));
    EXPECT_TRUE(text_.starts_with(client.got));
    Closed none{Why::kAsked, ""};
    return {relay.done(), hub.closed.value_or(none), client.closed.value_or(none)};
  }
  const std::string text_ = std::string(1500, 'a') + std::string(1500, 'b');
};

TEST_F(RelayTest, CutAtAnyByte) {
  int cuts = 0;
  EXPECT_TRUE(rc::check([&](bool from_hub) {
    size_t at = *rc::gen::inRange<size_t>(0, 5000);
    Outcome outcome = Run(at, Relay::Deed::kCut, from_hub);
    if (!outcome.done) return;  // more than there was to pass
    ++cuts;
    for (const Closed& closed : {outcome.hub, outcome.client}) {
      RC_ASSERT(closed.why == Why::kLost || closed.why == Why::kByPeer ||
                closed.why == Why::kAsked);
    }
  }));
  EXPECT_GT(cuts, 20);
}

TEST_F(RelayTest, AFlippedBitNeverBecomesData) {
  int flips = 0;
  int found = 0;
  EXPECT_TRUE(rc::check([&](bool from_hub) {
    size_t at = *rc::gen::inRange<size_t>(0, 5000);
    Outcome outcome = Run(at, Relay::Deed::kFlip, from_hub);
    if (!outcome.done) return;
    ++flips;
    for (const Closed& closed : {outcome.hub, outcome.client}) {
      if (closed.why == Why::kBroken || closed.why == Why::kWrongPin) ++found;
    }
  }));
  EXPECT_GT(flips, 20);
  EXPECT_GT(found, flips / 2);
}

}  // namespace
}  // namespace spate::transport
