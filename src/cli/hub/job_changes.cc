#include "cli/hub/job_changes.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "present/text/end_text.h"

namespace spate::cli {

std::string JobsText(const std::vector<JobId>& jobs) {
  if (jobs.size() == 1) return fmt::format("job {}", jobs.front().value);
  return present::CountOf(jobs.size(), "job");
}

void SayEnded(const HubScreen& screen, const wire::JobsChanged& done) {
  for (JobId job : done.ended) screen.Say(fmt::format("job {} has already ended", job.value));
}

Result<int> ChangeJobs(const HubScreen& screen, wire::ChangeJobs question, std::string_view text) {
  auto jobs = TRY(SelectJobs(screen.words.words));
  question.jobs = std::move(jobs);
  auto done = TRY(client::AskOne(screen.hub, std::move(question)));
  SayEnded(screen, done);
  if (done.changed.empty() && done.ended.empty()) screen.Say("no job is running");
  if (!done.changed.empty()) screen.Say(fmt::format("{} {}", JobsText(done.changed), text));
  return kExitSuccess;
}

}  // namespace spate::cli
