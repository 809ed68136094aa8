#include "doors/parasol/client/results_lines.h"

#include <fmt/format.h>

#include <utility>

#include "doors/parasol/client/unix_seconds.h"
#include "doors/parasol/formats/results.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "doors/parasol/row/wait_status.h"

namespace spate::parasol {
namespace {

constexpr const char* kTempDir = "/tmp";  // of a node that is not known any more

uint64_t TicksOf(Duration time) { return static_cast<uint64_t>(time.ns / 10'000'000); }

// A job has one line: not of an attempt that is made again, nor where it had no status of its own:
// its node was lost, or it was removed.
bool HasLine(const EndFacts& ended) {
  Cause cause = ended.end.cause;
  return cause != Cause::kNode && cause != Cause::kStopped && EndsTask(ended.verdict);
}

}  // namespace

Result<ResultsLines> ResultsLines::Of(client::Asker& hub) {
  ResultsLines lines;
  TRY(client::Ask(hub, wire::ListNodes(), [&](NodeFacts node) {
    if (!node.temp_dir.empty()) lines.temp_dirs_[node.name] = std::move(node.temp_dir);
  }));
  return lines;
}

Result<std::string> ResultsLines::LineOf(JobId job, const std::string& user,
                                         const EndFacts& ended) const {
  auto row = TRY(ReadParasolRow(ended.what.row));
  const AttemptEnd& end = ended.end;
  ParasolEnd line;
  line.status = WaitStatusOf(end.cause, end.status);
  line.host = ended.node;
  line.id = fmt::format("{}", ParasolId(job, end.ref.index));
  line.command = ParasolCommand(row.text);
  line.program = ProgramOf(line.command);
  line.user_ticks = TicksOf(end.user);
  line.system_ticks = TicksOf(end.system);
  line.submitted = row.submitted;
  line.started = UnixSeconds(end.start);
  line.ended = UnixSeconds(end.start + end.wall);
  line.user = user;
  auto temp = temp_dirs_.find(ended.node);
  line.err_file =
      fmt::format("{}/para{}.err", temp == temp_dirs_.end() ? kTempDir : temp->second, line.id);
  return ResultsLine(line);
}

Result<std::string> ResultsLines::TextOf(JobId job, const wire::EndsListed& listed) const {
  std::string text;
  for (const EndFacts& ended : listed.ends) {
    if (!HasLine(ended)) continue;
    auto line = TRY(LineOf(job, listed.user, ended));
    text += line;
  }
  return text;
}

}  // namespace spate::parasol
