// Connector: one attempt to reach a hub and to be welcomed there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/access_file.h"
#include "base/result.h"
#include "base/time.h"
#include "link/connection.h"
#include "os/address.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "transport/tcp/dialer.h"
#include "wire/greeting.h"

namespace spate::link {

// The hub's addresses. With `access` over TLS, proved by its credential; without, in clear, to this
// machine only. UNIX sockets are in clear in any case: there the system says who we are.
struct Target {
  std::vector<os::Address> hubs;  // of one hub, in the order to try
  std::optional<access::Access> access;
  std::string name = "the hub";  // for messages

  static Target Of(access::Access access);
  static Target Of(os::Address address) { return {.hubs = {std::move(address)}, .access = {}}; }
};

// The one who calls.
struct Self {
  std::string product;  // the program's version
  // Those who are no nodes have the role of their access file, where they call with one.
  wire::Role role = wire::Role::kClient;
  // For a node.
  std::string node_name = {};
  std::string instance = {};  // instance.h
  std::vector<std::string> features = wire::OwnFeatures();
};

struct CallerLimits {
  Duration connect = Duration::Seconds(5);   // for each name and number
  Duration welcome = Duration::Seconds(10);  // from then on, with the TLS handshake
  ConnectionLimits connection;
};

class Connector {
 public:
  struct Met {
    std::unique_ptr<Connection> connection;  // not yet started
    wire::Welcome welcome;
    os::SocketAddress hub;
    os::SocketAddress self;  // our end
  };
  struct Failure {
    Error error;           // what is wrong, for each address, and what to do
    bool lasting = false;  // the same will happen again unless somebody does something
    std::optional<wire::Refusal> refusal = std::nullopt;
    bool hung = false;  // something listens there, and does not answer
  };
  // Called once by the loop. May destroy the caller.
  using Done = std::function<void(std::expected<Met, Failure>)>;
  Connector(os::RealLoop& loop, Target target, Self self, Done done,
            const CallerLimits& limits = {});
  // Gives up; `done` is not called any more.
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

 private:
  void Begin();
  void Next();
  void Reached(transport::Dialer::Reached reached);
  void Greet();
  void Welcomed(std::string_view message);
  void Lost(const Ended& ended);
  void Stopped();
  void Failed(std::string why);
  void Finish(std::expected<Met, Failure> result);

  os::RealLoop& loop_;
  const Target target_;
  Self self_;
  Done done_;
  const CallerLimits limits_;

  size_t next_ = 0;  // of target_.hubs
  size_t wrong_pins_ = 0;
  bool hung_ = false;
  std::string failures_;
  // Dials the address before that.
  std::unique_ptr<transport::Dialer> dialer_;
  os::SocketAddress hub_, here_;
  os::Pid listener_ = 0;  // of a UNIX socket
  std::unique_ptr<Connection> connection_;
  os::TimerId timer_ = 0;
};

}  // namespace spate::link
