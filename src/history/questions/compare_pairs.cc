// How long a job's tasks took, by what other jobs ran beside them.
#include "history/pick.h"
#include "history/question.h"

namespace spate::history {
namespace {

PairFacts FactsOf(JobId job, std::string beside, const store::PairTimes& times,
                  const store::PairTimes& alone) {
  PairFacts facts{.job = job,
                  .beside = std::move(beside),
                  .tasks = times.tasks,
                  .median_wall = times.median_wall};
  if (alone.median_wall > Duration{}) {
    facts.against_alone = times.median_wall.seconds() / alone.median_wall.seconds();
  }
  return facts;
}

Status Answer(const Asking& call, const wire::ComparePairs& asked) {
  auto numbers = TRY(PickJobs(call.source, asked.jobs));
  if (numbers.size() != 1) return Fail(ErrorKind::kInvalid, "name one job");
  auto history = TRY(call.source.Open(numbers.front()));
  // Runs of one machine have a journal each, and do not know of each other.
  if (!call.source.on_hub()) return {};
  const store::JobSummary& job = history->summary();
  auto pairs = TRY(call.source.history->index().PairsOf(job));
  auto tell = [&](std::string beside, const store::PairTimes& times) {
    return times.tasks == 0
               ? Status()
               : call.SendAnswer(FactsOf(job.row.job, std::move(beside), times, pairs.alone));
  };
  TRY(tell("alone", pairs.alone));
  for (size_t kind = 0; kind < pairs.beside.size(); ++kind) {
    const std::string name = WordOf(static_cast<BoundBy>(kind));
    auto put = tell(name.empty() ? "undeclared" : name, pairs.beside[kind]);
    if (!put) return put;
  }
  return {};
}

}  // namespace

extern const JournalQuestion kComparePairs =
    QuestionOf<wire::ComparePairs, Answer>({.who = kOwner, .tells = "kinds of what ran beside it"});

}  // namespace spate::history
