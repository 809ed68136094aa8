// Session: a connection to a hub that carries many requests at once, each with the replies to it.
// Functions return at once; the loop tells what happens.
//
// Exchange: one request and its replies. A subscription (Watch, ReadEnds) lasts as long as its
// exchange. Replies that nobody takes cost a bounded amount of memory here, and hold up nothing
// else: the hub sends no more of them (wire::WindowOf) until some were taken.
//
// Thread: one, the loop's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/target.h"
#include "link/connection.h"
#include "link/connector.h"
#include "os/real_loop.h"
#include "wire/client_messages.h"

namespace spate::client {

class Session;

// With the text of its reasons.
Error ErrorOf(const wire::Failed& failed);

class Exchange {
 public:
  // Drops it: the hub ends what it does for it.
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // More of an upload. kInvalid: it is longer than a hub takes, and was not sent.
  Status Send(const wire::Request& more);
  // There is something to take. Once it is over, the end stays.
  bool ready() const { return !replies_.empty() || ended_; }
  // The next reply; nullopt: none has come. kUnavailable: the connection has ended.
  std::optional<Result<wire::Reply>> Receive();
  // Bytes of replies that have come and were not taken.
  size_t waiting() const { return waiting_; }

 private:
  friend class Session;
  Exchange(Session& session, uint32_t id, const wire::Request& request,
           std::function<void()> heard);
  void Enqueue(std::string_view reply);
  void End(Error error);

  Session* session_;  // null: the connection has ended, or the last reply was taken
  const uint32_t id_;
  const wire::RequestKind kind_;
  const std::function<void()> heard_;
  std::deque<std::string> replies_;  // encoded
  size_t waiting_ = 0;
  uint32_t taken_ = 0;  // bytes, since the hub was told
  std::optional<Error> ended_;
};

class Session {
 public:
  // `loop` outlives it, and it outlives its exchanges.
  Session(os::RealLoop& loop, HubTarget target);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Makes a new connection; exchanges of the one before end. `done` is called once, by the loop,
  // unless another Connect or Disconnect comes first. kUnavailable: nobody answers there;
  // kPermission: the hub does not let us in, or speaks another protocol.
  void Connect(std::function<void(Status)> done);
  void Disconnect();
  // Still true after a loss that was not noticed yet.
  bool connected() const { return connected_; }
  // The loop stood still for so long that the hub may have ended the connection, unheard.
  bool may_be_cut() const { return connection_ && connection_->MayBeCut(); }
  bool reached() const { return reached_; }  // has been connected once
  bool hung() const { return hung_; }  // at the last try something listened, and did not answer
  // False: so much is queued that senders should wait for on_writable.
  bool writable() const { return writable_; }
  void OnWritable(std::function<void()> fn) { on_writable_ = std::move(fn); }

  // Begins a request. `heard` is called when there is something to take, for each reply, and may
  // destroy all of this. kUnavailable: there is no connection; kInvalid: it is longer than a hub
  // takes.
  Result<std::unique_ptr<Exchange>> Begin(const wire::Request& request,
                                          std::function<void()> heard);
  size_t exchanges() const { return exchanges_.size(); }  // that are not over

 private:
  friend class Exchange;
  void Met(link::Connector::Met met);
  void OnFrame(std::string_view message);
  Status Send(uint32_t id, const wire::Request& request);
  void Ended(const Error& error);

  os::RealLoop& loop_;
  const HubTarget target_;
  std::unique_ptr<link::Connector> caller_;
  std::unique_ptr<link::Connection> connection_;
  std::map<uint32_t, Exchange*> exchanges_;
  uint32_t last_id_ = 0;
  std::function<void()> on_writable_;
  bool connected_ = false;
  bool reached_ = false;
  bool hung_ = false;
  bool writable_ = true;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::client
