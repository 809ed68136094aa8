// TaskTail: looks at the task again and again (LookAtRun). Each look is of one attempt, and begins
// where the last one of the same attempt stopped; an attempt that is over is finished from the
// journal (ReadOutput) from there on, so that nothing of it is missing or doubled. A node that
// cannot be asked, a task that waits and one that is tried again are told of once, when that is so.
//
// Looks come at once while there is more to read, and slower the longer nothing comes.
#include "command/job/task_tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/shared.h"
#include "command/job/last_lines.h"
#include "command/job/output.h"
#include "core/model/gang_end.h"
#include "present/text/end_text.h"
#include "present/why.h"
#include "view/task_text.h"

namespace spate::cli {
namespace {

using Shown = wire::LookAtRun::Answer;
using Standing = RunLook::Standing;
using wire::Streams;
using What = OutputFacts::What;

constexpr Duration kSoonest = Duration::Millis(100);
constexpr Duration kLatest = Duration::Seconds(1);
// Looks at an attempt that is neither waiting nor running on its node: its end is on its way, or
// its lease. And at a journal that has not got an end yet.
constexpr int kMostTransient = 50;
constexpr int kStreamCount = 2;

bool Wants(Streams streams, int stream) {
  return streams == Streams::kBoth ||
         streams == (stream == 1 ? Streams::kStdout : Streams::kStderr);
}

const char* StreamName(int stream) { return stream == 1 ? "standard output" : "standard error"; }

bool IsOver(TaskState state) { return state != TaskState::kQueued && state != TaskState::kLeased; }

class TaskTail {
 public:
  TaskTail(HistoryCall& call, TasksOfJob task, const TailWish& wish)
      : call_(call), task_(std::move(task)), wish_(wish) {}
  Result<int> Run();

 private:
  struct Position {
    uint64_t at = 0;  // bytes of the stream that were printed, or passed over
    bool file_told = false;
    bool trouble_told = false;
  };
  // The step behind a look.
  enum class Next { kAgain, kPause, kDone };

  Result<Shown> Look(const RunWish& wish);
  RunWish WishFrom(uint64_t out, uint64_t err, uint32_t most) const;
  Result<Next> ActOn(const Shown& shown);
  Result<Next> ActOnRun(const Shown& shown);
  Result<Next> OnTransient(const Shown& shown);
  Result<Next> OnLost(const Error& error);
  void Begin(const Shown& shown);
  std::optional<uint64_t> BeginOfLast(int stream, uint64_t total);
  bool Print(const Shown& shown);
  void Put(int stream, std::string bytes);
  void TellFile(int stream, const std::string& file, const std::string& node = "");
  void IsGang(uint32_t ranks);

  // From the journal.
  Result<TaskDetails> Describe(uint32_t until_attempt);
  bool TellNoJournal();
  Result<bool> FinishAttempts(uint32_t until);
  Status ReadOutput(uint32_t attempt, const std::function<void(const OutputFacts&)>& take);
  Status ReadRest(uint32_t attempt);
  Status ReadLast(uint32_t attempt);
  Result<Next> FromJournal();
  void TellEnd(const TaskDetails& details, uint32_t attempt);

  void Tell(std::string text);
  void Pause();
  std::string Id() const { return fmt::format("{}.{}", job_.value, number_); }

  HistoryCall& call_;
  TasksOfJob task_;
  TailWish wish_;
  JobId job_;             // once it is known
  uint32_t number_ = 0;   // of the task
  uint32_t attempt_ = 0;  // that is being shown; 0: none
  std::array<Position, kStreamCount> positions_;
  std::array<bool, kStreamCount> in_line_ = {};  // with a tag: no line feed came last
  bool began_ = false;                           // of the attempt, bytes were found where to begin
  bool first_ = true;  // no attempt was shown: its last lines are wanted, of others all
  int transient_ = 0;
  int unreachable_ = 0;
  Duration pause_ = kSoonest;
  std::string told_;
  bool incomplete_ = false;
};

void TaskTail::Tell(std::string text) {
  if (text == told_) return;
  call_.Report(text);
  told_ = std::move(text);
}

void TaskTail::Pause() {
  (void)call_.Flush();
  if (call_.environment().pause) call_.environment().pause(pause_);
  pause_ = std::min(pause_ * 2, kLatest);
}

Result<Shown> TaskTail::Look(const RunWish& wish) {
  auto asker = TRY(call_.Whom());
  Shown shown = TRY(client::QueryOne(*asker, wire::LookAtRun{task_, wish, wish_.rank.value_or(0)}));
  job_ = shown.job;
  number_ = shown.task;
  task_ = {.job = job_.value, .ranges = {{number_, number_, 1}}};
  return shown;
}

// A stream that is not wanted is asked for behind its end.
RunWish TaskTail::WishFrom(uint64_t out, uint64_t err, uint32_t most) const {
  return {.out_from = Wants(wish_.streams, 1) ? out : UINT64_MAX,
          .err_from = Wants(wish_.streams, 2) ? err : UINT64_MAX,
          .most = most};
}

void TaskTail::Put(int stream, std::string bytes) {
  OutputFacts piece;
  if (!wish_.tag.empty()) {
    std::string tagged;
    for (char c : bytes) {
      if (!std::exchange(in_line_[stream - 1], c != '\n')) tagged += wish_.tag;
      tagged += c;
    }
    bytes = std::move(tagged);
  }
  piece.stream = static_cast<uint32_t>(stream);
  piece.text = std::move(bytes);
  PutBytes(call_, wish_.streams, piece);
}

void TaskTail::TellFile(int stream, const std::string& file, const std::string& node) {
  Position& position = positions_[stream - 1];
  if (!Wants(wish_.streams, stream) || std::exchange(position.file_told, true)) return;
  call_.Report(fmt::format("{}: its {} goes to '{}'{}", Id(), StreamName(stream),
                           EscapeForScreen(file),
                           node.empty() ? "" : " on node " + EscapeForScreen(node)));
}

// Shows one rank, because ranks write at the same time.
void TaskTail::IsGang(uint32_t ranks) {
  if (ranks == 0 || wish_.rank) return;
  wish_.rank = 0;
  if (ranks == 1) return;
  call_.Report(fmt::format("{}: output of rank 0 of {} ranks (another one: --rank)", Id(), ranks));
}

// ---- While it runs -----------------------------------------------------------------------------

// nullopt: it may have ended meanwhile, and the next look tells. Then the journal has its last
// lines.
std::optional<uint64_t> TaskTail::BeginOfLast(int stream, uint64_t total) {
  uint64_t lines = wish_.lines;
  if (lines == UINT64_MAX) return 0;
  if (lines == 0) return total;
  for (uint64_t end = total; end > 0;) {
    const uint64_t from = end - std::min<uint64_t>(end, kLookPiece);
    const auto most = static_cast<uint32_t>(end - from);
    RunWish wish = WishFrom(UINT64_MAX, UINT64_MAX, most);
    (stream == 1 ? wish.out_from : wish.err_from) = from;
    const auto shown = Look(wish);
    if (!shown || shown->attempt != attempt_ || shown->look.standing != Standing::kRunning) {
      return std::nullopt;
    }
    const StreamSoFar& piece = stream == 1 ? shown->look.out : shown->look.err;
    if (piece.from != from || piece.bytes.size() != most) return end;
    if (auto at = BeginOfLines(piece.bytes, end == total, lines)) return from + *at;
    end = from;
  }
  return 0;
}

void TaskTail::Begin(const Shown& shown) {
  if (first_) {
    IsGang(shown.ranks);
    for (int stream = 1; stream <= kStreamCount; ++stream) {
      if (!Wants(wish_.streams, stream)) continue;
      const uint64_t total = (stream == 1 ? shown.look.out : shown.look.err).total;
      const auto begin = BeginOfLast(stream, total);
      if (!begin) {
        positions_ = {};
        return;
      }
      positions_[stream - 1].at = *begin;
    }
  }
  first_ = false;
  began_ = true;
}

// Returns true if there is more to read now.
bool TaskTail::Print(const Shown& shown) {
  bool more = false;
  for (int stream = 1; stream <= kStreamCount; ++stream) {
    const StreamSoFar& piece = stream == 1 ? shown.look.out : shown.look.err;
    Position& position = positions_[stream - 1];
    if (!Wants(wish_.streams, stream)) continue;
    if (!piece.file.empty()) TellFile(stream, piece.file, shown.node);
    if (!piece.trouble.empty() && !std::exchange(position.trouble_told, true)) {
      incomplete_ = true;
      call_.Report(fmt::format("{}: {}", Id(), EscapeForScreen(piece.trouble)));
    }
    if (piece.from != position.at || piece.bytes.empty()) continue;
    position.at += piece.bytes.size();
    more |= position.at < piece.total;
    pause_ = kSoonest;
    Put(stream, piece.bytes);
  }
  return more;
}

// A few times at once: soon it runs there, or its end is known.
Result<TaskTail::Next> TaskTail::OnTransient(const Shown& shown) {
  if (++transient_ < kMostTransient) {
    pause_ = kSoonest;
    return Next::kPause;
  }
  Tell(fmt::format("{}: it is starting or ending on node {}", Id(), EscapeForScreen(shown.node)));
  return wish_.follow ? Next::kPause : Next::kDone;
}

Result<TaskTail::Next> TaskTail::ActOnRun(const Shown& shown) {
  const std::string node = EscapeForScreen(shown.node);
  switch (shown.look.standing) {
    case Standing::kUnknown: {
      std::string why = fmt::format("{}: nothing can be read of it now: {}", Id(),
                                    EscapeForScreen(shown.look.why));
      if (!wish_.follow) return Fail(ErrorKind::kUnavailable, std::move(why));
      Tell(std::move(why));
      return Next::kPause;
    }
    case Standing::kNotStarted:
      // A node may report that of one that is about to end.
      if (began_) return OnTransient(shown);
      Tell(fmt::format("{}: node {} has it, and has not started it yet", Id(), node));
      return wish_.follow ? Next::kPause : Next::kDone;
    case Standing::kEnded:
      return OnTransient(shown);
    case Standing::kRunning:
      break;
  }
  transient_ = 0;
  told_.clear();
  if (!began_) {
    if (!first_) Tell(fmt::format("{}: attempt {} runs on node {}", Id(), attempt_, node));
    Begin(shown);
    return began_ ? Next::kAgain : Next::kPause;
  }
  const bool more = Print(shown);
  if (more) return Next::kAgain;
  return wish_.follow ? Next::kPause : Next::kDone;
}

Result<TaskTail::Next> TaskTail::ActOn(const Shown& shown) {
  unreachable_ = 0;
  if (attempt_ != 0 && shown.attempt != attempt_) {
    if (!TRY(FinishAttempts(shown.attempt))) return Next::kPause;
    if (!wish_.follow) return Next::kDone;  // it has ended between two looks
  }
  if (IsOver(shown.state)) return attempt_ != 0 ? Next::kDone : FromJournal();
  attempt_ = shown.attempt;
  if (shown.state == TaskState::kLeased) return ActOnRun(shown);
  const std::string why = present::TextOf(shown.why, call_.StateOption());
  Tell(fmt::format("{}: it waits{}", Id(), why.empty() ? "" : ": " + why));
  return wish_.follow ? Next::kPause : Next::kDone;
}

// ---- What has ended ----------------------------------------------------------------------------

// With the ends of all attempts before this one; 0: of all.
Result<TaskDetails> TaskTail::Describe(uint32_t until_attempt) {
  TaskDetails found;
  auto asker = TRY(call_.Whom());
  TRY(client::Query(*asker, wire::DescribeTasks{{wire::TaskPick{.jobs = {}, .tasks = {task_}}}},
                    [&](TaskDetails details) { found = std::move(details); }));
  job_ = found.job.job;
  number_ = found.task.index + 1;
  if (until_attempt == 0) return found;
  std::erase_if(found.attempts, [&](const AttemptFacts& each) {
    return each.end.ref.attempt.value >= until_attempt;
  });
  return found;
}

// End of the attempt; for a gang, of the part that decided it, with its rank and node.
const AttemptFacts* EndOf(const TaskDetails& details, uint32_t attempt) {
  const AttemptFacts* found = nullptr;
  for (const AttemptFacts& each : details.attempts) {
    if (each.end.ref.attempt.value != attempt) continue;
    if (found == nullptr || each.verdict != Verdict::kPart) found = &each;
  }
  return found;
}

void TaskTail::TellEnd(const TaskDetails& details, uint32_t attempt) {
  const AttemptFacts* end = EndOf(details, attempt);
  if (end == nullptr) return;
  std::string text = fmt::format("{}: ", Id());
  if (attempt > 1 || end->verdict == Verdict::kRetry) {
    text += fmt::format("attempt {}: ", attempt);
  }
  text += present::VerdictText(end->end);
  text += fmt::format(", after {}", FormatDuration(end->end.wall));
  const bool names_node = DecidedLine(end->end.note).empty();  // of a gang, another one may be last
  if (!end->node.empty() && names_node) text += " on node " + EscapeForScreen(end->node);
  if (end->verdict == Verdict::kRetry) text += "; the task is tried again";
  call_.Report(text);
  told_.clear();
}

// Pieces of its streams as bytes, or that none were kept; all else is told of here.
Status TaskTail::ReadOutput(uint32_t attempt, const std::function<void(const OutputFacts&)>& take) {
  wire::ReadOutput question{.tasks = {wire::TaskPick{.jobs = {}, .tasks = {task_}}},
                            .streams = wish_.streams,
                            .rank = wish_.rank,
                            .attempt = attempt};
  auto read = call_.Query(std::move(question), [&](const OutputFacts& piece) {
    if (piece.what == What::kInFile) return TellFile(piece.stream == 2 ? 2 : 1, piece.text);
    if (piece.what == What::kDamaged) {
      incomplete_ = true;
      return call_.Report(piece.text);
    }
    if (piece.what == What::kBytes || piece.what == What::kNotKept) take(piece);
  });
  // A rank without an end: its node was lost.
  if (read || read.error().kind != ErrorKind::kNotFound || !wish_.rank || attempt_ == 0)
    return read;
  incomplete_ = true;
  call_.Report(fmt::format("{}: nothing was kept of what rank {} wrote in attempt {}", Id(),
                           *wish_.rank, attempt));
  return {};
}

// Pieces of a stream may have gaps; what is behind the place that was printed comes out.
Status TaskTail::ReadRest(uint32_t attempt) {
  std::array<uint64_t, kStreamCount> at = {};
  auto missing = [&](int stream, uint64_t count, NotKept why) {
    incomplete_ = true;
    call_.Report(fmt::format("{}: {} bytes of its {} were not kept{}", Id(), FormatCount(count),
                             StreamName(stream), present::NotKeptWhy(why)));
  };
  return ReadOutput(attempt, [&](const OutputFacts& piece) {
    const int stream = piece.stream == 2 ? 2 : 1;
    uint64_t& here = at[stream - 1];
    Position& position = positions_[stream - 1];
    here += piece.count;
    if (here > position.at) {
      missing(stream, here - position.at, piece.why);
      position.at = here;
    }
    const uint64_t known = position.at - here;
    here += piece.text.size();
    if (known >= piece.text.size()) return;
    position.at = here;
    Put(stream, piece.text.substr(known));
  });
}

// Its last lines, of each stream.
Status TaskTail::ReadLast(uint32_t attempt) {
  NotKept why = NotKept::kNone;
  std::array<TailBuffer, kStreamCount> last = {TailBuffer(wish_.lines), TailBuffer(wish_.lines)};
  TRY(ReadOutput(attempt, [&](const OutputFacts& piece) {
    const int stream = piece.stream == 2 ? 2 : 1;
    if (piece.what == What::kNotKept) {
      incomplete_ = true;
      return call_.Report(fmt::format("{}: none of the {} bytes of its {} were kept{}", Id(),
                                      FormatCount(piece.count), StreamName(stream),
                                      present::NotKeptWhy(piece.why)));
    }
    if (piece.count > 0) last[stream - 1].Gap(), why = piece.why;
    last[stream - 1].Add(piece.text);
  }));
  for (int stream = 1; stream <= kStreamCount; ++stream) {
    TailBuffer& lines = last[stream - 1];
    if (lines.HasGap()) {
      incomplete_ = true;
      call_.Report(fmt::format("{}: a part of its {} was not kept{}", Id(), StreamName(stream),
                               present::NotKeptWhy(why)));
    }
    if (std::string bytes = lines.Take(); !bytes.empty()) Put(stream, std::move(bytes));
  }
  return {};
}

// A program that --at reaches may keep no journal: what the attempt wrote last is not to be read.
bool TaskTail::TellNoJournal() {
  if (!call_.words().Has(opt::kAt)) return false;
  auto read = ReadOutput(attempt_, [](const OutputFacts&) {});
  if (read || read.error().kind != ErrorKind::kUnavailable) return false;
  incomplete_ = true;
  call_.Report(fmt::format("{}: it has ended, and what it wrote last cannot be read here: {}", Id(),
                           EscapeForScreen(read.error().message)));
  return true;
}

// The attempt that was shown, and those after it up to `until` (0: all), have ended: tells their
// rest and how they ended. False: the journal does not know that yet.
Result<bool> TaskTail::FinishAttempts(uint32_t until) {
  const TaskDetails details = TRY(Describe(until));
  std::vector<uint32_t> ended;
  for (const AttemptFacts& each : details.attempts) {
    const uint32_t attempt = each.end.ref.attempt.value;
    if (attempt >= attempt_ && (ended.empty() || ended.back() != attempt)) ended.push_back(attempt);
  }
  std::ranges::sort(ended);
  ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
  if (ended.empty() || ended.front() != attempt_) {
    if (IsOver(details.task.state) && TellNoJournal()) return true;
    if (++transient_ < kMostTransient) return false;
    incomplete_ = true;
    call_.Report(
        fmt::format("{}: attempt {} was given back, or its end is not known", Id(), attempt_));
  }
  transient_ = 0;
  for (uint32_t attempt : ended) {
    const bool fresh = attempt != attempt_ || !began_;
    if (fresh && std::exchange(first_, false)) {
      TRY(ReadLast(attempt));
    } else {
      TRY(ReadRest(attempt));
    }
    (void)call_.Flush();
    if (wish_.follow) TellEnd(details, attempt);
    positions_ = {};
    began_ = false;
  }
  // Another attempt is shown from its beginning.
  positions_ = {};
  began_ = false;
  return true;
}

// The newest attempt of a task that nobody has in memory.
Result<TaskTail::Next> TaskTail::FromJournal() {
  const TaskDetails details = TRY(Describe(0));
  if (details.attempts.empty()) {
    // It is refused where no journal could tell of an attempt.
    if (call_.words().Has(opt::kAt)) TRY(ReadOutput(0, [](const OutputFacts&) {}));
    Tell(fmt::format("{}: it is {} and has no output", Id(), StateWord(details.task)));
    return Next::kDone;
  }
  const uint32_t newest = details.attempts.back().end.ref.attempt.value;
  IsGang(details.asks.value_or(TaskClass()).gang.procs);
  TRY(ReadLast(newest));
  (void)call_.Flush();
  if (wish_.follow) TellEnd(details, newest);
  return Next::kDone;
}

// The look has failed.
Result<TaskTail::Next> TaskTail::OnLost(const Error& error) {
  if (error.kind == ErrorKind::kNotFound) {
    if (attempt_ == 0) return FromJournal();
    return TRY(FinishAttempts(0)) ? Next::kDone : Next::kPause;
  }
  if (error.kind != ErrorKind::kUnavailable) return std::unexpected(error);
  if (call_.words().Has(opt::kAt) && attempt_ != 0) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("{}: the program that runs it has ended, or does not answer ({}); the "
                            "program writes task output to its own stdout or to files",
                            Id(), error.message));
  }
  if (call_.on_hub()) {
    if (!wish_.follow || job_ == JobId()) return std::unexpected(error);
    Tell(fmt::format("the hub is unreachable ({}); trying again", error.message));
    return Next::kPause;
  }
  // A run that has ended, or does not answer.
  const TaskDetails details = TRY(Describe(0));
  if (details.job.state == JobStanding::kRunning) {
    if (++unreachable_ < kMostTransient && job_ != JobId() && attempt_ != 0) return Next::kPause;
    return std::unexpected(error);
  }
  if (attempt_ == 0) return FromJournal();
  if (TRY(FinishAttempts(0))) return Next::kDone;
  return Next::kPause;
}

Result<int> TaskTail::Run() {
  for (;;) {
    auto shown = Look(WishFrom(positions_[0].at, positions_[1].at, began_ ? kLookPiece : 0));
    const Next next = TRY(shown ? ActOn(*shown) : OnLost(shown.error()));
    if (next == Next::kDone) break;
    if (next == Next::kPause) Pause();
    TRY(call_.Flush());
  }
  for (int stream = 1; stream <= kStreamCount; ++stream) {
    if (!in_line_[stream - 1]) continue;
    wish_.tag.clear();
    Put(stream, "\n");
  }
  return incomplete_ ? kExitTasksFailed : kExitSuccess;
}

}  // namespace

Result<int> TailTask(HistoryCall& call, TasksOfJob task, const TailWish& wish) {
  return TaskTail(call, std::move(task), wish).Run();
}

}  // namespace spate::cli
