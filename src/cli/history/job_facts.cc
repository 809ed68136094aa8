#include "cli/history/job_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cli/text/end_text.h"
#include "os/file.h"

namespace spate::cli {
namespace {

using store::JobStanding;

// Beyond it a list of jobs shows what the job's row says, which may be old.
constexpr uint32_t kCountedTasks = 20'000'000;

JobCounts CountsOfRow(const store::JobRow& row) {
  JobCounts counts = row.counts;
  counts.queued = counts.total - std::min(counts.total, counts.finished() + counts.leased);
  return counts;
}

void AddRow(JsonLine& line, const JobFacts& facts) {
  const store::JobRow& row = facts.summary.row;
  const JobCounts& counts = facts.counts;
  line.Number("total", counts.total).Number("queued", counts.queued);
  line.Number("running", counts.leased).Number("succeeded", counts.succeeded);
  line.Number("failed", counts.failed).Number("cancelled", counts.cancelled);
  line.Number("unknown", counts.unknown);
  if (facts.is_hidden) {
    line.Null("argv").Null("cwd").Null("files");
    TextOrBase64(line, "user", row.user);
    line.Null("host").Null("pid").Null("runs");
  } else {
    TextsOrBase64(line, "argv", row.argv);
    TextOrBase64(line, "cwd", row.cwd);
    TextsOrBase64(line, "files", row.files);
    TextOrBase64(line, "user", row.user);
    TextOrBase64(line, "host", row.host);
    line.Number("pid", row.pid).Number("runs", row.runs);
  }
  // A damaged job has none.
  auto known = [](Instant when) { return when.ns > 0 ? std::optional(when) : std::nullopt; };
  TimeOrNull(line, "created", known(row.created));
  TimeOrNull(line, "started", known(row.started));
  TimeOrNull(line, "ended", row.ended);
}

}  // namespace

void TimeOrNull(JsonLine& line, std::string_view key, std::optional<Instant> value) {
  if (value) {
    line.Seconds(key, value->seconds());
  } else {
    line.Null(key);
  }
}

Result<JobFacts> FactsOf(const HistoryCall& call, store::JobSummary summary) {
  JobFacts facts{std::move(summary), {}, std::nullopt};
  const store::JobRow& row = facts.summary.row;
  JobStanding standing = facts.summary.standing;
  // Of a damaged row nobody knows whose it is.
  bool anybodys = call.on_hub() && !row.damage.empty();
  facts.is_hidden = anybodys ? !call.environment().viewer.is_admin : !call.MaySee(row);
  if (standing == JobStanding::kDamaged) return facts;
  facts.counts = CountsOfRow(row);
  bool current = standing == JobStanding::kFinished || standing == JobStanding::kStopped;
  if (current && row.ended) facts.took = *row.ended - row.started;
  bool begun = standing == JobStanding::kRunning || standing == JobStanding::kHeld;
  if (begun) facts.took = call.now() - row.started;
  if (current || call.on_hub() || row.counts.total > kCountedTasks) return facts;
  auto history = store::History::Open(call.place(), facts.summary.number);
  auto counts = history ? history->Counts() : std::unexpected(history.error());
  if (counts) {
    facts.counts = *counts;
  } else if (counts.error().kind == ErrorKind::kCorrupt) {
    facts.summary.standing = JobStanding::kDamaged;
    facts.summary.problem = counts.error().message;
  } else {
    return std::unexpected(std::move(counts.error()));
  }
  return facts;
}

void AddJobFields(JsonLine& line, const JobFacts& facts) {
  const store::JobSummary& summary = facts.summary;
  line.Number("job", summary.number);
  if (facts.is_hidden) {
    line.Null("name");
  } else {
    TextOrBase64(line, "name", store::NameOf(summary.row));
  }
  line.Text("state", store::JobStandingName(summary.standing));
  AddRow(line, facts);
  if (facts.took) {
    line.Seconds("took", facts.took->seconds());
  } else {
    line.Null("took");
  }
  if (summary.place.is_hub) {
    line.Null("path");
  } else {
    TextOrBase64(line, "path", summary.place.folder);
  }
  if (summary.problem.empty()) {
    line.Null("problem");
  } else {
    TextOrBase64(line, "problem", summary.problem);
  }
}

Tone ToneOf(JobStanding standing) {
  switch (standing) {
    case JobStanding::kDamaged:
      return Tone::kBad;
    case JobStanding::kStopped:
    case JobStanding::kInterrupted:
      return Tone::kDoubtful;
    default:
      return Tone::kPlain;
  }
}

std::string CommandLineOf(const store::JobSummary& job, size_t values) {
  std::string text = job.place.is_hub ? "spate submit" : "spate run";
  size_t seen = 0;  // since the last ::: of any kind
  bool counts = false;
  auto tell_rest = [&] {
    if (counts && seen > values) {
      text += fmt::format(" (and {})", CountOf(seen - values, "more value"));
    }
  };
  for (const std::string& word : job.row.argv) {
    bool begins = word == ":::" || word == ":::+" || word == "::::" || word == "::::+";
    if (begins) {
      tell_rest();
      counts = true;
      seen = 0;
    } else if (counts && ++seen > values) {
      continue;
    }
    text += ' ' + ShellQuote(word);
  }
  tell_rest();
  return text;
}

std::string ResumeCommandOf(const HistoryCall& call, const store::JobRow& row) {
  std::string text;
  if (call.environment().cwd != row.cwd) text += fmt::format("cd {} && ", ShellQuote(row.cwd));
  text += fmt::format("spate run --resume{}", call.StateOption());
  for (const std::string& file : row.files) {
    // As short as it was typed, where it lies below the folder.
    bool below = row.cwd.size() > 1 && file.starts_with(row.cwd + '/');
    text += ' ' + ShellQuote(below ? file.substr(row.cwd.size() + 1) : file);
  }
  return text;
}

std::string RetryCommandOf(const HistoryCall& call, std::string_view selector) {
  return fmt::format("spate job retry{} {}", call.StateOption(), selector);
}

std::string TaskNumbersText(const std::vector<TaskIndex>& indices, size_t most) {
  std::string text;
  size_t parts = 0;
  for (size_t i = 0; i < indices.size();) {
    if (parts++ == most) {
      return text + fmt::format(" and {} more", FormatCount(indices.size() - i));
    }
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    uint64_t first = uint64_t{indices[i]} + 1;
    uint64_t last = uint64_t{indices[end - 1]} + 1;
    text += text.empty() ? "" : ", ";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    i = end;
  }
  return text;
}

}  // namespace spate::cli
