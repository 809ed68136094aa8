// GroupWriter: group commit. Items come on the loop's thread, a thread of the writer writes all
// that wait by one call, and their completions come on the loop's thread, in order, by one Post.
//
// There is an allowance of kBurst writes, refilled by one each gap. While some is left an item is
// written as soon as the thread is free; else the thread sleeps until there is, unless many bytes
// gather before or one is urgent, and what came meanwhile is one group. So a few lone items wait
// for one write each, and a stream of items costs one write for each gap.
//
// A failed write is the last one: the items of its group and all later ones get its error.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/clock.h"
#include "os/loop.h"

namespace spate::store {

struct GroupRules {
  Duration gap;                      // from write to write in the long run,
  uint64_t most_bytes = UINT64_MAX;  // unless so much is queued
  // The destructor waits until all is written. Else it drops what waits, and leaves a write that
  // runs, and may hang, to itself.
  bool finishes = true;
};

// The part of GroupWriter that a store needs. The simulator's writer has no thread.
template <typename Item>
class ItemWriter {
 public:
  // An item's end, on the loop's thread; may destroy the writer.
  using Done = std::function<void(Status, const Item&)>;

  virtual ~ItemWriter() = default;
  // `bytes` is what there is to write. 0: nothing, and it is done as soon as all before it are.
  virtual void Add(Item item, uint64_t bytes, bool urgent, Done done) = 0;
  // Bytes that wait or are being written.
  virtual uint64_t backlog() const = 0;
  // The time since when nothing that waits was done; nullopt: nothing waits.
  virtual std::optional<Instant> stuck_since() const = 0;
};

template <typename Item>
class GroupWriter final : public ItemWriter<Item> {
 public:
  // Writes all or nothing, on the writer's thread. Parts that nobody needs afterwards may be moved
  // out of the items, so that they are not freed on the loop's thread.
  using Write = std::function<Status(std::span<Item>)>;
  using Done = ItemWriter<Item>::Done;

  GroupWriter(os::Loop& loop, Write write, GroupRules rules) {
    state_->loop = &loop;
    state_->write = std::move(write);
    state_->rules = rules;
  }
  // No Done is called any more.
  ~GroupWriter() override;
  GroupWriter(const GroupWriter&) = delete;
  GroupWriter& operator=(const GroupWriter&) = delete;

  // Else the first Add does it, whose item then gets the error. kExhausted: the system has no
  // thread left.
  Status Start();
  void Add(Item item, uint64_t bytes, bool urgent, Done done) override;
  uint64_t backlog() const override { return state_->backlog.load(std::memory_order_relaxed); }
  std::optional<Instant> stuck_since() const override {
    return state_->pending > 0 ? std::optional(state_->moved) : std::nullopt;
  }

 private:
  // A group is no larger than this, so that completions keep coming.
  static constexpr uint64_t kGroupBytes = 8 << 20;
  static constexpr int kBurst = 8;

  struct Queued {
    Item item;
    uint64_t bytes = 0;
    Done done;
  };
  // Outlives the writer in its thread, and in completions that were posted and not yet called.
  struct State {
    GroupRules rules;
    std::atomic<uint64_t> backlog{0};

    // The loop's thread only.
    bool alive = true;
    size_t pending = 0;  // items that the thread has, or has posted
    Instant moved;       // the first of them came, or the last one before them was done
    Status failure;

    // The writer's thread only.
    Write write;      // null once the thread has ended
    int64_t due = 0;  // by os::MonotonicNanos: when the allowance lets the next write begin
    Status status;

    // Under `mutex`.
    std::mutex mutex;
    os::Loop* loop = nullptr;  // null: nobody wants completions; posting is under `mutex`, too
    std::condition_variable wake;
    std::deque<Queued> queue;
    uint64_t queued_bytes = 0;
    bool urgent = false;  // one of `queue` is
    bool closing = false;
    bool idle = false;  // the thread waits for any item, not for the end of a gap

    bool MayNotWait() const { return closing || urgent || queued_bytes >= rules.most_bytes; }
  };
  using SharedState = std::shared_ptr<State>;

  static void Run(const SharedState& state);
  static std::vector<Queued> NextGroup(State& state);
  static void WriteGroup(const SharedState& state, std::vector<Queued> group);
  static void Complete(State& state, const Status& status, std::vector<Queued>& group);

  const SharedState state_ = std::make_shared<State>();
  std::thread thread_;
};

template <typename Item>
Status GroupWriter<Item>::Start() {
  try {
    thread_ = std::thread([state = state_] { Run(state); });
  } catch (const std::system_error& e) {
    return Fail(ErrorKind::kExhausted,
                std::string("cannot start the journal's thread (") + e.what() +
                    "); raise the limits of processes and memory (ulimit -u, -v)");
  }
  return {};
}

template <typename Item>
GroupWriter<Item>::~GroupWriter() {
  state_->alive = false;
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->closing = true;
    if (!state_->rules.finishes) {
      state_->loop = nullptr;
      state_->queue.clear();
    }
  }
  state_->wake.notify_one();
  if (state_->rules.finishes) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

template <typename Item>
void GroupWriter<Item>::Add(Item item, uint64_t bytes, bool urgent, Done done) {
  State& state = *state_;
  if (state.failure && bytes > 0 && !thread_.joinable()) state.failure = Start();
  if (state.pending == 0 && (bytes == 0 || !state.failure)) {
    // std::function wants what it holds to be copyable.
    auto queued = std::make_shared<Queued>(std::move(item), 0, std::move(done));
    state.loop->Post([shared = state_, queued] {
      if (shared->alive && queued->done) queued->done(shared->failure, queued->item);
    });
    return;
  }
  if (state.pending++ == 0) state.moved = state.loop->Now();
  state.backlog.fetch_add(bytes, std::memory_order_relaxed);
  bool wake;
  {
    std::lock_guard lock(state.mutex);
    state.urgent |= urgent;
    state.queue.push_back({std::move(item), bytes, std::move(done)});
    state.queued_bytes += bytes;
    wake = state.idle || state.MayNotWait();
  }
  if (wake) state.wake.notify_one();
}

// Waits until a write is due; empty: there is nothing left to do.
template <typename Item>
auto GroupWriter<Item>::NextGroup(State& state) -> std::vector<Queued> {
  std::vector<Queued> group;
  std::unique_lock lock(state.mutex);
  const int64_t rest = std::max<int64_t>(state.due - os::MonotonicNanos(), 0);
  state.wake.wait_for(lock, std::chrono::nanoseconds(rest), [&] { return state.MayNotWait(); });
  state.idle = true;
  state.wake.wait(lock, [&] { return state.closing || !state.queue.empty(); });
  state.idle = false;
  const int64_t gap = state.rules.gap.ns;
  const int64_t now = os::MonotonicNanos();
  // An urgent write leaves no debt to others, who would wait for long.
  state.due = std::clamp(state.due, now - kBurst * gap, now) + gap;
  uint64_t bytes = 0;
  while (!state.queue.empty() && bytes < kGroupBytes) {
    bytes += state.queue.front().bytes;
    group.push_back(std::move(state.queue.front()));
    state.queue.pop_front();
  }
  state.queued_bytes -= bytes;
  if (state.queue.empty()) state.urgent = false;
  return group;
}

template <typename Item>
void GroupWriter<Item>::WriteGroup(const SharedState& state, std::vector<Queued> group) {
  std::vector<Item> items;
  items.reserve(group.size());
  uint64_t bytes = 0;
  for (Queued& queued : group) {
    items.push_back(std::move(queued.item));
    bytes += queued.bytes;
  }
  if (state->status && bytes > 0) state->status = state->write(items);
  state->backlog.fetch_sub(bytes, std::memory_order_relaxed);
  for (size_t i = 0; i < items.size(); ++i) group[i].item = std::move(items[i]);
  auto shared = std::make_shared<std::vector<Queued>>(std::move(group));
  std::lock_guard lock(state->mutex);
  if (state->loop == nullptr) return;
  state->loop->Post([state, shared, status = state->status] { Complete(*state, status, *shared); });
}

template <typename Item>
void GroupWriter<Item>::Complete(State& state, const Status& status, std::vector<Queued>& group) {
  if (state.alive) state.moved = state.loop->Now();
  for (Queued& queued : group) {
    if (!state.alive) return;  // also when one of these calls destroyed the writer
    --state.pending;
    state.failure = status;
    if (queued.done) queued.done(status, queued.item);
  }
}

template <typename Item>
void GroupWriter<Item>::Run(const SharedState& state) {
  for (auto group = NextGroup(*state); !group.empty(); group = NextGroup(*state)) {
    WriteGroup(state, std::move(group));
  }
  state->write = nullptr;  // closes what it holds, on this thread
}

}  // namespace spate::store
