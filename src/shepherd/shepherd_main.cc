// The shepherd's life: a ppoll loop over its socket, SIGCHLD (as a signalfd) and the two pipes of
// its tasks' output.
//
// Startup: process group of its own, no controlling terminal, subreaper, default signal
// dispositions, the null device as 0; the first order is the Setup, with which 1 and 2 become the
// pipes. Tasks inherit 0, 1 and 2 as they are, so that a plain task needs no dup2 at all.
// Operation: orders that are held ahead are started at once when the attempt before has ended.
// Reports wait for company while there is more to do, but no longer than kReportsWait.
// Teardown: the socket hangs up (its other end closed or died): everything below is killed. The
// shepherd of a node keeps its running attempt instead and waits for the node's next process
// (orphan.cc); whoever has waited once takes no further attempt, and leaves after this one.
//
// Nothing here waits for anybody (docs/design/051-where-calls-block.md): not in writing reports, so
// that an order to kill is always obeyed; a task with live output waits instead, when nobody takes
// the output.
#include "shepherd/shepherd_main.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/clock.h"
#include "os/fd.h"
#include "shepherd/attempt_runner.h"
#include "shepherd/job_server.h"
#include "shepherd/orphan.h"
#include "shepherd/outbox.h"
#include "shepherd/protocol.h"
#include "shepherd/pulse.h"
#include "shepherd/rendezvous.h"

namespace spate::shepherd {
namespace {

// Reports older than this go when the shepherd is awake anyway. It wakes up for them only later: a
// timer that would be the next interrupt of its processor costs 10 us, for each task.
constexpr int64_t kReportsAge = 5'000'000;  // nanoseconds
constexpr int64_t kReportsWait = 8'000'000;
constexpr size_t kReportsEnough = 64 * 1024;       // bytes: do not wait for more
constexpr size_t kLiveOutputBound = 256 * 1024;    // bytes not taken: stop reading the task's pipes
constexpr int64_t kShortPatience = 3'000'000'000;  // nanoseconds, divided by the slot's number
constexpr int64_t kEndPatience = 3'000'000'000;    // nanoseconds, at the end of the shepherd
constexpr size_t kReadSize = 64 * 1024;
constexpr int64_t kShrinkEvery = 50'000'000;  // nanoseconds

enum ExitStatus { kGone = 0, kNoSetup = 70, kDamaged = 71, kWornOut = 72 };

// A started program inherits our high-water mark of resident memory from the moment before its
// exec, so a small task seems to have needed that. Hence what this process has of its program's
// file is given back now and then (what is needed comes back from the page cache), and the mark
// begins anew.
class OwnSize {
 public:
  void FindFile();
  // Costs some 50 us, so it does nothing when it did so lately.
  void Shrink(int64_t now);

 private:
  struct Range {
    unsigned long begin, end;
  };
  std::vector<Range> file_;  // nothing in it was ever written to
  int64_t shrunk_at_ = 0;
};

void OwnSize::FindFile() {
  std::FILE* maps = std::fopen("/proc/self/smaps", "re");
  if (maps == nullptr) return;
  char line[512];
  Range range{};
  bool is_candidate = false;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    Range next{};
    char rights[5] = "";
    if (std::sscanf(line, "%lx-%lx %4s ", &next.begin, &next.end, rights) == 3) {
      range = next;
      bool is_read = std::strcmp(rights, "r-xp") == 0 || std::strcmp(rights, "r--p") == 0;
      is_candidate = is_read && std::strchr(line, '/') != nullptr;
    } else if (unsigned long size = 0; std::sscanf(line, "Anonymous: %lu", &size) == 1) {
      if (is_candidate && size == 0) file_.push_back(range);
    }
  }
  std::fclose(maps);
  // Not in large pieces either.
  for (const Range& one : file_) {
    madvise(reinterpret_cast<void*>(one.begin), one.end - one.begin, MADV_NOHUGEPAGE);
  }
}

void OwnSize::Shrink(int64_t now) {
  if (file_.empty() || now - shrunk_at_ < kShrinkEvery) return;
  shrunk_at_ = now;
  for (const Range& one : file_) {
    madvise(reinterpret_cast<void*>(one.begin), one.end - one.begin, MADV_DONTNEED);
  }
  os::Fd mark(open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
  if (mark) (void)!write(mark.get(), "5", 1);
}

class Shepherd {
 public:
  Shepherd(int socket, SharedPage* page, std::vector<Descriptor> passed_on)
      : socket_(socket), page_(page), pulse_(page), passed_on_(std::move(passed_on)) {}

  int Run();

 private:
  struct Held {
    Start start;
    std::string frame;
    std::optional<Freeze> freeze = {};  // came before its turn
  };

  bool SetUpProcess();
  void Poll(int64_t now);
  bool ReadOrders();
  bool Obey(std::string_view frame);
  bool ObeySetup(const Setup& setup);
  void Hold(std::string_view frame, const Start& start);
  void ObeyTakeBack(const AttemptRef& ref);
  void ObeyEnd(const EndOrder& order);
  void ObeyFreeze(const Freeze& freeze);
  void ObeyAsk(const Ask& ask);
  void StartHeld(int64_t now);
  void Flush(int64_t now, bool all = false);
  void ParentGone(int64_t now);
  void MeetNextParent();
  bool IsThrough() const;
  void Leave(int status);
  bool TakesRoom(int64_t now) const;
  void MakeRoom();

  os::Fd socket_;  // not valid while there is no parent
  SharedPage* page_;
  Pulse pulse_;
  os::Fd signals_;
  FrameBuffer orders_;
  Outbox outbox_;
  std::unique_ptr<AttemptRunner> runner_;
  std::deque<Held> held_;
  std::vector<std::string> spare_frames_;  // their memory is used again
  size_t window_ = 0;                      // orders in hand when the last ones came
  std::vector<pollfd> polled_;             // likewise
  bool paused_ = false;
  int64_t reports_since_ = kNever;  // the oldest unsent report
  bool socket_full_ = false;
  std::optional<int> leaving_;
  std::vector<Descriptor> passed_on_;  // to tasks
  Setup setup_;
  Rendezvous rendezvous_;         // of a node's shepherd
  std::optional<Orphan> orphan_;  // while there is no parent
  bool was_orphan_ = false;
  OwnSize own_size_;
};

bool Shepherd::SetUpProcess() {
  // Not a session of its own: Linux gives each session an equal share of the processors, and then a
  // nice value means nothing outside of it (sched_autogroup).
  setpgid(0, 0);
  os::Fd terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (terminal) ioctl(terminal.get(), TIOCNOTTY);
  terminal.Reset();
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  prctl(PR_SET_NAME, "spate-shepherd", 0, 0, 0);
  struct sigaction fresh{};
  fresh.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &fresh, nullptr);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigset_t blocked = children;
  sigaddset(&blocked, SIGPIPE);  // a process that is given a task may not read it
  sigaddset(&blocked, SIGXFSZ);  // what we write may be bounded as what tasks write is (ulimit -f)
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  signals_.Reset(signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC));
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || !signals_) return false;
  for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
  close(null);
  return true;
}

int Shepherd::Run() {
  pulse_.Wake();
  if (!SetUpProcess()) return kNoSetup;
  while (!leaving_) {
    int64_t now = os::MonotonicNanos();
    if (runner_) {
      if (now >= runner_->Deadline(now - 1)) runner_->OnTime(now);
      if (runner_->worn_out()) Leave(kWornOut);
      while (runner_->idle() && !paused_ && !held_.empty() && !leaving_) StartHeld(now);
      if (TakesRoom(now)) MakeRoom();
    }
    if (IsThrough() || (orphan_ && orphan_->IsOver(now))) Leave(kGone);
    Flush(now);
    if (!leaving_) Poll(now);
  }
  Flush(os::MonotonicNanos(), true);
  if (runner_ && *leaving_ != kWornOut) runner_->EndAll(kEndPatience);
  if (socket_) (void)outbox_.Send(socket_.get());  // what processes wrote at their end
  // A closer that does not die shares our descriptors, and would hold the socket open.
  if (socket_) shutdown(socket_.get(), SHUT_RDWR);
  return *leaving_;
}

void Shepherd::Poll(int64_t now) {
  enum {
    kSocket,
    kSignals,
    kOut,
    kErr,
    kMemory,
    kNextParent,
    kGive,
    kAnswer,
    kOpener,
    kPids,
    kCount
  };
  // While a short task runs and there is enough to do, orders wait: each would wake us up.
  bool read_orders = !runner_ || !runner_->young(now) || held_.size() <= window_ / 2;
  short wanted = static_cast<short>((read_orders ? POLLIN : 0) | (socket_full_ ? POLLOUT : 0));
  bool read_pipes = runner_ && (!runner_->live() || outbox_.unsent() < kLiveOutputBound);
  polled_.assign({
      {wanted != 0 ? socket_.get() : -1, wanted, 0},
      {signals_.get(), POLLIN, 0},
      {read_pipes ? runner_->PipeToPoll(1, now) : -1, POLLIN, 0},
      {read_pipes ? runner_->PipeToPoll(2, now) : -1, POLLIN, 0},
      {runner_ ? runner_->memory_events() : -1, POLLPRI, 0},
      {orphan_ ? rendezvous_.fd() : -1, POLLIN, 0},
      {runner_ ? runner_->ResidentToWrite() : -1, POLLOUT, 0},
      {read_pipes ? runner_->ResidentToRead() : -1, POLLIN, 0},
      {runner_ ? runner_->opener() : -1, POLLIN, 0},
      {runner_ ? runner_->process_events() : -1, POLLPRI, 0},
  });
  if (runner_) runner_->AddForwardsTo(polled_);
  int64_t deadline = runner_ ? runner_->Deadline(now) : kNever;
  if (orphan_) deadline = std::min(deadline, orphan_->Deadline());
  if (outbox_.unsent() > 0 && !socket_full_)
    deadline = std::min(deadline, reports_since_ + kReportsWait);
  int64_t left = std::max<int64_t>(deadline - now, 0);
  timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
  pulse_.Rest();
  int ready =
      ppoll(polled_.data(), polled_.size(), deadline == kNever ? nullptr : &timeout, nullptr);
  pulse_.Wake();
  if (ready <= 0) return;
  now = os::MonotonicNanos();
  const std::vector<pollfd>& fds = polled_;
  for (size_t n = kCount; n < fds.size(); ++n) {
    if (fds[n].revents != 0) runner_->OnForward(n - kCount);
  }
  if (fds[kOut].revents != 0) runner_->OnPipe(1, now);
  if (fds[kErr].revents != 0) runner_->OnPipe(2, now);
  if ((fds[kGive].revents | fds[kAnswer].revents) != 0) runner_->OnResident(now);
  if (fds[kSignals].revents != 0) {
    signalfd_siginfo info;
    while (read(signals_.get(), &info, sizeof info) > 0) {
      if (info.ssi_signo == SIGCHLD) break;  // the signal is pending once at most
    }
    if (runner_) runner_->OnChildren(now);
  }
  if (fds[kOpener].revents != 0) runner_->OnOpened(now);
  if (fds[kMemory].revents != 0) runner_->OnMemoryEvent(now);
  if (fds[kPids].revents != 0) runner_->OnProcessEvent(now);
  if ((fds[kSocket].revents & POLLOUT) != 0) socket_full_ = false;
  if ((fds[kSocket].revents & ~POLLOUT) != 0 && !ReadOrders()) ParentGone(now);
  if (fds[kNextParent].revents != 0) MeetNextParent();
}

// False when the other end is gone.
bool Shepherd::ReadOrders() {
  while (true) {
    char* room = orders_.Room(kReadSize);
    size_t size = orders_.room();
    ssize_t got = recv(socket_.get(), room, size, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN)) break;
    if (got <= 0) return false;
    orders_.Filled(static_cast<size_t>(got));
    while (true) {
      auto frame = orders_.Next();
      if (!frame || (frame->data() != nullptr && !Obey(*frame))) {
        Leave(kDamaged);
        return true;
      }
      if (frame->data() == nullptr) break;
    }
    if (static_cast<size_t>(got) < size) break;
  }
  window_ = held_.size();
  return true;
}

// False when the order makes no sense.
bool Shepherd::Obey(std::string_view frame) {
  if (IsStart(frame)) {
    auto start = DecodeStartHead(frame);
    if (!start || !runner_) return false;
    Hold(frame, *start);
    return true;
  }
  auto order = DecodeOrder(frame);
  if (!order) return false;
  if (auto* setup = std::get_if<Setup>(&*order)) return ObeySetup(*setup);
  if (!runner_) return false;
  if (auto* job = std::get_if<JobOpening>(&*order)) {
    runner_->OpenJob(std::move(*job));
  } else if (auto* close = std::get_if<CloseJob>(&*order)) {
    runner_->CloseJob(close->job);
  } else if (auto* back = std::get_if<Withdraw>(&*order)) {
    ObeyTakeBack(back->ref);
  } else if (auto* end = std::get_if<EndOrder>(&*order)) {
    ObeyEnd(*end);
  } else if (auto* pause = std::get_if<Pause>(&*order)) {
    paused_ = pause->paused;
    runner_->SetPaused(paused_, os::MonotonicNanos());
  } else if (auto* freeze = std::get_if<Freeze>(&*order)) {
    ObeyFreeze(*freeze);
  } else if (auto* ask = std::get_if<Ask>(&*order)) {
    ObeyAsk(*ask);
  } else if (auto* taken = std::get_if<Taken>(&*order)) {
    outbox_.Taken(taken->ref);
  } else if (std::holds_alternative<LeaveOrder>(*order)) {
    if (outbox_.kept() > 0) (void)rendezvous_.LeaveEnds(outbox_.KeptFrames());
    Leave(kGone);
  }
  return true;
}

bool Shepherd::ObeySetup(const Setup& setup) {
  if (runner_) return false;
  rlimit files;
  if (setup.open_files != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min<rlim_t>(setup.open_files, files.rlim_max);
    setrlimit(RLIMIT_NOFILE, &files);
  }
  auto runner = AttemptRunner::Create(setup, outbox_, pulse_);
  if (!runner) {
    Leave(kNoSetup);
    return true;
  }
  runner_ = std::move(*runner);
  setup_ = setup;
  own_size_.FindFile();
  if (setup.node_folder.empty()) {
    runner_->PassOn(passed_on_);  // a node's tasks are not those of the make that started it
    return true;
  }
  outbox_.KeepEnds();
  auto rendezvous = Rendezvous::Open(setup.node_folder);
  if (!rendezvous) {
    Leave(kNoSetup);
    return true;
  }
  rendezvous_ = std::move(*rendezvous);
  // A process that looks for us after the parent's death finds us, then: without this look a next
  // one might have been there before our socket was, and would not know what we start.
  pollfd parent{socket_.get(), POLLRDHUP, 0};
  if (poll(&parent, 1, 0) != 0) Leave(kGone);
  return true;
}

void Shepherd::Hold(std::string_view frame, const Start& start) {
  std::string copy;
  if (!spare_frames_.empty()) {
    copy = std::move(spare_frames_.back());
    spare_frames_.pop_back();
  }
  copy.assign(frame);
  held_.push_back({start, std::move(copy)});
}

void Shepherd::ObeyTakeBack(const AttemptRef& ref) {
  auto held = std::find_if(held_.begin(), held_.end(),
                           [&](const Held& one) { return one.start.ref == ref; });
  if (held != held_.end()) {
    held_.erase(held);
  } else if (runner_->waits_to_start() && !runner_->start_told() && runner_->ref() == ref) {
    runner_->Withdraw();
  } else {
    return;  // too late: its end follows, or was sent
  }
  Append(outbox_.Add(), TakenBack{ref});
}

// Somebody waits for the answer, so it does not wait for company.
void Shepherd::ObeyAsk(const Ask& ask) {
  const int64_t now = os::MonotonicNanos();
  wire::AnswerPiece answer{.kind = wire::AnswerKind::kEnded};
  auto is_it = [&](const Held& one) { return one.start.ref == ask.ref; };
  if (!runner_->idle() && runner_->ref() == ask.ref) {
    answer = runner_->AnswerTo(ask, now);
  } else if (std::ranges::any_of(held_, is_it)) {
    answer.kind = wire::AnswerKind::kNotStarted;
  }
  answer.id = ask.id;
  do {
    Append(outbox_.Add(), Answer{wire::CutPiece(answer)});
  } while (!answer.bytes.empty());
  Flush(now, true);
}

void Shepherd::ObeyEnd(const EndOrder& order) {
  int64_t now = os::MonotonicNanos();
  if (!runner_->idle() && runner_->ref() == order.ref) {
    runner_->End(order.kill, order.cause, now);
    return;
  }
  auto held = std::find_if(held_.begin(), held_.end(),
                           [&](const Held& one) { return one.start.ref == order.ref; });
  if (held == held_.end()) return;
  uint16_t held_slot = held->start.slot;
  held_.erase(held);
  AttemptEnd end;
  end.ref = order.ref;
  end.cause = order.cause;
  end.start = {now};
  end.slot = held_slot;
  outbox_.AddEnd(end, {}, {});
}

void Shepherd::StartHeld(int64_t now) {
  Held next = std::move(held_.front());
  held_.pop_front();
  // Before the start: a parent that finds us dead must not believe that it never happened.
  page_->started.store(next.start.sequence, std::memory_order_release);
  if (spare_frames_.size() < 64) spare_frames_.push_back(runner_->DrainFrame());
  own_size_.Shrink(now);
  if (!runner_->Begin(std::move(next.frame), now)) return Leave(kDamaged);
  if (next.freeze) ObeyFreeze(*next.freeze);
}

void Shepherd::ObeyFreeze(const Freeze& freeze) {
  if (!runner_->idle() && runner_->ref() == freeze.ref) {
    return runner_->SetFrozen(freeze, os::MonotonicNanos());
  }
  for (Held& held : held_) {
    if (held.start.ref == freeze.ref) held.freeze = freeze;
  }
}

// Sends what is due: at once when little is left to do, else with what follows soon.
void Shepherd::Flush(int64_t now, bool all) {
  if (orphan_) return outbox_.Forget();
  if (outbox_.unsent() == 0 || socket_full_) return;
  if (reports_since_ == kNever) reports_since_ = now;
  bool due = all || !runner_ || (runner_->idle() && held_.empty()) || held_.size() <= window_ / 2 ||
             outbox_.unsent() >= kReportsEnough || now >= reports_since_ + kReportsAge;
  if (!due) return;
  switch (outbox_.Send(socket_.get())) {
    case Outbox::Sent::kFull:
      socket_full_ = true;
      return;
    case Outbox::Sent::kGone:
      return ParentGone(now);
    case Outbox::Sent::kAll:
      reports_since_ = kNever;
  }
}

// Attempts held ahead are not started without a parent: the hub gives them to somebody again.
void Shepherd::ParentGone(int64_t now) {
  if (!runner_ || rendezvous_.fd() < 0 || leaving_) return Leave(kGone);
  socket_.Reset();
  socket_full_ = false;
  orders_ = FrameBuffer();
  held_.clear();
  window_ = 0;
  outbox_.Forget();
  reports_since_ = kNever;
  if (runner_->waits_to_start()) runner_->Withdraw();
  if (std::exchange(paused_, false)) runner_->SetPaused(false, os::MonotonicNanos());
  was_orphan_ = true;
  orphan_.emplace(*runner_, outbox_, rendezvous_, setup_.adopt_patience, now);
}

void Shepherd::MeetNextParent() {
  socket_ = rendezvous_.Accept();
  if (!socket_) return;
  orphan_.reset();
  Adopted adopted;
  adopted.adopters = kOldestVersion;
  adopted.answers = true;
  if (!runner_->idle()) adopted.running = runner_->InHand(os::MonotonicNanos());
  outbox_.Begin(std::move(adopted));
}

// An adopted shepherd takes no further attempts: its parent may be of another version by now.
bool Shepherd::IsThrough() const {
  return was_orphan_ && !orphan_ && runner_->idle() && outbox_.kept() == 0;
}

// If processes are few, shepherds may have taken all of them, and none is left for a task. The
// higher the slot the sooner its shepherd goes. The first one stays, but gives its orders back too:
// others, idle until now, get some of them, and go.
bool Shepherd::TakesRoom(int64_t now) const {
  int64_t since = runner_->short_since();
  return since != 0 && now - since >= kShortPatience / setup_.slot;
}

void Shepherd::MakeRoom() {
  Append(outbox_.Add(), TakenBack{runner_->ref()});
  runner_->Withdraw();
  for (const Held& held : held_) Append(outbox_.Add(), TakenBack{held.start.ref});
  held_.clear();
  if (setup_.slot > 1) Leave(kMadeRoom);
}

void Shepherd::Leave(int status) {
  if (!leaving_) leaving_ = status;
}

bool IsPipe(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
}

void CloseRange(int first, int last) {
  if (first > last) return;
  if (syscall(SYS_close_range, first, last, 0) == 0) return;
  const long most = std::min(sysconf(_SC_OPEN_MAX), 65536L);
  for (int fd = first; fd < most && fd <= last; ++fd) close(fd);
}

// The descriptors of make's job server, which tasks are to have with the numbers that MAKEFLAGS
// names; from above all that tasks may have. None: our parent has not inherited any.
std::vector<Descriptor> TakeJobServer() {
  auto server = JobServerOf(std::getenv("MAKEFLAGS"));
  if (!server || !IsPipe(kJobServerReadFd) || !IsPipe(kJobServerWriteFd)) return {};
  const int above = std::max({int{kMostDescriptor}, server->read, server->write}) + 1;
  const int read = fcntl(kJobServerReadFd, F_DUPFD_CLOEXEC, above);
  const int write = fcntl(kJobServerWriteFd, F_DUPFD_CLOEXEC, above);
  if (read < 0 || write < 0) return {};
  return {{read, server->read}, {write, server->write}};
}

// Other descriptors that our parent inherited from whoever started it are not for tasks.
void CloseOthers(int first, const std::vector<Descriptor>& but) {
  for (const Descriptor& each : but) {
    CloseRange(first, each.from - 1);
    first = each.from + 1;
  }
  CloseRange(first, INT_MAX);
}

}  // namespace

int ShepherdMain(int socket_fd, int progress_fd) {
  std::vector<Descriptor> passed_on = TakeJobServer();
  CloseOthers(std::max(socket_fd, progress_fd) + 1, passed_on);
  fcntl(socket_fd, F_SETFD, FD_CLOEXEC);
  void* page =
      mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED, progress_fd, 0);
  close(progress_fd);  // every descriptor costs each task a moment
  if (page == MAP_FAILED) return kNoSetup;
  Shepherd shepherd(socket_fd, static_cast<SharedPage*>(page), std::move(passed_on));
  return shepherd.Run();
}

std::optional<int> ShepherdEntry(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], kShepherdArgument) != 0) return std::nullopt;
  struct stat info;
  if (fstat(kSocketFd, &info) != 0 || !S_ISSOCK(info.st_mode)) return kNoSetup;
  return ShepherdMain(kSocketFd, kProgressFd);
}

}  // namespace spate::shepherd
