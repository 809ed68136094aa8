#include "history/job_facts.h"

#include <algorithm>
#include <utility>

namespace spate::history {
namespace {

// Beyond it a list of jobs shows what the job's row says, which may be old.
constexpr uint32_t kCountedTasks = 20'000'000;

JobCounts CountsOfRow(const store::JobRow& row) {
  JobCounts counts = row.counts;
  counts.queued = counts.total - std::min(counts.total, counts.finished() + counts.leased);
  return counts;
}

// An answer is a message, also about a job whose sender typed, or made up, more than any person
// does.
constexpr size_t kMostTexts = 8 << 20;

size_t BytesOf(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 8;
  return bytes;
}

void AddWhatOnlySomeMaySee(const store::JobSummary& summary, bool whole, JobFacts& facts) {
  const store::JobRow& row = summary.row;
  facts.name = store::NameOf(row);
  if (whole && BytesOf(row.argv) + BytesOf(row.files) <= kMostTexts) {
    facts.argv = row.argv;
    facts.files = row.files;
  }
  facts.cwd = row.cwd;
  facts.host = row.host;
  facts.pid = row.pid;
  facts.runs = row.runs;
}

// As its journal tells; a run whose journal cannot be read is damaged.
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

// Runs of earlier versions count tasks that left their list as cancelled.
Status ForgetOldWithdrawals(const Source& source, JobFacts& facts) {
  auto journal = TRY(source.history->Open(facts.job.value));
  auto replay = TRY(journal->Replayed());
  if (!replay->words().cancelled.empty()) return {};
  facts.counts.total -= std::min(facts.counts.total, facts.counts.cancelled);
  facts.counts.cancelled = 0;
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
  // Of a damaged row nobody knows whose it is.
  bool anybodys = source.on_hub() && !row.damage.empty();
  if (anybodys ? source.viewer.is_admin : source.MaySee(row)) {
    AddWhatOnlySomeMaySee(summary, whole, facts);
  }
  if (!IsReadable(facts.state)) return facts;
  facts.counts = CountsOfRow(row);
  bool current = facts.state == JobStanding::kFinished || facts.state == JobStanding::kStopped;
  if (current && row.ended) facts.took = *row.ended - row.started;
  if (current && !source.on_hub() && row.counts.cancelled > 0) {
    TRY(ForgetOldWithdrawals(source, facts));
  }
  bool begun = facts.state == JobStanding::kRunning || facts.state == JobStanding::kHeld;
  if (begun) facts.took = source.now() - row.started;
  if (current || source.on_hub() || row.counts.total > kCountedTasks) return facts;
  TRY(Count(source, facts));
  return facts;
}

}  // namespace spate::history
