// OutputThread: a queue of chunks under a mutex, and a thread that writes them.
//
// - All state is in Shared, which thread and owner hold together: a thread that hangs in write(2)
//   (a stopped pager, a dead file server) can be left behind.
// - Small writes are joined to chunks of kChunk bytes while they wait.
// - Calls to the owner are posted on the loop and find out there, on the owner's thread, whether it
//   still lives.
// - The thread has all signals blocked: they belong to the loop, and EPIPE is told by write.
#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "os/fd.h"
#include "os/terminal.h"

namespace spate::os {
namespace {
constexpr size_t kChunk = 64 << 10;
}  // namespace

struct OutputThread::Shared : std::enable_shared_from_this<Shared> {
  Shared(Loop& l, int f, Options o) : fd(f), options(std::move(o)), loop(&l) {}

  void RunThread();
  // Under the mutex, from the thread:
  void FailAll(Error error, bool reader_gone);
  void TellRoom();

  const int fd;
  const Options options;

  std::mutex mutex;
  std::condition_variable changed;
  // Under the mutex:
  Loop* loop;  // null once the owner is gone: a write that hangs outlives both
  std::deque<std::string> queue;
  size_t backlog = 0;  // queue, and what is being written
  bool full = false;   // Write said so, OnRoom is owed
  bool closing = false;
  bool failed = false;
  bool done = false;    // the thread touches nothing any more
  bool direct = false;  // there is no thread: Write writes
  Error error;

  // On the loop's thread only:
  std::function<void()> on_room;
  std::function<void(Error, bool)> on_error;
  std::thread thread;
};

void OutputThread::Shared::FailAll(Error e, bool reader_gone) {
  queue.clear();
  backlog = 0;
  failed = true;
  error = std::move(e);
  if (loop == nullptr) return;
  loop->Post([weak = weak_from_this(), reader_gone] {
    auto alive = weak.lock();
    if (!alive) return;
    if (auto fn = std::exchange(alive->on_error, nullptr)) fn(alive->error, reader_gone);
  });
}

void OutputThread::Shared::TellRoom() {
  if (!full || backlog > options.limit / 2) return;
  full = false;
  if (loop == nullptr) return;
  loop->Post([weak = weak_from_this()] {
    auto alive = weak.lock();
    if (alive && alive->on_room) alive->on_room();
  });
}

void OutputThread::Shared::RunThread() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return !queue.empty() || closing; });
    if (queue.empty()) break;
    std::string chunk = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    errno = 0;
    Status written = WriteAll(fd, chunk, options.name);
    bool reader_gone = !written && errno == EPIPE;
    lock.lock();
    if (written) {
      backlog -= chunk.size();
    } else {
      FailAll(std::move(written.error()), reader_gone);
    }
    TellRoom();
    changed.notify_all();
  }
  done = true;
  changed.notify_all();
}

OutputThread::OutputThread(Loop& loop, int fd, Options options)
    : shared_(std::make_shared<Shared>(loop, fd, std::move(options))) {
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  try {
    shared_->thread = std::thread([shared = shared_] { shared->RunThread(); });
  } catch (const std::system_error&) {
    shared_->direct = true;  // no process is left for it; slower, but nothing is lost
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

OutputThread::~OutputThread() {
  if (shared_->thread.joinable()) (void)Close(Duration::Millis(200));
  {
    std::lock_guard lock(shared_->mutex);
    shared_->loop = nullptr;
  }
  shared_->on_room = nullptr;
  shared_->on_error = nullptr;
}

bool OutputThread::Write(std::string bytes) {
  if (bytes.empty()) return true;
  std::lock_guard lock(shared_->mutex);
  if (shared_->failed) return true;
  if (shared_->direct) {
    errno = 0;
    Status written = WriteAll(shared_->fd, bytes, shared_->options.name);
    if (!written) shared_->FailAll(std::move(written.error()), errno == EPIPE);
    return true;
  }
  shared_->backlog += bytes.size();
  bool wake = shared_->queue.empty();
  if (!wake && shared_->queue.back().size() + bytes.size() <= kChunk) {
    shared_->queue.back() += bytes;
  } else {
    shared_->queue.push_back(std::move(bytes));
  }
  if (wake) shared_->changed.notify_all();
  if (shared_->backlog <= shared_->options.limit) return true;
  shared_->full = true;
  return false;
}

size_t OutputThread::Backlog() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->backlog;
}

void OutputThread::OnRoom(std::function<void()> fn) { shared_->on_room = std::move(fn); }

void OutputThread::OnError(std::function<void(Error, bool)> fn) {
  shared_->on_error = std::move(fn);
}

Status OutputThread::Flush(Duration patience) {
  std::unique_lock lock(shared_->mutex);
  bool empty = shared_->changed.wait_for(lock, std::chrono::nanoseconds(patience.ns),
                                         [&] { return shared_->backlog == 0; });
  if (shared_->failed) return std::unexpected(shared_->error);
  if (empty) return {};
  return Fail(ErrorKind::kBusy, "'" + shared_->options.name + "' does not take what is written");
}

Status OutputThread::Close(Duration patience) {
  if (!shared_->thread.joinable()) return {};
  Status flushed = Flush(patience);
  bool done = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->closing = true;
    // Text that is still queued after a failed flush shall not be written behind the owner's back.
    shared_->queue.clear();
    shared_->changed.notify_all();
    // Idle, it ends at once; in a write that hangs it does not.
    done = shared_->changed.wait_for(lock, std::chrono::milliseconds(flushed ? 10000 : 1),
                                     [&] { return shared_->done; });
  }
  if (done) {
    shared_->thread.join();
  } else {
    shared_->thread.detach();
  }
  return flushed;
}

}  // namespace spate::os
