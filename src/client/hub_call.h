// HubCall: what a command says to a hub, and hears, in the order in which it happens. For programs
// whose only work that is: its functions run the loop until they have what they wait for.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "client/asker.h"
#include "link/caller.h"
#include "link/connection.h"
#include "os/environment.h"
#include "os/real_loop.h"
#include "wire/client_messages.h"

namespace spate::client {

// A hub, and by what we know it.
struct HubTarget {
  link::Target target;
  std::string name;  // for people: the access file, or the socket
  wire::Role role = wire::Role::kClient;
  std::string start = {};  // the line that starts it, where it is known
};

// The hub of `--access`, $SPATE_HUB, the user's or the system's access file; else the user's own on
// this machine, whose folder is `hub_dir`; else that of the system at /run/spate/hub. nullopt: none
// of these is there. Errors: a file that was named, and cannot be used.
Result<std::optional<HubTarget>> FindHub(const std::string& typed_access,
                                         const os::Environment& environment,
                                         const std::string& hub_dir);
// The line that starts a hub, for messages.
struct StartLine {
  std::string text;
  bool restarts = true;  // it starts the user's own, which ran before, once more
};
inline constexpr std::string_view kStartHub = "spate hub start --daemon";
// For those who need one: the error says how to start it, by `start`. kUnavailable: there is none,
// or the user's own does not run.
Result<HubTarget> NeedHub(const std::string& typed_access, const os::Environment& environment,
                          const std::string& hub_dir, const StartLine& start);
// Whether a hub with this folder has ever run, and may run again.
bool KnowsHub(const std::string& hub_dir);
// The socket of a hub with this folder, whether it runs or not.
os::Address SocketOf(const std::string& hub_dir);
// The socket of the system's hub on this machine, whether it runs or not.
os::Address SystemSocket();
// The socket of a hub on this machine: of the one with this folder, else the system's.
std::optional<os::Address> FindLocalHub(const std::string& hub_dir);

class HubCall final : public Asker {
 public:
  // `loop` outlives it.
  HubCall(os::RealLoop& loop, HubTarget target);
  ~HubCall() override;
  HubCall(const HubCall&) = delete;
  HubCall& operator=(const HubCall&) = delete;

  // kUnavailable: nobody answers there; kPermission: the hub does not let us in.
  Status Connect();
  // Asker
  Status Ask(wire::Question question, const TakeAnswer& take) override;
  // Waits while the connection takes no more.
  Status Send(const wire::Request& request);
  // The next reply. kUnavailable: the connection has ended; Connect makes another one.
  Result<wire::Reply> Next();
  // The next reply, or nothing when none has come after so long.
  std::optional<Result<wire::Reply>> NextWithin(Duration time);
  // Waits so long, or until Interrupt.
  void Pause(Duration time);

  // Lets the function that waits return, with kBusy. For handlers of signals.
  void Interrupt();
  bool interrupted() const { return interrupted_; }
  // After Interrupt: functions wait again.
  void Resume() { interrupted_ = false; }

 private:
  void Run();
  void OnFrame(std::string_view message);

  os::RealLoop& loop_;
  const HubTarget target_;
  std::unique_ptr<link::Caller> caller_;
  std::unique_ptr<link::Connection> connection_;
  std::deque<Result<wire::Reply>> replies_;
  bool window_open_ = true;
  bool interrupted_ = false;
  bool reached_ = false;  // once
};

}  // namespace spate::client
