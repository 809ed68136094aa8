#include "cli/options/pool_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/units.h"
#include "cli/options/shared.h"
#include "core/model/name.h"
#include "pool/own_options.h"

namespace spate::cli {
namespace {

constexpr std::array<std::string_view, 6> kSystems = {"slurm",    "gridengine", "pbs",
                                                      "htcondor", "ssh",        "local"};

// Nodes are started once, and stay.
bool Stays(std::string_view system) { return system == "ssh" || system == "local"; }

Status CheckWish(const PoolChange& wish) {
  const PoolPolicy& values = wish.values;
  if (wish.Sets(values.min_pilots) && wish.Sets(values.max_pilots) &&
      values.min_pilots > values.max_pilots) {
    return Fail(ErrorKind::kInvalid, fmt::format("--min-pilots {} is above --max-pilots {}",
                                                 values.min_pilots, values.max_pilots));
  }
  return {};
}

// The words behind `--`, and the time limit that they set.
Status TakeOwnOptions(const Words& words, std::string_view system, PoolChange& wish) {
  if (!words.has_rest) return {};
  pool::OwnOptions own = pool::ReadOwnOptions(system, words.rest);
  Duration& limit = wish.values.time_limit;
  if (own.limit && wish.Sets(limit) && *own.limit != limit) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--time-limit is {}, but '{}' after -- is {}; write only one of them",
                            FormatDuration(limit), EscapeForScreen(own.limit_word),
                            FormatDuration(*own.limit)));
  }
  if (own.limit) wish.Set(limit, *own.limit);
  wish.Set(wish.values.settings.options, std::move(own.words));
  return {};
}

Status TakeHosts(const Words& words, NewPool& pool) {
  auto typed = words.Last(opt::kHosts);
  if (pool.system != "ssh") {
    if (!typed) return {};
    return Fail(ErrorKind::kInvalid,
                fmt::format("--hosts is only for ssh pools; {} has its own hosts", pool.system));
  }
  if (!typed) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("the hosts are missing; write for example: spate pool add ssh {} "
                            "--hosts pc1,pc2:4, or name a file",
                            pool.name));
  }
  if (pool.name.size() > kGroupNameBytes) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("'{}' is too long; names of ssh pools begin with it, so write up to {} bytes",
                    pool.name, kGroupNameBytes));
  }
  auto hosts = ReadHosts(std::string(*typed));
  if (!hosts) return Within("--hosts", hosts.error());
  pool.hosts = std::move(*hosts);
  return {};
}

// A pool whose nodes stay has one pilot from the beginning.
void SetDefaults(NewPool& pool) {
  if (!Stays(pool.system)) return;
  PoolChange& wish = pool.wish;
  PoolPolicy& values = wish.values;
  if (!wish.Sets(values.max_pilots)) wish.Set(values.max_pilots, std::max(1u, values.min_pilots));
  if (!wish.Sets(values.min_pilots)) wish.Set(values.min_pilots, 1);
  if (!wish.Sets(values.idle_exit)) wish.Set(values.idle_exit, Duration::Max());
}

}  // namespace

std::optional<std::string> OwnOptionHint(std::string_view typed) {
  // One letter: none of ours is one here. The others: of Slurm, Grid Engine, PBS and ssh.
  constexpr std::string_view kLong[] = {
      "--partition",     "--account",     "--qos",       "--time",     "--constraint",
      "--gres",          "--ntasks",      "--nodes",     "--export",   "--mail-type",
      "--cpus-per-task", "--mem-per-cpu", "--exclusive", "--nodelist", "--reservation"};
  const bool is_letter = typed.size() == 2 && typed[0] == '-' && typed[1] != '-' &&
                         std::string_view("pAtnNcCqlPwxMGmdLsr").contains(typed[1]);
  if (!is_letter && std::ranges::find(kLong, typed) == std::end(kLong)) return std::nullopt;
  return "an option of the batch system; write those at the end, after --: spate pool add slurm "
         "NAME -- -p short -t 1h";
}

bool HasOwnOptions(const Words& words) { return words.has_rest && !words.rest.empty(); }

Result<NewPool> MakeNewPool(const Words& words) {
  NewPool pool{.system = words.words.at(0), .name = words.words.at(1)};
  if (std::ranges::find(kSystems, pool.system) == kSystems.end()) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a batch system that spate supports; write one of {}, "
                            "followed by the pool's name",
                            EscapeForScreen(pool.system), fmt::join(kSystems, ", ")));
  }
  TRY(CheckPoolName(pool.name));
  pool.wish = TRY(ReadPoolChange(words));
  SetDefaults(pool);
  TRY(CheckWish(pool.wish));
  TRY(TakeOwnOptions(words, pool.system, pool.wish));
  TRY(TakeHosts(words, pool));
  pool.test = !words.Has(opt::kNoTest);
  pool.dry_run = words.Has(opt::kPoolDryRun);
  return pool;
}

Result<PoolChange> MakePoolChange(const Words& words, std::string_view system) {
  constexpr const Option* kOthers[] = {&opt::kOutput, &opt::kAccess, &opt::kState};
  bool changes = words.has_rest || std::ranges::any_of(words.options, [&](const TypedOption& o) {
                   return std::ranges::find(kOthers, o.opt) == std::end(kOthers);
                 });
  if (!changes) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("nothing to change; write for example: spate pool set {} --max-pilots 20",
                    EscapeForScreen(words.words.front())));
  }
  auto wish = TRY(ReadPoolChange(words));
  TRY(CheckWish(wish));
  TRY(TakeOwnOptions(words, system, wish));
  return wish;
}

}  // namespace spate::cli
