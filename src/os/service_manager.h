// News of a service for systemd (Type=notify), by the datagram socket $NOTIFY_SOCKET, as
// sd_notify(3) documents the protocol. Elsewhere nothing happens.
//
// Thread: the loop's.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "os/environment.h"
#include "os/loop.h"

namespace spate::os {

class ServiceManager {
 public:
  ServiceManager(Loop& loop, const Environment& environment);
  ~ServiceManager() { loop_.Cancel(timer_); }
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  bool listens() const { return !socket_.empty(); }
  // The service works from now on. Where the manager wants signs of life (WatchdogSec=), the loop
  // gives one at each half of that time: a loop that hangs is started anew.
  void Ready();
  void Stopping() const { Notify("STOPPING=1"); }

 private:
  void Notify(std::string_view line) const;
  void GiveSign();

  Loop& loop_;
  const std::string socket_;
  const Duration watchdog_;  // zero: none
  TimerId timer_ = 0;
};

}  // namespace spate::os
