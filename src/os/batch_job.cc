#include "os/batch_job.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace spate::os {
namespace {

// Each is set in every job of its system.
constexpr std::string_view kJobMarks[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
                                          "_CONDOR_SCRATCH_DIR"};

// Clients read these with or without a job.
constexpr std::string_view kSlurmSettings[] = {"SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT",
                                               "SLURM_SACK_SOCKET"};
// Variables for settings of pbs.conf, which they override, and of clients.
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

// Numbers of threads, which PBS and HTCondor set to the job's cpus; a user may have set others.
constexpr std::string_view kThreadCounts[] = {"CUBACORES",           "GOMAXPROCS",
                                              "JULIA_NUM_THREADS",   "MKL_NUM_THREADS",
                                              "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS",
                                              "OMP_THREAD_LIMIT",    "OPENBLAS_NUM_THREADS",
                                              "ROOT_MAX_THREADS",    "TF_LOOP_PARALLEL_ITERATIONS",
                                              "TF_NUM_THREADS"};
// Folders for temporary files, which all but Slurm make for each job and name after it.
constexpr std::string_view kTempFolders[] = {"TEMP", "TMP", "TMPDIR"};

bool IsAmong(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool IsOfGridEngineJob(std::string_view name) {
  return name.starts_with("SGE_") && !IsAmong(kGridEngineSettings, name);
}

// By its name alone.
bool IsOfAnyJob(std::string_view name) {
  if (name.starts_with("SLURM_")) return !IsAmong(kSlurmSettings, name);
  if (name.starts_with("PBS_")) return !IsAmong(kPbsSettings, name);
  return name.starts_with("SLURMD_") || name.starts_with("_CONDOR_Assigned") ||
         name.starts_with("_CONDOR_ANCESTOR_") || name.starts_with("SPATE_PILOT") ||
         IsOfGridEngineJob(name) || IsAmong(kCondorJob, name);
}

std::string_view VariableOf(std::string_view entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

bool IsInBatchJob(const Environment& environment) {
  if (std::ranges::any_of(kJobMarks, [&](auto name) { return environment.Get(name).has_value(); }))
    return true;
  // Others use the name as well.
  return environment.Get("JOB_ID") && environment.Get("NSLOTS");
}

std::vector<std::string> BatchVariables(const std::vector<std::string>& entries) {
  const Environment environment(entries);
  auto value_of = [&](const char* name) { return environment.GetOr(name, ""); };
  const std::string pbs = value_of("PBS_JOBID"), condor = value_of("_CONDOR_SCRATCH_DIR");
  const std::string job = value_of("JOB_ID");
  const bool grid_engine =
      !job.empty() && std::ranges::any_of(entries, IsOfGridEngineJob, VariableOf);
  const bool in_job =
      grid_engine || !pbs.empty() || !condor.empty() || !value_of("SLURM_JOB_ID").empty();
  const std::string folder = grid_engine ? "/" + job + "." : pbs.empty() ? condor : pbs;
  const std::string cpus = value_of(pbs.empty() ? "OMP_THREAD_LIMIT" : "NCPUS");
  const bool counts_threads = (!pbs.empty() || !condor.empty()) && !cpus.empty();
  std::vector<std::string> names;
  for (std::string_view entry : entries) {
    const std::string_view name = VariableOf(entry);
    if (IsOfAnyJob(name) || (grid_engine && IsAmong(kGridEngineJob, name)) ||
        (!pbs.empty() && IsAmong(kPbsJob, name)) || (in_job && IsAmong(kDevices, name)) ||
        (counts_threads && IsAmong(kThreadCounts, name) && entry.ends_with("=" + cpus)) ||
        (!folder.empty() && IsAmong(kTempFolders, name) && entry.contains(folder))) {
      names.emplace_back(name);
    }
  }
  std::ranges::stable_partition(
      names, [](const std::string& name) { return name == "JOB_ID" || IsAmong(kJobMarks, name); });
  return names;
}

std::vector<std::string> ForeignVariables(const std::vector<std::string>& entries) {
  return IsInBatchJob(Environment(entries)) ? BatchVariables(entries) : std::vector<std::string>();
}

}  // namespace spate::os
