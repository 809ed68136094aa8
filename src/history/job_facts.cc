#include "history/job_facts.h"

#include <algorithm>
#include <utility>

namespace spate::history {
namespace {

// Beyond it a list of jobs shows what the job's row says, which may be old.
constexpr uint32_t kCountedTasks = 20'000'000;
// Limit in a hub's list: larger jobs show only by themselves why they were cancelled.
constexpr uint32_t kReplayedTasks = 1'000;

JobCounts CountsOfRow(const store::JobRow& row) {
  JobCounts counts = row.counts;
  counts.queued = counts.total - std::min(counts.total, counts.finished() + counts.leased);
  return counts;
}

void AddWhatOnlySomeMaySee(const store::JobSummary& summary, bool whole, JobFacts& facts) {
  const store::JobRow& row = summary.row;
  facts.name = store::NameOf(row);
  if (whole) {
    facts.argv = row.argv;
    facts.files = row.files;
    facts.cut = row.cut;
  }
  facts.cwd = row.cwd;
  facts.host = row.host;
  facts.pid = row.pid;
  facts.runs = row.runs;
}

// Counts by the journal; a run whose journal cannot be read is damaged.
Status Count(const Source& source, JobFacts& facts) {
  auto journal = source.history->Open(facts.job.value);
  auto counts = journal ? (*journal)->Counts() : std::unexpected(journal.error());
  if (counts) {
    facts.counts = *counts;
  } else if (counts.error().kind == ErrorKind::kCorrupt) {
    facts.state = JobStanding::kDamaged;
    facts.problem = counts.error().message;
  } else if (counts.error().kind == ErrorKind::kNewer) {
    facts.state = JobStanding::kNewer;
    facts.problem = counts.error().message;
  } else {
    return std::unexpected(std::move(counts.error()));
  }
  return {};
}

// Why tasks were cancelled. Runs of earlier versions count tasks that left their list as cancelled.
Status AddCancelled(const Source& source, JobFacts& facts) {
  auto journal = source.history->Open(facts.job.value);
  auto replay = journal ? (*journal)->Replayed() : std::unexpected(journal.error());
  // A hub's list shows what the row has, whatever became of the rest.
  if (!replay) return source.on_hub() ? Status() : std::unexpected(std::move(replay.error()));
  const auto& cancelled = (*replay)->words().cancelled;
  if (cancelled.empty() && !source.on_hub()) {
    facts.counts.total -= std::min(facts.counts.total, facts.counts.cancelled);
    facts.counts.cancelled = 0;
  }
  const bool is_known = !cancelled.empty() && !cancelled.back().reason.empty();
  if (is_known && !facts.is_hidden()) facts.why_cancelled = cancelled.back().reason;
  return {};
}

}  // namespace

Result<JobFacts> FactsOf(const Source& source, const store::JobSummary& summary, bool whole) {
  const store::JobRow& row = summary.row;
  JobFacts facts;
  facts.job = JobId(summary.number);
  facts.state = summary.standing;
  facts.user = row.user;
  // A damaged job may have none.
  auto known = [](Instant when) { return when.ns > 0 ? std::optional(when) : std::nullopt; };
  facts.created = known(row.created);
  facts.started = known(row.started);
  facts.ended = row.ended;
  if (!source.on_hub()) facts.path = summary.folder;
  if (!summary.problem.empty()) facts.problem = summary.problem;
  // Nobody knows the owner of a damaged row.
  bool anybodys = source.on_hub() && !row.damage.empty();
  if (anybodys ? source.viewer.is_admin : source.MaySee(row)) {
    AddWhatOnlySomeMaySee(summary, whole, facts);
  }
  if (!IsReadable(facts.state)) return facts;
  facts.counts = CountsOfRow(row);
  auto live = source.live.find(summary.number);
  const bool is_live = live != source.live.end() && facts.state != JobStanding::kFinished;
  if (is_live) {
    facts.counts = live->second.counts;
    const bool at_work = facts.state == JobStanding::kQueued ||
                         facts.state == JobStanding::kRunning || facts.state == JobStanding::kHeld;
    const Freezing stopped = live->second.stopped;
    if (at_work && source.on_hub()) {
      facts.state = stopped != Freezing::kNone ? StandingOf(stopped)
                    : live->second.held        ? JobStanding::kHeld
                    : live->second.started     ? JobStanding::kRunning
                                               : JobStanding::kQueued;
      if (!live->second.started) facts.started.reset();
    }
  }
  facts.not_kept = row.not_kept;
  bool current = facts.state == JobStanding::kFinished || facts.state == JobStanding::kStopped;
  // The hub and the run keep both in one time (os::Loop::ToWall); rows of earlier lives, of which
  // the clock was set in between, may not be.
  auto since_start = [&](Instant when) { return std::max(when - row.started, Duration()); };
  if (current && row.ended) facts.took = since_start(*row.ended);
  const bool is_read = whole || !source.on_hub() || row.counts.total <= kReplayedTasks;
  if (current && row.counts.cancelled > 0 && is_read) TRY(AddCancelled(source, facts));
  bool begun = facts.state == JobStanding::kRunning || facts.state == JobStanding::kHeld ||
               IsStopped(facts.state);
  if (begun && facts.started) facts.took = since_start(source.now());
  const bool is_counted = is_live || source.on_hub() || row.counts.total > kCountedTasks;
  if (current || is_counted) return facts;
  TRY(Count(source, facts));
  return facts;
}

}  // namespace spate::history
