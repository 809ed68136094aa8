// master::impl: what a master has: its hub, the news that came from it, and what it counts.
//
// Thread: the master's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <spate/mw.h>

#include "base/result.h"
#include "doors/mw/formats/options.h"
#include "doors/mw/run/inbox.h"
#include "doors/mw/run/master_hub.h"

namespace spate::mw {
inline namespace v1 {

class master::impl {
 public:
  static Result<std::unique_ptr<impl>> Open(const Options& options);

  // `claim`: its result is for a future.
  task_id Submit(std::string_view algorithm, const policy& how, std::string arguments,
                 detail::constant_list named, bool claim = false);
  void Send();
  events Wait(std::chrono::nanoseconds most);
  template <typename T>
  std::vector<T> Drain(std::vector<T> Inbox::* what);
  std::vector<result> TakeResults();
  // Nullopt: all. How many it has cancelled.
  size_t Cancel(const std::optional<std::vector<task_id>>& tasks);
  // A task that was submitted, or is submitted next, gets a future.
  Inbox::Slot Claim(task_id id, std::string_view algorithm);
  Inbox::Slot Attach(task_id id, std::string_view algorithm);
  // Until `over`, for at most so long.
  void Block(std::unique_lock<std::mutex>& lock, const std::function<bool()>& over,
             std::chrono::nanoseconds most);
  bool Await(const std::function<bool()>& ready, std::chrono::nanoseconds most);
  bool IsReady(const Inbox::Slot& slot);
  result TakeFrom(const Inbox::Slot& slot);
  void Drop(const Inbox::Slot& slot);
  // The program has been given it.
  void Took(task_id id, std::string_view algorithm);
  // It is pending no more.
  void Uncount(std::string_view algorithm);
  void CheckFailure(const std::unique_lock<std::mutex>& lock) const;

  // Throws `error`: not all of them are of this master, or they are too many.
  void CheckNamed(detail::constant_list& named) const;

  const std::shared_ptr<MasterConstants> constants = MasterConstants::Make();
  Inbox inbox;
  std::unique_ptr<MasterHub> hub;
  std::optional<mw::restored> left;
  std::map<std::string, size_t, std::less<>> targets, pending;  // by algorithm; "": of all
  uint64_t last_task = 0;
  task_id kept_up_to;          // the last checkpoint knows no later ones
  std::vector<task_id> taken;  // of these, since then
  std::vector<task> unsent;
  size_t unsent_bytes = 0;
  bool awaits = false;  // with the inbox's mutex
  const std::shared_ptr<bool> lives = std::make_shared<bool>(true);
};

template <typename T>
std::vector<T> master::impl::Drain(std::vector<T> Inbox::* what) {
  std::vector<T> all;
  {
    std::lock_guard lock(inbox.mutex);
    all = std::exchange(inbox.*what, {});
  }
  if constexpr (!std::is_same_v<T, slave_info>) {
    for (const T& each : all) Took(each.id, each.algorithm);
  }
  return all;
}

}  // namespace v1
}  // namespace spate::mw
