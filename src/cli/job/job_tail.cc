// The last lines that the tasks of a job wrote, in the order in which they ended, as tail(1). From
// the newest attempt backwards it is found where these lines begin, and then they are printed.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/job/job_verbs.h"
#include "cli/job/output.h"

namespace spate::cli {
namespace {

using store::Stream;

constexpr uint64_t kLines = 10;

constexpr uint64_t kBlock = 256 << 10;

// What one attempt wrote to a stream, from `skip` kept bytes on.
struct Piece {
  store::AttemptEntry attempt;
  Stream stream = Stream::kStdout;
  uint64_t skip = 0;
};

uint64_t KeptOf(const store::AttemptEntry& attempt, Stream stream) {
  return stream == Stream::kStdout ? attempt.kept.stdout_bytes : attempt.kept.stderr_bytes;
}

// Where the last `lines` of a stream begin; takes from `lines` what there is. Reads from the end, a
// block at a time: a stream may be longer than what memory should hold.
Result<uint64_t> BeginOfLast(store::History& history, const store::AttemptEntry& attempt,
                             Stream stream, uint64_t& lines) {
  uint64_t kept = KeptOf(attempt, stream);
  for (uint64_t end = kept; end > 0;) {
    uint64_t begin = end - std::min(end, kBlock);
    std::string block;
    auto read = history.ReadOutput(attempt, stream,
                                   [&](std::string_view bytes, uint64_t) { block += bytes; },
                                   {begin, end - begin});
    if (!read) return std::unexpected(std::move(read.error()));
    // The last line may have its end or not.
    for (uint64_t at = end == kept ? block.size() - 1 : block.size(); at > 0; --at) {
      if (block[at - 1] == '\n' && --lines == 0) return begin + at;
    }
    end = begin;
  }
  if (kept > 0) --lines;  // the first line of all
  return 0;
}

// The newest first. `newest` becomes the place of the newest end in the journal.
Result<std::vector<Piece>> FindLast(store::History& history, Which which, uint64_t lines,
                                    uint64_t& newest) {
  std::vector<Piece> pieces;
  Status status;
  auto visited = history.NewestAttempts([&](uint64_t seq, const store::AttemptEntry& attempt) {
    newest = std::max(newest, seq);
    for (Stream stream : {Stream::kStderr, Stream::kStdout}) {
      if (!Wants(which, stream) || lines == 0) continue;
      auto skip = BeginOfLast(history, attempt, stream, lines);
      if (!skip) status = std::unexpected(std::move(skip.error()));
      if (!status) return false;
      if (KeptOf(attempt, stream) > 0) pieces.push_back({attempt, stream, *skip});
    }
    return lines > 0;
  });
  if (!visited || !status) return std::unexpected(!visited ? visited.error() : status.error());
  return pieces;
}

}  // namespace

Result<int> JobTail(HistoryCall& call) {
  uint64_t lines = kLines;
  if (auto value = call.words().Last(Opt::kLines)) {
    auto count = ParseCount(*value);
    if (!count) return Within("--lines", std::move(count.error()));
    lines = *count;
  }
  auto which = WhichOf(call.words());
  if (!which) return std::unexpected(std::move(which.error()));
  auto job = PickOneJob(call);
  if (!job) return std::unexpected(std::move(job.error()));
  auto history = call.OpenHistory(*job);
  if (!history) return std::unexpected(std::move(history.error()));
  uint64_t newest = 0;
  auto pieces = FindLast(*history, *which, lines, newest);
  if (!pieces) return std::unexpected(std::move(pieces.error()));
  for (const Piece& piece : std::views::reverse(*pieces)) {
    auto read = history->ReadOutput(
        piece.attempt, piece.stream,
        [&](std::string_view bytes, uint64_t) { PutOutput(call, *which, piece.stream, bytes); },
        {piece.skip});
    if (!read) return std::unexpected(std::move(read.error()));
  }
  if (call.words().Has(Opt::kFollowOutput)) return FollowOutput(call, *job, newest);
  if (pieces->empty() && lines > 0) {
    call.Say(fmt::format("no task of job {} has written anything yet", *job));
  }
  return kExitSuccess;
}

}  // namespace spate::cli
