#include "pool/pools.h"

#include <algorithm>
#include <array>

#include "base/near.h"
#include "base/units.h"
#include "pool/gridengine/grant.h"
#include "pool/gridengine/gridengine.h"
#include "pool/htcondor/grant.h"
#include "pool/htcondor/htcondor.h"
#include "pool/local/local.h"
#include "pool/pbs/grant.h"
#include "pool/pbs/pbs.h"
#include "pool/process.h"
#include "pool/slurm/grant.h"
#include "pool/slurm/slurm.h"
#include "pool/ssh/ssh.h"

namespace spate::pool {
namespace {

struct System {
  std::string_view name;
  std::unique_ptr<PoolDriver> (*make)(Tools);
  Grant (*grant)(const GrantInput&);
  std::string_view variables[2];  // that a batch job of it has; empty: our script tells, or none
};

Grant GrantOfSsh(const GrantInput& input) { return GrantOfProcess("ssh", input); }
Grant GrantOfLocal(const GrantInput& input) { return GrantOfProcess("local", input); }

// In the order in which they are looked for, where no pool's script says which it is.
constexpr System kSystems[] = {
    {"slurm", MakeSlurm, GrantOfSlurm, {"SLURM_JOB_ID", "SLURM_JOB_ID"}},
    {"pbs", MakePbs, GrantOfPbs, {"PBS_JOBID", "PBS_ENVIRONMENT"}},
    {"htcondor", MakeHtCondor, GrantOfHtCondor, {"_CONDOR_JOB_AD", "_CONDOR_MACHINE_AD"}},
    {"gridengine", MakeGridEngine, GrantOfGridEngine, {"JOB_ID", "SGE_TASK_ID"}},
    {"ssh", MakeSsh, GrantOfSsh, {}},
    {"local", MakeLocal, GrantOfLocal, {}},
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kSystems)> names;
  std::ranges::transform(kSystems, names.begin(), &System::name);
  return names;
}();

const System* SystemOf(const os::Environment& environment) {
  auto name = environment.Get("SPATE_PILOT_SYSTEM");
  const auto* end = std::end(kSystems);
  const auto* system =
      name ? std::ranges::find(kSystems, std::string_view(*name), &System::name) : end;
  if (system == end) {
    system = std::ranges::find_if(kSystems, [&](const System& s) {
      return std::ranges::all_of(
          s.variables, [&](std::string_view v) { return environment.Get(v).has_value(); });
    });
  }
  return system == end ? nullptr : system;
}

}  // namespace

std::span<const std::string_view> DriverNames() { return kNames; }

Result<std::unique_ptr<PoolDriver>> MakeDriver(std::string_view name, Tools tools) {
  const auto* system = std::ranges::find(kSystems, name, &System::name);
  if (system != std::end(kSystems)) return system->make(std::move(tools));
  std::string names;
  for (std::string_view known : kNames) names.append(names.empty() ? "" : ", ").append(known);
  return Fail(ErrorKind::kNotFound, "no batch system " + EscapeForScreen(name) + " is known (" +
                                        names + ")" + DidYouMean(name, kNames));
}

std::optional<Grant> GrantOf(const os::Environment& environment, std::span<const GrantFile> files) {
  const System* system = SystemOf(environment);
  if (system == nullptr) return std::nullopt;
  return system->grant({environment, files});
}

}  // namespace spate::pool
