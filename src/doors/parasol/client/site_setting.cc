#include "doors/parasol/client/site_setting.h"

#include <utility>

namespace spate::parasol {

Result<client::HubSetting> FindSiteSetting() {
  auto here = TRY(client::Surroundings::Find());
  return client::OpenHubSetting(std::move(here), "", "", SiteStart());
}

}  // namespace spate::parasol
