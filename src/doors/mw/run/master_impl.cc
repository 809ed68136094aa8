#include "doors/mw/run/master_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/units.h"
#include "doors/mw/formats/names.h"
#include "doors/mw/formats/packet.h"
#include "doors/mw/run/algorithms.h"

namespace spate::mw {
inline namespace v1 {

namespace {

// So many tasks, or bytes, leave before the master waits: it may make very many.
constexpr size_t kLeaveTasks = 4096;
constexpr size_t kLeaveBytes = 4 << 20;

void CheckNeeds(const needs& needs) {
  const auto wrong = [](const std::string& why) { throw error(why + " (policy::needs)"); };
  if (needs.slots == 0 || needs.slots > kSlotsMost) {
    wrong(fmt::format("a task takes 1 to {} slots, not {}", kSlotsMost, needs.slots));
  }
  if (needs.memory > kMemoryMost) wrong("no slave has so much memory");
  if (needs.resources.size() > kNamesMost || needs.labels.size() > kNamesMost) {
    wrong(fmt::format("a task needs at most {} resources and {} labels", kNamesMost, kNamesMost));
  }
  for (const auto& [name, count] : needs.resources) {
    const std::string shown = EscapeForScreen(name);
    if (!IsResourceName(name)) {
      wrong(fmt::format("'{}' is not a valid name for a resource (letters, digits, _ . -)", shown));
    }
    if (count == 0 || count > kSlotsMost) {
      wrong(fmt::format("a task needs 1 to {} of '{}', not {}", kSlotsMost, shown, count));
    }
    if (std::ranges::count(needs.resources, name, &needs::resource::name) > 1) {
      wrong(fmt::format("the resource '{}' is there twice", shown));
    }
  }
  for (const std::string& label : needs.labels) {
    if (IsLabel(label)) continue;
    wrong(fmt::format(
        "'{}' is not a valid label: write a word without blanks and commas, other than '{}'",
        EscapeForScreen(label), kAnySlaveLabel));
  }
}

}  // namespace

Result<std::unique_ptr<master::impl>> master::impl::Open(const Options& options) {
  auto inside = std::make_unique<impl>();
  auto start = TRY(MasterHub::Open(options, inside->inbox, inside->constants));
  inside->hub = std::move(start.hub);
  inside->left = std::move(start.left);
  inside->pending = std::move(start.pending);
  if (inside->left) inside->pending[""] = inside->left->pending + inside->left->results;
  inside->last_task = start.last_task;
  inside->kept_up_to = {start.last_task};
  return inside;
}

task_id master::impl::Submit(std::string_view algorithm, const policy& how, std::string arguments,
                             detail::constant_list named, bool claim) {
  if (Algorithms::Get().Find(algorithm) == nullptr) {
    throw error(
        fmt::format("there is no algorithm '{}': make it with mw::algorithm in a variable "
                    "outside of all functions",
                    algorithm));
  }
  if (how.time.count() < 0) throw error("a time limit cannot be negative (policy::time)");
  if (std::isnan(how.priority)) throw error("a priority must be a number (policy::priority)");
  CheckNeeds(how.needs);
  if (how.tries == 0) throw error("a task must be tried at least once (policy::tries)");
  if (arguments.size() > kArgumentBytes) {
    throw error(
        fmt::format("the arguments of a task of '{}' take {} bytes, more than {}: pass "
                    "long values as constants (master::broadcast)",
                    algorithm, arguments.size(), kArgumentBytes));
  }
  if (!named.empty()) CheckNamed(named);
  const task_id id{++last_task};
  if (claim) Claim(id, algorithm);
  unsent_bytes += arguments.size();
  task& added = unsent.emplace_back();
  added.id = id;
  added.algorithm = algorithm;
  added.how = how;
  added.arguments = std::move(arguments);
  added.constants = std::move(named);
  ++pending[std::string()];
  auto known = pending.find(algorithm);
  if (known == pending.end()) known = pending.try_emplace(std::string(algorithm)).first;
  ++known->second;
  if (unsent.size() >= kLeaveTasks || unsent_bytes >= kLeaveBytes) Send();
  return id;
}

void master::impl::CheckNamed(detail::constant_list& named) const {
  std::ranges::sort(named);
  named.erase(std::ranges::unique(named).begin(), named.end());
  if (named.size() > kConstantsOfTask) {
    throw error(fmt::format("the arguments of a task name {} constants, more than {}", named.size(),
                            kConstantsOfTask));
  }
  for (const auto& each : named) {
    if (each == nullptr || !constants->Has(*each)) {
      throw error(
          "a task names a constant of another master: broadcast its value by this master, too");
    }
  }
}

void master::impl::Send() {
  unsent_bytes = 0;
  if (!unsent.empty()) hub->Submit(std::exchange(unsent, {}));
}

void master::impl::CheckFailure(const std::unique_lock<std::mutex>&) const {
  if (!inbox.failure.empty()) throw error(inbox.failure);
}

// The news may be behind results that fill their memory.
void master::impl::Block(std::unique_lock<std::mutex>& lock, const std::function<bool()>& over,
                         std::chrono::nanoseconds most) {
  if (over() || most.count() <= 0) return;
  const bool wanted = inbox.wants_more;
  if (inbox.WantsMore()) hub->ResultsTaken();
  if (most == std::chrono::nanoseconds::max()) {
    inbox.changed.wait(lock, over);
  } else {
    inbox.changed.wait_for(lock, most, over);
  }
  inbox.wants_more = wanted;
}

events master::impl::Wait(std::chrono::nanoseconds most) {
  Send();
  std::unique_lock lock(inbox.mutex);
  auto now = [this] {
    return events{inbox.results.size(), inbox.unrunnable.size(), inbox.arrived.size(),
                  inbox.lost.size()};
  };
  Block(lock, [&] { return now().any() || !inbox.failure.empty(); }, most);
  if (!now().any()) CheckFailure(lock);
  if (inbox.Looks()) hub->ResultsTaken();
  return now();
}

std::vector<result> master::impl::TakeResults() {
  std::unique_lock lock(inbox.mutex);
  std::vector<WaitingResult> waiting = std::exchange(inbox.results, {});
  uint64_t cost = 0;
  for (const WaitingResult& each : waiting) cost += each.cost;
  const bool held = inbox.Gives(cost);
  lock.unlock();
  std::vector<result> all;
  all.reserve(waiting.size());
  for (WaitingResult& each : waiting) {
    all.push_back(Taken(std::move(each)));
    Took(all.back().task, all.back().algorithm);
  }
  if (held) hub->ResultsTaken();
  return all;
}

void master::impl::Took(task_id id, std::string_view algorithm) {
  Uncount(algorithm);
  if (id <= kept_up_to) taken.push_back(id);
}

void master::impl::Uncount(std::string_view algorithm) {
  for (std::string_view of : {std::string_view(), algorithm}) {
    auto count = pending.find(of);
    if (count != pending.end() && count->second > 0) --count->second;
  }
}

size_t master::impl::Cancel(const std::optional<std::vector<task_id>>& tasks) {
  Send();
  const std::vector<task> cancelled = hub->Cancel(tasks);
  std::lock_guard lock(inbox.mutex);
  for (const task& each : cancelled) {
    taken.push_back(each.id);
    WaitingResult is;
    is.what = {.task = each.id, .algorithm = each.algorithm, .tag = each.how.tag};
    is.what.failure = "it was cancelled";
    if (!inbox.AddToFuture(is)) Uncount(each.algorithm);
  }
  return cancelled.size();
}

// ---- Futures -----------------------------------------------------------------------------------

Inbox::Slot master::impl::Claim(task_id id, std::string_view algorithm) {
  auto slot = std::make_shared<detail::slot>();
  slot->task = id;
  slot->algorithm = algorithm;
  slot->owner = this;
  slot->owner_lives = lives;
  std::lock_guard lock(inbox.mutex);
  const bool is_new = inbox.claimed.emplace(id.value, slot).second;
  if (!is_new) throw error(fmt::format("task {} has a future", id.value));
  return slot;
}

Inbox::Slot master::impl::Attach(task_id id, std::string_view algorithm) {
  Send();
  // First the claim: the result may come at any time.
  Inbox::Slot slot = Claim(id, algorithm);
  bool has_come = false;
  {
    std::lock_guard lock(inbox.mutex);
    has_come = inbox.FillFromWaiting(slot);
  }
  std::string of = has_come ? slot->value.what.algorithm : hub->AlgorithmOf(id);
  std::lock_guard lock(inbox.mutex);
  if (inbox.unwanted.contains(id.value)) of.clear();
  if (of.empty() && slot->ready) of = slot->value.what.algorithm;
  if (of == algorithm) return slot;
  inbox.TakeBack(slot);
  if (of.empty()) {
    throw error(
        fmt::format("there is no task {} that has not ended: its result was taken or dropped, or "
                    "no checkpoint knows it",
                    id.value));
  }
  throw error(fmt::format("task {} is of '{}', not of '{}'", id.value, of, algorithm));
}

// False: it is not ready after `most`.
bool master::impl::Await(const std::function<bool()>& ready, std::chrono::nanoseconds most) {
  Send();
  std::unique_lock lock(inbox.mutex);
  bool is_ready = false;
  awaits = true;
  Block(lock, [&] { return (is_ready = ready()) || !inbox.failure.empty(); }, most);
  awaits = false;
  if (!is_ready) CheckFailure(lock);
  if (!is_ready && inbox.Looks()) hub->ResultsTaken();
  return is_ready;
}

bool master::impl::IsReady(const Inbox::Slot& slot) {
  if (slot->ready || awaits) return slot->ready;
  Send();  // who asks again and again must not wait for ever
  std::lock_guard lock(inbox.mutex);
  if (!slot->ready && inbox.Looks()) hub->ResultsTaken();
  return slot->ready;
}

result master::impl::TakeFrom(const Inbox::Slot& slot) {
  CHECK(slot->ready);
  std::unique_lock lock(inbox.mutex);
  inbox.claimed.erase(slot->task.value);
  const bool held = inbox.Gives(slot->value.cost);
  lock.unlock();
  Took(slot->task, slot->algorithm);
  if (held) hub->ResultsTaken();
  return Taken(std::move(slot->value));
}

void master::impl::Drop(const Inbox::Slot& slot) {
  std::unique_lock lock(inbox.mutex);
  inbox.claimed.erase(slot->task.value);
  if (!slot->ready) inbox.unwanted.insert(slot->task.value);
  const bool held = slot->ready && inbox.Gives(slot->value.cost);
  lock.unlock();
  Discard(std::move(slot->value));
  if (held) hub->ResultsTaken();
  Uncount(slot->algorithm);
  // A checkpoint must not keep it, even if it has not ended by then.
  taken.push_back(slot->task);
}

namespace {

master::impl& OwnerOf(const Inbox::Slot& slot) {
  if (!slot) throw error("the future has no task: its value was taken, or it never had one");
  if (slot->owner_lives.expired()) throw error("the master of the future has ended");
  return *slot->owner;
}

}  // namespace

task_id detail::any_future::id() const {
  OwnerOf(slot_);
  return slot_->task;
}

bool detail::any_future::ready() const { return OwnerOf(slot_).IsReady(slot_); }

void detail::any_future::wait() const { (void)wait_for(std::chrono::nanoseconds::max()); }

bool detail::any_future::wait_for(std::chrono::nanoseconds most) const {
  return OwnerOf(slot_).Await([this] { return slot_->ready.load(); }, most);
}

result detail::any_future::get_result() {
  wait();
  result is = OwnerOf(slot_).TakeFrom(slot_);
  slot_.reset();
  return is;
}

bool detail::any_future::cancel() {
  return OwnerOf(slot_).Cancel(std::vector<task_id>{slot_->task}) == 1;
}

void detail::any_future::drop() noexcept {
  if (slot_ && !slot_->owner_lives.expired()) slot_->owner->Drop(slot_);
  slot_.reset();
}

detail::any_future master::async_bytes(std::string_view algorithm, const policy& how,
                                       std::string arguments, detail::constant_list constants) {
  const task_id id = impl_.Submit(algorithm, how, std::move(arguments), std::move(constants),
                                  /*claim=*/true);
  std::lock_guard lock(impl_.inbox.mutex);
  return detail::any_future(impl_.inbox.claimed.at(id.value));
}

detail::any_future master::attach_bytes(std::string_view algorithm, task_id task) {
  return detail::any_future(impl_.Attach(task, algorithm));
}

std::optional<std::size_t> master::wait_until_some(
    const std::function<std::optional<std::size_t>()>& first_ready, bool any_valid,
    std::chrono::nanoseconds most) {
  if (!any_valid) throw error("there is no future to wait for: none of them has a task");
  impl_.Send();
  std::optional<std::size_t> found;
  impl_.Await([&] { return (found = first_ready()).has_value(); }, most);
  return found;
}

}  // namespace v1
}  // namespace spate::mw
