#include "core/engine/place/place.h"

#include <algorithm>
#include <functional>
#include <string>

namespace spate::engine::place {

uint64_t& Amounts::Edit(size_t kind) {
  if (kind < kNamed) return common_[kind];
  if (kind - kNamed >= named_.size()) named_.resize(kind - kNamed + 1);
  return named_[kind - kNamed];
}

void Amounts::Add(const Amounts& other, uint64_t times, uint64_t divisor) {
  for (size_t k = 0; k < kNamed + other.named_.size(); ++k)
    Edit(k) += other.At(k) * times / divisor;
}

void Amounts::Subtract(const Amounts& other, uint64_t times, uint64_t divisor) {
  for (size_t k = 0; k < kNamed + other.named_.size(); ++k)
    Edit(k) -= other.At(k) * times / divisor;
}

void Amounts::Raise(const Amounts& other) {
  for (size_t k = 0; k < kNamed + other.named_.size(); ++k) {
    if (uint64_t more = other.At(k); more > At(k)) Edit(k) = more;
  }
}

namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

}  // namespace

uint64_t KindOf(const Needs& needs) {
  std::hash<std::string> text;
  uint64_t hash = Mix(needs.milli_cpus, needs.memory);
  for (const NamedNeed& named : needs.named) hash = Mix(hash, text(named.name) + named.count);
  hash = Mix(hash, static_cast<uint64_t>(needs.time.ns));
  for (const std::string& label : needs.labels) hash = Mix(hash, text(label));
  hash = Mix(hash, text(needs.on_node));
  for (const std::string& node : needs.not_on) hash = Mix(hash, text(node) + 1);
  return hash;
}

void AddTasks(Amounts& to, const Offer& offer, const Needs& needs, uint64_t tasks) {
  ForEachNeed(offer, needs,
              [&](size_t kind, uint64_t, uint64_t needed) { to.Add(kind, needed * tasks); });
}

void SubtractTasks(Amounts& from, const Offer& offer, const Needs& needs, uint64_t tasks) {
  ForEachNeed(offer, needs,
              [&](size_t kind, uint64_t, uint64_t needed) { from.Subtract(kind, needed * tasks); });
}

bool Starts(const Offer& offer, const Amounts& held, const Needs& needs) {
  bool starts = true;
  ForEachNeed(offer, needs, [&](size_t kind, uint64_t offered, uint64_t needed) {
    starts = starts && held.At(kind) + needed <= offered;
  });
  return starts;
}

namespace {

template <typename Fn>
void ForEachOffered(const Offer& offer, Fn fn) {
  fn(Amounts::kSlots, offer.slots);
  fn(Amounts::kCpus, offer.milli_cpus);
  if (offer.memory > 0) fn(Amounts::kMemory, offer.memory);
  for (size_t i = 0; i < offer.named.size(); ++i) {
    fn(Amounts::kNamed + i, offer.named[i].indices.size());
  }
}

}  // namespace

Amounts AllOf(const Offer& offer) {
  Amounts all;
  ForEachOffered(offer, [&](size_t kind, uint64_t offered) { all.Add(kind, offered); });
  return all;
}

Amounts AmountsOfPart(const Offer& offer, const TaskClass& of_gang, uint32_t procs) {
  if (of_gang.gang.whole) return AllOf(offer);
  Amounts amounts;
  ForEachNeed(offer, of_gang.needs, [&](size_t kind, uint64_t, uint64_t needed) {
    amounts.Add(kind, kind == Amounts::kSlots ? needed : needed * procs);
  });
  return amounts;
}

uint32_t ProcsThatFit(const Offer& offer, const Amounts& held, const TaskClass& of_gang) {
  if (of_gang.gang.whole && held.At(Amounts::kSlots) > 0) return 0;
  uint64_t procs = of_gang.gang.procs;
  ForEachNeed(offer, of_gang.needs, [&](size_t kind, uint64_t offered, uint64_t needed) {
    const uint64_t left = offered > held.At(kind) ? offered - held.At(kind) : 0;
    if (kind == Amounts::kSlots) {
      procs = left == 0 ? 0 : procs;
    } else if (needed > 0) {
      procs = std::min(procs, left / needed);
    }
  });
  return static_cast<uint32_t>(procs);
}

bool Crowded(const Offer& offer, const Amounts& held) {
  bool crowded = false;
  ForEachOffered(
      offer, [&](size_t kind, uint64_t offered) { crowded = crowded || held.At(kind) > offered; });
  return crowded;
}

uint64_t Used(const Offer& offer, const Amounts& held) {
  double used = 0;
  ForEachOffered(offer, [&](size_t kind, uint64_t offered) {
    if (offered == 0) return;
    used = std::max(used, static_cast<double>(held.At(kind)) / static_cast<double>(offered));
  });
  return static_cast<uint64_t>(used * kWhole);
}

namespace {

// Tasks that may wait on the node beside those that run.
uint32_t Ahead(const NodeView& view, uint32_t lease_tasks, Duration lease_ahead) {
  uint32_t least = view.contended ? 0 : std::min(view.fit, lease_tasks);
  if (view.task_wall.ns <= 0) return least;
  // A task shorter than 100 us does not exist; the floor keeps a bad measurement harmless.
  int64_t wall = std::max<int64_t>(view.task_wall.ns, 100'000);
  auto ahead = static_cast<uint64_t>(lease_ahead.ns / wall) * view.fit;
  // With late ends a slot would idle, unless the next task is there: as many wait as end in that
  // time, rounded up. Tasks so long that it makes no difference do not wait.
  constexpr int64_t kNoDifference = 20;
  const Duration late = view.ends_late_by;
  if (late.ns > 0 && wall < late.ns * kNoDifference) {
    const int64_t end = (lease_ahead + late).ns * view.fit;
    ahead = static_cast<uint64_t>((end + wall - 1) / wall);
    lease_tasks *= static_cast<uint32_t>(1 + late.ns / std::max<int64_t>(lease_ahead.ns, 1));
  }
  return static_cast<uint32_t>(std::clamp<uint64_t>(ahead, least, std::max(least, lease_tasks)));
}

uint64_t Less(uint64_t from, uint64_t what) { return from > what ? from - what : 0; }

// `amount` in proportion, for `target` running tasks where `fit` run at once.
uint64_t Stretched(uint64_t amount, uint64_t target, uint64_t fit) {
  return amount / fit * target + amount % fit * target / fit;
}

}  // namespace

uint32_t RoomFor(const NodeView& view, uint32_t lease_tasks, Duration lease_ahead) {
  if (view.fit == 0) return 0;
  uint32_t ahead = Ahead(view, lease_tasks, lease_ahead);
  uint64_t target = uint64_t{view.fit} + ahead;
  uint64_t refill_at = view.served ? 1 : std::max<uint64_t>((ahead + 1) / 2, 1);
  uint64_t room = target;
  ForEachNeed(*view.offer, *view.needs, [&](size_t kind, uint64_t offered, uint64_t needed) {
    if (needed == 0 || room < refill_at) return;
    uint64_t own = view.own == nullptr ? 0 : view.own->At(kind);
    uint64_t exactly = view.exactly->At(kind);
    uint64_t part = view.about->At(kind);
    if (view.own_counted && view.own_ahead == 0) exactly -= own;
    if (view.own_counted && view.own_ahead > 0) part -= own * kParts / (1 + view.own_ahead);
    if (view.reserved != nullptr) exactly += view.reserved->At(kind);
    uint64_t left = Less(offered, exactly);
    // Ahead of what runs wait whole tasks: the rest of a node is for smaller ones.
    uint64_t fits = left / needed;
    uint64_t waits = fits == view.fit ? needed * ahead : Stretched(fits * needed, ahead, view.fit);
    room = std::min(room, Less(left + waits, own) / needed);
    if (part == 0) return;
    uint64_t about = Stretched(Less(left * kParts, part), target, view.fit) + needed * kParts / 2;
    room = std::min(room, Less(about, own * kParts) / (needed * kParts));
  });
  return room >= refill_at ? static_cast<uint32_t>(room) : 0;
}

}  // namespace spate::engine::place
