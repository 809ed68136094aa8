// HubCall: what a command says to a hub, and hears, in the order in which it happens. For programs
// whose only work that is: its functions run the loop until they have what they wait for. Several
// exchanges may be under way at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "client/asker.h"
#include "client/session.h"
#include "client/target.h"
#include "os/real_loop.h"
#include "wire/client_messages.h"

namespace spate::client {

inline constexpr Duration kSlowAnswer = Duration::Seconds(3);

class HubCall final : public Asker {
 public:
  // `loop` outlives it, and it outlives its exchanges.
  HubCall(os::RealLoop& loop, HubTarget target) : loop_(loop), session_(loop, std::move(target)) {
    session_.OnWritable([this] { loop_.Stop(); });
  }

  // Makes a new connection; exchanges of the one before end. kUnavailable: nobody answers there;
  // kPermission: the hub does not let us in.
  Status Connect();
  // Still true after a loss that was not noticed yet.
  bool connected() const { return session_.connected(); }
  bool reached() const { return session_.reached(); }  // has been connected once
  bool hung() const { return session_.hung(); }        // see Session

  // From now on kUnknown is the error of a change whose answer never came, and SIGINT interrupts
  // once a change was sent.
  void TellUnknown() { tell_unknown_ = true; }

  // Asker. As Begin; kUnavailable also: the connection has ended.
  Status Query(wire::Question question, const AcceptAnswer& take) override;
  // A request that is under way until the exchange ends. Connects when there is no connection, or
  // when the loop stood still for so long that the hub may have ended it.
  Result<std::unique_ptr<Exchange>> Begin(const wire::Request& request);
  // More of an upload; waits while the connection takes no more, unless a reply has come.
  Status Send(Exchange& exchange, const wire::Request& more);
  // The next reply. kUnavailable: the connection has ended.
  Result<wire::Reply> Next(Exchange& exchange);
  // The same of a request that a hub answers at once, as a rule.
  Result<wire::Reply> NextSoon(Exchange& exchange);
  // `fn` is called once, when such an answer has not come for kSlowAnswer.
  void OnSlow(std::function<void()> fn) { on_slow_ = std::move(fn); }
  // The same, or nothing when none has come after so long.
  std::optional<Result<wire::Reply>> NextWithin(Exchange& exchange, Duration time);
  // The next news of a Watch; of one that the hub refuses, its error.
  Result<wire::JobNews> NextNews(Exchange& watch);
  // Waits so long, or until Interrupt.
  void Pause(Duration time);

  // Lets the function that waits return, with kBusy. For handlers of signals.
  void Interrupt();
  bool interrupted() const { return interrupted_; }
  // After Interrupt: functions wait again.
  void Resume() { interrupted_ = false; }
  os::RealLoop& loop() { return loop_; }

 private:
  // Until `done`, or Interrupt.
  template <typename Done>
  void RunUntil(Done done) {
    while (!done() && !interrupted_) loop_.Run();
  }

  os::RealLoop& loop_;
  Session session_;
  std::function<void()> on_slow_;  // null: nobody is told, or was told
  bool interrupted_ = false;
  bool tell_unknown_ = false;
};

}  // namespace spate::client
