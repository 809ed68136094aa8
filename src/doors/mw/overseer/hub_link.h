// HubLink: what an overseer asks a hub and gives to it, over a connection that is made when it is
// needed. All its files share one.
//
// Thread: one; functions run the loop.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/asker.h"
#include "client/hub_call.h"
#include "os/real_loop.h"
#include "wire/client_messages.h"

namespace spate::mw {

class HubLink final : public client::Asker {
 public:
  // `loop` outlives it.
  HubLink(os::RealLoop& loop, client::HubTarget target) : call_(loop, std::move(target)) {}

  // Asker. kUnavailable: the hub is away, and the next question makes a new connection.
  Status Ask(wire::Question question, const TakeAnswer& take) override;
  // `count` tasks that are equal but for their numbers: of a new job, or for that of head.add_to.
  Result<wire::Accepted> Submit(const wire::Submit& head, const std::vector<std::string>& pieces,
                                uint32_t count, const Needs& needs);
  client::HubCall& call() { return call_; }

 private:
  Status Connect();
  // What is left of an answer would be taken for the next one's.
  Error Lost(Error error);
  Status Send(const wire::Submit& head, const std::vector<std::string>& pieces, uint32_t count,
              const Needs& needs);

  client::HubCall call_;
  bool connected_ = false;
};

}  // namespace spate::mw
