#include "pool/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"

namespace spate::pool {
namespace {

using Names = std::span<const std::string_view>;

// Clients read these with or without a job.
constexpr std::string_view kSlurmSettings[] = {"SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT",
                                               "SLURM_SACK_SOCKET"};
// Of pbs.conf, in whose place the environment counts, and of clients.
constexpr std::string_view kPbsSettings[] = {"PBS_AUTH_METHOD",
                                             "PBS_BATCH_SERVICE_PORT",
                                             "PBS_CONF_FILE",
                                             "PBS_DEFAULT",
                                             "PBS_DPREFIX",
                                             "PBS_ENCRYPT_METHOD",
                                             "PBS_EXEC",
                                             "PBS_HOME",
                                             "PBS_LEAF_NAME",
                                             "PBS_LEAF_ROUTERS",
                                             "PBS_PRIMARY",
                                             "PBS_SECONDARY",
                                             "PBS_SERVER",
                                             "PBS_SERVER_HOST_NAME",
                                             "PBS_SERVER_INSTANCES",
                                             "PBS_SUPPORTED_AUTH_METHODS"};
constexpr std::string_view kGridEngineSettings[] = {
    "SGE_CELL", "SGE_CLUSTER_NAME", "SGE_EXECD_PORT", "SGE_QMASTER_PORT", "SGE_ROOT"};

// Grid Engine's without its prefix, which others may have for reasons of their own.
constexpr std::string_view kGridEngineJob[] = {
    "ARC",    "ENVIRONMENT", "JOB_ID", "JOB_NAME",    "JOB_SCRIPT", "NHOSTS",    "NQUEUES",
    "NSLOTS", "PE",          "QUEUE",  "PE_HOSTFILE", "REQUEST",    "RESTARTED", "TASK_ID"};
constexpr std::string_view kPbsJob[] = {"ENVIRONMENT", "NCPUS"};

// Any other _CONDOR_NAME sets NAME in HTCondor's configuration.
constexpr std::string_view kCondorJob[] = {"_CONDOR_BIN",
                                           "_CONDOR_CHIRP_CONFIG",
                                           "_CONDOR_CREDS",
                                           "_CONDOR_EXECUTE",
                                           "_CONDOR_JOB_AD",
                                           "_CONDOR_JOB_IWD",
                                           "_CONDOR_JOB_PIDS",
                                           "_CONDOR_MACHINE_AD",
                                           "_CONDOR_REMOTE_SPOOL_DIR",
                                           "_CONDOR_SCRATCH_DIR",
                                           "_CONDOR_SLOT",
                                           "_CONDOR_SLOT_NAME",
                                           "_CONDOR_UPDATE_AD",
                                           "_CONDOR_NPROCS",
                                           "_CONDOR_PROCNO",
                                           "_CONDOR_STARTER_NAME",
                                           "_CONDOR_WRAPPER_ERROR_FILE"};

// The devices of the enclosing job. A batch system that gives none leaves these as they are.
constexpr std::string_view kDevices[] = {"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                         "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                         "ZE_AFFINITY_MASK"};

bool Contains(Names names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool IsOfGridEngineJob(std::string_view name) {
  return name.starts_with("SGE_") && !Contains(kGridEngineSettings, name);
}

// By its name alone.
bool IsOfAnyJob(std::string_view name) {
  if (name.starts_with("SLURM_")) return !Contains(kSlurmSettings, name);
  if (name.starts_with("PBS_")) return !Contains(kPbsSettings, name);
  return name.starts_with("SLURMD_") || name.starts_with("_CONDOR_Assigned") ||
         name.starts_with("_CONDOR_ANCESTOR_") || name.starts_with("SPATE_PILOT") ||
         IsOfGridEngineJob(name) || Contains(kCondorJob, name);
}

std::string_view NameOf(std::string_view entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

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
         "\n  the hub's settings count; to change them, stop the hub and start it again where they "
         "are as here (jobs and nodes go on)";
}

os::Environment CommandEnvironment(const os::Environment& environment) {
  auto has = [&](std::string_view name) { return !environment.GetOr(name, "").empty(); };
  const bool grid_engine =
      has("JOB_ID") && std::ranges::any_of(environment.entries(), IsOfGridEngineJob, NameOf);
  const bool pbs = has("PBS_JOBID");
  const bool job = grid_engine || pbs || has("SLURM_JOB_ID") || has("_CONDOR_JOB_AD");
  std::vector<std::string> kept;
  for (const std::string& entry : environment.entries()) {
    std::string_view name = NameOf(entry);
    bool dropped = IsOfAnyJob(name) || (grid_engine && Contains(kGridEngineJob, name)) ||
                   (pbs && Contains(kPbsJob, name)) || (job && Contains(kDevices, name));
    if (!dropped) kept.push_back(entry);
  }
  return os::Environment(std::move(kept));
}

}  // namespace spate::pool
