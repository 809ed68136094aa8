#include "core/provision/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/number.h"
#include "core/provision/record.h"

namespace spate::provision {

Offer OfferOf(const NodeShape& shape, std::string_view pool_name) {
  Offer offer;
  offer.node_name = fmt::format("a node of pool {}", pool_name);
  offer.slots = shape.slots > 0 ? shape.slots : std::max(1u, shape.milli_cpus / kMilliCpu);
  offer.milli_cpus = shape.milli_cpus;
  offer.memory = shape.memory;
  for (const NamedNeed& named : shape.named) {
    offer.named.push_back({named.name, std::vector<std::string>(named.count)});
  }
  offer.labels = shape.labels;
  offer.features = shape.features;
  return offer;
}

bool Serves(const PoolPolicy& policy, std::string_view user) {
  return policy.user.empty() || policy.user == "*" || policy.user == user;
}

Duration LongestTask(const PoolPolicy& policy) {
  // Part of a pilot's life that no task gets: its node starts, the batch system may be early.
  constexpr Duration kStartMargin = Duration::Seconds(10);
  Duration life = policy.Life();
  return life == Duration::Max() ? life : life - kStartMargin;
}

std::string TagOf(std::string_view hub, std::string_view pool, PilotId pilot) {
  return fmt::format("{}{}", TagPrefix(hub, pool), pilot.value);
}

std::string TagPrefix(std::string_view hub, std::string_view pool) {
  constexpr size_t kPoolMost = 36;  // of 60, with the longest number
  std::string name(pool.substr(0, kPoolMost));
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain) c = '_';
  }
  return fmt::format("spate-{}-{}-", name, hub.substr(0, 6));
}

std::optional<PilotId> PilotOfTag(std::string_view hub, std::string_view tag) {
  const size_t dash = tag.rfind('-');
  if (dash == std::string_view::npos || !tag.starts_with("spate-")) return std::nullopt;
  if (!tag.substr(0, dash).ends_with(fmt::format("-{}", hub.substr(0, 6)))) return std::nullopt;
  const std::string_view digits = tag.substr(dash + 1);
  if (digits.empty() || digits.size() > 10 || digits.front() == '0') return std::nullopt;
  uint64_t value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  if (value > UINT32_MAX) return std::nullopt;
  return PilotId(static_cast<uint32_t>(value));
}

std::optional<PilotId> PilotNumberIn(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || std::isalpha(static_cast<unsigned char>(name[0])) == 0) {
    return std::nullopt;
  }
  const std::string_view rest = name.substr(dot + 1);
  auto number = ReadNumber<uint32_t>(rest.substr(0, rest.find('.')));
  return number ? std::optional(PilotId(*number)) : std::nullopt;
}

}  // namespace spate::provision
