#include "os/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "base/number.h"
#include "os/fd.h"
#include "os/process.h"

namespace spate::os {
namespace {

// $WATCHDOG_USEC, where it is meant for this process.
Duration WatchdogOf(const Environment& environment) {
  auto meant = ReadNumber<int64_t>(environment.GetOr("WATCHDOG_PID", ""));
  auto micros = ReadNumber<int64_t>(environment.GetOr("WATCHDOG_USEC", ""));
  if (!micros || *micros <= 0 || (meant && *meant != OwnPid())) return {};
  return Duration{*micros * 1000};
}

}  // namespace

ServiceManager::ServiceManager(Loop& loop, const Environment& environment)
    : loop_(loop),
      socket_(environment.GetOr("NOTIFY_SOCKET", "")),
      watchdog_(WatchdogOf(environment)) {}

void ServiceManager::Ready() {
  Notify("READY=1");
  if (listens() && watchdog_ > Duration()) GiveSign();
}

void ServiceManager::GiveSign() {
  Notify("WATCHDOG=1");
  timer_ = loop_.At(loop_.Now() + Duration{watchdog_.ns / 2}, [this] { GiveSign(); });
}

// A manager that does not listen is its own affair.
void ServiceManager::Notify(std::string_view line) const {
  sockaddr_un address{};
  if (!listens() || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // an abstract name
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return;
  (void)!sendto(fd.get(), line.data(), line.size(), MSG_NOSIGNAL,
                reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace spate::os
