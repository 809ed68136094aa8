// Jobs, the newest first.
#include <algorithm>

#include "history/job_facts.h"
#include "history/pick.h"
#include "history/question.h"

namespace spate::history {
namespace {

// One answer is a message: its jobs, and the bytes of what was typed for them.
constexpr size_t kAtOnce = 256;
constexpr size_t kTextsAtOnce = 1 << 20;

size_t BytesOf(const std::optional<std::vector<std::string>>& texts) {
  size_t bytes = 0;
  if (!texts) return bytes;
  for (const std::string& text : *texts) bytes += text.size();
  return bytes;
}

bool IsOfKind(const JobFacts& facts, uint32_t kinds) {
  uint32_t kind = 1u << static_cast<uint32_t>(facts.state);
  kind |= 1u << static_cast<uint32_t>(facts.outcome());
  if (facts.failed() > 0) kind |= wire::ListJobs::kFailedKind;
  return (kind & kinds) != 0;
}

std::vector<JobSelector> Shown(const wire::Question& question) {
  const auto asked = question.As<wire::ListJobs>();
  return {asked && asked->jobs ? *asked->jobs : JobSelector{.all = true}};
}

Status Answer(const Asking& call, const wire::ListJobs& asked) {
  store::NewestJobs jobs;
  if (asked.jobs) {
    jobs.numbers = TRY(PickJobs(call.source, *asked.jobs, true));
    jobs.of = jobs.numbers.size();
  } else {
    const bool any_kind = asked.kinds == wire::ListJobs::kAllKinds;
    jobs = TRY(NewestJobs(call.source, any_kind ? asked.most : SIZE_MAX));
  }
  wire::JobsListed answer{{}, jobs.of};
  if (asked.most == 0) return call.SendAnswer(answer);
  uint64_t left = asked.most;
  size_t texts = 0;
  Status status;
  auto visited = call.source.history->Visit(jobs.numbers, [&](const auto& summary) {
    auto facts = FactsOf(call.source, summary, asked.whole);
    if (!facts) {
      status = std::unexpected(std::move(facts.error()));
    } else if (IsOfKind(*facts, asked.kinds)) {
      size_t more = BytesOf(facts->argv) + BytesOf(facts->files);
      if (answer.jobs.size() == kAtOnce || (texts += more) > kTextsAtOnce) {
        status = call.SendAnswer(answer);
        answer.jobs.clear();
        texts = more;
      }
      answer.jobs.push_back(std::move(*facts));
      --left;
    }
    return status && left > 0;
  });
  if (!visited || !status) return visited ? status : visited;
  return call.SendAnswer(answer);
}

}  // namespace

extern const JournalQuestion kListJobs = QuestionOf<wire::ListJobs, Answer>(
    {.who = kAnybody, .tells = "user, state and counts of jobs", .jobs = Shown});

}  // namespace spate::history
