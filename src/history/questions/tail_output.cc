// The last lines that tasks of a job wrote, and what ends from then on. From the newest attempt
// backwards it is found where these lines begin, and then they are told.
#include <algorithm>
#include <ranges>

#include "history/output_pieces.h"
#include "history/pick.h"
#include "history/question.h"
#include "os/real_loop.h"

namespace spate::history {
namespace {

using store::Stream;
using What = OutputFacts::What;
using wire::Streams;

constexpr size_t kTailEnds = 64;
constexpr Duration kTailPause = Duration::Millis(100);
constexpr Duration kTailTurn = Duration::Seconds(2);  // readers are few: who follows comes back
constexpr size_t kTailBlock = 256 << 10;

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
    uint64_t begin = end - std::min<uint64_t>(end, kTailBlock);
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
    TRY(call.SendAnswer(nothing));
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
  return call.SendAnswer(place);
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
  for (Instant quiet = loop->Now(); loop->Now() - quiet < kTailTurn;) {
    auto news = TRY(tail->Read(after, kTailEnds));
    TRY(TellEnds(call, *tail, news.ends, streams));
    after = std::max(after, news.seq);
    if (!news.ends.empty() || news.more) quiet = loop->Now();
    if (news.more) continue;
    if (news.finished) return PutPlace(call, What::kFinished, job, after);
    loop->At(loop->Now() + kTailPause, [&] { loop->Stop(); });
    loop->Run();
  }
  return PutPlace(call, What::kPosition, job, after);
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

}  // namespace

extern const JournalQuestion kTailOutput = QuestionOf<wire::TailOutput, Answer>({.who = kOwner});

}  // namespace spate::history
