// Common parts of the tests of this folder: a loop that gives up, and one end of a connection that
// remembers its events.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "transport/tcp/identity.h"
#include "transport/tcp/stream.h"
#include "transport/tcp/tls.h"

namespace spate::transport {

inline std::pair<os::Fd, os::Fd> MakePair() {
  auto pair = os::MakeSocketPair();
  CHECK(pair.has_value());
  CHECK(os::SetNonBlocking(pair->a.get(), true).has_value());
  CHECK(os::SetNonBlocking(pair->b.get(), true).has_value());
  return {std::move(pair->a), std::move(pair->b)};
}

class LoopTest : public ::testing::Test {
 protected:
  LoopTest() : loop_(std::move(os::RealLoop::Create().value())) {}

  // Runs the loop until `done()`, which is looked at after each turn.
  template <typename Done>
  void RunUntil(Done done) {
    bool given_up = false;
    os::TimerId guard = loop_->At(loop_->Now() + Duration::Seconds(60), [&] { given_up = true; });
    std::function<void()> look = [&] {
      if (done() || given_up) return loop_->Stop();
      loop_->At(loop_->Now() + Duration::Micros(50), look);
    };
    loop_->Post(look);
    loop_->Run();
    loop_->Cancel(guard);
    EXPECT_FALSE(given_up) << "the awaited state did not come";
  }

  std::unique_ptr<os::RealLoop> loop_;
};

// A stream and what it told.
struct Peer {
  std::unique_ptr<Stream> stream;
  std::string got;
  std::optional<Closed> closed;
  int opened = 0;
  int writable = 0;

  StreamEvents Events() {
    return {.opened = [this] { ++opened; },
            .bytes = [this](std::string_view bytes) { got += bytes; },
            .writable = [this] { ++writable; },
            .closed =
                [this](const Closed& why) {
                  EXPECT_FALSE(closed) << "told twice";
                  closed = why;
                }};
  }
  template <typename... Args>
  void Start(Args&&... args) {
    stream = std::make_unique<Stream>(std::forward<Args>(args)...);
    stream->Start(Events());
  }
  bool Ended(Closed::Why why) const { return closed && closed->why == why; }
  std::string Why() const { return closed ? closed->text : "still open"; }
};

class TlsTest : public LoopTest {
 protected:
  TlsTest()
      : identity_(std::move(Identity::Make().value())),
        hub_tls_(std::move(Tls::ForHub(identity_).value())),
        client_tls_(std::move(Tls::ForClient(identity_.pin()).value())) {}

  // A hub's end and a client's of one connection, both started.
  void Connect(Peer& hub, Peer& client, const StreamLimits& limits = {}) {
    auto [a, b] = MakePair();
    hub.Start(*loop_, std::move(a), *hub_tls_, limits);
    client.Start(*loop_, std::move(b), *client_tls_, limits);
  }
  void Open(Peer& hub, Peer& client, const StreamLimits& limits = {}) {
    Connect(hub, client, limits);
    RunUntil([&] { return (hub.opened && client.opened) || hub.closed || client.closed; });
    EXPECT_FALSE(hub.closed || client.closed) << hub.Why() << "; " << client.Why();
  }

  Identity identity_;
  std::unique_ptr<Tls> hub_tls_, client_tls_;
};

}  // namespace spate::transport
