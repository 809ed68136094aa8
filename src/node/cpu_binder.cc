// CpuBinder: an order either shares the units of its slot (Slot::units, owned by its orders in
// bound_), or floats (Slot::floating). Each change of what nobody has makes floating attempts
// stale; one timer binds the first of each slot anew. Those behind it have no processes yet: they
// are stale until they are first.
#include "node/cpu_binder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/number.h"

namespace spate::node {

CpuBinder::CpuBinder(Parts parts)
    : parts_(std::move(parts)), units_(parts_.packer.floating().size()) {}

CpuBinder::~CpuBinder() { parts_.loop.Cancel(timer_); }

void CpuBinder::Adopt(Adopted& adopted) {
  for (agent::AttemptAdopted& one : adopted.running) {
    auto given = std::ranges::find(one.given, kUnitsGiven, &NamedOffer::name);
    if (given == one.given.end()) {
      if (!FloatingAreBound()) continue;
      slots_[one.slot].floating.push_back({one.ref});
      floating_[one.ref] = one.slot;
      continue;
    }
    std::vector<int> cpus;
    for (const std::string& word : given->indices) {
      if (auto cpu = ReadNumber<int>(word)) cpus.push_back(*cpu);
    }
    one.given.erase(given);
    cpus = parts_.packer.Occupy(cpus);
    if (!cpus.empty()) bound_[one.ref] = std::make_shared<const std::vector<int>>(std::move(cpus));
  }
  BindFloatingSoon();
}

void CpuBinder::Start(StartOrder order) {
  uint32_t count = agent::UnitsToBind(order.needs.milli_cpus);
  Units units = count > 0 ? UnitsFor(order, count) : nullptr;
  if (units) {
    Bind(order, std::move(units));
  } else if (FloatingAreBound()) {
    Float(order);
  }
  parts_.under.Start(std::move(order));
}

// Null: it floats, as more is promised than there is, or nothing is to be bound.
CpuBinder::Units CpuBinder::UnitsFor(const StartOrder& order, uint32_t count) {
  Slot& slot = slots_[order.slot];
  if (Units units = slot.units.lock()) return units;
  auto grant = parts_.packer.Acquire(count);
  if (!grant || grant->cpus.empty()) return nullptr;
  if (grant->split && parts_.on_split) parts_.on_split(order.ref, count);
  auto units = std::make_shared<const std::vector<int>>(std::move(grant->cpus));
  slot.units = units;
  BindFloatingSoon();
  return units;
}

void CpuBinder::Bind(StartOrder& order, Units units) {
  NamedOffer& given = order.given.emplace_back(NamedOffer{std::string(kUnitsGiven), {}});
  for (int cpu : *units) given.indices.push_back(std::to_string(cpu));
  order.body.environment.push_back(
      fmt::format("{}={}", parts_.variable, fmt::join(given.indices, ",")));
  if (parts_.binds) {
    std::vector<int> cpus = parts_.packer.RunsOn(*units);
    order.body.cpus.assign(cpus.begin(), cpus.end());
  }
  bound_[order.ref] = std::move(units);
}

void CpuBinder::Float(StartOrder& order) {
  const std::vector<int>& cpus = parts_.packer.floating();
  if (cpus.size() < units_) order.body.cpus.assign(cpus.begin(), cpus.end());
  slots_[order.slot].floating.push_back({order.ref, parts_.packer.generation()});
  floating_[order.ref] = order.slot;
}

// It has its old and its new units until the shepherd has bound all its processes to the new ones.
void CpuBinder::Resize(ResizeOrder order) {
  static const std::vector<int> kNone;
  const uint32_t count = agent::UnitsToBind(order.needs.milli_cpus);
  const auto bound = bound_.find(order.ref);
  Units units = bound == bound_.end() ? nullptr : bound->second;
  if (count != (units ? units->size() : 0)) {
    const std::vector<int> before = units ? *units : kNone;
    Move move{.slot = order.slot};
    parts_.packer.Release(before);
    auto grant = count > 0 ? parts_.packer.Acquire(count) : std::nullopt;
    if (grant && !grant->cpus.empty()) {
      move.to = std::make_shared<const std::vector<int>>(std::move(grant->cpus));
    }
    const std::vector<int>& after = move.to ? *move.to : kNone;
    std::ranges::set_difference(before, after, std::back_inserter(move.leaves));
    std::ranges::set_difference(after, before, std::back_inserter(move.enters));
    parts_.packer.Occupy(move.leaves);
    if (parts_.binds && units && !move.to) order.cpus = parts_.packer.floating();
    units = move.to;
    moves_[order.ref] = std::move(move);
    BindFloatingSoon();
  }
  if (units) {
    NamedOffer& given = order.given.emplace_back(NamedOffer{std::string(kUnitsGiven), {}});
    for (int cpu : *units) given.indices.push_back(std::to_string(cpu));
    if (parts_.binds) order.cpus = parts_.packer.RunsOn(*units);
  }
  parts_.under.Resize(std::move(order));
}

void CpuBinder::OnResized(const AttemptRef& ref, const std::string& refused) {
  if (auto move = moves_.extract(ref)) {
    if (refused.empty()) {
      FinishMove(ref, move.mapped());
    } else {
      parts_.packer.Release(move.mapped().enters);
    }
    BindFloatingSoon();
  }
  events_->OnResized(ref, refused);
}

void CpuBinder::FinishMove(const AttemptRef& ref, const Move& move) {
  parts_.packer.Release(move.leaves);
  Slot& slot = slots_[move.slot];
  slot.units = move.to;
  std::erase_if(slot.floating, [&](const Floating& one) { return one.ref == ref; });
  floating_.erase(ref);
  bound_.erase(ref);
  if (move.to) {
    bound_[ref] = move.to;
  } else if (FloatingAreBound()) {
    slot.floating.push_front({ref});
    floating_[ref] = move.slot;
  }
}

void CpuBinder::OnEnded(AttemptEnd end, TaskOutputPtr output) {
  Forget(end.ref);
  events_->OnEnded(std::move(end), std::move(output));
}

void CpuBinder::OnTakenBack(const AttemptRef& ref) {
  Forget(ref);
  events_->OnTakenBack(ref);
}

void CpuBinder::Forget(const AttemptRef& ref) {
  if (auto move = moves_.extract(ref)) parts_.packer.Release(move.mapped().enters);
  if (auto bound = bound_.extract(ref)) {
    if (bound.mapped().use_count() > 1) return;
    parts_.packer.Release(*bound.mapped());
    BindFloatingSoon();
  } else if (auto found = floating_.extract(ref)) {
    Slot& slot = slots_.at(found.mapped());
    std::erase_if(slot.floating, [&](const Floating& one) { return one.ref == ref; });
    if (IsStale(slot)) BindFloatingSoon();  // it was held ahead until now
  }
}

bool CpuBinder::IsStale(const Slot& slot) const {
  return !slot.floating.empty() && slot.floating.front().generation != parts_.packer.generation();
}

void CpuBinder::BindFloatingSoon() {
  if (!FloatingAreBound() || floating_.empty() || timer_ != 0) return;
  timer_ = parts_.loop.At(parts_.loop.Now() + kFloatDelay, [this] {
    timer_ = 0;
    BindFloating();
  });
}

// Goes on behind the slot where it stopped the last time.
void CpuBinder::BindFloating() {
  uint32_t tried = 0;
  bool later = false;
  auto bind = [&](auto first, auto last) {
    for (; first != last; ++first) {
      auto& [number, slot] = *first;
      if (!IsStale(slot)) continue;
      if (tried++ == kFloatsAtOnce) {
        later = true;
        return;
      }
      last_ = number;
      Floating& one = slot.floating.front();
      if (parts_.bind_floating(one.ref, parts_.packer.floating())) {
        one.generation = parts_.packer.generation();
      } else {
        later = true;  // it is about to start, or its end is on its way
      }
    }
  };
  auto middle = slots_.upper_bound(last_);
  bind(middle, slots_.end());
  if (tried <= kFloatsAtOnce) bind(slots_.begin(), middle);
  if (later) BindFloatingSoon();
}

}  // namespace spate::node
