// Rows of tasks, for programs that show them in their own forms.
#include <algorithm>

#include "history/job_rows.h"
#include "history/question.h"

namespace spate::history {
namespace {

Status Check(const wire::ReadRows& asked) {
  for (const wire::RangesOfJob& tasks : asked.tasks) {
    bool sound = std::ranges::all_of(tasks.tasks, [](const TaskRange& range) {
      return uint64_t{range.first} + range.count <= kLimits.tasks_per_job;
    });
    if (!sound) return wire::Defect("tasks", "are more than a job has");
  }
  return {};
}

// Tells rows, in as many answers as it takes.
class RowTeller {
 public:
  RowTeller(const Asking& call, const wire::ReadRows& asked)
      : call_(call), asked_(asked), index_(call.source.history->index()) {}
  Status Tell(const wire::RangesOfJob& tasks);

 private:
  Result<const JobRows*> Find(JobId job);
  Status Add(wire::RowsRead& answer, RowFacts facts);
  Status Flush(wire::RowsRead& answer);

  const Asking& call_;
  const wire::ReadRows& asked_;
  store::HistoryIndex& index_;
  std::map<JobId, JobRows> jobs_;
  size_t bytes_ = 0;
};

// Null: it is not there.
Result<const JobRows*> RowTeller::Find(JobId id) {
  auto at = jobs_.find(id);
  if (at != jobs_.end()) return &at->second;
  auto job = JobRows::Open(call_.source, id, asked_.whole);
  if (job) return &jobs_.emplace(id, std::move(*job)).first->second;
  if (IsNotThere(job.error())) return nullptr;
  return std::unexpected(std::move(job.error()));
}

Status RowTeller::Flush(wire::RowsRead& answer) {
  bytes_ = 0;
  if (answer.rows.empty()) return {};
  auto put = call_.SendAnswer(answer);
  answer.rows.clear();
  return put;
}

Status RowTeller::Add(wire::RowsRead& answer, RowFacts facts) {
  size_t bytes = facts.row.size() + facts.command.size();
  if (answer.rows.size() == kRowsAtOnce || bytes_ + bytes > kRowTexts) {
    TRY(Flush(answer));
  }
  bytes_ += bytes;
  answer.rows.push_back(std::move(facts));
  return {};
}

Status RowTeller::Tell(const wire::RangesOfJob& tasks) {
  auto job = TRY(Find(tasks.job));
  if (job == nullptr) return {};
  wire::RowsRead answer{tasks.job, job->row().user, job->Name(), job->row().created, {}};
  for (const TaskRange& range : tasks.tasks) {
    for (uint32_t i = 0; i < range.count; ++i) {
      auto facts = job->Facts(index_, range.first + i);
      if (!facts && IsNotThere(facts.error())) break;  // nor are those behind it
      if (!facts) return std::unexpected(std::move(facts.error()));
      TRY(Add(answer, std::move(*facts)));
    }
  }
  return Flush(answer);
}

Status Answer(const Asking& call, const wire::ReadRows& asked) {
  TRY(NeedHub(call.source));
  RowTeller teller(call, asked);
  for (const wire::RangesOfJob& tasks : asked.tasks) {
    TRY(teller.Tell(tasks));
  }
  return {};
}

}  // namespace

extern const JournalQuestion kReadRows = QuestionOf<wire::ReadRows, Answer, Check>(
    {.who = kAnybody,
     .tells = "users and times; rows of Parasol's jobs, as its programs show them"});

}  // namespace spate::history
