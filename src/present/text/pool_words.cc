#include "present/text/pool_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "base/units.h"
#include "present/advice.h"

namespace spate::present {
namespace {

struct GroupNotes {
  size_t place = 0;
  uint32_t pools = 0;
  uint32_t wrong = 0;  // that have something to tell
  std::string first;   // what the first of them tells
};

void AddTo(PoolFacts& sum, const PoolFacts& pool) {
  sum.policy.max_pilots += pool.policy.max_pilots;
  sum.policy.min_pilots += pool.policy.min_pilots;
  sum.queued += pool.queued;
  sum.joined += pool.joined;
  sum.leaving += pool.leaving;
  sum.wanted += pool.wanted;
  sum.nodes += pool.nodes;
  if (pool.state == "on") sum.state = pool.state;
}

}  // namespace

std::string WhyOf(const PoolFacts& pool) {
  if (pool.trouble.empty()) return pool.why;
  if (pool.why.empty()) return pool.trouble;
  return fmt::format("{}; {}", pool.why, pool.trouble);
}

Status CheckPoolOfSubmit(const std::vector<PoolFacts>& pools, std::string_view name,
                         std::string_view reach) {
  std::set<std::string> others;
  bool closes = false;
  for (const PoolFacts& pool : pools) {
    bool named = pool.policy.name == name || (!name.empty() && pool.group == name);
    if (named && pool.state != "closing") return {};
    if (named) closes = true;
    if (pool.state == "closing") continue;
    others.insert(EscapeForScreen(pool.group.empty() ? pool.policy.name : pool.group));
  }
  std::string shown = EscapeForScreen(name);
  std::string text = closes ? fmt::format("--pool: pool '{}' is being removed", shown)
                            : fmt::format("--pool: there is no pool '{}' for your tasks", shown);
  Remedy remedy = SeeAlso("pool list");
  if (others.empty()) {
    remedy = Remedy("; to add one: {}", Advice("pool add", "SYSTEM", "NAME"));
  } else {
    text +=
        fmt::format("; there {} {}", others.size() == 1 ? "is" : "are", fmt::join(others, ", "));
  }
  return std::unexpected(
      Reached({ErrorKind::kNotFound, std::move(text), std::move(remedy)}, reach));
}

std::vector<PoolFacts> ByGroup(const std::vector<PoolFacts>& pools) {
  std::vector<PoolFacts> shown;
  std::map<std::string, GroupNotes> groups;
  for (const PoolFacts& pool : pools) {
    if (pool.group.empty()) {
      shown.push_back(pool);
      continue;
    }
    auto [known, is_new] = groups.try_emplace(pool.group);
    GroupNotes& notes = known->second;
    if (is_new) {
      notes.place = shown.size();
      shown.push_back(pool);
      shown.back().policy.name = pool.group;
    } else {
      AddTo(shown[notes.place], pool);
    }
    ++notes.pools;
    std::string why = WhyOf(pool);
    if (!why.empty() && ++notes.wrong == 1)
      notes.first = fmt::format("{}: {}", pool.policy.name, why);
  }
  for (const auto& [name, notes] : groups) {
    PoolFacts& sum = shown[notes.place];
    sum.trouble.clear();
    sum.why = notes.first;
    if (notes.wrong > 1) {
      sum.why = fmt::format("{} of {}: {}", notes.wrong, notes.pools, notes.first);
    }
  }
  return shown;
}

}  // namespace spate::present
