#include "pool/grant.h"

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "os/machine.h"

namespace spate::pool {
namespace {

constexpr std::string_view kFileVariables[] = {"PE_HOSTFILE", "PBS_NODEFILE", "_CONDOR_MACHINE_AD",
                                               "_CONDOR_JOB_AD"};
constexpr std::string_view kHandedOn[] = {"SPATE_PILOT", "SPATE_PILOT_SYSTEM",
                                          "SPATE_PILOT_STARTED", "SPATE_PILOT_SECONDS"};
constexpr std::string_view kPart = "SPATE_PILOT_PART", kPartCpus = "SPATE_PILOT_CPUS";
constexpr int64_t kMostSeconds = 9'000'000'000;  // what an Instant holds

}  // namespace

std::vector<std::string> GrantFiles(const os::Environment& environment) {
  std::vector<std::string> paths;
  for (std::string_view name : kFileVariables) {
    std::string path = environment.GetOr(name, "");
    if (!path.empty()) paths.push_back(path);
  }
  return paths;
}

std::optional<int64_t> GrantInput::Number(std::string_view name) const {
  auto number = ReadNumber<int64_t>(environment.GetOr(name, ""));
  return number && *number >= 0 ? number : std::nullopt;
}

std::string_view GrantInput::File(std::string_view variable) const {
  std::string path = environment.GetOr(variable, "");
  auto file = std::ranges::find(files, path, &GrantFile::path);
  return path.empty() || file == files.end() ? std::string_view() : file->text;
}

bool IsPart(const os::Environment& environment) { return environment.Get(kPart).has_value(); }

Grant GrantInput::Begin(std::string_view system, std::string_view id_variable) const {
  Grant grant;
  grant.system = system;
  if (!id_variable.empty()) grant.id = environment.GetOr(id_variable, "");
  grant.tag = environment.GetOr("SPATE_PILOT", "");
  auto started = Number("SPATE_PILOT_STARTED"), seconds = Number("SPATE_PILOT_SECONDS");
  if (started && seconds && *started < kMostSeconds && *seconds < kMostSeconds - *started) {
    grant.ends = Instant{(*started + *seconds) * 1'000'000'000};
  }
  // Device numbers as tasks see them: in a group of devices, they begin at 0 for each batch job.
  if (auto devices = os::FindGpuGrant(environment)) grant.gpus = std::move(devices->gpus);
  if (auto cpus = Number(kPartCpus); cpus && *cpus > 0 && *cpus < 1'000'000) {
    grant.cpus = static_cast<int>(*cpus);
  }
  return grant;
}

std::vector<std::string> GrantInput::PartWords(std::optional<int> cpus) const {
  std::vector<std::string> words = {"env"};
  auto set = [&words](std::string_view name, std::string_view value) {
    words.emplace_back(name).append("=").append(value);
  };
  set(kPart, "1");
  for (std::string_view name : kHandedOn) {
    if (auto value = environment.Get(name)) set(name, *value);
  }
  if (cpus) set(kPartCpus, std::to_string(*cpus));
  return words;
}

}  // namespace spate::pool
