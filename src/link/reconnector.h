// Reconnector: calls a hub until it is reached, and again when asked to.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "link/connector.h"
#include "os/real_loop.h"

namespace spate::link {

struct ReconnectorOptions {
  Self self;
  // Before each try: an access file that was edited, as the hub has moved, is seen.
  std::function<Result<Target>()> target;
  Duration first = Duration::Millis(100);  // before the second try; doubled each time
  // Less where the hub gives up nodes sooner (Welcome::lost_after): a twentieth of that.
  Duration most = Duration::Seconds(10);
  // A lasting failure (a wrong pin, a refused credential, no access file) is reported once, and
  // retried after `most`. If false, it is the end. For nodes, which nobody watches.
  bool stubborn = false;
  CallerLimits caller = {};
};
// Options of a client, and of a node.
ReconnectorOptions ClientOptions(Self self, std::function<Result<Target>()> target);
ReconnectorOptions NodeOptions(Self self, std::function<Result<Target>()> target);

class Reconnector {
 public:
  // All are called by the loop, and may destroy the reconnector.
  struct Events {
    std::function<void(Connector::Met)> connected;
    // It did not work, and is tried again after `pause` at most.
    std::function<void(const Error&, Duration pause)> trying;
    // It will not work until somebody does something about it. Once for each new reason.
    std::function<void(const Connector::Failure&)> refused;
  };
  Reconnector(os::RealLoop& loop, ReconnectorOptions options, Prng prng, Events events);
  ~Reconnector();
  Reconnector(const Reconnector&) = delete;
  Reconnector& operator=(const Reconnector&) = delete;

  // At first, and when a connection has ended. The first call is at once; then there is a pause,
  // by chance shorter or longer, since all lose their hub at the same moment. It grows while
  // connections do not last.
  void Call();

 private:
  void Try();
  void Done(std::expected<Connector::Met, Connector::Failure> result);
  void TryAfter(Duration pause);

  os::RealLoop& loop_;
  ReconnectorOptions options_;
  Prng prng_;
  const std::shared_ptr<const Events> events_;
  std::unique_ptr<Connector> caller_;
  const Duration most_;     // of the options, before a hub said more
  const Duration connect_;  // likewise
  Duration pause_;          // before the next try, if this one fails
  Instant connected_{};     // when it last was; 0: never
  std::string refused_;     // the reason that was told
  os::TimerId timer_ = 0;
};

}  // namespace spate::link
