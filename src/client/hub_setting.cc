#include "client/hub_setting.h"

#include <utility>

#include "base/units.h"
#include "os/file.h"
#include "os/signals.h"

namespace spate::client {

Result<HubSetting> OpenHubSetting(Surroundings here, const std::string& access,
                                  const std::string& state, const StartLine& start) {
  auto target = TRY(NeedHub(access, here.environment, HubDirOf(state, here), start));
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
