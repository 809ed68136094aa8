// The part of ProcessExecutor for shepherds that hang or die.
//
// Fate of each attempt when a shepherd dies: every order has a sequence number, and the shepherd
// writes the number of an order into a shared page before it starts it. Orders up to that number
// that have not ended were lost with it (Cause::kNode); later ones never started and are taken
// back. The events come only after the shepherd's orphans, which fall to this process as a
// subreaper, are dead.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "node/process_executor.h"
#include "os/cgroup.h"

namespace spate::node {
namespace {

constexpr Duration kCleanUpPatience = Duration::Seconds(10);
constexpr Duration kCleanUpEvery = Duration::Millis(2);
// Looks at a shepherd that is at work and shows no progress, before it is ended: when its attempt
// is to end, and when others wait behind that one. Looks are counted, not seconds, since this
// process may have been stopped together with the shepherd.
constexpr int kLooksToEnd = 10;
constexpr int kLooksOfOthers = 30;

}  // namespace

void ProcessExecutor::WatchShepherds() {
  if (watch_timer_ != 0) return;
  watch_timer_ = loop_.At(loop_.Now() + options_.look_every, [this, exists = exists_] {
    watch_timer_ = 0;
    std::erase_if(undying_, [](auto& one) { return one.Reaped(0); });
    bool has_orders = false;
    for (auto& slot : slots_) {
      if (!slot || !slot->alive || slot->orders.empty()) continue;
      has_orders = true;
      CheckShepherd(*slot);
      if (!*exists) return;
    }
    if (has_orders) WatchShepherds();
  });
}

void ProcessExecutor::CheckShepherd(Slot& slot) {
  uint64_t beats = slot.shepherd.beats();
  bool at_work = beats % 2 == 1;
  bool still = beats == slot.beats && (at_work || slot.news_at == beats);
  slot.beats = beats;
  slot.still = still ? slot.still + 1 : 0;
  bool is_asked =
      std::ranges::any_of(slot.orders, [](const Order& one) { return one.to_end.has_value(); });
  bool others_wait = slot.orders.size() > 1;
  if (slot.still < (is_asked ? kLooksToEnd : kLooksOfOthers)) return;
  if (is_asked || others_wait) EndHung(slot);
}

void ProcessExecutor::EndHung(Slot& slot) {
  slot.hung = true;
  if (!slot.cgroup.empty()) (void)os::Cgroup(slot.cgroup).KillAll(Duration());
  slot.shepherd.KillTree();
  OnDeath(slot);
}

// Nothing more will come from it, whatever the reason.
void ProcessExecutor::OnDeath(Slot& slot) {
  loop_.Unwatch(slot.shepherd.socket());
  slot.watches_write = false;
  slot.alive = false;
  slot.shepherd.CloseSocket();
  slot.cleaning = true;
  slot.cleaning_since = loop_.Now();
  CleanUp(slot);
}

void ProcessExecutor::CleanUp(Slot& slot) {
  slot.timer = 0;
  // It may have ended by itself and be about to leave; after a moment it is made to.
  bool late = loop_.Now() - slot.cleaning_since > Duration::Millis(100);
  if (late) slot.shepherd.Kill();
  bool done = slot.shepherd.Reaped(0) && shepherd::EndOrphans(LivePids(), foreign_) == 0;
  if (!done && loop_.Now() - slot.cleaning_since < kCleanUpPatience) {
    slot.timer = loop_.At(loop_.Now() + kCleanUpEvery, [this, &slot] { CleanUp(slot); });
    return;
  }
  slot.cleaning = false;
  HandBack(slot);
}

// Orders of a dead shepherd end or come back, and the slot gets a new one.
void ProcessExecutor::HandBack(Slot& slot) {
  uint64_t started = slot.shepherd.started_sequence();
  std::deque<Order> orders = std::exchange(slot.orders, {});
  bool hung = slot.hung;
  bool proven = slot.proven || (!orders.empty() && orders.front().sequence <= started);
  bool made_room = slot.shepherd.made_room();
  if (slot.shepherd.pid() > 0) undying_.push_back(std::move(slot.shepherd));
  slot.shepherd = shepherd::ShepherdProcess();
  if (made_room) {
    Trouble(
        "no process is left for tasks (ulimit -u), so fewer run at once; trying again now and "
        "then");
    slot.launch_delay = kLongestLaunchDelay;
    LaunchLater(slot);
  } else if (proven) {
    Launch(slot);
  } else {
    Trouble(fmt::format("the shepherd of slot {} ended before it had done anything; trying again",
                        slot.number));
    ++born_dead_;
    LaunchLater(slot);
  }
  std::shared_ptr<bool> exists = exists_;
  for (const Order& order : orders) {
    if (!*exists) return;
    if (order.is_part) folders_.RemoveHosts(order.ref);
    EndAsks(order.ref);
    if (order.sequence > started) {
      events_->OnTakenBack(order.ref);
      continue;
    }
    AttemptEnd end;
    end.ref = order.ref;
    end.slot = order.slot;
    end.cause = hung && order.to_end ? *order.to_end : Cause::kNode;
    end.start = loop_.Now();
    end.note = hung ? shepherd::kHungNote : "its shepherd was killed";
    folders_.Remove(order.ref);
    events_->OnEnded(std::move(end), no_output_);
  }
}

}  // namespace spate::node
