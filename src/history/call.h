// One question on its way to its answers.
#pragma once

#include "base/result.h"
#include "history/reader.h"
#include "history/source.h"
#include "wire/field_bytes.h"

namespace spate::history {

struct Asking {
  const Source& source;
  const Give& give;
  template <typename T>
  Status Put(const T& answer) const {
    return give(wire::BytesOf(answer));
  }
};

// kInvalid, of a question that runs have no answer to.
Status NeedHub(const Source& source);
AttemptFacts AttemptFactsOf(const store::AttemptEntry& attempt);

// Jobs (answer_jobs.cc).
Status Answer(const Asking& call, const wire::ListJobs& asked);
Status Answer(const Asking& call, const wire::DescribeJobs& asked);
Status Answer(const Asking& call, const wire::SumUse& asked);
Status Answer(const Asking& call, const wire::FindDependents& asked);
// How their tasks got on with others' (answer_pairs.cc).
Status Answer(const Asking& call, const wire::ComparePairs& asked);
// Tasks (answer_tasks.cc).
Status Answer(const Asking& call, const wire::ListTasks& asked);
Status Answer(const Asking& call, const wire::DescribeTasks& asked);
Status Answer(const Asking& call, const wire::FindTasks& asked);
// Edges between tasks (answer_graph.cc).
Status Answer(const Asking& call, const wire::LookAtGraph& asked);
// Output of tasks (answer_output.cc).
Status Answer(const Asking& call, const wire::ReadOutput& asked);
Status Answer(const Asking& call, const wire::TailOutput& asked);
// Forwarded output of tasks (answer_forwards.cc).
Status Answer(const Asking& call, const wire::ReadForwards& asked);
// All that happens (answer_events.cc).
Status Answer(const Asking& call, const wire::ReadEvents& asked);
// Rows, ends and sums for programs (answer_rows.cc).
Status Answer(const Asking& call, const wire::ReadRows& asked);
Status Answer(const Asking& call, const wire::ListEnds& asked);
Status Answer(const Asking& call, const wire::SumJobs& asked);

}  // namespace spate::history
