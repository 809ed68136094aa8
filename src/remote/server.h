// Server: starts commands in a part of a gang for the gang's other members. It is a process of the
// part, so what it starts has the part's limits and ends with it.
//
// Connections are handed to it (os/handover.h), by the node's lobby or by a member on this machine.
// Thread: the loop's.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "os/handover.h"
#include "os/real_loop.h"
#include "remote/session.h"
#include "remote/ticket.h"
#include "transport/tcp/tls.h"

namespace spate::remote {

struct ServerLimits {
  size_t sessions = 4096;  // at once; those who come then are cut off
  bool once = false;       // it is for one session, and over with that
  // Peers that have not proved that they are of the gang. The oldest makes room for the next.
  size_t strangers = 256;
  SessionLimits session;
};

class Server {
 public:
  // For the part of `ticket.self`. kBusy: it has one already.
  static Result<std::unique_ptr<Server>> Open(os::RealLoop& loop, const Ticket& ticket,
                                              Session::Setting setting,
                                              const ServerLimits& limits = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Takes nobody any more and abandons all that runs. `done` comes when nothing is left.
  void End(std::function<void()> done);
  // The same, and tells the other ends why.
  void Dismiss(std::string_view why, std::function<void()> done);
  // Called once, under ServerLimits::once, when the one session is over.
  void WhenOver(std::function<void()> fn) { over_ = std::move(fn); }
  size_t sessions() const { return sessions_.size(); }
  // Under ServerLimits::once: its session has begun.
  bool is_used() const { return used_; }

 private:
  Server(os::RealLoop& loop, std::unique_ptr<transport::Tls> tls, os::HandoverInbox inbox,
         Session::Setting setting, const ServerLimits& limits);
  void AcceptSome();
  void Accept(os::Fd fd);
  void MakeRoom();
  void EndIfDone();

  os::RealLoop& loop_;
  const std::unique_ptr<transport::Tls> tls_;
  os::HandoverInbox inbox_;
  Session::Setting setting_;
  const ServerLimits limits_;
  std::list<std::unique_ptr<Session>> sessions_;  // the oldest first
  std::function<void()> done_;
  std::function<void()> over_;
  bool ending_ = false;
  bool used_ = false;  // under ServerLimits::once
};

}  // namespace spate::remote
