#include "hub/answers/live_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <variant>

#include "core/model/ranges.h"
#include "hub/answers/pick.h"
#include "wire/client_codec.h"
#include "wire/field_bytes.h"

namespace spate::hub {
namespace {

constexpr size_t kWallsKept = 1024;       // of which the median is
constexpr size_t kTroublesKept = 10'000;  // of a job
constexpr size_t kTasksAtOnce = 256;

wire::Reply ReplyOf(const Error& error) { return wire::Failed{error.kind, error.message}; }

template <typename T>
wire::Reply ReplyOf(const T& answer) {
  return wire::QueryAnswer{wire::BytesOf(answer)};
}

Duration MedianOf(std::vector<Duration> walls) {
  if (walls.empty()) return {};
  auto middle = walls.begin() + static_cast<ptrdiff_t>(walls.size() / 2);
  std::ranges::nth_element(walls, middle);
  return *middle;
}

AttemptFacts FactsOfEnd(const engine::NoticeEnded& notice) {
  return {.end = notice.end,
          .verdict = notice.verdict,
          .counts = notice.verdict != Verdict::kRetry || notice.end.cause != Cause::kStopped,
          .ended = notice.end.start + notice.end.wall};
}

std::vector<FailureFacts> FailuresOf(const std::vector<std::pair<TaskIndex, AttemptEnd>>& failed) {
  std::map<std::pair<Cause, int32_t>, FailureFacts> kinds;
  for (const auto& [index, end] : failed) {
    FailureFacts& kind = kinds[{end.cause, end.status}];
    kind.end.cause = end.cause;
    kind.end.status = end.status;
    ++kind.count;
    if (kind.tasks.size() < FailureFacts::kMostRanges) AppendIndex(kind.tasks, index);
  }
  std::vector<FailureFacts> all;
  for (auto& [key, kind] : kinds) all.push_back(std::move(kind));
  std::ranges::stable_sort(all, std::greater(), &FailureFacts::count);
  return all;
}

}  // namespace

// ---- Sums --------------------------------------------------------------------------------------

void LiveReader::OnEnded(const engine::NoticeEnded& notice) {
  const AttemptEnd& end = notice.end;
  Sums& sums = sums_[end.ref.job];
  JobStatistics& all = sums.all;
  ++all.attempts;
  all.total_wall = all.total_wall + end.wall;
  all.total_user = all.total_user + end.user;
  all.total_system = all.total_system + end.system;
  if (end.peak_memory > all.peak_memory) {
    all.peak_memory = end.peak_memory;
    all.peak_task = end.ref.index;
  }
  if (all.first_start == Instant() || end.start < all.first_start) all.first_start = end.start;
  all.last_end = std::max(all.last_end, end.start + end.wall);
  auto trouble = sums.troubles.find(end.ref.index);
  if (notice.verdict == Verdict::kSucceeded) {
    const size_t place = sums.succeeded++ % kWallsKept;
    if (place == sums.walls.size()) sums.walls.emplace_back();
    sums.walls[place] = end.wall;
  } else if (trouble == sums.troubles.end() && sums.troubles.size() < kTroublesKept) {
    trouble = sums.troubles.try_emplace(end.ref.index).first;
  }
  if (trouble == sums.troubles.end()) return;
  trouble->second.last = FactsOfEnd(notice);
  ++trouble->second.attempts;
  if (trouble->second.last.counts) ++trouble->second.tries;
}

// ---- Answers, a message at a time --------------------------------------------------------------

class LiveReader::Answer final : public JournalAnswer {
 public:
  Answer(os::Loop& loop, Next next, Events events)
      : loop_(loop), next_(std::move(next)), events_(std::move(events)) {
    GoOn();
  }
  ~Answer() override { *alive_ = false; }
  void Pause(bool paused) override {
    if (std::exchange(paused_, paused) && !paused) GoOn();
  }

 private:
  void GoOn() {
    loop_.Post([this, alive = alive_] {
      if (*alive && !paused_) SendNext();
    });
  }
  void SendNext() {
    auto reply = next_();
    auto ended = events_.ended;
    if (!reply) return ended(End{});
    std::string bytes;
    wire::Append(bytes, *reply);
    auto alive = alive_;
    events_.reply(bytes);
    if (*alive) GoOn();
  }

  os::Loop& loop_;
  const Next next_;
  const Events events_;
  bool paused_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Result<std::unique_ptr<JournalAnswer>> LiveReader::Start(const Caller& caller,
                                                         const wire::Request& request,
                                                         Events events) {
  const auto* query = std::get_if<wire::Query>(&request);
  return std::make_unique<Answer>(loop_, AnswerOf(caller, query ? *query : wire::Query()),
                                  std::move(events));
}

namespace {

std::function<std::optional<wire::Reply>()> Each(std::vector<wire::Reply> replies) {
  return [replies = std::move(replies), at = size_t{0}]() mutable -> std::optional<wire::Reply> {
    if (at == replies.size()) return std::nullopt;
    return std::move(replies[at++]);
  };
}

std::function<std::optional<wire::Reply>()> Each(Result<std::vector<wire::Reply>> told) {
  if (!told) return Each(std::vector{ReplyOf(told.error())});
  told->emplace_back(wire::QueryDone());
  return Each(std::move(*told));
}

// A leased task that its node has not started counts as queued.
void ShowNext(const std::vector<JobLive>& live, JobId job, TaskFacts& facts) {
  if (facts.state != TaskState::kLeased) return;
  auto known = std::ranges::find(live, job, &JobLive::job);
  if (known == live.end() || !known->tells_runs) return;
  if (SortedContains(known->running, facts.index)) return;
  facts.state = TaskState::kQueued;
  facts.is_next = true;
}

}  // namespace

const wire::QuestionRow* LiveReader::RowOf(uint32_t number) const {
  static constexpr auto kRows = std::to_array<wire::QuestionRow>(
      {wire::RowOf<wire::ListJobs>({}), wire::RowOf<wire::DescribeJobs>({}),
       wire::RowOf<wire::FindTasks>({}), wire::RowOf<wire::ListTasks>({}),
       wire::RowOf<wire::DescribeTasks>({})});
  auto found = std::ranges::find(kRows, number, &wire::QuestionRow::number);
  return found == kRows.end() ? nullptr : &*found;
}

LiveReader::Next LiveReader::AnswerOf(const Caller& caller, const wire::Query& query) const {
  if (const auto list = query.question.As<wire::ListJobs>()) {
    return Each(RepliesTo(caller, *list));
  }
  if (const auto describe = query.question.As<wire::DescribeJobs>()) {
    return Each(RepliesTo(caller, *describe));
  }
  if (const auto find = query.question.As<wire::FindTasks>()) {
    return Each(RepliesTo(caller, *find));
  }
  if (const auto list = query.question.As<wire::ListTasks>()) {
    auto picked = Pick(caller, list->tasks);
    if (!picked) return Each(std::vector{ReplyOf(picked.error())});
    return EachOf(std::move(*picked),
                  [this, states = list->states, left = list->most, live = query.live](
                      JobId job, std::span<const TaskIndex> some) mutable {
                    wire::TasksListed listed{job, FactsOf(job).name.value_or(""), {}};
                    for (TaskIndex index : some) {
                      TaskFacts facts = FactsOf(job, index);
                      ShowNext(live, job, facts);
                      if ((states >> static_cast<uint32_t>(facts.state) & 1) == 0 || left == 0)
                        continue;
                      --left;
                      listed.tasks.push_back(std::move(facts));
                    }
                    return std::vector{ReplyOf(listed)};
                  });
  }
  if (const auto describe = query.question.As<wire::DescribeTasks>()) {
    auto picked = Pick(caller, describe->tasks);
    if (!picked) return Each(std::vector{ReplyOf(picked.error())});
    return EachOf(std::move(*picked),
                  [this, live = query.live](JobId job, std::span<const TaskIndex> some) {
                    std::vector<TaskDetails> all;
                    for (TaskIndex index : some) {
                      all.push_back(DetailsOf(job, index));
                      ShowNext(live, job, all.back().task);
                    }
                    TellWhyCancelled(job, all);
                    std::vector<wire::Reply> replies;
                    for (TaskDetails& details : all) replies.push_back(ReplyOf(std::move(details)));
                    return replies;
                  });
  }
  return Each(
      std::vector{ReplyOf(Error{ErrorKind::kUnavailable,
                                "this program keeps no history; only unfinished jobs and tasks can "
                                "be shown, and task output is in the program's own files"})});
}

LiveReader::Next LiveReader::EachOf(std::vector<Tasks> tasks, TellSome tell) const {
  struct At {
    std::vector<Tasks> tasks;
    TellSome tell;
    size_t job = 0, range = 0;
    uint64_t next = 0;  // number in the range; 0: its first
    std::deque<wire::Reply> replies;
    bool done = false;
  };
  auto at = std::make_shared<At>(At{.tasks = std::move(tasks), .tell = std::move(tell)});
  return [at]() -> std::optional<wire::Reply> {
    while (at->replies.empty()) {
      if (at->done) return std::nullopt;
      if (at->job == at->tasks.size()) {
        at->done = true;
        return wire::QueryDone();
      }
      const Tasks& of = at->tasks[at->job];
      std::vector<TaskIndex> some;
      while (at->range < of.ranges.size() && some.size() < kTasksAtOnce) {
        const NumberRange& range = of.ranges[at->range];
        uint64_t number = at->next == 0 ? range.first : at->next;
        for (; number <= range.last && some.size() < kTasksAtOnce; number += range.step) {
          some.push_back(static_cast<TaskIndex>(number - 1));
        }
        at->next = number <= range.last ? number : 0;
        if (at->next == 0) ++at->range;
      }
      for (wire::Reply& reply : at->tell(of.job, some)) at->replies.push_back(std::move(reply));
      if (at->range < of.ranges.size()) continue;
      ++at->job;
      at->range = 0;
    }
    wire::Reply reply = std::move(at->replies.front());
    at->replies.pop_front();
    return reply;
  };
}

// ---- Jobs --------------------------------------------------------------------------------------

Result<std::vector<wire::Reply>> LiveReader::RepliesTo(const Caller& caller,
                                                       const wire::ListJobs& asked) const {
  auto jobs = TRY(PickJobs(*jobs_, caller, asked.jobs.value_or(JobSelector{.all = true})));
  wire::JobsListed listed{.jobs = {}, .of = jobs.size()};
  for (auto job = jobs.rbegin(); job != jobs.rend() && listed.jobs.size() < asked.most; ++job) {
    JobFacts facts = FactsOf(*job);
    const bool fails = facts.failed() > 0 && (asked.kinds & wire::ListJobs::kFailedKind) != 0;
    const bool wanted = (asked.kinds >> static_cast<uint32_t>(facts.state) & 1) != 0;
    if (wanted || fails) listed.jobs.push_back(std::move(facts));
  }
  return std::vector{ReplyOf(listed)};
}

Result<std::vector<wire::Reply>> LiveReader::RepliesTo(const Caller& caller,
                                                       const wire::DescribeJobs& asked) const {
  JobSelector named = asked.jobs;
  named.last |= !named.all && named.ranges.empty();
  std::vector<wire::Reply> replies;
  for (JobId job : TRY(PickJobs(*jobs_, caller, named))) {
    replies.push_back(ReplyOf(DetailsOf(caller, job)));
  }
  return replies;
}

JobFacts LiveReader::FactsOf(JobId job) const {
  const engine::Engine& engine = jobs_->engine();
  JobFacts facts{.job = job, .name = "", .state = JobStanding::kRunning};
  facts.counts = jobs_->known().Counts(job).value_or(JobCounts());
  const KnownJobs::Job* known = jobs_->known().Find(job);
  const bool started = known != nullptr && known->started;
  if (engine.Finished(job)) {
    facts.state = JobStanding::kFinished;
  } else if (const Freezing stopped = engine.FreezingOf(job); stopped != Freezing::kNone) {
    facts.state = StandingOf(stopped);
  } else if (engine.Held(job) != engine::HoldReason::kNone) {
    facts.state = JobStanding::kHeld;
  } else if (!started && facts.counts.leased + facts.counts.finished() == 0) {
    facts.state = JobStanding::kQueued;
  }
  auto row = jobs_->store().ReadJob(job);
  if (!row) return facts;
  facts.name = store::NameOf(*row);
  facts.cwd = row->cwd;
  facts.user = row->user;
  facts.host = row->host;
  facts.pid = row->pid;
  facts.runs = row->runs;
  facts.created = facts.started = row->created;
  if (known != nullptr) facts.took = std::max(loop_.Now() - known->since, Duration());
  return facts;
}

JobDetails LiveReader::DetailsOf(const Caller& caller, JobId job) const {
  const engine::Engine& engine = jobs_->engine();
  JobDetails details{.job = FactsOf(job), .owner = std::nullopt};
  details.owner = details.job.pid;
  details.policy = engine.Policy(job).value_or(JobPolicy());
  details.held = engine.Held(job);
  details.stop = engine.StopOf(job);
  for (const TaskRange& range : engine.StoppedTasks(job)) details.stopped_tasks += range.count;
  details.for_admin = caller.is_admin;
  details.edges = engine.Edges(job).size();
  const TaskIndex count = engine.TaskCount(job);
  if (count > 0) details.newest = engine.ClassOf(job, count - 1).value_or(TaskClass());
  auto known = sums_.find(job);
  if (known == sums_.end()) return details;
  const Sums& sums = known->second;
  details.statistics = sums.all;
  details.statistics.median_wall = MedianOf(sums.walls);
  const double span = (sums.all.last_end - sums.all.first_start).seconds();
  if (span > 0) details.statistics.tasks_per_second = static_cast<double>(sums.succeeded) / span;
  std::vector<std::pair<TaskIndex, AttemptEnd>> failed;
  for (const auto& [index, trouble] : sums.troubles) {
    auto state = engine.StateOf(job, index);
    if (state != TaskState::kFailed && state != TaskState::kUnknown) continue;
    failed.emplace_back(index, trouble.last.end);
  }
  details.failures = FailuresOf(failed);
  return details;
}

// ---- Tasks -------------------------------------------------------------------------------------

Result<LiveReader::Tasks> LiveReader::PickOne(const Caller& caller, const TasksOfJob& named) const {
  Tasks picked{.job = TRY(PickJob(*jobs_, caller, named)), .ranges = named.ranges};
  const uint32_t total = jobs_->engine().TaskCount(picked.job);
  if (named.all && total > 0) picked.ranges.push_back({1, total, 1});
  std::erase_if(picked.ranges, [&](const NumberRange& range) { return range.first > total; });
  for (NumberRange& range : picked.ranges) range.last = std::min(range.last, total);
  const std::vector<std::string>& names = named.names;
  for (TaskIndex i = 0; texts_.name && !names.empty() && i < total; ++i) {
    if (std::ranges::find(names, texts_.name(picked.job, i)) == names.end()) continue;
    picked.ranges.push_back({i + 1, i + 1, 1});
  }
  if (picked.ranges.empty()) {
    return Fail(ErrorKind::kNotFound, "no such task");
  }
  picked.ranges = Merged(std::move(picked.ranges));
  return picked;
}

Result<std::vector<LiveReader::Tasks>> LiveReader::Pick(
    const Caller& caller, const std::vector<wire::TaskPick>& picks) const {
  std::vector<Tasks> all;
  auto whole = [&](const JobSelector& jobs) -> Status {
    for (JobId job : TRY(PickJobs(*jobs_, caller, jobs))) {
      all.push_back({job, {{1, jobs_->engine().TaskCount(job), 1}}});
    }
    return {};
  };
  if (picks.empty()) TRY(whole({.last = true}));
  for (const wire::TaskPick& pick : picks) {
    if (pick.tasks.empty()) TRY(whole(pick.jobs));
    for (const TasksOfJob& tasks : pick.tasks) all.push_back(TRY(PickOne(caller, tasks)));
  }
  return all;
}

Result<std::vector<wire::Reply>> LiveReader::RepliesTo(const Caller& caller,
                                                       const wire::FindTasks& asked) const {
  wire::TasksFound found;
  for (const TasksOfJob& named : asked.tasks) {
    Tasks picked = TRY(PickOne(caller, named));
    found.tasks.push_back({picked.job.value, false, std::move(picked.ranges), {}});
  }
  return std::vector{ReplyOf(found)};
}

TaskFacts LiveReader::FactsOf(JobId job, TaskIndex index) const {
  TaskFacts facts{.index = index, .last = std::nullopt};
  facts.state = jobs_->engine().StateOf(job, index).value_or(TaskState::kQueued);
  facts.withdrawn = jobs_->engine().LeftList(job, index);
  facts.command = texts_.command(job, index);
  if (texts_.name) facts.name = texts_.name(job, index);
  auto sums = sums_.find(job);
  if (sums == sums_.end()) return facts;
  if (auto at = sums->second.troubles.find(index); at != sums->second.troubles.end()) {
    facts.attempts = at->second.attempts;
    facts.tries = at->second.tries;
    facts.last = at->second.last;
  } else if (facts.state == TaskState::kSucceeded) {
    facts.attempts = facts.tries = 1;
  }
  return facts;
}

void LiveReader::TellWhyCancelled(JobId job, std::span<TaskDetails> tasks) const {
  std::map<TaskIndex, TaskDetails*> cancelled;
  for (TaskDetails& details : tasks) {
    if (details.task.state != TaskState::kCancelled || details.task.withdrawn) continue;
    details.why_cancelled = "it, or its job, was cancelled";
    cancelled[details.task.index] = &details;
  }
  if (cancelled.empty()) return;
  const engine::Engine& engine = jobs_->engine();
  for (const Edge& edge : engine.Edges(job)) {
    auto child = cancelled.find(edge.child);
    if (child == cancelled.end()) continue;
    if (engine.StateOf(job, edge.parent) == TaskState::kSucceeded) continue;
    const std::string name = texts_.name ? texts_.name(job, edge.parent) : "";
    child->second->why_cancelled =
        fmt::format("it waited for task {}{}, which did not succeed", edge.parent + 1,
                    name.empty() ? "" : " (" + name + ")");
    cancelled.erase(child);  // the first one is told
  }
}

TaskDetails LiveReader::DetailsOf(JobId job, TaskIndex index) const {
  const engine::Engine& engine = jobs_->engine();
  TaskDetails details{.task = FactsOf(job, index)};
  if (details.task.last) details.attempts = {*details.task.last};
  details.job = FactsOf(job);
  details.cwd = details.job.cwd.value_or("");
  details.asks = engine.ClassOf(job, index);
  details.retry = engine.Policy(job).value_or(JobPolicy()).retry;
  details.held = engine.Held(job);
  return details;
}

}  // namespace spate::hub
