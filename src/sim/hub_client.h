// HubClient: somebody's connection to a simulated hub. What it carries are the messages that
// programs send: one exchange after the other, each a question or a submission. The connection may
// break between any two messages: the hub hears of it soon, or late and takes all that was sent.
//
// SimAside: what a simulated hub reads beside its loop; it takes a while.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/prng.h"
#include "hub/aside.h"
#include "hub/client_port.h"
#include "os/loop.h"
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

using Replies = std::vector<wire::Reply>;

// A request, or the messages of a submission, and who hears what became of it.
struct Exchange {
  std::deque<wire::Request> requests;
  // All messages are sent, whatever is replied to the first ones.
  bool stubborn = false;
  // The hub is about to take the first message.
  std::function<void()> begins = nullptr;
  // It is about to take a wire::Submit. False: the connection breaks instead.
  std::function<bool()> submits = nullptr;
  // The hub says something; nobody has heard it yet.
  std::function<void(const wire::Reply& reply)> says = nullptr;
  // The hub has said all. May change what is heard.
  std::function<void(Replies& replies)> said = nullptr;
  // Once, unless the hub dies first. kUnavailable: the connection broke, and nobody knows.
  std::function<void(const Result<Replies>&)> heard = nullptr;
};

class HubClient {
 public:
  struct Parts {
    os::Loop& loop;  // the hub's process
    Faults& faults;
    Duration pause;  // that a message takes, at most
    // The connection breaks for the client when so many messages were sent; 0: it does not.
    size_t breaks_after = 0;
    bool half_open = false;  // the hub takes what is left of the exchange, and hears of it late
    bool hurries = false;    // all that is left arrives then, or the hub hears of it at once
    bool leaves = false;     // hangs up when it has asked all
    uint64_t seed = 1;
    std::function<void()> ended;  // the hub has let go of it: destroys the client
  };
  explicit HubClient(Parts parts) : parts_(std::move(parts)), prng_(parts_.seed) {}
  ~HubClient() { *alive_ = false; }
  HubClient(const HubClient&) = delete;
  HubClient& operator=(const HubClient&) = delete;

  // The hub's end, once; it may outlive the client.
  std::unique_ptr<hub::ClientPort> MakePort();
  // Goes when all before it are over. Not after it has broken.
  void Enqueue(Exchange exchange);
  bool broken() const { return broken_; }
  // The hub has not answered all, or not heard all that was sent.
  bool under_way() const { return under_way_; }
  // Hangs up, unless an exchange is under way.
  void LeaveIfIdle();

 private:
  class Port;
  void BeginNext();
  void SendSoon();
  void SendNow();
  void Deliver(uint32_t id, const wire::Request& request);
  void TellTaken(size_t bytes);
  void Heard(uint32_t id, std::string_view bytes);
  void Over();
  // For the client; the hub hears of it in its own time.
  void Break(const std::string& why);
  void HangUp(Duration wait);
  // By the hub.
  void Cut(const std::string& why);
  Duration Pause();
  void After(Duration wait, std::function<void()> fn);

  Parts parts_;
  Prng prng_;
  hub::ClientPort::Events events_;
  std::deque<Exchange> exchanges_;  // the first one is under way
  Replies replies_;
  size_t sent_ = 0;
  bool under_way_ = false;
  bool said_ = false;      // of the first exchange all was replied
  uint32_t id_ = 0;        // of the newest request of the first exchange
  uint32_t answered_ = 0;  // the id of its first one, by whose replies it is judged
  wire::RequestKind kind_ = wire::RequestKind::kQuery;  // of that one
  uint32_t untold_ = 0;   // bytes of its replies, since the hub was told that they were taken
  bool sending_ = false;  // a message is on its way
  bool paused_ = false;   // the hub takes nothing now
  bool broken_ = false;   // for the client
  bool gone_ = false;     // for the hub
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::sim
