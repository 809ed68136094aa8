// Entrance: where a hub is reached. It listens, lets peers say who they are, asks a gate whom to
// let in, and hands over those who are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes32.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "link/connection.h"
#include "os/account.h"
#include "os/address.h"
#include "os/aside.h"
#include "os/real_loop.h"
#include "os/socket.h"
#include "transport/tcp/identity.h"
#include "transport/tcp/listener.h"
#include "wire/greeting.h"

namespace spate::link {

// A peer that wants to come in: known by its credential over TLS, by the system on a UNIX socket.
struct Guest {
  wire::Greeting greeting;
  std::string peer;                          // its address, for people
  std::optional<os::PeerCredentials> local;  // on a UNIX socket: the user at the other end
  std::string user;                          // that one's name; empty when the machine has none
  std::string unknown;                       // why nobody can tell that name now; empty: it is told
  std::optional<Bytes32> connection_key;     // over TLS

  // True if it has the credential with this secret. Never without TLS.
  bool Proves(const Bytes32& secret) const;
};

struct Admission {
  Epoch epoch;
  NodeId node;  // of a node
};

// Decides by what the hub knows: credentials, users, names. For a guest with `local`, the user; for
// others the credential of `greeting.serial`, which `Proves` must hold for; for a guest with
// neither (in clear over TCP, on loopback) nothing is known.
class Gate {
 public:
  virtual ~Gate() = default;
  virtual std::expected<Admission, wire::Refusal> Admit(const Guest& guest) = 0;
};

// Greeted, welcomed, and not yet started.
struct Visitor {
  std::unique_ptr<Connection> connection;
  Guest guest;
  Admission admission;
};

struct EntranceAddress {
  os::Address address;
  bool clear = false;           // TCP without TLS, on loopback only; UNIX sockets are in clear
  uint32_t permissions = 0600;  // of a UNIX socket
  bool spare_port = false;      // where somebody has the port: another one
};

struct EntranceLimits {
  Duration greeting = Duration::Seconds(10);  // from arrival to the greeting
  // Peers at one address who have not said who they are. When there are so many, those who came
  // more than `patience` ago make room, the oldest first, and others wait in the system's queue.
  size_t strangers = 1024;
  // At a UNIX socket, one user has a quarter of these places, but at least 8. One more connection
  // of that user closes the user's oldest one at once.
  Duration patience = Duration::Seconds(2);
  Duration silence = Duration::Seconds(15);  // Welcome::silence
  Duration lost_after = {};                  // Welcome::lost_after
  ConnectionLimits connection;
};

class Entrance {
 public:
  struct Events {
    std::function<void(Visitor)> arrived;
    std::function<void(const Error&)> trouble;  // as transport::Listener's
    // Somebody who is refused for their protocol; the gate did not hear of them.
    std::function<void(const Guest&, const wire::Refusal&)> of_other_protocol = nullptr;
  };
  // Listens at all addresses, or says at which it cannot. `product` is the program's version.
  // `gate` outlives the entrance. Resolves names, which may block: at the start of a program.
  static Result<std::unique_ptr<Entrance>> Open(os::RealLoop& loop,
                                                std::vector<EntranceAddress> addresses,
                                                const transport::Identity& identity,
                                                std::string product, Gate& gate, Events events,
                                                const EntranceLimits& limits = {});
  // The same without a key, at UNIX sockets alone.
  static Result<std::unique_ptr<Entrance>> OpenLocal(os::RealLoop& loop,
                                                     std::vector<EntranceAddress> addresses,
                                                     std::string product, Gate& gate, Events events,
                                                     const EntranceLimits& limits = {});
  // One that came at somebody else's address, over TLS. Nothing of it was read.
  void Receive(transport::Arrival arrival);
  // Strangers are cut off; visitors stay.
  ~Entrance();
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  // Addresses that it listens at: numbers and paths, with the ports that were taken for port 0.
  std::vector<os::SocketAddress> addresses() const;
  size_t strangers() const;
  const Counts& counts() const { return *counts_; }

 private:
  struct Stranger {
    Instant came;
    transport::Seat place;
    Guest guest;
    os::TimerId deadline = 0;
    os::TimerId again = 0;  // LookUp
    int silent_fd = -1;     // on a UNIX socket: that of `connection` until its first byte
    std::unique_ptr<Connection> connection;
    std::unique_ptr<os::Aside<os::Account>> account;  // on a UNIX socket: who asks for the name
  };
  using Strangers = std::list<Stranger>;  // the oldest first
  struct Entry {
    os::SocketAddress address;
    bool in_clear = false;
    Strangers strangers;
    os::TimerId eviction = 0;
    std::unique_ptr<transport::Listener> listener;  // null: of those that came elsewhere
  };

  Entrance(os::RealLoop& loop, std::shared_ptr<transport::Tls> tls, std::string product, Gate& gate,
           Events events, const EntranceLimits& limits);
  Status Listen(const EntranceAddress& at);
  Status ListenAt(const os::SocketAddress& number, const EntranceAddress& at);
  void Arrived(Entry& entry, transport::Arrival arrival);
  Duration LookUpPatience() const;
  void FirstWord(Entry& entry, Strangers::iterator at);
  void LookUp(Entry& entry, Strangers::iterator at, Instant last);
  void StartConnection(Entry& entry, Strangers::iterator at);
  void Opened(Stranger& stranger);
  void Greeted(Entry& entry, Strangers::iterator at, std::string_view message);
  std::expected<Admission, wire::Refusal> Judge(const Guest& guest);
  std::string ListensAt() const;
  void MakeRoom(Entry& entry);
  void MakeRoomOf(Entry& entry, uint32_t user);
  void Remove(Entry& entry, Strangers::iterator at);

  os::RealLoop& loop_;
  const std::shared_ptr<transport::Tls> tls_;  // null: UNIX sockets alone
  const std::string product_;
  Gate& gate_;
  const Events events_;
  const EntranceLimits limits_;
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  std::list<Entry> entries_;
  Entry* received_ = nullptr;  // of entries_: those that came elsewhere; null: none did
};

}  // namespace spate::link
