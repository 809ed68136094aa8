// ClientPort: the hub's end of a client's connection, whatever carries it.
//
// Thread: the loop's. Events are called by the loop, never within a call of the port.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "wire/greeting.h"

namespace spate::hub {

class ClientPort {
 public:
  struct Events {
    // One encoded wire::Request, and the id of the request that it begins or belongs to.
    std::function<void(uint32_t id, std::string_view)> request;
    std::function<void()> writable;  // less is queued
    std::function<void()> closed;    // may destroy the port
  };
  virtual ~ClientPort() = default;
  virtual void Start(Events events) = 0;
  // One encoded wire::Reply to the request with this id. False: so much is queued that the sender
  // should pause until `writable`.
  virtual bool Send(uint32_t id, std::string_view reply) = 0;
  // True: no request is given out until false.
  virtual void PauseReading(bool paused) = 0;
  // Sends the reason, and closes; a breach of the protocol comes here, too.
  virtual void Refuse(const wire::Refusal& why) = 0;
  virtual void Close() = 0;
};

}  // namespace spate::hub
