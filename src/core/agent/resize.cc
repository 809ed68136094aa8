// Requests of attempts that change while they run. What grows takes its room before the executor is
// told, and what shrinks leaves it after the executor has confirmed: so nothing is oversold.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/agent/state.h"

namespace spate::agent {
namespace {

std::string InWords(const Reason& lacks) {
  const std::string& what = lacks.names.front();
  auto amount = [&](int64_t number) {
    return what == "memory" ? FormatSize(static_cast<uint64_t>(number))
                            : fmt::format("{:g}", static_cast<double>(number) / kMilliCpu);
  };
  const bool memory = what == "memory";
  return fmt::format("it would need {} more {}, and {} {} free", amount(lacks.numbers[0]), what,
                     amount(lacks.numbers[1]),
                     !memory && lacks.numbers[1] != kMilliCpu ? "are" : "is");
}

}  // namespace

void Agent::State::On(ResizeArrived& event) {
  auto meant = [&](const AttemptRef& ref) { return ref == event.ref; };
  ReturnWaiting(meant, /*but_parts=*/true);
  WithdrawAhead(meant);
  auto place = Find(event.ref);
  if (!place) return;
  Given& given = slots_[place->first - 1].given[place->second];
  if (given.is_part || given.resizing) return;
  given.resize = std::move(event);
}

// Tasks that the slot holds ahead would start with the other request, so they leave it first.
void Agent::State::CheckResize(Slot& slot) {
  Given& given = slot.given.front();
  if (!given.resize || given.resizing || given.ending || given.taking_back) return;
  if (slot.given.size() > 1) {
    return WithdrawAhead([&](const AttemptRef& ref) {
      return ref != given.ref &&
             std::ranges::find(slot.given, ref, &Given::ref) != slot.given.end();
    });
  }
  const Needs wanted = Resized(slot.needs, given.resize->to, /*running=*/true);
  Needs both = Larger(slot.needs, wanted);
  if (auto lacks = free_.Change(slot.needs, both)) {
    out_->orders.push_back(ReportResized{given.ref, given.resize->since, InWords(*lacks)});
    given.resize.reset();
    return;
  }
  given.resizing = std::exchange(slot.needs, std::move(both));
  const auto& limit = given.resize->to.time_limit;
  const auto number = static_cast<uint16_t>(&slot - slots_.data() + 1);
  out_->orders.push_back(
      ResizeAttempt{given.ref, number, wanted, slot.resources, limit ? limit : given.time_limit});
}

void Agent::State::On(AttemptResized& event) {
  auto place = Find(event.ref);
  if (!place) return;
  Slot& slot = slots_[place->first - 1];
  Given& given = slot.given[place->second];
  if (!given.resizing) return;
  const ResizeArrived resize = *std::exchange(given.resize, std::nullopt);
  const Needs before = *std::exchange(given.resizing, std::nullopt);
  const bool is_done = event.refused.empty();
  Needs now = is_done ? Resized(before, resize.to, /*running=*/true) : before;
  (void)free_.Change(slot.needs, now);  // less, or the same
  slot.needs = std::move(now);
  if (is_done && resize.to.time_limit) {
    given.time_limit = resize.to.time_limit;
    given.told_start = true;  // as far as is known; nobody has asked for it
  }
  out_->orders.push_back(ReportResized{given.ref, resize.since, std::move(event.refused)});
}

}  // namespace spate::agent
