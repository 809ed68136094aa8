// A run is found by its number in the state folder, so it does not matter where it was started. One
// that nobody carries on (its process was killed, or has stopped) cannot change any more, and
// whoever waits for it is told so at once.
#include "run/run_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/report.h"
#include "cli/text/end_text.h"
#include "cli/view/bar.h"
#include "cli/view/summary.h"
#include "format/selector/selector.h"
#include "history/journal_asker.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/socket.h"
#include "os/terminal.h"
#include "run/history.h"
#include "run/local_job.h"
#include "run/run_entrance.h"
#include "store/sqlite/history.h"
#include "store/sqlite/job_list.h"

namespace spate::run {
namespace {

using store::JobStanding;

// A run that cannot be talked to is looked at so often.
constexpr Duration kLookAgain = Duration::Millis(100);
constexpr Duration kOrderPatience = Duration::Seconds(5);

// The talk with one run.
class RunCall {
 public:
  explicit RunCall(os::RealLoop& loop) : loop_(loop) {}
  ~RunCall() { Close(); }
  RunCall(const RunCall&) = delete;
  RunCall& operator=(const RunCall&) = delete;

  bool Connect(const std::string& job_folder) {
    Close();
    auto at = RunAddressOf(job_folder);
    if (!at) return false;
    auto address = os::SocketAddress::Numeric({.host = "", .port = 0, .path = at->path});
    auto socket = address ? os::StartConnect(**address) : std::unexpected(address.error());
    if (!socket || !os::FinishConnect(socket->get(), **address)) return false;
    socket_ = std::move(*socket);
    return true;
  }
  bool Send(const std::string& line) {
    return os::SendSome(socket_.get(), line + "\n").bytes == line.size() + 1;
  }
  // The next line; nullopt when the run has hung up, or the wait was interrupted.
  std::optional<std::string> Next() { return *NextWithin({}); }
  // The same; the outer nullopt: none came in time. A time of 0 is for ever.
  std::optional<std::optional<std::string>> NextWithin(Duration time) {
    bool late = false;
    os::TimerId timer = 0;
    if (time.ns > 0) {
      timer = loop_.At(loop_.Now() + time, [&] {
        late = true;
        loop_.Stop();
      });
    }
    while (!HasLine() && socket_ && !interrupted_ && !late) {
      loop_.WatchRead(socket_.get(), [this] { Hear(); });
      loop_.Run();
      if (socket_) loop_.Unwatch(socket_.get());
    }
    loop_.Cancel(timer);
    if (HasLine()) return TakeLine();
    if (late) return std::nullopt;
    return std::optional<std::string>();
  }
  void Pause(Duration time) {
    os::TimerId timer = loop_.At(loop_.Now() + time, [this] { loop_.Stop(); });
    if (!interrupted_) loop_.Run();
    loop_.Cancel(timer);
  }
  void Interrupt() {
    interrupted_ = true;
    loop_.Stop();
  }
  bool interrupted() const { return interrupted_; }

 private:
  bool HasLine() const { return in_.find('\n') != std::string::npos; }
  std::optional<std::string> TakeLine() {
    size_t end = in_.find('\n');
    std::string line = in_.substr(0, end);
    in_.erase(0, end + 1);
    return line;
  }
  void Hear() {
    std::array<char, 4096> bytes;
    os::IoStep step = os::Receive(socket_.get(), bytes.data(), bytes.size());
    if (step.kind == os::IoStep::Kind::kWouldBlock) return;
    if (step.kind == os::IoStep::Kind::kDone) {
      in_.append(bytes.data(), step.bytes);
      if (HasLine()) loop_.Stop();
      return;
    }
    Close();
    loop_.Stop();
  }
  void Close() {
    if (socket_) loop_.Unwatch(socket_.get());
    socket_.Reset();
    in_.clear();
  }

  os::RealLoop& loop_;
  os::Fd socket_;
  std::string in_;
  bool interrupted_ = false;
};

struct Place {
  Surroundings here;
  std::string state_dir;
  std::unique_ptr<os::RealLoop> loop;
  std::vector<uint32_t> numbers;  // of all runs
  uint32_t last = 0;              // of them, the newest that was accepted
  std::string whose;              // what makes commands mean these: " --local"
};

Result<Place> FindPlace(const cli::Words& words) {
  auto here = Surroundings::Find();
  if (!here) return std::unexpected(here.error());
  std::string state = StateDirOf(std::string(words.Last(cli::Opt::kState).value_or("")), *here);
  auto numbers = store::RunNumbers(state);
  if (!numbers) return std::unexpected(numbers.error());
  auto last = store::NewestAccepted(state, *numbers);
  if (!last) return std::unexpected(last.error());
  if (!*last) return Fail(ErrorKind::kNotFound, "there is no job yet in " + state);
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(loop.error());
  os::IgnoreSignal(os::kSignalPipe);
  std::string whose =
      cli::WhoseOption({.state_dir = std::string(words.Last(cli::Opt::kState).value_or("")),
                        .beside_hub = HubIsConfigured(*here)});
  return Place{std::move(*here),    std::move(state), std::move(*loop),
               std::move(*numbers), **last,           std::move(whose)};
}

Result<std::vector<uint32_t>> NumbersOf(const Place& place, const std::string& word) {
  auto selector = format::ParseJobSelector(word);
  if (!selector) return std::unexpected(selector.error());
  std::vector<uint32_t> chosen;
  for (uint32_t number : place.numbers) {
    if (selector->Contains(number, place.last)) chosen.push_back(number);
  }
  if (chosen.empty()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no job {} in {}", EscapeForScreen(word), place.state_dir));
  }
  return chosen;
}

// Whether a job's tasks were cancelled by somebody; else they have left their list.
bool WasCancelled(const std::string& state_dir, uint32_t number) {
  auto history = store::History::Open(state_dir, number);
  bool cancelled = false;
  if (!history) return true;
  auto read = history->Log([&](const engine::Record& record) {
    if (std::holds_alternative<engine::JobCancelled>(record)) cancelled = true;
    if (std::holds_alternative<engine::TasksCancelled>(record)) cancelled = true;
    const auto* withdrawn = std::get_if<engine::TasksWithdrawn>(&record);
    if (withdrawn != nullptr && !withdrawn->reason.empty()) cancelled = true;
  });
  return !read || cancelled;
}

class Waiter {
 public:
  Waiter(Place& place, RunCall& call, bool bar)
      : place_(place),
        call_(call),
        terminal_(os::LookAtTerminal(os::kStderr, place.here.environment)),
        bar_(bar && terminal_.may_move),
        tells_(bar) {}

  Result<int> Wait(uint32_t number);

 private:
  void Show(const RunNews& news);
  void Erase();
  int Finish(const store::JobSummary& job);
  int Interrupted(uint32_t number);

  Place& place_;
  RunCall& call_;
  os::TerminalFacts terminal_;
  bool bar_;
  bool tells_;  // a good end, too
  bool shown_ = false;
  std::optional<cli::RateMeter> rate_;
};

void Waiter::Erase() {
  if (std::exchange(shown_, false)) fmt::print(stderr, "\r\x1b[K");
}

void Waiter::Show(const RunNews& news) {
  if (!bar_) return;
  Instant now = place_.loop->Now();
  uint64_t ended = news.counts.finished();
  if (!rate_) {
    rate_.emplace();
    rate_->Start(now, ended);
  }
  rate_->Note(now, ended);
  cli::BarState state{.done = news.counts.succeeded,
                      .ended = ended,
                      .total = news.counts.total,
                      .open = news.open,
                      .failed = uint64_t{news.counts.failed} + news.counts.unknown,
                      .running = news.running,
                      .rate = rate_->PerSecond(now),
                      .pause = news.held ? "held" : "",
                      .colour = terminal_.may_colour};
  auto width = static_cast<int>(os::TerminalWidth(os::kStderr, place_.here.environment));
  fmt::print(stderr, "\r\x1b[K{}", cli::DrawBar(state, width));
  shown_ = true;
}

int Waiter::Interrupted(uint32_t number) {
  Erase();
  fmt::print(stderr,
             "spate: job {0} goes on; to wait again: spate job wait{1} {0}; to end it: spate job "
             "cancel{1} {0}\n",
             number, place_.whose);
  return cli::kExitInterrupted;
}

int Waiter::Finish(const store::JobSummary& job) {
  Erase();
  const JobCounts& counts = job.row.counts;
  uint32_t failed = counts.failed + counts.unknown;
  bool ended = job.standing == JobStanding::kFinished;
  bool good = ended && failed == 0 &&
              (counts.cancelled == 0 || !WasCancelled(place_.state_dir, job.number));
  if (good && !tells_) return cli::kExitSuccess;
  std::string text = fmt::format("spate: job {}: {} of {} succeeded", job.number,
                                 FormatCount(counts.succeeded), cli::CountOf(counts.total, "task"));
  for (auto [count, what] : {std::pair{counts.failed, "failed"},
                             {counts.unknown, "unknown"},
                             {counts.cancelled, good ? "not in the list any more" : "cancelled"},
                             {counts.total - counts.finished(), "not done"}}) {
    if (count > 0) text += fmt::format(", {} {}", FormatCount(count), what);
  }
  fmt::print(stderr, "{}\n", text);
  if (!ended) {
    fmt::print(stderr, "spate: it {}; how to go on: spate job info{} {}\n",
               job.standing == JobStanding::kStopped ? "has stopped" : "was interrupted",
               place_.whose, job.number);
  } else if (failed > 0) {
    fmt::print(stderr, "spate: to run them again: spate job retry{} {}\n", place_.whose,
               job.number);
  }
  return good ? cli::kExitSuccess : cli::kExitTasksFailed;
}

Result<int> Waiter::Wait(uint32_t number) {
  std::string folder = store::JobPath(place_.state_dir, number);
  for (;;) {
    auto owner = store::RunningOwner(folder);
    if (!owner) return std::unexpected(owner.error());
    if (!*owner) break;
    if (call_.Connect(folder)) {
      while (auto line = call_.Next()) {
        if (auto news = ParseRunNews(*line)) Show(*news);
      }
    }
    if (call_.interrupted()) return Interrupted(number);
    call_.Pause(kLookAgain);  // it writes its last words, or begins, or cannot be talked to
  }
  auto job = store::SummarizeJob(place_.state_dir, number);
  if (!job) return std::unexpected(job.error());
  if (job->standing == JobStanding::kDamaged) return Fail(ErrorKind::kCorrupt, job->problem);
  return Finish(*job);
}

Result<int> WaitFor(const cli::Invocation& invocation) {
  auto place = FindPlace(invocation.words);
  if (!place) return std::unexpected(place.error());
  RunCall call(*place->loop);
  place->loop->OnSignal(os::kSignalInt, [&] { call.Interrupt(); });
  bool bar = invocation.words.command == cli::Command::kJobProgress;
  std::vector<std::string> words = invocation.words.words;
  if (words.empty()) words.push_back("last");
  int code = cli::kExitSuccess;
  for (const std::string& word : words) {
    auto numbers = NumbersOf(*place, word);
    if (!numbers) return std::unexpected(numbers.error());
    for (uint32_t number : *numbers) {
      auto waited = Waiter(*place, call, bar).Wait(number);
      // Of several, those that were never accepted are passed over.
      bool absent = !waited && waited.error().kind == ErrorKind::kNotFound;
      if (absent && numbers->size() > 1) continue;
      if (!waited) return waited;
      code = std::max(code, *waited);
      if (call.interrupted()) return code;
    }
  }
  return code;
}

// ---- Orders ------------------------------------------------------------------------------------

std::string_view WordOf(cli::Command command) {
  switch (command) {
    case cli::Command::kJobHold:
      return "hold";
    case cli::Command::kJobRelease:
      return "release";
    default:
      return "cancel";
  }
}

// Gives a run an order; returns what became of it. kUnavailable: nobody carries the job on.
Result<RunEntrance::Answer> Order(RunCall& call, const Place& place, uint32_t number,
                                  const std::string& order) {
  std::string folder = store::JobPath(place.state_dir, number);
  auto owner = store::RunningOwner(folder);
  if (!owner) return std::unexpected(owner.error());
  if (!*owner) {
    return Fail(
        ErrorKind::kUnavailable,
        fmt::format("job {0} is not running; see: spate job info{1} {0}", number, place.whose));
  }
  Error deaf{ErrorKind::kUnavailable,
             fmt::format("job {} runs as process {}, which does not answer; it may be stopped, or "
                         "of another version",
                         number, (*owner)->pid)};
  if (!call.Connect(folder) || !call.Send(order)) return std::unexpected(std::move(deaf));
  for (;;) {
    auto heard = call.NextWithin(kOrderPatience);
    if (!heard) return std::unexpected(std::move(deaf));
    if (!*heard || (*heard)->starts_with("end ")) break;
    const std::string& line = **heard;
    if (line.starts_with("done ")) return RunEntrance::Answer{true, line.substr(5)};
    if (line.starts_with("no ")) return RunEntrance::Answer{false, line.substr(3)};
  }
  return RunEntrance::Answer{false, fmt::format("job {} has just ended", number)};
}

Result<int> GiveOrders(const cli::Invocation& invocation) {
  auto place = FindPlace(invocation.words);
  if (!place) return std::unexpected(place.error());
  std::string_view verb = WordOf(invocation.words.command);
  struct One {
    uint32_t number = 0;
    std::string order;
    bool by_all = false;  // chosen by all: who does not run is passed over
  };
  std::vector<One> orders;
  for (const std::string& word : invocation.words.words) {
    if (verb == "cancel" && word.find('.') != std::string::npos) {
      auto parts = format::ParseTaskSelector(word);
      if (!parts) return std::unexpected(parts.error());
      history::JournalAsker runs(RunsIn(place->state_dir, 1));
      if (auto found = cli::LookUpNames(runs, *parts); !found) {
        return std::unexpected(found.error());
      }
      for (const TasksOfJob& part : *parts) {
        uint32_t number = part.job.value_or(place->last);
        if (!std::binary_search(place->numbers.begin(), place->numbers.end(), number)) {
          return Fail(ErrorKind::kNotFound,
                      fmt::format("there is no job {} in {}", number, place->state_dir));
        }
        std::string tasks;
        for (const NumberRange& range : part.ranges) {
          tasks += fmt::format("{}{}-{}:{}", tasks.empty() ? "" : ",", range.first, range.last,
                               range.step);
        }
        orders.push_back(
            {number, part.all ? "cancel" : fmt::format("cancel {}.{}", number, tasks)});
      }
      continue;
    }
    auto numbers = NumbersOf(*place, word);
    if (!numbers) return std::unexpected(numbers.error());
    for (uint32_t number : *numbers) orders.push_back({number, std::string(verb), word == "all"});
  }
  int code = cli::kExitSuccess;
  size_t obeyed = 0;
  RunCall call(*place->loop);
  for (const One& one : orders) {
    auto answer = Order(call, *place, one.number, one.order);
    if (!answer && one.by_all) continue;
    if (!answer && orders.size() == 1) return std::unexpected(answer.error());
    bool done = answer && answer->done;
    obeyed += done ? 1 : 0;
    if (!done) code = cli::kExitTasksFailed;
    fmt::print(stderr, "spate: {}\n", answer ? answer->text : answer.error().message);
  }
  if (obeyed == 0 && code == cli::kExitSuccess) fmt::print(stderr, "spate: no job is running\n");
  return code;
}

int Reported(Result<int> code) { return code ? *code : cli::ReportError(code.error()); }

}  // namespace

bool OrdersGoToHub(const cli::Words& words) {
  bool here = words.Last(cli::Opt::kState) && !words.Has(cli::Opt::kLocal);
  if (!here) return SpeaksOfHub(words);
  auto place = Surroundings::Find();
  std::string state(words.Last(cli::Opt::kState).value_or(""));
  return place && os::Exists(os::JoinPath(HubDirOf(state, *place), "hub.db"));
}

int WaitForRuns(const cli::Invocation& invocation) { return Reported(WaitFor(invocation)); }
int OrderRuns(const cli::Invocation& invocation) { return Reported(GiveOrders(invocation)); }

}  // namespace spate::run
