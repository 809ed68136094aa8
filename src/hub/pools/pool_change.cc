#include "hub/pools/pool_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/model/field_bytes.h"
#include "core/model/name.h"
#include "core/model/pool_facts.h"
#include "hub/peer_memory.h"
#include "pool/own_options.h"
#include "pool/pools.h"

namespace spate::hub {
namespace {

// Those that all of its nodes have, for tasks of its pool and of its group.
void AddLabels(PoolPolicy& pool) {
  std::vector<std::string>& labels = pool.shape.labels;
  labels.push_back(std::string(kPoolLabel) + pool.name);
  if (!pool.settings.group.empty()) {
    labels.push_back(std::string(kPoolLabel) + pool.settings.group);
  }
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
}

Status CheckTimeLimit(const PoolPolicy& pool, const PoolChange& change) {
  if (!change.Sets(change.values.time_limit)) return {};
  const auto own = pool::ReadOwnOptions(pool.settings.system, pool.settings.options);
  if (!own.limit || *own.limit == pool.time_limit) return {};
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("--time-limit is {}, but '{}' among the pool's own options is {}, and "
                  "the batch system obeys that one",
                  FormatDuration(pool.time_limit), EscapeForScreen(own.limit_word),
                  FormatDuration(*own.limit)),
      Remedy("\nTo change the limit in them: {}", Advice("pool set", pool.name, "--", "OPTIONS")));
}

}  // namespace

Status Change(PoolPolicy& pool, const PoolChange& change) {
  const PoolPolicy& values = change.values;
  if (change.Sets(values.name) || change.Sets(values.settings.system) ||
      change.Sets(values.settings.account)) {
    return Fail(ErrorKind::kInvalid, "name, system and account of a pool cannot be changed");
  }
  for (const std::string& label : values.shape.labels) {
    (void)TRY(ReadName(label, "label", kAlsoInLabels));
  }
  auto next = TRY(change.AppliedTo(pool));
  AddLabels(next);
  TRY(CheckTimeLimit(next, change));
  (void)TRY(DriverOf(next.settings));
  if (const size_t bytes = BytesOf(next).size(); bytes > kPeerLimits.pool_bytes) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("the settings of the pool take {}, but the limit is {}: put long "
                            "scripts and lists into files",
                            FormatSize(bytes), FormatSize(kPeerLimits.pool_bytes)));
  }
  pool = std::move(next);
  return {};
}

Result<std::unique_ptr<pool::PoolDriver>> DriverOf(const PoolSettings& settings) {
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
