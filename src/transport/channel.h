// Channel: whole messages between a hub and one node. Promises order while connected and nothing
// at a disconnect.
#pragma once

#include <functional>

namespace spate::transport {

template <typename Out, typename In>
class Channel {
 public:
  virtual ~Channel() = default;
  // Never calls the receiver before it returns.
  virtual void Send(Out message) = 0;
  // The receiver of what arrives; on the loop's thread. Set once, before the first message.
  virtual void OnMessage(std::function<void(In)> receiver) = 0;
};

}  // namespace spate::transport
