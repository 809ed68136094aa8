#include "doors/mw/run/inbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace spate::mw {
namespace {

// A master that has seen its results so often and takes none of them waits for others.
constexpr uint32_t kLooksInVain = 10;

}  // namespace

result ResultOf(task what) {
  return {.task = what.id,
          .algorithm = std::move(what.algorithm),
          .tag = std::move(what.how.tag),
          .failure = "it was handed back: " + what.reason};
}

void Inbox::Add(std::vector<WaitingResult> all, Ledger::Effects& news) {
  const bool is_news =
      !all.empty() || !news.unrunnable.empty() || !news.arrived.empty() || !news.lost.empty();
  const bool has_futures = !claimed.empty() || !unwanted.empty();
  for (WaitingResult& each : all) {
    if (has_futures && AddToFuture(each)) continue;
    result_cost += each.cost;
    results.push_back(std::move(each));
  }
  for (task& each : news.unrunnable) {
    const uint64_t id = each.id.value;
    if (has_futures && (claimed.contains(id) || unwanted.contains(id))) {
      WaitingResult handed_back{.what = ResultOf(std::move(each)), .file = {}, .held = {}};
      AddToFuture(handed_back);
    } else {
      unrunnable.push_back(std::move(each));
    }
  }
  std::ranges::move(news.arrived, std::back_inserter(arrived));
  std::ranges::move(news.lost, std::back_inserter(lost));
  if (is_news) changed.notify_all();
}

bool Inbox::AddToFuture(WaitingResult& each) {
  const uint64_t id = each.what.task.value;
  if (unwanted.erase(id) > 0) {
    Discard(std::move(each));
    return true;
  }
  auto at = claimed.find(id);
  if (at == claimed.end()) return false;
  result_cost += each.cost;
  at->second->value = std::move(each);
  at->second->ready = true;
  return true;
}

bool Inbox::FillFromWaiting(const Slot& slot) {
  const task_id id = slot->task;
  auto is_it = [id](const WaitingResult& each) { return each.what.task == id; };
  if (auto at = std::ranges::find_if(results, is_it); at != results.end()) {
    slot->value = std::move(*at);
    results.erase(at);
  } else if (auto back = std::ranges::find(unrunnable, id, &task::id); back != unrunnable.end()) {
    slot->value.what = ResultOf(std::move(*back));
    unrunnable.erase(back);
  } else {
    return false;
  }
  slot->ready = true;
  return true;
}

void Inbox::TakeBack(const Slot& slot) {
  claimed.erase(slot->task.value);
  if (slot->ready) results.push_back(std::move(slot->value));
}

bool Inbox::HoldsNow(uint64_t most) {
  if (holds_tasks || wants_more || result_cost < most) return false;
  looks = 0;
  return holds_tasks = true;
}

bool Inbox::Gives(uint64_t cost) {
  result_cost -= std::min(cost, result_cost);
  looks = 0;
  wants_more = false;
  return holds_tasks;
}

bool Inbox::Looks() { return holds_tasks && ++looks >= kLooksInVain && WantsMore(); }

bool Inbox::WantsMore() { return !std::exchange(wants_more, true) && holds_tasks; }

}  // namespace spate::mw
