#include "doors/pmc/run/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace spate::pmc {

std::string TextOf(const HostFacts& facts) {
  return fmt::format("{} {} {}", facts.memory_mb, facts.cpus, facts.name);
}

namespace {

HostFacts FactsOf(const std::string& text) {
  HostFacts facts;
  char* end = nullptr;
  facts.memory_mb = std::strtoull(text.c_str(), &end, 10);
  facts.cpus = static_cast<uint32_t>(std::strtoul(end, &end, 10));
  if (*end == ' ') facts.name = end + 1;
  return facts;
}

}  // namespace

int RankOf(const Host& host, size_t slot) {
  const size_t at = slot > 0 ? slot - 1 : 0;
  return host.ranks.at(std::min(at, host.ranks.size() - 1));
}

std::vector<Host> HostsOf(std::span<const std::string> told) {
  std::vector<Host> hosts;
  for (size_t rank = 1; rank < told.size(); ++rank) {
    HostFacts facts = FactsOf(told[rank]);
    auto host = std::ranges::find(hosts, facts.name, [](const Host& h) { return h.facts.name; });
    if (host == hosts.end()) host = hosts.insert(host, Host{std::move(facts), {}});
    host->ranks.push_back(static_cast<int>(rank));
  }
  return hosts;
}

}  // namespace spate::pmc
