#include "doors/parasol/client/site_setting.h"

#include <utility>

namespace spate::parasol {

Result<client::HubSetting> FindSiteSetting() {
  auto here = client::Surroundings::Find();
  if (!here) return std::unexpected(here.error());
  return client::OpenHubSetting(std::move(*here), "", "", SiteStart());
}

}  // namespace spate::parasol
