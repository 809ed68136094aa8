// Inbox: news that the master may take. The hub's thread fills it, the master's own empties it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <spate/mw.h>

#include "doors/mw/ledger/ledger.h"
#include "doors/mw/run/waiting_results.h"

namespace spate::mw {

inline namespace v1 {
namespace detail {

// The state of a future. `value` is whole once it is ready; the others stay as they are.
struct slot {
  task_id task;
  std::string algorithm;
  master::impl* owner = nullptr;
  std::weak_ptr<void> owner_lives;
  std::atomic<bool> ready{false};
  WaitingResult value;
};

}  // namespace detail
}  // namespace v1

// Results fill the memory that they have (--mw-result-memory) when the master does not take them.
// Then slaves get no more tasks, until it takes them or asks for what is not there: what it waits
// for may be behind the results that have come.
struct Inbox {
  using Slot = std::shared_ptr<detail::slot>;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<WaitingResult> results;
  std::vector<task> unrunnable;
  std::vector<slave_info> arrived, lost;
  // Futures, until their results are taken from them.
  std::unordered_map<uint64_t, Slot> claimed;
  std::unordered_set<uint64_t> unwanted;  // tasks whose futures were dropped, until they end
  uint64_t result_cost = 0;               // of `results` and of futures that are ready
  bool holds_tasks = false;               // slaves get no more tasks (MasterHub::ResultsTaken)
  bool wants_more = false;                // nothing is held until the master takes something
  uint32_t looks = 0;                     // while tasks are held, and nothing was taken
  size_t slaves = 0;
  size_t runnable = 0;  // tasks that no slave has been given
  std::string failure;  // nothing goes on; why

  // With the mutex held, as all of these. Of `news` all but the results, which are in `results`.
  void Add(std::vector<WaitingResult> all, Ledger::Effects& news);
  // Gives it to its future. False: it has none. One that nobody wants is dropped.
  bool AddToFuture(WaitingResult& each);
  // Gives the future what has come before it. False: nothing has.
  bool FillFromWaiting(const Slot& slot);
  // Puts the result of a future which was not ready where others find it.
  void TakeBack(const Slot& slot);
  // Calls `fn` for each result that was not taken.
  template <typename Fn>
  void EachResult(Fn fn) const {
    for (const WaitingResult& each : results) fn(each);
    for (const auto& [id, future] : claimed) {
      if (future->ready) fn(future->value);
    }
  }

  // True if tasks have to be held from now on, because the results cost `most` or more.
  bool HoldsNow(uint64_t most);
  // The master is given what costs so much. Whether the hub must hear of that (ResultsTaken).
  bool Gives(uint64_t cost);
  // The master looks at what is there, or waits for what is not. Whether the hub must hear of that.
  bool Looks();
  bool WantsMore();
};

// The result that a future gives.
result ResultOf(task what);

}  // namespace spate::mw
