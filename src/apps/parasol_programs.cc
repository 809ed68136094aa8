#include "apps/parasol_programs.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>

#include "apps/para_client.h"
#include "apps/para_hub_daemon.h"
#include "apps/para_node_daemon.h"
#include "apps/para_results.h"
#include "apps/para_site_tools.h"
#include "apps/parasol_client.h"
#include "cli/table/time_text.h"
#include "doors/parasol/programs/para.h"
#include "doors/parasol/programs/parasol.h"
#include "os/clock.h"
#include "shepherd/output_check.h"

namespace spate::apps {
namespace {

struct Program {
  std::string_view name;
  cli::ParasolRun run = nullptr;
};

Result<int> RunPara(std::span<const std::string> args) {
  cli::ParaParts parts;
  auto here = Surroundings::Find();
  if (!here) return std::unexpected(here.error());
  parts.state_root = ParaStateRoot(*here);
  parts.open_hub = [](const cli::ParaState& state) -> Result<std::unique_ptr<cli::BatchHub>> {
    return BatchClient::Open(state);
  };
  parts.why_file_fails = shepherd::WhyCheckFails;
  parts.now = [clock = os::Clock()] { return clock.Now(); };
  parts.local = [](int64_t seconds) {
    return cli::LocalTime(Instant() + Duration::Seconds(seconds));
  };
  return cli::RunPara(args, parts);
}

constexpr Program kPrograms[] = {
    {"para", RunPara},
    {"paraHub", RunParaHub},
    {"paraHubStop", RunParaHubStop},
    {"paraNode", RunParaNode},
    {"paraNodeStart", RunParaNodeStart},
    {"paraNodeStatus", RunParaNodeStatus},
    {"paraNodeStop", RunParaNodeStop},
    {"parasol", RunParasol},
};

}  // namespace

cli::ParasolRun ParasolRunOf(std::string_view name) {
  auto found = std::ranges::find(kPrograms, name, &Program::name);
  return found == std::end(kPrograms) ? nullptr : found->run;
}

}  // namespace spate::apps
