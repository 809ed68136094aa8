// Output of tasks: of some tasks, the last lines of a job, or as its tasks end.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "history/call.h"
#include "history/pack_part.h"
#include "history/pick.h"
#include "history/task_texts.h"
#include "os/real_loop.h"

namespace spate::history {
namespace {

using store::Stream;
using What = OutputFacts::What;
using wire::Streams;

constexpr size_t kEndsAtOnce = 64;
constexpr Duration kPause = Duration::Millis(100);
constexpr Duration kTurn = Duration::Seconds(2);  // readers are few: who follows comes back
constexpr size_t kBlock = 256 << 10;

bool Wants(Streams streams, Stream stream) {
  switch (stream) {
    case Stream::kStdout:
      return streams == Streams::kBoth || streams == Streams::kStdout;
    case Stream::kStderr:
      return streams == Streams::kBoth || streams == Streams::kStderr;
    case Stream::kFiles:
      break;
  }
  return streams == Streams::kFiles;
}

OutputFacts PieceOf(const AttemptEnd& end, Stream stream, What what = What::kBytes) {
  OutputFacts piece;
  piece.what = what;
  piece.job = end.ref.job;
  piece.index = end.ref.index;
  piece.why = end.not_kept;
  piece.stream = static_cast<uint32_t>(stream);
  return piece;
}

OutputFacts BytesOf(const AttemptEnd& end, Stream stream, std::string_view bytes,
                    uint64_t skipped = 0) {
  OutputFacts piece = PieceOf(end, stream);
  piece.text = bytes;
  piece.count = skipped;
  return piece;
}

// A piece of it is a message.
Status PutBytes(const Asking& call, const AttemptEnd& end, Stream stream, std::string_view bytes,
                uint64_t skipped = 0) {
  do {
    auto put = call.Put(BytesOf(end, stream, bytes.substr(0, kBlock), skipped));
    if (!put) return put;
    bytes.remove_prefix(std::min(bytes.size(), kBlock));
    skipped = 0;
  } while (!bytes.empty());
  return {};
}

// ---- Of some tasks -----------------------------------------------------------------------------

class Teller {
 public:
  Teller(const Asking& call, const wire::ReadOutput& asked) : call_(call), asked_(asked) {}
  Status Tell(const PickedTasks& picked);

 private:
  void TellTask(const store::TaskSummary& task, bool named);
  void TellRank(const store::TaskSummary& task, const std::vector<store::AttemptEntry>& parts);
  void TellStreamOfRank(const store::AttemptEntry& attempt, Stream stream, uint64_t begin,
                        uint64_t size);
  // Rows with the output of the newest attempt, or of the one asked for: of a gang, one for each
  // part.
  std::vector<store::AttemptEntry> PartsOf(const store::TaskSummary& task);
  void TellStream(const store::AttemptEntry& attempt, Stream stream);
  void TellFiles(const store::AttemptEntry& attempt);
  // Reports the target of a task's output when nothing of it was collected.
  void TellPlaces(const store::TaskSummary& task);
  void Put(const OutputFacts& piece) {
    if (status_) status_ = call_.Put(piece);
  }

  const Asking& call_;
  const wire::ReadOutput& asked_;
  store::JobJournal* history_ = nullptr;
  TaskTexts* texts_ = nullptr;
  uint64_t not_ended_ = 0;
  bool stopped_ = false;
  Status status_;
};

void Teller::TellStream(const store::AttemptEntry& attempt, Stream stream) {
  const AttemptEnd& end = attempt.record.end;
  auto extent =
      history_->ReadOutput(attempt, stream, [&](std::string_view bytes, uint64_t skipped) {
        if (status_) status_ = PutBytes(call_, end, stream, bytes, skipped);
      });
  if (!extent) {
    OutputFacts damaged = PieceOf(end, stream, What::kDamaged);
    damaged.text = extent.error().message;
    Put(damaged);
  } else if (extent->kept == 0 && extent->total > 0) {
    OutputFacts lost = PieceOf(end, stream, What::kNotKept);
    lost.count = extent->total;
    Put(lost);
  }
}

// Pieces of a stream that may have a gap, as far as they are the rank's.
void Teller::TellStreamOfRank(const store::AttemptEntry& attempt, Stream stream, uint64_t begin,
                              uint64_t size) {
  const AttemptEnd& of = attempt.record.end;
  const uint64_t end = begin + size;
  uint64_t at = 0;
  uint64_t missing = 0;  // of the rank, since the last piece of it
  auto read = history_->ReadOutput(attempt, stream, [&](std::string_view bytes, uint64_t skipped) {
    auto in_common = [&](uint64_t count) {
      const uint64_t first = std::max(at, begin);
      const uint64_t last = std::min(at + count, end);
      return last > first ? last - first : 0;
    };
    missing += in_common(skipped);
    at += skipped;
    if (uint64_t count = in_common(bytes.size()); count > 0 && status_) {
      std::string_view own = bytes.substr(std::max(at, begin) - at, count);
      status_ = PutBytes(call_, of, stream, own, std::exchange(missing, 0));
    }
    at += bytes.size();
  });
  if (!read) {
    OutputFacts damaged = PieceOf(of, stream, What::kDamaged);
    damaged.text = read.error().message;
    return Put(damaged);
  }
  if (read->kept == 0) missing = size;
  if (missing == 0) return;
  if (missing < size) {
    if (status_) status_ = PutBytes(call_, of, stream, {}, missing);
    return;
  }
  OutputFacts lost = PieceOf(of, stream, What::kNotKept);
  lost.count = missing;
  Put(lost);
}

void Teller::TellRank(const store::TaskSummary& task,
                      const std::vector<store::AttemptEntry>& parts) {
  for (const store::AttemptEntry& part : parts) {
    uint64_t out = 0;
    uint64_t err = 0;
    for (const ProcessEnd& process : part.record.end.processes) {
      if (process.rank == *asked_.rank && IsOfGang(part.record.end)) {
        if (Wants(asked_.streams, Stream::kStdout)) {
          TellStreamOfRank(part, Stream::kStdout, out, process.stdout_bytes);
        }
        if (Wants(asked_.streams, Stream::kStderr)) {
          TellStreamOfRank(part, Stream::kStderr, err, process.stderr_bytes);
        }
        return;
      }
      out += process.stdout_bytes;
      err += process.stderr_bytes;
    }
  }
  status_ = Fail(ErrorKind::kNotFound,
                 fmt::format("--rank: no output of rank {} of task {}.{}: the task is not a gang, "
                             "has fewer processes, or they have not ended",
                             *asked_.rank, history_->summary().number, task.index + 1));
}

std::vector<store::AttemptEntry> Teller::PartsOf(const store::TaskSummary& task) {
  const Attempt newest = task.last->record.end.ref.attempt;
  const uint32_t wanted = asked_.attempt == 0 ? newest.value : asked_.attempt;
  if (!task.has_parts && wanted == newest.value) return {*task.last};
  auto attempts = history_->Attempts(task.index);
  if (!attempts) {
    status_ = std::unexpected(std::move(attempts.error()));
    return {};
  }
  std::erase_if(*attempts, [&](const store::AttemptEntry& each) {
    return each.record.end.ref.attempt.value != wanted;
  });
  // Parts of which nothing is known, as their node was lost, are the last.
  std::ranges::stable_sort(*attempts, {}, [](const store::AttemptEntry& each) {
    const std::vector<ProcessEnd>& processes = each.record.end.processes;
    return processes.empty() ? UINT64_MAX : uint64_t{processes.front().rank};
  });
  return std::move(*attempts);
}

void Teller::TellFiles(const store::AttemptEntry& attempt) {
  if (attempt.kept.files_bytes == 0) return;
  const AttemptEnd& end = attempt.record.end;
  PackPart part(*texts_, attempt, PackPart::Of::kGets, [&](std::string_view bytes) {
    if (status_) status_ = PutBytes(call_, end, Stream::kFiles, bytes);
  });
  auto read = history_->ReadOutput(attempt, Stream::kFiles,
                                   [&](std::string_view bytes, uint64_t) { part.Feed(bytes); });
  Status taken = read ? part.Finish() : std::unexpected(read.error());
  if (taken) return;
  OutputFacts damaged = PieceOf(end, Stream::kFiles, What::kDamaged);
  damaged.text = taken.error().message;
  Put(damaged);
  stopped_ = true;  // behind a damaged pack nothing can be told apart
}

void Teller::TellPlaces(const store::TaskSummary& task) {
  const AttemptEnd& end = task.last->record.end;
  auto body = texts_->Body({.index = task.index, .slot = end.slot});
  if (!body) return;
  for (auto [file, stream] :
       {std::pair{&body->stdout_file, Stream::kStdout}, {&body->stderr_file, Stream::kStderr}}) {
    if (file->empty() || !Wants(asked_.streams, stream)) continue;
    OutputFacts piece = PieceOf(end, stream, What::kInFile);
    piece.text = *file;
    Put(piece);
  }
}

void Teller::TellTask(const store::TaskSummary& task, bool named) {
  if (!task.last) {
    ++not_ended_;
    if (!named) return;
    OutputFacts none;
    none.what = What::kNoneYet;
    none.job = JobId(history_->summary().number);
    none.index = task.index;
    none.state = task.state;
    return Put(none);
  }
  const std::vector<store::AttemptEntry> parts = PartsOf(task);
  if (asked_.rank) return TellRank(task, parts);
  bool wrote = false;
  for (const store::AttemptEntry& part : parts) {
    if (asked_.streams == Streams::kFiles) {
      TellFiles(part);
      continue;
    }
    const AttemptEnd& end = part.record.end;
    wrote = wrote || end.stdout_total > 0 || end.stderr_total > 0;
    for (Stream stream : {Stream::kStdout, Stream::kStderr}) {
      if (Wants(asked_.streams, stream)) TellStream(part, stream);
    }
  }
  if (named && !wrote && asked_.streams != Streams::kFiles) TellPlaces(task);
}

Status Teller::Tell(const PickedTasks& picked) {
  auto history = TRY(call_.source.Open(picked.job));
  TaskTexts texts(call_.source, *history);
  history_ = history.get();
  texts_ = &texts;
  not_ended_ = 0;
  auto visited = VisitTasks(*history, picked, asked_.states, [&](const store::TaskSummary& task) {
    TellTask(task, !picked.all);
    return status_.has_value() && !stopped_;
  });
  if (visited && picked.all && not_ended_ > 0) {
    OutputFacts without;
    without.what = What::kTasksWithout;
    without.job = JobId(picked.job);
    without.count = not_ended_;
    Put(without);
  }
  return visited ? status_ : visited;
}

// ---- The last lines ----------------------------------------------------------------------------
//
// From the newest attempt backwards it is found where these lines begin, and then they are told.

// Output of one attempt on a stream, from `skip` kept bytes on.
struct Part {
  store::AttemptEntry attempt;
  Stream stream = Stream::kStdout;
  uint64_t skip = 0;
};

uint64_t KeptOf(const store::AttemptEntry& attempt, Stream stream) {
  return stream == Stream::kStdout ? attempt.kept.stdout_bytes : attempt.kept.stderr_bytes;
}

// Beginning of the last `lines` of a stream; takes from `lines` what there is. Reads from the end,
// a block at a time: a stream may be longer than what memory should hold.
Result<uint64_t> BeginOfLast(store::JobJournal& history, const store::AttemptEntry& attempt,
                             Stream stream, uint64_t& lines) {
  uint64_t kept = KeptOf(attempt, stream);
  for (uint64_t end = kept; end > 0;) {
    uint64_t begin = end - std::min<uint64_t>(end, kBlock);
    std::string block;
    TRY(history.ReadOutputPart(attempt, stream, {begin, end - begin},
                               [&](std::string_view bytes, uint64_t) { block += bytes; }));
    // The last line may have its end or not.
    for (uint64_t at = end == kept ? block.size() - 1 : block.size(); at > 0; --at) {
      if (block[at - 1] == '\n' && --lines == 0) return begin + at;
    }
    end = begin;
  }
  if (kept > 0) --lines;  // the first line of all
  return 0;
}

// The newest first. `newest` becomes the place of the newest record in the journal.
Result<std::vector<Part>> FindLast(store::JobJournal& history, const wire::TailOutput& asked,
                                   uint64_t& newest) {
  std::vector<Part> parts;
  uint64_t lines = asked.lines;
  Status status;
  newest = TRY(history.Replayed())->position();
  auto visited = history.NewestOutputs([&](uint64_t, const store::AttemptEntry& attempt) {
    for (Stream stream : {Stream::kStderr, Stream::kStdout}) {
      if (!Wants(asked.streams, stream) || lines == 0) continue;
      auto skip = BeginOfLast(history, attempt, stream, lines);
      if (!skip) status = std::unexpected(std::move(skip.error()));
      if (!status) return false;
      if (KeptOf(attempt, stream) > 0) parts.push_back({attempt, stream, *skip});
    }
    return lines > 0;
  });
  if (!visited || !status) return std::unexpected(!visited ? visited.error() : status.error());
  return parts;
}

// Returns the place of the newest record in the journal.
Result<uint64_t> TellLast(const Asking& call, store::JobJournal& history,
                          const wire::TailOutput& asked) {
  uint64_t newest = 0;
  auto parts = TRY(FindLast(history, asked, newest));
  if (parts.empty() && asked.lines > 0 && !asked.follow) {
    OutputFacts nothing;
    nothing.what = What::kNothing;
    nothing.job = JobId(history.summary().number);
    TRY(call.Put(nothing));
  }
  Status status;
  for (const Part& part : std::views::reverse(parts)) {
    TRY(history.ReadOutputPart(
        part.attempt, part.stream, {part.skip}, [&](std::string_view bytes, uint64_t) {
          if (!status) return;
          status = PutBytes(call, part.attempt.record.end, part.stream, bytes);
        }));
    if (!status) return std::unexpected(std::move(status.error()));
  }
  return newest;
}

// ---- As tasks end ------------------------------------------------------------------------------

Status PutPlace(const Asking& call, What what, uint32_t job, uint64_t position) {
  OutputFacts place;
  place.what = what;
  place.job = JobId(job);
  place.count = position;
  return call.Put(place);
}

Status TellEnds(const Asking& call, store::Tail& tail, const std::vector<store::Tail::End>& ends,
                Streams streams) {
  Status status;
  for (const store::Tail::End& end : ends) {
    const AttemptEnd& of = end.attempt.record.end;
    for (Stream stream : {Stream::kStdout, Stream::kStderr}) {
      if (!Wants(streams, stream)) continue;
      TRY(tail.ReadOutput(end.attempt, stream, [&](std::string_view bytes, uint64_t) {
        if (status) status = PutBytes(call, of, stream, bytes);
      }));
    }
    if (status) status = PutPlace(call, What::kPosition, of.ref.job.value, end.seq);
    if (!status) return status;
  }
  return status;
}

// From behind this place of the journal, until the job has ended or its turn is over.
Status Follow(const Asking& call, uint32_t job, Streams streams, uint64_t after) {
  auto tail = TRY(call.source.history->stream().Follow(job));
  auto loop = TRY(os::RealLoop::Create());
  TRY(PutPlace(call, What::kPosition, job, after));
  for (Instant quiet = loop->Now(); loop->Now() - quiet < kTurn;) {
    auto news = TRY(tail->Read(after, kEndsAtOnce));
    TRY(TellEnds(call, *tail, news.ends, streams));
    after = std::max(after, news.seq);
    if (!news.ends.empty() || news.more) quiet = loop->Now();
    if (news.more) continue;
    if (news.finished) return PutPlace(call, What::kFinished, job, after);
    loop->At(loop->Now() + kPause, [&] { loop->Stop(); });
    loop->Run();
  }
  return PutPlace(call, What::kPosition, job, after);
}

}  // namespace

Status Answer(const Asking& call, const wire::ReadOutput& asked) {
  auto picked = TRY(PickTasks(call.source, asked.tasks));
  Teller teller(call, asked);
  for (const PickedTasks& tasks : picked) {
    TRY(teller.Tell(tasks));
  }
  return {};
}

Status Answer(const Asking& call, const wire::TailOutput& asked) {
  if (asked.follow && !call.source.on_hub()) {
    return Fail(ErrorKind::kInvalid,
                "--follow: a run on this machine shows its output where it was started; only a "
                "hub's job is followed");
  }
  auto jobs = TRY(PickJobs(call.source, asked.job));
  if (jobs.size() != 1) {
    return Fail(ErrorKind::kInvalid, "name one job, as in", Remedy(": {}", Advice("job tail", 12)));
  }
  auto history = TRY(call.source.Open(jobs.front()));
  if (asked.after) return Follow(call, jobs.front(), asked.streams, *asked.after);
  uint64_t newest = 0;
  if (!asked.follow || asked.lines != UINT64_MAX) {
    auto told = TRY(TellLast(call, *history, asked));
    newest = told;
  }
  return asked.follow ? Follow(call, jobs.front(), asked.streams, newest) : Status();
}

}  // namespace spate::history
