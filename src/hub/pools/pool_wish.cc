#include "hub/pools/pool_wish.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/model/name.h"
#include "hub/peer_memory.h"
#include "pool/own_options.h"
#include "pool/pools.h"
#include "wire/field_bytes.h"

namespace spate::hub {
namespace {

template <typename To, typename From>
void Take(To& to, const std::optional<From>& wish) {
  if (wish) to = *wish;
}

// "Never", too.
void TakeTime(Duration& to, const std::optional<Duration>& wish) {
  if (wish) to = *wish >= kPoolNever ? Duration::Max() : *wish;
}

void DecodePolicy(provision::PoolPolicy& policy, const PoolWish& wish) {
  Take(policy.user, wish.user);
  Take(policy.max_pilots, wish.max_pilots);
  Take(policy.min_pilots, wish.min_pilots);
  Take(policy.backlog, wish.backlog);
  Take(policy.nodes_per_pilot, wish.nodes_per_pilot);
  Take(policy.time_limit, wish.time_limit);
  Take(policy.lifetime, wish.lifetime);
  TakeTime(policy.idle_exit, wish.idle_exit);
  Take(policy.submit_interval, wish.submit_interval);
  Take(policy.chain, wish.chain);
  Take(policy.spread, wish.spread);
  Take(policy.shape.slots, wish.slots);
  Take(policy.shape.milli_cpus, wish.milli_cpus);
  Take(policy.shape.memory, wish.memory);
  Take(policy.shape.named, wish.named);
  TakeTime(policy.watch.init, wish.watch_init);
  TakeTime(policy.watch.error, wish.watch_error);
  TakeTime(policy.watch.suspended_from, wish.watch_suspended_from);
  TakeTime(policy.watch.suspended_until, wish.watch_suspended_until);
  TakeTime(policy.watch.silent, wish.watch_silent);
  TakeTime(policy.watch.never_joined, wish.watch_joining);
  if (wish.labels) policy.shape.labels = *wish.labels;
}

// Those that all of its nodes have, for tasks of its pool and of its group.
void AddLabels(PoolForm& form) {
  std::vector<std::string>& labels = form.policy.shape.labels;
  labels.push_back(std::string(kPoolLabel) + form.policy.name);
  if (!form.settings.group.empty()) {
    labels.push_back(std::string(kPoolLabel) + form.settings.group);
  }
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
}

void TakeSettings(pool::PoolSettings& settings, const PoolWish& wish) {
  Take(settings.group, wish.group);
  Take(settings.options, wish.options);
  Take(settings.submit_command, wish.submit_command);
  Take(settings.query_command, wish.query_command);
  Take(settings.cancel_command, wish.cancel_command);
  Take(settings.select_command, wish.select_command);
  Take(settings.everywhere, wish.everywhere);
  Take(settings.host, wish.host);
  Take(settings.prologue, wish.prologue);
  Take(settings.epilogue, wish.epilogue);
  Take(settings.wrapper, wish.wrapper);
  Take(settings.addresses, wish.addresses);
  Take(settings.folder, wish.folder);
  Take(settings.program, wish.program);
  Take(settings.node_options, wish.node_options);
  Take(settings.shared_files, wish.shared_files);
}

Status CheckPaths(const pool::PoolSettings& settings) {
  for (auto [option, path] :
       {std::pair{"--folder", &settings.folder}, {"--program", &settings.program}}) {
    if (path->empty() || path->starts_with("/")) continue;
    return Fail(ErrorKind::kInvalid, fmt::format("{} {}: the path must be absolute, as the hub "
                                                 "and its nodes run in other folders",
                                                 option, EscapeForScreen(*path)));
  }
  return {};
}

Status CheckTimeLimit(const PoolForm& form, const PoolWish& wish) {
  if (!wish.time_limit) return {};
  const auto own = pool::ReadOwnOptions(form.settings.system, form.settings.options);
  if (!own.limit || *own.limit == *wish.time_limit) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("--time-limit is {}, but '{}' among the pool's own options is {}, and "
                          "the batch system obeys that one",
                          FormatDuration(*wish.time_limit), EscapeForScreen(own.limit_word),
                          FormatDuration(*own.limit)),
              Remedy("\nTo change the limit in them: {}",
                     Advice("pool set", form.policy.name, "--", "OPTIONS")));
}

}  // namespace

Result<PoolForm> FormOf(const provision::PoolPolicy& policy) {
  auto settings = wire::FromBytes<pool::PoolSettings>("pool", policy.driver);
  if (!settings) return std::unexpected(settings.error());
  return PoolForm{policy, std::move(*settings)};
}

Status Change(PoolForm& form, const PoolWish& wish) {
  for (const std::string& label : wish.labels.value_or(std::vector<std::string>())) {
    (void)TRY(ReadName(label, "label", kAlsoInLabels));
  }
  DecodePolicy(form.policy, wish);
  TakeSettings(form.settings, wish);
  AddLabels(form);
  if (auto sound = CheckPaths(form.settings); !sound) return sound;
  if (auto sound = CheckTimeLimit(form, wish); !sound) return sound;
  if (!form.settings.wrapper.empty() && form.policy.nodes_per_pilot > 1) {
    return Fail(ErrorKind::kInvalid,
                "--wrapper is for pilots of one node; leave out --nodes-per-pilot");
  }
  if (!form.settings.group.empty()) {
    if (auto sound = CheckPoolName(form.settings.group); !sound) return sound;
  }
  if (auto driver = DriverOf(form.settings); !driver) return std::unexpected(driver.error());
  form.policy.driver = wire::BytesOf(form.settings);
  if (const size_t bytes = wire::BytesOf(form.policy).size(); bytes > kPeerLimits.pool_bytes) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("the settings of the pool take {}, but the limit is {}: put long "
                            "scripts and lists into files",
                            FormatSize(bytes), FormatSize(kPeerLimits.pool_bytes)));
  }
  return provision::Check(form.policy);
}

Result<std::unique_ptr<pool::PoolDriver>> DriverOf(const pool::PoolSettings& settings) {
  pool::Tools tools;
  tools.submit = settings.submit_command;
  tools.query = settings.query_command;
  tools.cancel = settings.cancel_command;
  tools.select = settings.select_command;
  tools.user = settings.account;
  tools.everywhere = settings.everywhere;
  tools.host = settings.host;
  return pool::MakeDriver(settings.system, std::move(tools));
}

}  // namespace spate::hub
