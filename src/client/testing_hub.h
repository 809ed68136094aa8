// FakeHub: a hub's end of connections for tests. It welcomes whoever comes, remembers all requests,
// and replies as the test says; it decides nothing by itself.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/hub_call.h"
#include "link/connection.h"
#include "os/real_loop.h"
#include "os/socket.h"
#include "os/temp_dir.h"
#include "wire/client_codec.h"
#include "wire/codec.h"
#include "wire/field_bytes.h"

namespace spate::client::testing {

class FakeHub {
 public:
  struct Came {
    uint32_t id = 0;
    wire::Request request;
  };

  explicit FakeHub(os::RealLoop& loop) : loop_(loop) {
    os::Address address{.path = dir_.Path("socket")};
    listener_ = os::Listen(**os::SocketAddress::Numeric(address)).value();
    loop_.WatchRead(listener_.get(), [this] { Accept(); });
  }
  ~FakeHub() { loop_.Unwatch(listener_.get()); }

  HubTarget target() const {
    return {link::Target::Of({.path = dir_.Path("socket")}), "a fake", wire::Role::kClient, ""};
  }
  // Instead of a welcome.
  std::optional<wire::Refusal> refuses;
  // In the welcome; zero: each side's own.
  Duration silence;
  // Called with each request; all of them are in `came`.
  std::function<void(const Came& each)> on_request;
  std::vector<Came> came;
  std::vector<wire::Greeting> greetings;

  void Reply(uint32_t id, const wire::Reply& reply) {
    std::string bytes = wire::IdBytes(id);
    wire::Append(bytes, reply);
    connection_->Send(wire::FrameType::kReply, bytes);
  }
  template <typename T>
  void Answer(uint32_t id, const T& answer) {
    Reply(id, wire::QueryAnswer{wire::BytesOf(answer)});
  }
  // Cuts the connection off.
  void Drop() { connection_.reset(); }

  template <typename T>
  std::vector<const T*> All() const {
    std::vector<const T*> all;
    for (const Came& each : came) {
      if (const auto* found = std::get_if<T>(&each.request)) all.push_back(found);
    }
    return all;
  }

 private:
  void Accept() {
    auto accepted = os::Accept(listener_.get());
    if (!accepted || !*accepted) return;
    connection_ = std::make_unique<link::Connection>(loop_, std::move((*accepted)->fd), nullptr,
                                                     link::FrameTypes{wire::FrameType::kGreeting});
    connection_->Start({.opened = nullptr,
                        .frame = [this](wire::FrameType, std::string_view m) { Greeted(m); },
                        .writable = nullptr,
                        .silent = nullptr,
                        .closed = [this](const link::Ended&) { connection_.reset(); }});
  }
  void Greeted(std::string_view message) {
    greetings.push_back(wire::DecodeGreeting(message).value());
    if (refuses) return connection_->Refuse(*refuses);
    std::string welcome;
    wire::Append(welcome, wire::Welcome{.product = "1.0",
                                        .epoch = Epoch(1),
                                        .silence_ms = static_cast<uint32_t>(silence.millis())});
    connection_->Send(wire::FrameType::kWelcome, welcome);
    connection_->Accept(link::TypesToHub(wire::Role::kClient), silence);
    connection_->Start({.opened = nullptr,
                        .frame = [this](wire::FrameType, std::string_view m) { Hear(m); },
                        .writable = nullptr,
                        .silent = nullptr,
                        .closed = [this](const link::Ended&) { connection_.reset(); }});
  }
  void Hear(std::string_view frame) {
    auto numbered = wire::SplitId(frame);
    ASSERT_TRUE(numbered);
    auto request = wire::DecodeRequest(numbered->message);
    ASSERT_TRUE(request) << request.error().message;
    came.push_back({numbered->id, std::move(*request)});
    const Came each = came.back();
    if (on_request) on_request(each);
  }

  os::RealLoop& loop_;
  os::TempDir dir_;
  os::Fd listener_;
  std::unique_ptr<link::Connection> connection_;
};

// A loop, a hub on it, and a blocking call to it.
class HubTest : public ::testing::Test {
 protected:
  HubTest() : loop_(std::move(os::RealLoop::Create().value())), hub_(*loop_) {}

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
  FakeHub hub_;
};

}  // namespace spate::client::testing
