// Output of tasks.
#include <fmt/format.h>

#include <algorithm>

#include "history/output_pieces.h"
#include "history/pack_part.h"
#include "history/pick.h"
#include "history/question.h"
#include "history/task_texts.h"

namespace spate::history {
namespace {

using store::Stream;
using What = OutputFacts::What;
using wire::Streams;

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
    if (status_) status_ = call_.SendAnswer(piece);
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

Status Answer(const Asking& call, const wire::ReadOutput& asked) {
  auto picked = TRY(PickTasks(call.source, asked.tasks));
  Teller teller(call, asked);
  for (const PickedTasks& tasks : picked) {
    TRY(teller.Tell(tasks));
  }
  return {};
}

}  // namespace

extern const JournalQuestion kReadOutput = QuestionOf<wire::ReadOutput, Answer>({.who = kOwner});

}  // namespace spate::history
