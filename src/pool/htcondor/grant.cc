// The machine ad is of the slot that the job has: Cpus, and Memory in MB. The job ad has the time
// that the job may run (AllowedJobDuration). Each line of an ad is "NAME = VALUE".
#include "pool/htcondor/grant.h"

#include "base/number.h"
#include "pool/parts.h"

namespace spate::pool {
namespace {

std::optional<int64_t> Attribute(std::string_view ad, std::string_view name) {
  for (std::string_view line : WholeLines(ad)) {
    std::string_view field = Trimmed(NextField(line, '='));
    if (field == name) return ReadNumber<int64_t>(Trimmed(line));
  }
  return std::nullopt;
}

}  // namespace

Grant GrantOfHtCondor(const GrantInput& input) {
  Grant grant = input.Begin("htcondor", "");
  std::string_view machine = input.File("_CONDOR_MACHINE_AD"), job = input.File("_CONDOR_JOB_AD");
  auto cluster = Attribute(job, "ClusterId"), process = Attribute(job, "ProcId");
  if (cluster && process) grant.id = std::to_string(*cluster) + "." + std::to_string(*process);
  constexpr int64_t kMost = 4'000'000'000;
  auto started = input.Number("SPATE_PILOT_STARTED"),
       may_run = Attribute(job, "AllowedJobDuration");
  if (started && may_run && *started < kMost && *may_run > 0 && *may_run < kMost) {
    grant.ends = Instant{(*started + *may_run) * 1'000'000'000};
  }
  if (auto cpus = Attribute(machine, "Cpus"); cpus && *cpus > 0 && *cpus < 1'000'000) {
    grant.cpus = static_cast<int>(*cpus);
  }
  if (auto mb = Attribute(machine, "Memory"); mb && *mb > 0 && *mb < (int64_t{1} << 32)) {
    grant.memory = static_cast<uint64_t>(*mb) << 20;
  }
  if (!grant.gpus) {
    std::string devices = input.environment.GetOr("_CONDOR_AssignedGPUs", "");
    std::string_view rest = devices;
    if (!devices.empty()) grant.gpus.emplace();
    while (!rest.empty()) {
      // "CUDA0" is the name of HTCondor for what CUDA calls 0.
      std::string_view device = Trimmed(NextField(rest, ','));
      bool numbered = device.starts_with("CUDA") && IsDigits(device.substr(4));
      grant.gpus->emplace_back(numbered ? device.substr(4) : device);
    }
  }
  return grant;
}

}  // namespace spate::pool
