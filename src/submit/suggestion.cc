#include "submit/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "cli/options/select.h"

namespace spate::cli {
namespace {

Suggestion SuggestionOf(UseFacts use, bool is_gang) {
  Suggestion made;
  auto add = [&](const char* option, std::string value) {
    made.options.emplace_back(option);
    made.options.push_back(std::move(value));
  };
  if (!is_gang && use.suggested_cpus > 0) add("--cpus", fmt::format("{:.0f}", use.suggested_cpus));
  if (!is_gang && use.suggested_memory > 0) {
    add("--memory", fmt::format("{}M", use.suggested_memory >> 20));
  }
  if (use.suggested_time > Duration{}) {
    add("--time", fmt::format("{}s", use.suggested_time.millis() / 1000));
  }
  made.use = std::move(use);
  return made;
}

}  // namespace

std::string Suggestion::Text() const { return fmt::format("{}", fmt::join(options, " ")); }

Result<Suggestion> Suggest(client::Asker& asker, std::string_view job) {
  const std::string words[] = {std::string(job)};
  auto jobs = TRY(SelectJobs(words));
  std::vector<JobDetails> details;
  TRY(client::Query(asker, wire::DescribeJobs{jobs},
                    [&](JobDetails one) { details.push_back(std::move(one)); }));
  if (details.size() != 1) return Fail(ErrorKind::kInvalid, "name one job");
  const JobId number = details.front().job.job;
  std::optional<UseFacts> found;
  std::string problem;
  wire::SumUse sum;
  sum.jobs = std::move(jobs);
  TRY(client::Query(asker, std::move(sum), [&](UseFacts use) {
    if (use.job != number) return;
    if (!use.problem.empty()) problem = use.problem;
    if (use.problem.empty()) found = std::move(use);
  }));
  if (!problem.empty()) return Fail(ErrorKind::kCorrupt, problem);
  // A hub that does not know how to tell counts as one that knows nothing.
  if (!found || found->suggested_time == Duration{}) {
    return Fail(
        ErrorKind::kNotFound,
        fmt::format("no task of job {} has succeeded, so their needs are not known", number.value));
  }
  return SuggestionOf(std::move(*found), !details.front().newest.gang.empty());
}

}  // namespace spate::cli
