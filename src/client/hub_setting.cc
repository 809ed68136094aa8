#include "client/hub_setting.h"

#include <utility>

#include "os/signals.h"

namespace spate::client {

Result<HubSetting> OpenHubSetting(Surroundings here, const std::string& access,
                                  const std::string& state, const StartLine& start) {
  auto target = NeedHub(access, here.environment, HubDirOf(state, here), start);
  if (!target) return std::unexpected(target.error());
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(loop.error());
  os::IgnoreSignal(os::kSignalPipe);
  return HubSetting{std::move(here), std::move(*loop), std::move(*target)};
}

}  // namespace spate::client
