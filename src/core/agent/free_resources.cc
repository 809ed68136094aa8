#include "core/agent/free_resources.h"

#include <algorithm>

#include "base/check.h"

namespace spate::agent {

FreeResources::FreeResources(const Offer& offer)
    : offer_(offer), milli_cpus_(offer.milli_cpus), memory_(static_cast<int64_t>(offer.memory)) {
  for (const NamedOffer& named : offer_.named) {
    for (size_t i = 0; i < named.indices.size(); ++i) free_[named.name].insert(i);
  }
}

bool FreeResources::CanTake(const Needs& needs) const {
  if (needs.milli_cpus > milli_cpus_) return false;
  if (offer_.memory > 0 && static_cast<int64_t>(needs.memory) > memory_) return false;
  return std::all_of(needs.named.begin(), needs.named.end(), [&](const NamedNeed& need) {
    auto it = free_.find(need.name);
    return it != free_.end() && it->second.size() >= need.count;
  });
}

std::optional<Reason> FreeResources::WhatLacks(const Needs& needs) const {
  auto lacks = [](int64_t needed, int64_t free, std::string what) {
    return Reason{ReasonKind::kNodeLacks, {needed, std::max<int64_t>(free, 0)}, {}, {what}};
  };
  if (needs.milli_cpus > milli_cpus_) return lacks(needs.milli_cpus, milli_cpus_, "cpus");
  const auto memory = static_cast<int64_t>(needs.memory);
  if (offer_.memory > 0 && memory > memory_) return lacks(memory, memory_, "memory");
  for (const NamedNeed& need : needs.named) {
    auto it = free_.find(need.name);
    const size_t free = it == free_.end() ? 0 : it->second.size();
    if (free < need.count) return lacks(need.count, static_cast<int64_t>(free), need.name);
  }
  return std::nullopt;
}

namespace {

// The rest is enough for the first, or is no less than before.
bool Leaves(int64_t free, int64_t needed, int64_t first) {
  return needed == 0 || first == 0 || free - needed >= first;
}

uint32_t CountOf(const Needs& needs, const std::string& name) {
  auto need = std::ranges::find(needs.named, name, &NamedNeed::name);
  return need == needs.named.end() ? 0 : need->count;
}

}  // namespace

bool FreeResources::CanTakeBefore(const Needs& needs, const Needs& first) const {
  if (!CanTake(needs) || !Leaves(milli_cpus_, needs.milli_cpus, first.milli_cpus)) return false;
  bool memory = offer_.memory == 0 || Leaves(memory_, static_cast<int64_t>(needs.memory),
                                             static_cast<int64_t>(first.memory));
  return memory && std::ranges::all_of(needs.named, [&](const NamedNeed& need) {
           auto free = static_cast<int64_t>(free_.at(need.name).size());
           return Leaves(free, need.count, CountOf(first, need.name));
         });
}

std::optional<std::vector<NamedOffer>> FreeResources::Acquire(const Needs& needs) {
  if (!CanTake(needs)) return std::nullopt;
  milli_cpus_ -= needs.milli_cpus;
  if (offer_.memory > 0) memory_ -= static_cast<int64_t>(needs.memory);
  std::vector<NamedOffer> given;
  for (const NamedNeed& need : needs.named) {
    const NamedOffer& offered =
        *std::find_if(offer_.named.begin(), offer_.named.end(),
                      [&](const NamedOffer& named) { return named.name == need.name; });
    NamedOffer& mine = given.emplace_back(NamedOffer{need.name, {}});
    std::set<size_t>& free = free_[need.name];
    for (uint32_t k = 0; k < need.count; ++k) {
      mine.indices.push_back(offered.indices[*free.begin()]);
      free.erase(free.begin());
    }
  }
  return given;
}

void FreeResources::Occupy(const Needs& needs, const std::vector<NamedOffer>& given) {
  milli_cpus_ -= needs.milli_cpus;
  if (offer_.memory > 0) memory_ -= static_cast<int64_t>(needs.memory);
  for (const NamedOffer& mine : given) {
    for (const std::string& label : mine.indices) {
      MovePiece(mine.name, label, [](auto& free, size_t i) { return free.erase(i) > 0; });
    }
  }
}

void FreeResources::PutBack(const Needs& needs, const std::vector<NamedOffer>& given) {
  milli_cpus_ += needs.milli_cpus;
  if (offer_.memory > 0) memory_ += static_cast<int64_t>(needs.memory);
  for (const NamedOffer& mine : given) {
    for (const std::string& label : mine.indices) {
      MovePiece(mine.name, label, [](auto& free, size_t i) { return free.insert(i).second; });
    }
  }
}

std::optional<Reason> FreeResources::Change(const Needs& from, const Needs& to) {
  const Needs cpus{.milli_cpus = to.milli_cpus - std::min(to.milli_cpus, from.milli_cpus)};
  const uint64_t memory = to.memory - std::min(to.memory, from.memory);
  if (cpus.milli_cpus > 0 && cpus.milli_cpus > milli_cpus_) return WhatLacks(cpus);
  if (memory > 0 && offer_.memory > 0 && static_cast<int64_t>(memory) > memory_) {
    return Reason{ReasonKind::kNodeLacks,
                  {static_cast<int64_t>(memory), std::max<int64_t>(memory_, 0)},
                  {},
                  {"memory"}};
  }
  milli_cpus_ += int64_t{from.milli_cpus} - int64_t{to.milli_cpus};
  if (offer_.memory > 0) {
    memory_ += static_cast<int64_t>(from.memory) - static_cast<int64_t>(to.memory);
  }
  return std::nullopt;
}

// Labels may repeat (the same card offered twice): the first position for which `move` is true.
template <typename Fn>
void FreeResources::MovePiece(const std::string& name, const std::string& label, Fn move) {
  for (const NamedOffer& offered : offer_.named) {
    if (offered.name != name) continue;
    for (size_t i = 0; i < offered.indices.size(); ++i) {
      if (offered.indices[i] == label && move(free_[name], i)) return;
    }
  }
}

bool FreeResources::Whole() const {
  if (milli_cpus_ != offer_.milli_cpus || memory_ != static_cast<int64_t>(offer_.memory))
    return false;
  return std::all_of(offer_.named.begin(), offer_.named.end(), [&](const NamedOffer& named) {
    return free_.at(named.name).size() == named.indices.size();
  });
}

bool FreeResources::Sound() const {
  return milli_cpus_ <= offer_.milli_cpus && memory_ <= static_cast<int64_t>(offer_.memory);
}

}  // namespace spate::agent
