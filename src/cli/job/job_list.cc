#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/near.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/job_facts.h"
#include "cli/history/select.h"
#include "cli/job/job_verbs.h"

namespace spate::cli {
namespace {

using std::string_view_literals::operator""sv;
using store::JobStanding;

constexpr uint64_t kListedJobs = 20;

// Kinds of jobs, as a set of bits: those of JobStanding, and jobs with failed tasks.
constexpr std::array kKinds = {"running"sv, "finished"sv, "stopped"sv, "interrupted"sv,
                               "damaged"sv, "queued"sv,   "held"sv,    "failed"sv};
constexpr uint32_t kAllKinds = ~0u;

Result<uint32_t> KindsOf(const Words& words) {
  uint32_t kinds = 0;
  auto values = words.All(Opt::kFilter);
  for (const std::string& value : values) {
    for (std::string_view name : SplitCommas(value)) {
      auto at = std::ranges::find(kKinds, name);
      if (at == kKinds.end()) {
        return Fail(
            ErrorKind::kInvalid,
            fmt::format("--filter: '{}' is no state of a job{}; write some of: {}",
                        EscapeForScreen(name), DidYouMean(name, kKinds), fmt::join(kKinds, " ")));
      }
      kinds |= 1u << (at - kKinds.begin());
    }
  }
  return values.empty() ? kAllKinds : kinds;
}

bool IsOfKind(const JobFacts& facts, uint32_t kinds) {
  uint32_t kind = 1u << static_cast<uint32_t>(facts.summary.standing);
  if (facts.counts.failed + facts.counts.unknown > 0) kind |= 1u << (kKinds.size() - 1);
  return (kind & kinds) != 0;
}

// Exact up to seven digits, so that two of them fit into a column.
std::string ShortCount(uint32_t count) {
  if (count < 10'000'000) return fmt::format("{}", count);
  return fmt::format("{:.1f}M", count / 1e6);
}

std::vector<Cell> RowOf(const HistoryCall& call, const JobFacts& facts) {
  const store::JobSummary& summary = facts.summary;
  bool damaged = summary.standing == JobStanding::kDamaged;
  std::vector<Cell> cells = {{fmt::format("{}", summary.number)}};
  if (call.on_hub()) cells.push_back({summary.row.user});
  cells.push_back({damaged ? "?" : facts.is_hidden ? "-" : NameOf(summary.row)});
  // On a hub somebody has cancelled them; here they have left their list.
  if (call.on_hub() && facts.counts.cancelled > 0 && summary.standing == JobStanding::kFinished) {
    cells.push_back({"cancelled", Tone::kDoubtful});
  } else {
    cells.push_back({store::JobStandingName(summary.standing), ToneOf(summary.standing)});
  }
  if (damaged) {
    cells.resize(7);
    return cells;
  }
  const JobCounts& counts = facts.counts;
  uint32_t failed = counts.failed + counts.unknown;
  cells.push_back({fmt::format("{}/{}", ShortCount(counts.finished()), ShortCount(counts.total))});
  cells.push_back({ShortCount(failed), failed > 0 ? Tone::kBad : Tone::kPlain});
  bool waits = summary.standing == JobStanding::kQueued;
  cells.push_back({waits ? "-" : call.TimeText(summary.row.started)});
  cells.push_back({facts.took ? FormatDuration(*facts.took) : "-"});
  return cells;
}

void PrintTable(HistoryCall& call, const std::vector<JobFacts>& jobs) {
  std::vector<Column> columns = {{"JOB", Align::kRight}};
  if (call.on_hub()) columns.push_back({"USER"});
  for (Column column : {Column{"NAME", Align::kLeft, 8},
                        {"STATE"},
                        {"DONE", Align::kRight},
                        {"FAILED", Align::kRight},
                        {"STARTED"},
                        {"TOOK", Align::kRight}}) {
    columns.push_back(std::move(column));
  }
  Table table(std::move(columns), call.width(), call.environment().colour,
              [&](std::string_view text) { call.Put(text); });
  for (const JobFacts& facts : jobs) table.Add(RowOf(call, facts));
  table.Finish();
}

// The newest first.
Result<std::vector<JobFacts>> FindJobs(HistoryCall& call, const std::vector<uint32_t>& numbers,
                                       uint32_t kinds, uint64_t limit) {
  std::vector<JobFacts> found;
  Status read;
  auto visited = store::VisitJobs(call.place(), numbers, [&](const store::JobSummary& summary) {
    auto facts = FactsOf(call, summary);
    if (!facts) {
      read = std::unexpected(std::move(facts.error()));
      return false;
    }
    if (IsOfKind(*facts, kinds)) found.push_back(std::move(*facts));
    return found.size() < limit;
  });
  if (!visited || !read) return std::unexpected(!visited ? visited.error() : read.error());
  return found;
}

}  // namespace

Result<int> JobList(HistoryCall& call) {
  const Words& words = call.words();
  auto kinds = KindsOf(words);
  if (!kinds) return std::unexpected(std::move(kinds.error()));
  bool bounded = !words.Has(Opt::kAll) && words.words.empty();
  auto limit = LimitOf(words, bounded ? kListedJobs : UINT64_MAX);
  if (!limit) return std::unexpected(std::move(limit.error()));
  auto numbers = words.words.empty() ? AllJobs(call) : PickJobs(call, words.words);
  if (!numbers && words.words.empty() && numbers.error().kind == ErrorKind::kNotFound) {
    if (call.human()) call.Say(numbers.error().message);
    return kExitSuccess;
  }
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  auto jobs = FindJobs(call, *numbers, *kinds, *limit);
  if (!jobs) return std::unexpected(std::move(jobs.error()));
  std::ranges::reverse(*jobs);
  if (call.human()) {
    call.PutTitle();
    PrintTable(call, *jobs);
    if (jobs->empty()) call.Say("there is no such job");
    if (bounded && *kinds == kAllKinds && jobs->size() == *limit && numbers->size() > *limit) {
      call.Say(fmt::format("the newest {} of {} jobs; --all lists all", *limit, numbers->size()));
    }
    return kExitSuccess;
  }
  for (const JobFacts& facts : *jobs) {
    if (call.form() == OutputForm::kQuiet) {
      call.Put(fmt::format("{}\n", facts.summary.number));
      continue;
    }
    JsonLine line = TypedLine("job");
    AddJobFields(line, facts);
    call.Put(line);
  }
  return kExitSuccess;
}

}  // namespace spate::cli
