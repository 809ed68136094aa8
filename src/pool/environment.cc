#include "pool/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "os/batch_job.h"

namespace spate::pool {

std::span<const std::string_view> DecisiveVariables(std::string_view system) {
  static constexpr std::string_view kSlurm[] = {"SLURM_CONF", "SLURM_CLUSTERS"};
  static constexpr std::string_view kGridEngine[] = {"SGE_ROOT", "SGE_CELL", "SGE_CLUSTER_NAME",
                                                     "SGE_QMASTER_PORT"};
  static constexpr std::string_view kPbs[] = {"PBS_CONF_FILE", "PBS_SERVER", "PBS_DEFAULT",
                                              "PBS_EXEC"};
  static constexpr std::string_view kCondor[] = {"CONDOR_CONFIG", "_CONDOR_COLLECTOR_HOST",
                                                 "_CONDOR_SCHEDD_HOST"};
  if (system == "slurm") return kSlurm;
  if (system == "gridengine") return kGridEngine;
  if (system == "pbs") return kPbs;
  if (system == "htcondor") return kCondor;
  return {};
}

std::string_view SubmitCommandOf(std::string_view system) {
  if (system == "slurm") return "sbatch";
  if (system == "gridengine" || system == "pbs") return "qsub";
  return system == "htcondor" ? "condor_submit" : "";
}

std::vector<std::string> PrintDecisive(std::string_view system) {
  std::string script = "command -v \"$1\"; printf '\\0'";
  for (std::string_view name : DecisiveVariables(system)) {
    script += fmt::format("; printf '%s\\0' \"${{{}-}}\"", name);
  }
  return {"/bin/sh", "-c", script, "sh", std::string(SubmitCommandOf(system))};
}

std::vector<PoolVariable> ReadDecisive(std::string_view system, std::string_view output) {
  std::vector<std::string> values;
  for (size_t end = output.find('\0'); end != output.npos; end = output.find('\0')) {
    values.emplace_back(output.substr(0, end));
    output.remove_prefix(end + 1);
  }
  const auto names = DecisiveVariables(system);
  if (values.size() != names.size() + 1) return {};
  if (values.front().ends_with('\n')) values.front().pop_back();
  std::vector<PoolVariable> variables = {{std::string(SubmitCommandOf(system)), values.front()}};
  for (size_t i = 0; i < names.size(); ++i) {
    variables.push_back({std::string(names[i]), values[i + 1]});
  }
  return variables;
}

std::vector<PoolDifference> DifferencesOf(std::span<const PoolVariable> yours,
                                          std::span<const PoolVariable> hubs) {
  std::vector<PoolDifference> differences;
  for (const PoolVariable& hub : hubs) {
    auto own = std::ranges::find(yours, hub.name, &PoolVariable::name);
    if (own == yours.end() || own->value == hub.value) continue;
    const bool is_command = &hub == &hubs.front();
    if (is_command && own->value.empty()) continue;
    differences.push_back({hub.name, own->value, hub.value});
  }
  return differences;
}

std::string TextOf(std::span<const PoolDifference> differences) {
  std::string text;
  auto shown = [](const std::string& value) {
    return value.empty() ? std::string("not set") : "'" + EscapeForScreen(value) + "'";
  };
  for (const PoolDifference& each : differences) {
    text += fmt::format("\n  {}: here {}, for the hub {}", EscapeForScreen(each.name),
                        shown(each.yours), shown(each.hubs));
  }
  if (text.empty()) return text;
  return "\nthe hub does not look for the batch system as this shell does:" + text +
         "\n  the hub's values are used; to change them, restart the hub from this shell (jobs and "
         "nodes continue)";
}

os::Environment CommandEnvironment(const os::Environment& environment) {
  const std::vector<std::string>& all = environment.entries();
  return os::Environment(os::WithChanges(all, os::BatchVariables(all)));
}

}  // namespace spate::pool
