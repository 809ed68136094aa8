// Common parts of the tests of this folder: keys, one end of a connection that remembers its
// events, and a gate over a list of credentials.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/proof.h"
#include "link/connection.h"
#include "link/connector.h"
#include "link/entrance.h"
#include "os/socket.h"
#include "os/temp_dir.h"
#include "transport/tcp/testing_peer.h"
#include "wire/codec.h"

namespace spate::link::testing {

struct Got {
  wire::FrameType type;
  std::string message;
  friend bool operator==(const Got&, const Got&) = default;
};

inline std::string FrameOf(wire::FrameType type, std::string_view message = {}) {
  std::string frame;
  EXPECT_TRUE(wire::AppendFrame(frame, type, [&](std::string& out) { out += message; }));
  return frame;
}

template <typename Message>
std::string BytesOf(const Message& message) {
  std::string bytes;
  wire::Append(bytes, message);
  return bytes;
}

// A connection and what it told.
struct End {
  std::unique_ptr<Connection> connection;
  std::vector<Got> got;
  std::vector<bool> silences;
  std::optional<Ended> ended;
  int opened = 0;
  int writable = 0;

  Connection::Events Events() {
    return {.opened = [this] { ++opened; },
            .frame = [this](auto type, auto bytes) { got.push_back({type, std::string(bytes)}); },
            .writable = [this] { ++writable; },
            .silent = [this](bool is) { silences.push_back(is); },
            .closed =
                [this](const Ended& why) {
                  EXPECT_FALSE(ended) << "told twice";
                  ended = why;
                }};
  }
  std::string Why() const { return ended ? ended->text : "still open"; }
  bool IsEnded(Ended::Why why) const { return ended && ended->why == why; }
};

// A peer of ours without a Connection: it sees frames as they come.
struct RawPeer : transport::Peer {
  std::vector<Got> Frames() const {
    wire::FrameReader reader;
    reader.Accept();
    reader.Feed(got);
    std::vector<Got> frames;
    for (;;) {
      auto frame = reader.Next();
      if (!frame || !*frame) return frames;
      frames.push_back({(*frame)->type, std::string((*frame)->message)});
    }
  }
  std::optional<wire::Refusal> Refusal() const {
    for (const Got& frame : Frames()) {
      if (frame.type == wire::FrameType::kRefusal)
        return wire::DecodeRefusal(frame.message).value();
    }
    return std::nullopt;
  }
};

class LinkTest : public transport::LoopTest {
 protected:
  LinkTest()
      : identity_(std::move(transport::Identity::Make().value())),
        hub_tls_(std::move(transport::Tls::ForHub(identity_).value())),
        client_tls_(std::move(transport::Tls::ForClient(identity_.pin()).value())) {}

  // Two ends that have accepted each other, the hub's and a node's.
  void Connect(End& hub, End& node, bool over_tls, const ConnectionLimits& limits = {},
               std::shared_ptr<Counts> counts = nullptr) {
    auto [a, b] = transport::MakePair();
    hub.connection =
        std::make_unique<Connection>(*loop_, std::move(a), over_tls ? hub_tls_ : nullptr,
                                     FrameTypes{}, limits, std::move(counts));
    node.connection = std::make_unique<Connection>(
        *loop_, std::move(b), over_tls ? client_tls_ : nullptr, FrameTypes{}, limits);
    for (End* end : {&hub, &node}) end->connection->Start(end->Events());
    RunUntil([&] { return hub.opened == 1 && node.opened == 1; });
    hub.connection->Accept(TypesToHub(wire::Role::kNode));
    node.connection->Accept(TypesFromHub(wire::Role::kNode));
  }
  void Open(End& hub, End& node, bool over_tls, const ConnectionLimits& limits = {}) {
    Connect(hub, node, over_tls, limits);
    for (End* end : {&hub, &node}) end->connection->Start(end->Events());
  }
  // The hub's end of a node in clear, and something that is no node at its other end.
  void OpenRaw(End& hub, RawPeer& peer, const ConnectionLimits& limits = {},
               std::shared_ptr<Counts> counts = nullptr) {
    auto [a, b] = transport::MakePair();
    hub.connection = std::make_unique<Connection>(*loop_, std::move(a), nullptr, FrameTypes{},
                                                  limits, std::move(counts));
    hub.connection->Start(hub.Events());
    peer.Start(*loop_, std::move(b), transport::Stream::Clear::kUnixOnly);
    RunUntil([&] { return hub.opened == 1 && peer.opened == 1; });
    hub.connection->Accept(TypesToHub(wire::Role::kNode));
    hub.connection->Start(hub.Events());
  }

  transport::Identity identity_;
  std::shared_ptr<transport::Tls> hub_tls_, client_tls_;
};

// Lets in whoever has one of its credentials, and every user of this machine.
class TestGate : public Gate {
 public:
  struct Credential {
    Bytes32 secret;
    wire::Role role;
  };
  std::expected<Admission, wire::Refusal> Admit(const Guest& guest) override {
    guests.push_back(guest);
    if (refuse) return std::unexpected(*refuse);
    if (guest.greeting.serial == 0) return Admission{Epoch(3), NodeId(7)};
    auto it = credentials.find(guest.greeting.serial);
    if (it == credentials.end() || !guest.Proves(it->second.secret)) {
      return std::unexpected(wire::Refusal{wire::RefusalCode::kCredential, "no such credential"});
    }
    if (it->second.role != guest.greeting.role) {
      return std::unexpected(wire::Refusal{wire::RefusalCode::kRole, "a credential for others"});
    }
    return Admission{Epoch(3), NodeId(7)};
  }

  std::map<uint64_t, Credential> credentials;
  std::optional<wire::Refusal> refuse;
  std::vector<Guest> guests;
};

// A hub's entrance at a free port of this machine and at a UNIX socket.
class EntranceTest : public LinkTest {
 protected:
  static os::Address At(std::string_view text) { return os::ParseAddress(text).value(); }

  std::vector<uint32_t> of_other_protocol_;  // which they speak

  void OpenEntrance(std::vector<EntranceAddress> addresses, const EntranceLimits& limits = {}) {
    auto entrance = Entrance::Open(*loop_, std::move(addresses), identity_, "1.0", gate_,
                                   {.arrived = [this](Visitor v) { Arrived(std::move(v)); },
                                    .trouble = nullptr,
                                    .of_other_protocol =
                                        [this](const Guest& guest, const wire::Refusal&) {
                                          of_other_protocol_.push_back(guest.greeting.protocol);
                                        }},
                                   limits);
    ASSERT_TRUE(entrance) << entrance.error().message;
    entrance_ = std::move(*entrance);
  }
  void OpenEntrance(const EntranceLimits& limits = {}) {
    OpenEntrance({{.address = At("127.0.0.1:0")}, {.address = UnixAddress()}}, limits);
  }
  os::Address UnixAddress() { return {.path = dir_.Path("hub.socket")}; }
  os::Address TcpAddress() { return At(entrance_->addresses()[0].Text()); }

  access::Access AccessOf(uint64_t serial, access::Role role) {
    access::Access access{.hubs = {TcpAddress()},
                          .pin = identity_.pin(),
                          .serial = serial,
                          .role = role,
                          .user = "ada"};
    access.secret.fill(static_cast<uint8_t>(serial));
    gate_.credentials[serial] = {access.secret, static_cast<wire::Role>(role)};
    return access;
  }
  static Self NodeSelf() {
    return {.product = "1.0",
            .role = wire::Role::kNode,
            .node_name = "n1",
            .instance = "0123456789abcdef"};
  }
  static Self ClientSelf() { return {.product = "1.0"}; }

  std::expected<Connector::Met, Connector::Failure> Call(Target target, Self self,
                                                         const CallerLimits& limits = {}) {
    std::optional<std::expected<Connector::Met, Connector::Failure>> result;
    Connector caller(
        *loop_, std::move(target), std::move(self), [&](auto r) { result.emplace(std::move(r)); },
        limits);
    RunUntil([&] { return result.has_value(); });
    if (!result) return std::unexpected(Connector::Failure{{ErrorKind::kIo, "no answer"}});
    return std::move(*result);
  }

  // A connected visitor, started, with what it has sent.
  struct Inside {
    Visitor visitor;
    End end;
  };
  void Arrived(Visitor visitor) {
    auto inside = std::make_unique<Inside>();
    inside->end.connection = std::move(visitor.connection);
    inside->visitor = std::move(visitor);
    inside->end.connection->Start(inside->end.Events());
    inside_.push_back(std::move(inside));
  }

  os::TempDir dir_;
  TestGate gate_;
  std::unique_ptr<Entrance> entrance_;
  std::vector<std::unique_ptr<Inside>> inside_;
};

}  // namespace spate::link::testing
