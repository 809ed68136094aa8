// Deliverer: stands between nodes and their hub. An end whose task forwards data reaches the hub
// when the data is where it belongs, and as a failure when it cannot be put there; what the node
// says meanwhile waits behind it.
//
// Thread: the loop's. The work is done on a thread of its own, one end after the other.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hub/hub.h"
#include "os/aside.h"
#include "os/loop.h"

namespace spate::forward {

class Deliverer {
 public:
  // Puts what has come with the end of a successful attempt where it belongs, on the thread. It may
  // outlive the deliverer, and must own what it uses. An error's message becomes the end's note.
  using Work = std::function<Status(const AttemptEnd&, const OutputStream& pack)>;
  Deliverer(os::Loop& loop, Work work);
  ~Deliverer();

  // The channel for the hub, over that of a node. `see` hears each message as it comes.
  using See = std::function<void(const wire::ToHub&)>;
  std::unique_ptr<hub::NodeChannel> Over(std::unique_ptr<hub::NodeChannel> channel, See see = {});

 private:
  class Channel;
  struct Held {
    std::weak_ptr<Channel*> from;  // null: the channel has gone
    std::shared_ptr<wire::ToHub> message;
  };
  using Troubles = std::vector<std::string>;  // by end; empty: none

  void Accept(Channel& from, wire::ToHub message);
  void DeliverNext();
  void Delivered(const Troubles& troubles);
  void PassFirst();
  static Troubles WorkOff(const Work& work, const wire::Ends& ends);

  os::Loop& loop_;
  const Work work_;
  std::deque<Held> held_;  // in the order in which they came; the first is being delivered
  std::unique_ptr<os::Aside<Troubles>> working_;
};

}  // namespace spate::forward
