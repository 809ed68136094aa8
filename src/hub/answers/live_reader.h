// LiveReader: answers what clients ask of a journal from the engine, for a hub whose program keeps
// no journal that others could read. What has left the engine, or was never in it, is refused with
// a sentence.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/model/job_facts.h"
#include "hub/jobs.h"
#include "hub/journal_reader.h"

namespace spate::hub {

class LiveReader final : public JournalReader {
 public:
  // Texts of a task, for people; called by the loop.
  struct Texts {
    std::function<std::string(JobId, TaskIndex)> command;
    std::function<std::string(JobId, TaskIndex)> name = nullptr;  // null: tasks have none
  };
  LiveReader(os::Loop& loop, Texts texts) : loop_(loop), texts_(std::move(texts)) {}
  // Before the first question; they outlive it.
  void Serve(Jobs& jobs) { jobs_ = &jobs; }

  // Ends of attempts, as the owner hears of them: sums are made of them.
  void OnEnded(const engine::NoticeEnded& notice);
  void Forget(JobId job) { sums_.erase(job); }

  // Rows of what it answers at all; who may ask is looked up with the jobs.
  const wire::QuestionRow* RowOf(uint32_t number) const override;
  Result<std::unique_ptr<JournalAnswer>> Start(const Caller& caller, const wire::Request& request,
                                               Events events) override;

 private:
  // A task of which an attempt has ended otherwise than well.
  struct Trouble {
    uint32_t attempts = 0, tries = 0;  // that have ended
    AttemptFacts last;
  };
  // Sums over the attempts of a job that have ended.
  struct Sums {
    JobStatistics all;
    std::vector<Duration> walls;  // of the newest that succeeded
    uint64_t succeeded = 0;
    std::map<TaskIndex, Trouble> troubles;  // the first ones
  };
  struct Tasks {
    JobId job;
    std::vector<NumberRange> ranges;  // numbers, merged
  };
  // The next message of an answer; nothing: that was the last.
  using Next = std::function<std::optional<wire::Reply>()>;
  class Answer;

  Next AnswerOf(const Caller& caller, const wire::Query& query) const;
  Result<std::vector<wire::Reply>> RepliesTo(const Caller& caller,
                                             const wire::ListJobs& asked) const;
  Result<std::vector<wire::Reply>> RepliesTo(const Caller& caller,
                                             const wire::DescribeJobs& asked) const;
  Result<std::vector<wire::Reply>> RepliesTo(const Caller& caller,
                                             const wire::FindTasks& asked) const;
  // Messages of some of the tasks each.
  using TellSome = std::function<std::vector<wire::Reply>(JobId, std::span<const TaskIndex>)>;
  Next EachOf(std::vector<Tasks> tasks, TellSome tell) const;
  Result<std::vector<Tasks>> Pick(const Caller& caller,
                                  const std::vector<wire::TaskPick>& picks) const;
  Result<Tasks> PickOne(const Caller& caller, const TasksOfJob& named) const;
  JobFacts FactsOf(JobId job) const;
  TaskFacts FactsOf(JobId job, TaskIndex index) const;
  JobDetails DetailsOf(const Caller& caller, JobId job) const;
  TaskDetails DetailsOf(JobId job, TaskIndex index) const;
  // Fills in why tasks were cancelled. Cost: the job's edges, if there are any.
  void TellWhyCancelled(JobId job, std::span<TaskDetails> tasks) const;

  os::Loop& loop_;
  const Texts texts_;
  Jobs* jobs_ = nullptr;
  std::map<JobId, Sums> sums_;
};

}  // namespace spate::hub
