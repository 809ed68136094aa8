// Door: how the network comes to a hub: the entrance at which it listens, the gate that judges
// guests and counts their connections, and the ports by which clients and nodes talk to the
// service.
//
// Thread: the loop's.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/facts.h"
#include "hub/door/refusal_log.h"
#include "hub/service.h"
#include "link/entrance.h"
#include "link/local_socket.h"
#include "link/output_memory.h"
#include "link/share.h"
#include "os/address.h"
#include "os/real_loop.h"
#include "os/subnet.h"

namespace spate::hub {

class Door final : public link::Gate {
 public:
  struct Options {
    std::string dir;                   // of the hub, absolute: its `socket`, and output under way
    uint32_t permissions = 0666;       // of that socket
    bool socket = true;                // false: none in `dir`
    std::vector<os::Address> listen;   // beside that socket
    bool spare_port = false;           // where somebody has such a port: another one
    std::string host;                  // the name by which others reach this machine
    std::string product;               // the hub's version
    size_t connections = 4096;         // at once, with clients and nodes
    size_t strangers = 1024;           // at one address, before they have said who they are
    Duration suspect_after;            // a connection of so long a silence is cut
    Duration lost_after;               // Service's node_patience, for nodes to know
    std::optional<os::Subnets> peers;  // nobody else may come
    // For output of nodes; null: it is in files.
    std::shared_ptr<link::OutputMemory> output_memory = nullptr;
    std::function<void(std::string)> log;  // a line for whoever looks after the hub
    // The owner's own checks of guests; each may be null.
    // How the service is to know a guest, or why that may not come in.
    std::function<std::expected<wire::Greeting, wire::Refusal>(const link::Guest& guest)> judge;
    // For a node: returns a port that stands between it and the service.
    std::function<std::unique_ptr<NodePort>(NodeId node, const std::string& peer,
                                            std::unique_ptr<NodePort> port)>
        joined;
    std::function<void(NodeId node, const link::Ended& ended)> gone;  // the service knows it
  };
  // Listens, and lets guests in. `loop` and `service` outlive it, and what it let in.
  // Without an identity at the socket alone.
  static Result<std::unique_ptr<Door>> Open(os::RealLoop& loop, Service& service,
                                            const transport::Identity* identity, Options options);
  ~Door() override = default;

  // For access files: how others reach the hub. Empty: only by its socket.
  const std::vector<os::Address>& reached_at() const { return reached_at_; }
  // Nobody comes in any more; those inside stay.
  void Close() { entrance_.reset(); }
  // Addresses and counts of connections.
  void TellAbout(HubFacts& facts) const;

  // link::Gate
  std::expected<link::Admission, wire::Refusal> Admit(const link::Guest& guest) override;

 private:
  Door(os::RealLoop& loop, Service& service, Options options)
      : loop_(loop), service_(service), options_(std::move(options)) {}
  Status Listen(const transport::Identity* identity);
  void FindReach();
  std::expected<link::Admission, wire::Refusal> Judge(const link::Guest& guest);
  void Refused(const link::Guest& guest, const wire::Refusal& why);
  void OfOtherProtocol(const link::Guest& guest, const wire::Refusal& why);
  std::expected<void, wire::Refusal> CheckPlaces(const Caller& caller, wire::Role role) const;
  std::shared_ptr<link::Share> ShareOf(const Caller& caller, wire::Role role);
  void Arrived(link::Visitor visitor);
  void NodeArrived(link::Visitor visitor, const Caller& caller);

  os::RealLoop& loop_;
  Service& service_;
  const Options options_;
  std::vector<os::Address> reached_at_;
  std::map<std::string, std::weak_ptr<link::Share>> shares_;  // by user
  RefusalLog refusals_;
  Instant trouble_told_{};
  std::optional<link::LocalSocket> local_;
  std::unique_ptr<link::Entrance> entrance_;  // null: closed
};

}  // namespace spate::hub
