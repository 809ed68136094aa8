// HubClient: somebody who submits a job to a simulated hub, or adds tasks to one, by the messages
// that `spate submit` sends, one after another. The connection may break between any two of them:
// the hub hears of it at once, or never, and takes all that was sent.
//
// SimAside: what a simulated hub reads beside its loop; it takes a while.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/prng.h"
#include "hub/client_session.h"
#include "sim/faults.h"
#include "wire/client_messages.h"

namespace spate::sim {

class SimAside final : public hub::Aside {
 public:
  SimAside(os::Loop& loop, Faults& faults, uint64_t seed)
      : loop_(loop), faults_(faults), prng_(seed) {}
  void Do(const std::string& user, Work work) override;

 private:
  Duration While();

  os::Loop& loop_;
  Faults& faults_;
  Prng prng_;
};

class HubClient {
 public:
  struct Parts {
    os::Loop& loop;  // the hub's process
    Faults& faults;
    hub::Jobs& jobs;
    hub::ClientHost& host;
    hub::Caller caller;
    // The connection breaks for the client when so many messages were sent; 0: it does not.
    size_t breaks_after = 0;
    bool half_open = false;  // not for the hub
    bool hurries = false;    // all that is left arrives then
    Duration pause;          // from one message to the next, at most
    uint64_t seed = 1;
    // The last answer, once; a breach or a broken connection is kUnavailable.
    std::function<void(const Result<wire::Accepted>&)> answered;
    std::function<void()> ended;  // destroys the client
  };
  // The first request is taken at once.
  HubClient(Parts parts, std::deque<wire::Request> requests);
  ~HubClient();
  HubClient(const HubClient&) = delete;
  HubClient& operator=(const HubClient&) = delete;

 private:
  class Port;
  void SendNext();
  void Heard(std::string_view bytes);
  void Answer(const Result<wire::Accepted>& answer);
  void End(const Result<wire::Accepted>& answer);

  Parts parts_;
  Prng prng_;
  std::deque<wire::Request> requests_;
  hub::ClientPort::Events events_;
  size_t sent_ = 0;
  bool answered_ = false;
  bool ended_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<hub::ClientSession> session_;
};

}  // namespace spate::sim
