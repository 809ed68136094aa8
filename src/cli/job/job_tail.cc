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

// What one attempt wrote to a stream, from `skip` bytes on.
struct Piece {
  store::AttemptEntry attempt;
  Stream stream = Stream::kStdout;
  size_t skip = 0;
};

// Where the last `lines` of a text begin; takes from `lines` what there is.
size_t BeginOfLast(std::string_view text, uint64_t& lines) {
  size_t at = text.size();
  for (; at > 0 && lines > 0; --lines) {
    size_t before = text.substr(0, at - 1).rfind('\n');  // the last line may have its end or not
    at = before == std::string_view::npos ? 0 : before + 1;
  }
  return at;
}

Result<std::string> ReadWhole(store::History& history, const store::AttemptEntry& attempt,
                              Stream stream) {
  std::string text;  // at most 128 KB of a stream are kept
  auto read =
      history.ReadOutput(attempt, stream, [&](std::string_view bytes, uint64_t) { text += bytes; });
  if (!read) return std::unexpected(std::move(read.error()));
  return text;
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
      auto text = ReadWhole(history, attempt, stream);
      if (!text) status = std::unexpected(std::move(text.error()));
      if (!status) return false;
      if (!text->empty()) pieces.push_back({attempt, stream, BeginOfLast(*text, lines)});
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
    auto text = ReadWhole(*history, piece.attempt, piece.stream);
    if (!text) return std::unexpected(std::move(text.error()));
    PutOutput(call, *which, piece.stream, std::string_view(*text).substr(piece.skip));
  }
  if (call.words().Has(Opt::kFollowOutput)) return FollowOutput(call, *job, newest);
  if (pieces->empty() && lines > 0) {
    call.Say(fmt::format("no task of job {} has written anything yet", *job));
  }
  return kExitSuccess;
}

}  // namespace spate::cli
