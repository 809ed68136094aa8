// BatchLink: a client's questions to a hub, most of them about one batch, over a connection that is
// made when it is needed.
//
// Thread: one; functions run the loop.
#pragma once

#include <string>

#include "base/result.h"
#include "client/asker.h"
#include "client/hub_call.h"
#include "doors/parasol/programs/para_state.h"
#include "os/real_loop.h"

namespace spate::parasol {

// The submission that a batch is known by, to clients; the hub puts the user before it.
std::string BatchSubmission(const std::string& results);

class BatchLink final : public client::Asker {
 public:
  // `loop` outlives it.
  BatchLink(os::RealLoop& loop, client::HubTarget target, ParaState state)
      : loop_(loop), target_(std::move(target)), call_(loop, target_), state_(std::move(state)) {}

  // Asker. Errors are the hub's own; kUnavailable: the hub is away, and the next question makes a
  // new connection. A hub that answers too many others is asked again for a while.
  Status Query(wire::Question question, const AcceptAnswer& take) override;
  // The hub's job of the batch; 0 when it knows none.
  Result<JobId> FindJob();
  // The same; kNotFound when it knows none.
  Result<JobId> NeedJob();

  const std::string& results() const { return state_.results(); }
  ParaState& state() { return state_; }
  const ParaState& state() const { return state_; }
  const client::HubTarget& target() const { return target_; }
  os::RealLoop& loop() { return loop_; }
  client::HubCall& call() { return call_; }

 private:
  os::RealLoop& loop_;
  const client::HubTarget target_;
  client::HubCall call_;
  ParaState state_;
};

}  // namespace spate::parasol
