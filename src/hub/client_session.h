// ClientSession: one client's connection to the hub. It carries many requests at once, each with
// an id of the client's choice and a ClientRequest here; replies name the id.
//
// Back-pressure both ways: the port is not read while uploads come faster than the store writes
// them, or while too much waits for its turn; and each request sends only so much ahead of what the
// client has taken (wire::WindowOf), so that one which nobody reads costs a bounded buffer and
// holds up no other.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hub/caller.h"
#include "hub/client_port.h"
#include "hub/client_request.h"
#include "hub/jobs.h"
#include "wire/client_messages.h"
#include "wire/greeting.h"

namespace spate::hub {

class ClientSession {
 public:
  // `closed` is called by the loop when the connection has ended; it may destroy the client.
  ClientSession(Jobs& jobs, ClientHost& host, Caller caller, std::unique_ptr<ClientPort> port,
                std::function<void()> closed);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  const Caller& caller() const { return caller_; }
  void Close() { port_->Close(); }
  // Its access has come to an end.
  void Refuse(const std::string& why) { port_->Refuse({wire::RefusalCode::kCredential, why}); }

  // ---- For its requests
  Jobs& jobs() const { return jobs_; }
  ClientHost& host() const { return host_; }
  // One encoded wire::Reply to the request with this id.
  void Send(uint32_t id, std::string_view reply);
  // So much is queued that senders should pause; they hear of it by RoomAgain.
  bool full() const { return full_; }
  void Breach(std::string reason);
  // The same for requests, which go with the session.
  void BreachSoon(std::string reason);
  // The request is over; it is destroyed in a later turn of the loop.
  void Over(uint32_t id);
  // `bytes` more or fewer of requests wait here for their turn.
  void Weigh(int64_t bytes);
  // A request was refused for its memory. Until the client reads such refusals, it is not read.
  void Refused();
  // Reads on, or not, as the store and what waits allow.
  void Pace();

 private:
  void OnRequest(uint32_t id, std::string_view bytes);
  void Begin(uint32_t id, wire::Request request, std::string_view bytes);

  Jobs& jobs_;
  ClientHost& host_;
  const Caller caller_;
  std::unique_ptr<ClientPort> port_;
  std::function<void()> closed_;
  std::map<uint32_t, std::unique_ptr<ClientRequest>> requests_;  // by id
  std::vector<std::unique_ptr<ClientRequest>> over_;
  size_t subscriptions_ = 0;
  int64_t weight_ = 0;
  bool full_ = false;
  bool floods_ = false;  // refusals wait, because it does not read them
  os::TimerId slow_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::hub
