// CommitThread: the store's thread and its queue. Items go in on the loop's thread, their
// completions come back there, one Post for each commit.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/loop.h"
#include "store/sqlite/journal_writer.h"
#include "store/sqlite/sqlite_store.h"

namespace spate::store {

class CommitThread {
 public:
  // An item's end, on the loop's thread. After a failed one all items get its error.
  using Done = std::function<void(Status, const WriteItem&)>;

  // The writer may be open already or is opened by the first commit.
  CommitThread(os::Loop& loop, std::unique_ptr<JournalWriter> writer, const SqliteOptions& options);
  // Writes what is queued, closes the journal; no Done is called any more.
  ~CommitThread();

  // kExhausted: the system has no thread left. Nothing else is called then.
  Status Start();
  void Add(std::unique_ptr<WriteItem> item, uint64_t bytes, Done done);
  uint64_t backlog() const { return backlog_.load(std::memory_order_relaxed); }

 private:
  struct Queued {
    std::unique_ptr<WriteItem> item;
    uint64_t bytes = 0;
    Done done;
  };
  // Outlives the thread object for completions that were posted and not yet called.
  struct LoopSide {
    bool alive = true;  // the loop's thread only
  };

  void Run();
  bool MayNotWait() const { return closing_ || urgent_ || queued_bytes_ >= options_.commit_bytes; }
  // Waits until a commit is due; false when there is nothing left to do.
  bool WaitForWork(std::vector<Queued>& group);
  void CommitGroup(std::vector<Queued> group);

  os::Loop& loop_;
  const SqliteOptions options_;
  std::shared_ptr<LoopSide> loop_side_ = std::make_shared<LoopSide>();
  std::atomic<uint64_t> backlog_{0};

  // The thread's.
  std::unique_ptr<JournalWriter> writer_;
  int64_t due_ = 0;  // by os::MonotonicNanos: when the allowance lets the next commit begin
  Status status_;    // of the journal: the error that ended it

  // Under mutex_.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Queued> queue_;
  uint64_t queued_bytes_ = 0;
  bool urgent_ = false;  // one of `queue_` is
  bool closing_ = false;
  bool idle_ = false;  // the thread waits for any item, not for the end of a gap

  std::thread thread_;
};

}  // namespace spate::store
