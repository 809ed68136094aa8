// Port: the one address at which a node is reached by others than its hub. Members of gangs on
// other nodes knock there (remote/lobby.h). Over TLS the administrator of a site asks what the node
// runs, and ends it, while there may be no hub (LookAtNode and StopNode of wire/questions.h; the
// other side of Parasol's programs is doors/parasol/site/node_asker.h).
//
// A node of a site listens where its site says. Any other listens where its hub sees it, and
// nowhere else; beside its hub it listens where the hub does, for other machines if that does. It
// keeps its port over restarts, so gangs that run know it.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/access_file.h"
#include "core/model/facts.h"
#include "link/connection.h"
#include "link/entrance.h"
#include "os/address.h"
#include "os/real_loop.h"
#include "os/subnet.h"
#include "remote/lobby.h"
#include "wire/client_messages.h"

namespace spate::node {

class Port final : public link::Gate {
 public:
  struct Site {
    std::vector<os::Address> listen;
    std::string key;                   // the node's, as PEM
    access::Access access;             // the administrator's
    std::optional<os::Subnets> peers;  // nobody else may ask
  };
  struct Options {
    std::string folder;  // the node's own
    uint16_t port = 0;   // where it is of no site; 0: some free one
    std::optional<Site> site = std::nullopt;
  };
  struct Events {
    std::function<NodeReport()> report;
    std::function<void()> stop;  // when it was answered
    std::function<void(std::string)> log;
  };
  // A site's port listens at once. Others listen where the node's last process did: the hub may be
  // away. kBusy: somebody listens where the site's node is to.
  static Result<std::unique_ptr<Port>> Open(os::RealLoop& loop, std::string product,
                                            Options options, Events events);
  ~Port() override;
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Listens for a node whose end of the connection to its hub is `self`. `hub`: where that listens
  // for other machines (Welcome::listens_at). Returns where others reach it (GangHost::remote); an
  // empty text: nowhere, and the log says why.
  std::string ListenFor(const os::SocketAddress& self, const std::string& hub);
  // Numbers, with the ports that were taken for port 0.
  std::vector<os::SocketAddress> addresses() const;

  // link::Gate
  std::expected<link::Admission, wire::Refusal> Admit(const link::Guest& guest) override;

 private:
  struct Reach {
    std::string host;                // to listen at
    std::vector<std::string> hosts;  // by which others reach it
  };
  Port(os::RealLoop& loop, Options options, Events events);
  static Reach ReachFrom(const os::SocketAddress& self, const std::string& hub);
  Status OpenSite(std::string product);
  Status Listen(const std::string& host);
  Status ListenAt(const os::SocketAddress& at);
  Status ListenAtNumber(const os::Address& at);
  std::string RemoteOfSite(const os::SocketAddress& self, const std::string& hub) const;

  void Arrived(link::Visitor visitor);
  void OnRequest(uint64_t id, std::string_view bytes);
  void Closed(uint64_t id);
  static void Send(link::Connection& connection, uint32_t request, const wire::Reply& reply);

  os::RealLoop& loop_;
  const Options options_;
  const Events events_;
  const std::string note_;                    // a file
  os::Address last_;                          // of the note; port 0: none
  std::unique_ptr<link::Entrance> entrance_;  // null: nobody asks
  std::vector<std::unique_ptr<remote::Lobby>> lobbies_;
  std::map<uint64_t, std::unique_ptr<link::Connection>> connections_;
  uint64_t newest_ = 0;
  uint64_t stopping_ = 0;  // the connection that asked for it; 0: none
  os::TimerId timer_ = 0;
};

}  // namespace spate::node
