// HubSetting: what every program that speaks to a hub begins with.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client/hub_call.h"
#include "client/surroundings.h"
#include "os/real_loop.h"

namespace spate::client {

struct HubSetting {
  Surroundings here;
  std::unique_ptr<os::RealLoop> loop;
  HubTarget target;
  // Options to add to `spate job ...`, so that it means a job of this hub: " --access FILE".
  std::string reach = {};
  // The command that resumes a run with a hub to itself, whose job has one name.
  std::string resume = {};
};
// By an access file and a state folder as they were typed (NeedHub). kUnavailable: there is no hub;
// the error says how to start one.
Result<HubSetting> OpenHubSetting(Surroundings here, const std::string& access,
                                  const std::string& state, const StartLine& start);
// By its socket, as it was typed.
Result<HubSetting> OpenHubSettingAt(Surroundings here, const std::string& socket);

}  // namespace spate::client
