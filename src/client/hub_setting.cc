#include "client/hub_setting.h"

#include <utility>

#include "base/units.h"
#include "os/file.h"
#include "os/signals.h"

namespace spate::client {

Result<HubSetting> OpenHubSetting(Surroundings here, const std::string& access,
                                  const std::string& state, const StartLine& start) {
  const std::string hub_dir = HubDirOf(state, here);
  // A typed folder with a running hub takes precedence over access files.
  const bool own = !state.empty() && access.empty() && os::Exists(SocketOf(hub_dir).path);
  const os::Environment environment = own ? os::Environment() : here.environment;
  auto target = TRY(NeedHub(access, environment, hub_dir, start));
  auto loop = TRY(os::RealLoop::Create());
  os::IgnoreSignal(os::kSignalPipe);
  return HubSetting{std::move(here), std::move(loop), std::move(target)};
}

Result<HubSetting> OpenHubSettingAt(Surroundings here, const std::string& socket) {
  os::Address at;
  at.path = os::JoinPath(here.cwd, socket);
  HubTarget target{link::Target::Of(at), "the socket '" + EscapeForScreen(at.path) + "'"};
  auto loop = TRY(os::RealLoop::Create());
  os::IgnoreSignal(os::kSignalPipe);
  return HubSetting{std::move(here), std::move(loop), std::move(target),
                    " --at " + ShellQuote(socket)};
}

}  // namespace spate::client
