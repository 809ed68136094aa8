// GangLobby: a node's lobby for members of gangs (remote/lobby.h), at an address that the node's
// next process keeps, so that gangs that run know it.
//
// It listens where the node's hub sees the node, and nowhere else. A node beside its hub listens
// where the hub does, for other machines if that does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/address.h"
#include "os/real_loop.h"
#include "remote/lobby.h"

namespace spate::daemon {

class GangLobby {
 public:
  // `folder` is the node's own. `port` 0: some free one. Where the node's last process listened
  // this one does so at once: its hub may be away.
  GangLobby(os::RealLoop& loop, std::string folder, uint16_t port,
            std::function<void(std::string)> log);

  // Listens for a node whose end of the connection to its hub is `self`. `hub`: where that listens
  // for other machines (Welcome::listens_at). Returns where others reach it (GangHost::remote); an
  // empty text: nowhere, and the log says why.
  std::string ListenFor(const os::SocketAddress& self, const std::string& hub);

 private:
  struct Reach {
    std::string host;                // to listen at
    std::vector<std::string> hosts;  // by which others reach it
  };
  static Reach ReachFrom(const os::SocketAddress& self, const std::string& hub);
  Status Listen(const std::string& host);
  Status ListenAt(const os::Address& at);

  os::RealLoop& loop_;
  const std::string note_;  // a file
  const uint16_t port_;     // 0: some free one
  const std::function<void(std::string)> log_;
  os::Address last_;                      // of the note; port 0: none
  std::unique_ptr<remote::Lobby> lobby_;  // at last_; null: nowhere
};

}  // namespace spate::daemon
