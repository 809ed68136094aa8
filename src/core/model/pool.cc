#include "core/model/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/units.h"
#include "core/model/limits.h"
#include "core/model/name.h"

namespace spate {

Duration PoolPolicy::Life() const {
  Duration life = time_limit.ns > 0 ? time_limit : Duration::Max();
  return lifetime.ns > 0 ? std::min(life, lifetime) : life;
}

Status PoolPolicy::CheckSound() const {
  auto wrong = [&](std::string_view what) {
    return Fail(ErrorKind::kInvalid, fmt::format("pool {}: {}", name, what));
  };
  if (name.empty()) return Fail(ErrorKind::kInvalid, "a pool needs a name");
  if (max_pilots < 1 || max_pilots > kLimits.pilots) {
    return wrong(fmt::format("--max-pilots is from 1 to {}", kLimits.pilots));
  }
  if (min_pilots > max_pilots) return wrong("--min-pilots is above --max-pilots");
  if (backlog < 1) return wrong("--backlog is at least 1, or no pilot could ever queue");
  if (nodes_per_pilot < 1) return wrong("--nodes-per-pilot is at least 1");
  bool negative = false;
  auto see = [&](uint32_t, const auto& value) {
    if constexpr (std::is_same_v<decltype(value), const Duration&>) negative |= value.ns < 0;
  };
  VisitLeaves(*this, see);
  if (negative) return wrong("times are not below zero");
  if (chain && Life() == Duration::Max()) {
    return wrong("--chain needs --time-limit, which determines when a successor is queued");
  }
  for (auto [option, path] :
       {std::pair{"--folder", &settings.folder}, {"--program", &settings.program}}) {
    if (path->empty() || path->starts_with("/")) continue;
    return Fail(ErrorKind::kInvalid, fmt::format("{} {}: the path must be absolute, as the hub "
                                                 "and its nodes run in other folders",
                                                 option, EscapeForScreen(*path)));
  }
  if (!settings.wrapper.empty() && nodes_per_pilot > 1) {
    return Fail(ErrorKind::kInvalid,
                "--wrapper is for pilots of one node; leave out --nodes-per-pilot");
  }
  return settings.group.empty() ? Status() : CheckPoolName(settings.group);
}

}  // namespace spate
