// Group commit. There is an allowance of kBurst commits, refilled by one each commit_gap. While
// some is left an item is committed as soon as the thread is free; else the thread sleeps until
// there is, unless commit_bytes gather before or one is urgent, and what came meanwhile is one
// group. So a few lone items wait for one sync each, and a stream of items costs 200 commits a
// second.
//
// A failed commit ends the journal: the items of its group and all later ones get its error, and
// nothing is written again.
#include "store/sqlite/commit_thread.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "os/clock.h"

namespace spate::store {
namespace {

// A transaction is no longer than this, so that completions keep coming while a large job is
// accepted.
constexpr uint64_t kGroupBytes = 8 << 20;
constexpr int kBurst = 8;

}  // namespace

CommitThread::CommitThread(os::Loop& loop, std::unique_ptr<JournalWriter> writer,
                           const SqliteOptions& options)
    : loop_(loop), options_(options), writer_(std::move(writer)) {}

Status CommitThread::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& e) {
    return Fail(ErrorKind::kExhausted, std::string("cannot start the journal's thread (") +
                                           e.what() +
                                           "); raise the limit of processes (ulimit -u)");
  }
  return {};
}

CommitThread::~CommitThread() {
  loop_side_->alive = false;
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void CommitThread::Add(std::unique_ptr<WriteItem> item, uint64_t bytes, Done done) {
  backlog_.fetch_add(bytes, std::memory_order_relaxed);
  bool wake;
  {
    std::lock_guard lock(mutex_);
    urgent_ |= item->urgent;
    queue_.push_back({std::move(item), bytes, std::move(done)});
    queued_bytes_ += bytes;
    wake = idle_ || MayNotWait();
  }
  if (wake) wake_.notify_one();
}

bool CommitThread::WaitForWork(std::vector<Queued>& group) {
  std::unique_lock lock(mutex_);
  int64_t rest = std::max<int64_t>(due_ - os::MonotonicNanos(), 0);
  wake_.wait_for(lock, std::chrono::nanoseconds(rest), [&] { return MayNotWait(); });
  idle_ = true;
  wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
  idle_ = false;
  int64_t gap = options_.commit_gap.ns;
  int64_t now = os::MonotonicNanos();
  // An urgent commit leaves no debt to others, who would wait for long.
  due_ = std::clamp(due_, now - kBurst * gap, now) + gap;
  uint64_t bytes = 0;
  while (!queue_.empty() && bytes < kGroupBytes) {
    bytes += queue_.front().bytes;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  queued_bytes_ -= bytes;
  if (queue_.empty()) urgent_ = false;
  return !group.empty();
}

void CommitThread::CommitGroup(std::vector<Queued> group) {
  std::vector<WriteItem*> items;
  items.reserve(group.size());
  uint64_t bytes = 0;
  for (Queued& queued : group) {
    items.push_back(queued.item.get());
    bytes += queued.bytes;
  }
  if (status_ && !writer_->is_open()) status_ = writer_->Open();
  if (status_) status_ = writer_->Commit(items);
  backlog_.fetch_sub(bytes, std::memory_order_relaxed);
  // Outputs and records are freed here and not on the loop, which has better things to do.
  for (WriteItem* item : items) {
    item->records = {};
    item->outputs = {};
  }
  // std::function wants what it holds to be copyable.
  auto shared = std::make_shared<std::vector<Queued>>(std::move(group));
  loop_.Post([side = loop_side_, shared, status = status_] {
    for (Queued& queued : *shared) {
      if (!side->alive) return;  // also when one of these calls destroyed the store
      if (queued.done) queued.done(status, *queued.item);
    }
  });
}

void CommitThread::Run() {
  for (;;) {
    std::vector<Queued> group;
    if (!WaitForWork(group)) break;
    CommitGroup(std::move(group));
  }
  writer_->Close();
}

}  // namespace spate::store
