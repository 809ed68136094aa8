// GangLobby: a node's lobby for members of gangs (remote/lobby.h), at a port that the node's next
// process keeps, so that gangs that run know it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "os/address.h"
#include "os/real_loop.h"
#include "remote/lobby.h"

namespace spate::daemon {

class GangLobby {
 public:
  // `folder` is the node's own.
  static Result<std::unique_ptr<GangLobby>> Open(os::RealLoop& loop, const std::string& folder,
                                                 std::function<void(std::string)> log);

  // Where others reach it (GangHost::remote), when `self` is this machine's end of a connection to
  // the hub. One that tells nothing of other machines (loopback) stands for all our addresses.
  std::string Remote(const os::SocketAddress& self) const;

 private:
  explicit GangLobby(std::unique_ptr<remote::Lobby> lobby) : lobby_(std::move(lobby)) {}
  const std::unique_ptr<remote::Lobby> lobby_;
};

}  // namespace spate::daemon
