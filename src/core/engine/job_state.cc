// JobState: see job_state.h. The queues' invariant: a queued task is in the queue of its request,
// in exactly one part, told by its bits (kPart; fresh ones are at or after the cursor), and stands
// there once; only a blocked task is in none.
#include "core/engine/job_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "core/engine/place/place.h"
#include "core/model/ranges.h"
#include "core/model/retry.h"

namespace spate::engine {
namespace {

constexpr uint8_t kStateMask = 0x07;
constexpr uint8_t kLeasedBefore = 0x08;  // attempt 1 was given out
constexpr uint8_t kPart = 0x30;          // of a queue; none of these: fresh
constexpr uint8_t kWaits = 0x10;         // delayed
constexpr uint8_t kAgain = 0x20;         // requeued
constexpr uint8_t kReadied = 0x30;       // readied
constexpr uint8_t kBlocked = 0x40;       // queued, but in no queue
constexpr uint8_t kCancelled = 0x80;     // leased, and not to be queued again
constexpr uint8_t kLeftList = 0x80;      // neither queued nor leased, and not in its list

uint32_t& CountIn(JobCounts& counts, TaskState state) {
  switch (state) {
    case TaskState::kQueued:
      return counts.queued;
    case TaskState::kLeased:
      return counts.leased;
    case TaskState::kSucceeded:
      return counts.succeeded;
    case TaskState::kFailed:
      return counts.failed;
    case TaskState::kCancelled:
      return counts.cancelled;
    case TaskState::kUnknown:
      break;
  }
  return counts.unknown;
}

}  // namespace

JobState::JobState(JobId id, const JobPlan& plan, Stirred& stirred)
    : id_(id),
      policy_(plan.policy),
      open_(plan.open),
      user_(plan.user),
      priority_(plan.priority),
      planned_after_(plan.after),
      after_(plan.after),
      requests_(plan.requests),
      order_(plan.order),
      tasks_(plan.task_count, static_cast<uint8_t>(TaskState::kQueued)) {
  counts_.total = plan.task_count;
  counts_.queued = plan.task_count;
  AddQueues();
  AddRuns(plan.runs);
  SortRuns();
  for (Queue& queue : queues_) Seek(queue);
  for (uint32_t request = 0; request < queues_.size(); ++request) stirred.Add(id_, request);
}

bool JobState::Runnable() const {
  return held_ == HoldReason::kNone && !finished_ && !cancelled_ && !steers_->all &&
         std::all_of(after_.begin(), after_.end(),
                     [](const After& after) { return after.kind == AfterKind::kEach; });
}

bool JobState::WaitsForEachOf(JobId other) const {
  return std::any_of(after_.begin(), after_.end(), [other](const After& after) {
    return after.job == other && after.kind == AfterKind::kEach;
  });
}

bool JobState::Blocked(TaskIndex index) const { return Has(index, kBlocked); }

bool JobState::Cancelled(TaskIndex index) const {
  return cancelled_ || (StateOf(index) == TaskState::kLeased && Has(index, kCancelled));
}

bool JobState::LeftList(TaskIndex index) const {
  return Has(index, kLeftList) && StateOf(index) != TaskState::kLeased;
}

uint32_t JobState::RequestOf(TaskIndex index) const {
  if (runs_.size() == 1) return runs_.front().request;
  auto after = std::upper_bound(runs_.begin(), runs_.end(), index,
                                [](TaskIndex i, const Run& run) { return i < run.first; });
  CHECK(after != runs_.begin());
  return std::prev(after)->request;
}

uint32_t JobState::RetriesOf(TaskIndex index) const {
  return requests_[RequestOf(index)].retries.value_or(policy_.retry.retries);
}

Attempt JobState::CurrentAttempt(TaskIndex index) const {
  if (!traces_->empty()) {
    if (auto it = traces_->find(index); it != traces_->end()) return it->second.attempt;
  }
  return Attempt(Has(index, kLeasedBefore) ? 1 : 0);
}

Trace JobState::TraceOf(TaskIndex index) const {
  if (auto it = traces_->find(index); it != traces_->end()) return it->second;
  return {CurrentAttempt(index), 0, 0};
}

CutOffs JobState::CutOffsOf(TaskIndex index) const {
  auto it = cut_offs_->find(index);
  return it == cut_offs_->end() ? CutOffs() : it->second;
}

bool JobState::Lossy(TaskIndex index) const {
  auto it = traces_->find(index);
  return it != traces_->end() && it->second.losses > 0;
}

bool JobState::MayReopen(TaskIndex index, bool succeeded) const {
  const bool is_good = StateOf(index) == TaskState::kSucceeded;
  if (LeftList(index) && (succeeded || is_good)) return !succeeded;
  if (is_good) return succeeded && last_success_ < kLastAttempt;
  return IsLost(index) && CurrentAttempt(index) < kLastAttempt;
}

bool JobState::Fresh(TaskIndex index) const {
  return tasks_[index] == static_cast<uint8_t>(TaskState::kQueued);
}

uint32_t JobState::SeekFresh(const Queue& queue, uint32_t position, uint32_t& next_run) const {
  if (queues_.size() == 1) {
    while (position < task_count() && !Fresh(AtPosition(position))) ++position;
    return position;
  }
  for (; next_run < queue.runs.size(); ++next_run) {
    uint32_t run = queue.runs[next_run];
    if (!order_.empty()) {
      if (run >= position && Fresh(order_[run])) return run;
      continue;
    }
    for (position = std::max(position, runs_[run].first); position < EndOfRun(run); ++position) {
      if (Fresh(position)) return position;
    }
  }
  return task_count();
}

place::Ready::Queued JobState::QueuedOf(uint32_t request, Instant now) const {
  using Kind = place::ClassTurn::Kind;
  const Queue& queue = queues_[request];
  const int32_t priority = requests_[request].priority;
  place::Ready::Queued queued{.waiting = queue.waiting};
  auto delayed = queue.delayed->begin();
  bool due = delayed != queue.delayed->end() && delayed->first <= now;
  if (!queue.requeued->empty()) {
    queued.turn = {priority, Kind::kAgain, Instant{}, queue.requeued->begin()->first};
  } else if (due) {
    queued.turn = {priority, Kind::kDue, delayed->first, delayed->second};
  } else if (queue.cursor < task_count()) {
    queued.turn = {priority, Kind::kFresh, Instant{}, queue.cursor};
  } else if (!queue.readied->empty()) {
    queued.turn = {priority, Kind::kReadied, Instant{}, queue.readied->begin()->first};
  }
  if (!due && delayed != queue.delayed->end()) queued.due = delayed->first;
  return queued;
}

JobState::Delays JobState::DelaysOf(uint32_t request, Instant now) const {
  constexpr size_t kMostLooks = 1000;
  const Delayed& delayed = *queues_[request].delayed;
  size_t due = 0;
  auto next = delayed.begin();
  for (; next != delayed.end() && next->first <= now; ++next) {
    if (++due > kMostLooks) return {};
  }
  if (next == delayed.end()) return {};
  return {static_cast<uint32_t>(delayed.size() - due), next->first};
}

bool JobState::Join(Head& head, TaskIndex index, uint32_t request) const {
  Attempt attempt(static_cast<uint16_t>(CurrentAttempt(index).value + 1));
  if (head.count == 0) {
    head.attempt = attempt;
    head.request = request;
  } else if (head.attempt != attempt) {
    return false;
  } else if (attempt.value > 1 && (Lossy(index) || Lossy(head.tasks.back().first))) {
    return false;
  } else if (!sizes_->limits.empty() &&
             TimeLimitOf(index) != TimeLimitOf(head.tasks.back().first)) {
    return false;
  }
  AppendIndex(head.tasks, index);
  ++head.count;
  return true;
}

bool JobState::JoinListed(Head& head, uint32_t max, uint32_t request, const Requeued& listed,
                          place::ClassTurn::Kind kind, const place::ClassTurn& until,
                          const Skip& skip) const {
  place::ClassTurn turn{requests_[request].priority, kind};
  for (const auto& [place, range] : listed) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      turn.sequence = place + (i - range.first);
      if (head.count == max || !(turn < until)) return true;
      if (skip && skip(i)) continue;
      if (!Join(head, i, request)) return true;
    }
  }
  return head.count > 0;
}

void JobState::JoinFresh(Head& head, uint32_t max, uint32_t request,
                         const place::ClassTurn& until) const {
  using Kind = place::ClassTurn::Kind;
  const Queue& queue = queues_[request];
  uint32_t run = queue.next_run;
  uint32_t position = queue.cursor;
  while (position < task_count() && head.count < max) {
    place::ClassTurn turn{requests_[request].priority, Kind::kFresh, Instant{}, position};
    if (!(turn < until) || !Join(head, AtPosition(position), request)) return;
    position = SeekFresh(queue, position + 1, run);
  }
}

Head JobState::Peek(uint32_t request, Instant now, uint32_t max, const place::ClassTurn& until,
                    const Skip& skip) const {
  using Kind = place::ClassTurn::Kind;
  Head head;
  const Queue& queue = queues_[request];
  if (max == 0) return head;
  if (JoinListed(head, max, request, *queue.requeued, Kind::kAgain, until, skip)) return head;
  const Delayed& delayed = *queue.delayed;
  if (!delayed.empty() && delayed.begin()->first <= now) {
    TaskIndex first = delayed.begin()->second;
    if (!(skip && skip(first)) && Join(head, first, request)) return head;
  }
  JoinFresh(head, max, request, until);
  JoinListed(head, max, request, *queue.readied, Kind::kReadied, until, skip);
  return head;
}

std::vector<TaskRange> JobState::QueuedTasks(uint32_t request) const {
  std::vector<TaskRange> tasks;
  auto add = [&](TaskIndex i) {
    if (StateOf(i) == TaskState::kQueued) AppendIndex(tasks, i);
  };
  if (queues_.size() == 1) {
    for (TaskIndex i = 0; i < task_count(); ++i) add(i);
    return tasks;
  }
  for (uint32_t run : queues_[request].runs) {
    if (!order_.empty()) {
      add(order_[run]);
    } else {
      for (TaskIndex i = runs_[run].first; i < EndOfRun(run); ++i) add(i);
    }
  }
  return Normalized(std::move(tasks));
}

Instant JobState::DueOf(TaskIndex index) const {
  return PartOf(index) == kWaits ? TraceOf(index).due : Instant{};
}

uint32_t& JobState::CountOf(TaskState state) { return CountIn(counts_, state); }

// TakeOut comes before it, where the task may be in a queue.
void JobState::SetState(TaskIndex index, TaskState state) {
  uint32_t& before = CountOf(StateOf(index));
  CHECK(before > 0);
  --before;
  ++CountOf(state);
  if (state != TaskState::kLeased) ForgetSteers(index, state);
  tasks_[index] = static_cast<uint8_t>((tasks_[index] & kLeasedBefore) | static_cast<int>(state));
}

// The task stands in that part of its queue from now on.
JobState::Queue& JobState::Enqueue(TaskIndex index, uint8_t part, Stirred& stirred) {
  SetState(index, TaskState::kQueued);
  tasks_[index] |= part;
  uint32_t request = RequestOf(index);
  CountWaiting(request, 1);
  stirred.Add(id_, request);
  if (part != kWaits && GoesBeforeOthers(request)) stirred.Rise(id_, request);
  return queues_[request];
}

void JobState::Requeue(TaskIndex index, Stirred& stirred) {
  if (StoppedAlone(index)) return SetBlocked(index);
  Enqueue(index, kAgain, stirred).requeued.Edit().Push(index, ++requeued_);
}

void JobState::Delay(TaskIndex index, Instant until, Stirred& stirred) {
  if (StoppedAlone(index)) return SetBlocked(index);
  traces_.Edit()[index].due = until;
  Enqueue(index, kWaits, stirred).delayed.Edit().insert({until, index});
}

uint8_t JobState::PartOf(TaskIndex index) const { return tasks_[index] & kPart; }

void JobState::TakeOut(TaskIndex index, Queue& queue) {
  switch (PartOf(index)) {
    case kAgain:
      return queue.requeued.Edit().Remove(index);
    case kReadied:
      return queue.readied.Edit().Remove(index);
    case kWaits:
      queue.delayed.Edit().erase({TraceOf(index).due, index});
  }
}

void JobState::Release() {
  held_ = HoldReason::kNone;
  counts_at_release_ = counts_;
  EndRow();
}

void JobState::Finish() {
  finished_ = true;
  after_.clear();  // what was withdrawn and is reopened waits for nothing
  troubles_.Clear();
  lossy_ = false;
  steers_.Clear();
  if (!sizes_->changes.empty()) sizes_.Edit().changes.clear();
}

void JobState::Cancel(Stirred& stirred) {
  cancelled_ = true;
  open_ = false;
  held_ = HoldReason::kNone;
  if (steers_->all) steers_.Edit().all.reset();
  for (TaskIndex i = 0; i < tasks_.size(); ++i) {
    if (StateOf(i) == TaskState::kQueued) SetState(i, TaskState::kCancelled);
  }
  after_.clear();
  waiting_ = gangs_waiting_ = 0;
  for (uint32_t request = 0; request < queues_.size(); ++request) {
    Queue& queue = queues_[request];
    queue.requeued.Clear();
    queue.readied.Clear();
    queue.delayed.Clear();
    queue.waiting = 0;
    Seek(queue);
    stirred.Add(id_, request);
  }
}

void JobState::CancelLeased(const std::vector<TaskRange>& tasks) {
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      CHECK(StateOf(i) == TaskState::kLeased);
      tasks_[i] |= kCancelled;
    }
  }
}

void JobState::Block(TaskIndex index, Stirred& stirred) {
  if (Blocked(index)) return;
  uint32_t request = RequestOf(index);
  CountWaiting(request, -1);
  TakeOut(index, queues_[request]);
  SetBlocked(index);
  Seek(queues_[request]);
  stirred.Add(id_, request);
}

// It is queued, but in no queue.
void JobState::SetBlocked(TaskIndex index) {
  SetState(index, TaskState::kQueued);
  tasks_[index] |= kBlocked;
}

// ---- Stopped and killed tasks

const StopFact* JobState::StopOf(TaskIndex index) const {
  const TaskState state = StateOf(index);
  const bool may =
      (state == TaskState::kQueued || state == TaskState::kLeased) && !Cancelled(index);
  if (!may) return nullptr;
  if (steers_->all) return &*steers_->all;
  auto alone = steers_->stopped.find(index);
  return alone == steers_->stopped.end() ? nullptr : &alone->second;
}

void JobState::ForgetSteers(TaskIndex index, TaskState state) {
  if (!steers_->killed_tasks.empty()) steers_.Edit().killed_tasks.erase(index);
  if (state != TaskState::kQueued && !steers_->stopped.empty()) steers_.Edit().stopped.erase(index);
  if (!sizes_->changes.empty()) sizes_.Edit().changes.erase(index);
}

// ---- Sizes

const Sizes::Change* JobState::ResizeOf(TaskIndex index) const {
  auto change = sizes_->changes.find(index);
  return change == sizes_->changes.end() ? nullptr : &change->second;
}

std::optional<Duration> JobState::TimeLimitOf(TaskIndex index) const {
  auto limit = sizes_->limits.find(index);
  return limit == sizes_->limits.end() ? sizes_->limit : limit->second;
}

void JobState::Resize(const TasksResized& resized, uint32_t before) {
  Sizes& sizes = sizes_.Edit();
  const std::optional<Duration>& limit = resized.to.time_limit;
  if (resized.stage == ResizeStage::kQueued) {
    if (!limit) return;
    if (resized.tasks.empty()) {
      sizes.limit = limit;
      std::erase_if(sizes.limits,
                    [&](const auto& each) { return StateOf(each.first) == TaskState::kQueued; });
    }
    for (const TaskRange& range : resized.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) sizes.limits[i] = *limit;
    }
    return;
  }
  const TaskIndex index = resized.tasks.front().first;
  auto change = sizes.changes.find(index);
  if (resized.stage == ResizeStage::kOrdered) {
    sizes.changes[index] = {{.from = resized.from,
                             .to = resized.to,
                             .by = resized.by,
                             .since = resized.since,
                             .at = resized.at},
                            before};
    if (limit) sizes.limits[index] = *limit;
    return;
  }
  ResizeFact& fact = change->second.fact;
  fact.stage = resized.stage;
  fact.reason = resized.reason;
  if (resized.stage != ResizeStage::kRefused || !fact.to.time_limit) return;
  sizes.limits.erase(index);
  if (fact.from.time_limit && fact.from.time_limit != sizes.limit) {
    sizes.limits[index] = *fact.from.time_limit;
  }
}

void JobState::Part(const PartedFrom& from) {
  std::vector<PartedFrom>& all = parted_.Edit();
  std::erase_if(all, [&](const PartedFrom& each) { return each.job == from.job; });
  all.push_back(from);
  if (all.size() > kMostParted) all.erase(all.begin());
}

void JobState::Stop(const JobSteered& steered, Stirred& stirred) {
  const StopFact fact{steered.since, steered.at, steered.by, steered.excess};
  if (steered.tasks.empty()) steers_.Edit().all = fact;
  for (const TaskRange& range : steered.tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      steers_.Edit().stopped[i] = fact;
      if (StateOf(i) == TaskState::kQueued) Block(i, stirred);
    }
  }
}

std::vector<TaskIndex> JobState::Continue(const JobSteered& steered) {
  std::vector<TaskIndex> freed;
  Steers& steers = steers_.Edit();
  std::erase_if(steers.stopped, [&](const auto& each) {
    const TaskIndex index = each.first;
    const bool meant = steered.tasks.empty() || SortedContains(steered.tasks, index);
    if (meant && Blocked(index)) freed.push_back(index);
    return meant;
  });
  if (steered.tasks.empty()) steers.all.reset();
  return freed;
}

void JobState::Kill(const std::vector<TaskRange>& tasks) {
  Steers& steers = steers_.Edit();
  if (tasks.empty()) steers.killed = true;
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (StateOf(i) == TaskState::kLeased) steers.killed_tasks.insert(i);
    }
  }
}

void JobState::WaitAgain(const std::vector<After>& after) {
  after_.insert(after_.end(), after.begin(), after.end());
}

void JobState::Unblock(TaskIndex index, Stirred& stirred) {
  if (!Blocked(index) || graph_.Left(index) > 0 || StoppedAlone(index)) return;
  Enqueue(index, kReadied, stirred).readied.Edit().Push(index, ++readied_);
}

void JobState::Link(const std::vector<Edge>& edges, Stirred& stirred) {
  graph_.Add(task_count(), edges,
             [&](const Edge& edge) { return StateOf(edge.parent) != TaskState::kSucceeded; });
  for (const Edge& edge : edges) {
    bool waits = graph_.Left(edge.child) > 0 && StateOf(edge.child) == TaskState::kQueued;
    if (waits) Block(edge.child, stirred);
    if (IsLost(edge.parent)) stirred.Lose(id_, edge.parent);
  }
}

// It has ended, and what waits for it will not run.
bool JobState::IsLost(TaskIndex index) const {
  TaskState state = StateOf(index);
  return state == TaskState::kFailed || state == TaskState::kCancelled ||
         state == TaskState::kUnknown;
}

void JobState::SetLost(TaskIndex index, TaskState state, Stirred& stirred) {
  SetState(index, state);
  if (graph_.HasChildren(index)) stirred.Lose(id_, index);
}

void JobState::CountWaiting(uint32_t request, int64_t change) {
  queues_[request].waiting = static_cast<uint32_t>(queues_[request].waiting + change);
  waiting_ = static_cast<uint32_t>(waiting_ + change);
  if (IsGang(request)) gangs_waiting_ = static_cast<uint32_t>(gangs_waiting_ + change);
}

void JobState::Trust(NodeId node) {
  if (node == NodeId()) {
    troubles_.Clear();
  } else {
    troubles_.Edit().erase(node);
  }
}

void JobState::Meet(JobId other) {
  std::erase_if(after_, [other](const After& after) { return after.job == other; });
}

void JobState::AddQueues() {
  for (size_t i = queues_.size(); i < requests_.size(); ++i) {
    lowest_priority_ = std::min(lowest_priority_, requests_[i].priority);
  }
  queues_.resize(requests_.size());
}

void JobState::AddRuns(const std::vector<RequestRun>& runs) {
  if (runs_.empty()) runs_.reserve(runs.size());
  for (const RequestRun& run : runs) {
    CountWaiting(run.request, run.count);
    if (runs_.empty() || runs_.back().request != run.request) {
      runs_.push_back({run.first, run.request});
    }
  }
}

void JobState::SortRuns() {
  if (queues_.size() == 1) return;
  std::vector<uint32_t> counts(queues_.size());
  auto each = [&](auto fn) {
    if (order_.empty()) {
      for (uint32_t run = 0; run < runs_.size(); ++run) fn(runs_[run].request, run);
    } else {
      for (uint32_t at = 0; at < order_.size(); ++at) fn(RequestOf(order_[at]), at);
    }
  };
  each([&](uint32_t request, uint32_t) { ++counts[request]; });
  for (uint32_t request = 0; request < queues_.size(); ++request) {
    queues_[request].runs.clear();
    queues_[request].runs.reserve(counts[request]);
    queues_[request].next_run = 0;
  }
  each([&](uint32_t request, uint32_t run) { queues_[request].runs.push_back(run); });
}

void JobState::Grow(const JobGrown& grown, Stirred& stirred) {
  Remember(grown.key);
  // Tasks added to a job that had ended are not to blame for how that went.
  if (finished_) EndRow();
  if (finished_ && held_ == HoldReason::kAllFail) Release();
  const bool was_one = queues_.size() == 1;
  const auto runs = static_cast<uint32_t>(runs_.size());
  const uint32_t before = task_count();
  requests_.insert(requests_.end(), grown.new_requests.begin(), grown.new_requests.end());
  AddQueues();
  // The last run may become longer.
  for (Queue& queue : queues_) {
    if (queue.next_run > 0) --queue.next_run;
  }
  AddRuns(grown.runs);
  if (!order_.empty()) {
    for (uint32_t i = 0; i < grown.count; ++i) order_.push_back(before + i);
  }
  tasks_.resize(tasks_.size() + grown.count, static_cast<uint8_t>(TaskState::kQueued));
  counts_.total += grown.count;
  counts_.queued += grown.count;
  finished_ = false;
  cancelled_ = false;
  if (was_one) {
    SortRuns();
  } else if (order_.empty()) {
    for (uint32_t run = runs; run < runs_.size(); ++run) {
      queues_[runs_[run].request].runs.push_back(run);
    }
  } else {
    for (uint32_t at = before; at < task_count(); ++at) {
      queues_[RequestOf(at)].runs.push_back(at);
    }
  }
  for (Queue& queue : queues_) {
    queue.cursor = std::min(queue.cursor, before);
    Seek(queue);
  }
  for (const RequestRun& run : grown.runs) stirred.Add(id_, run.request);
}

void JobState::WithdrawOne(TaskIndex index, Stirred& stirred) {
  CHECK(StateOf(index) == TaskState::kQueued);
  uint32_t request = RequestOf(index);
  Queue& queue = queues_[request];
  if (!Blocked(index)) CountWaiting(request, -1);
  TakeOut(index, queue);
  SetLost(index, TaskState::kCancelled, stirred);
  Seek(queue);
  stirred.Add(id_, request);
}

void JobState::Withdraw(const std::vector<TaskRange>& tasks, Stirred& stirred) {
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) WithdrawOne(i, stirred);
  }
}

void JobState::Leave(const std::vector<TaskRange>& tasks, Stirred& stirred) {
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      CHECK(StateOf(i) != TaskState::kLeased && !LeftList(i));
      if (StateOf(i) == TaskState::kQueued) WithdrawOne(i, stirred);
      if (StateOf(i) != TaskState::kSucceeded) SetLost(i, TaskState::kCancelled, stirred);
      --CountOf(StateOf(i));
      --counts_.total;
      tasks_[i] |= kLeftList;
    }
  }
  ForgetGone();
}

// It is in its list again.
void JobState::Rejoin(TaskIndex index) {
  if (!LeftList(index)) return;
  tasks_[index] &= static_cast<uint8_t>(~kLeftList);
  ++CountOf(StateOf(index));
  ++counts_.total;
  // It did not succeed now.
  if (StateOf(index) == TaskState::kSucceeded) ++counts_at_release_.succeeded;
}

// Ends that were taken out of the counts do not count for --halt any more either.
void JobState::ForgetGone() {
  JobCounts& then = counts_at_release_;
  then.succeeded = std::min(then.succeeded, counts_.succeeded);
  then.failed = std::min(then.failed, counts_.failed);
  then.unknown = std::min(then.unknown, counts_.unknown);
  then.cancelled = std::min(then.cancelled, counts_.cancelled);
}

// Its children wait for it again.
void JobState::ForgetSuccess(TaskIndex index, Stirred& stirred) {
  traces_.Edit()[index].attempt = last_success_;
  SetState(index, TaskState::kCancelled);
  graph_.ForChildren(index, [&](TaskIndex child) {
    graph_.Miss(child);
    if (StateOf(child) == TaskState::kQueued) Block(child, stirred);
  });
}

void JobState::Reopen(const TasksReopened& reopened, Stirred& stirred) {
  for (const TaskRange& range : reopened.tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      CHECK(MayReopen(i, reopened.succeeded));
      if (StateOf(i) != TaskState::kSucceeded || !reopened.succeeded) continue;
      ForgetSuccess(i, stirred);
    }
  }
  for (const TaskRange& range : reopened.tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      Rejoin(i);
      if (StateOf(i) == TaskState::kSucceeded) continue;
      if (Attempt attempt = CurrentAttempt(i); attempt.value > 0)
        traces_.Edit()[i] = {attempt, 0, 0};
      if (!cut_offs_->empty()) cut_offs_.Edit().erase(i);
      if (graph_.Left(i) > 0) {
        SetBlocked(i);
      } else {
        Requeue(i, stirred);
      }
    }
  }
  finished_ = false;
  cancelled_ = false;
  if (steers_->killed) steers_.Edit().killed = false;
  EndRow();
  ForgetGone();
}

std::vector<JobState::Run> JobState::Overlaid(const std::vector<RequestRun>& over) const {
  std::vector<Run> all;
  auto next = over.begin();
  for (uint32_t run = 0; run < runs_.size(); ++run) {
    TaskIndex end = EndOfRun(run);
    for (TaskIndex at = runs_[run].first, until = end; at < end; at = until) {
      while (next != over.end() && next->first + next->count <= at) ++next;
      bool inside = next != over.end() && next->first <= at;
      uint32_t request = inside ? next->request : runs_[run].request;
      until = end;
      if (next != over.end()) until = inside ? next->first + next->count : next->first;
      until = std::min(until, end);
      if (all.empty() || all.back().request != request) all.push_back({at, request});
    }
  }
  return all;
}

void JobState::LeaveQueues(const std::vector<RequestRun>& runs, Stirred& stirred) {
  for (const RequestRun& run : runs) {
    for (TaskIndex i = run.first; i < run.first + run.count; ++i) {
      if (StateOf(i) != TaskState::kQueued) continue;
      uint32_t request = RequestOf(i);
      if (!Blocked(i)) CountWaiting(request, -1);
      TakeOut(i, queues_[request]);
      stirred.Add(id_, request);
    }
  }
}

void JobState::JoinQueues(const std::vector<RequestRun>& runs, Stirred& stirred) {
  for (const RequestRun& run : runs) {
    for (TaskIndex i = run.first; i < run.first + run.count; ++i) {
      if (StateOf(i) != TaskState::kQueued || Blocked(i)) continue;
      Queue& queue = queues_[run.request];
      CountWaiting(run.request, 1);
      stirred.Add(id_, run.request);
      if (PartOf(i) != kWaits && GoesBeforeOthers(run.request)) stirred.Rise(id_, run.request);
      switch (PartOf(i)) {
        case kAgain:
          queue.requeued.Edit().Push(i, ++requeued_);
          break;
        case kReadied:
          queue.readied.Edit().Push(i, ++readied_);
          break;
        case kWaits:
          queue.delayed.Edit().insert({TraceOf(i).due, i});
          break;
        default:  // a fresh one, which the cursor is to meet
          queue.cursor = 0;
      }
    }
  }
}

void JobState::ChangeNeeds(const NeedsChanged& changed, Stirred& stirred) {
  requests_.insert(requests_.end(), changed.new_requests.begin(), changed.new_requests.end());
  AddQueues();
  for (const RequestRun& run : changed.runs) {
    CHECK(run.request < requests_.size());
    for (TaskIndex i = run.first; i < run.first + run.count; ++i) {
      CHECK(MayReopen(i, true) || MayReopen(i, false) || StateOf(i) == TaskState::kLeased ||
            StateOf(i) == TaskState::kQueued);
    }
  }
  LeaveQueues(changed.runs, stirred);
  runs_ = Overlaid(changed.runs);
  SortRuns();
  JoinQueues(changed.runs, stirred);
  for (Queue& queue : queues_) Seek(queue);
}

void JobState::Lease(TaskRange tasks, uint32_t request, Attempt attempt, Stirred& stirred) {
  Queue& queue = queues_[request];
  for (TaskIndex i = tasks.first; i < tasks.first + tasks.count; ++i) {
    CHECK(StateOf(i) == TaskState::kQueued);
    // Replay may not know the job whose end had unblocked it.
    if (!Blocked(i)) CountWaiting(request, -1);
    TakeOut(i, queue);
    SetState(i, TaskState::kLeased);
    tasks_[i] |= kLeasedBefore;
    if (attempt.value > 1) traces_.Edit()[i].attempt = attempt;
  }
  Seek(queue);
  stirred.Add(id_, request);
}

void JobState::Return(TaskRange tasks, Attempt attempt, Stirred& stirred) {
  for (TaskIndex i = tasks.first; i < tasks.first + tasks.count; ++i) {
    CHECK(StateOf(i) == TaskState::kLeased);
    CHECK(CurrentAttempt(i) == attempt);
    if (Cancelled(i)) {
      SetLost(i, TaskState::kCancelled, stirred);
    } else {
      Requeue(i, stirred);
    }
  }
}

void JobState::End(const AttemptEnded& ended, Stirred& stirred) {
  TaskIndex i = ended.end.ref.index;
  CHECK(StateOf(i) == TaskState::kLeased);
  NodeId node = ended.node;
  if (GangOf(i) == nullptr) {
    Learn(ended, node);
  } else {
    const std::vector<NodeId> nodes = EndPart(ended);
    if (ended.verdict == Verdict::kPart) return;
    for (NodeId each : nodes) Learn(ended, each);
    node = nodes.front();
  }
  switch (ended.verdict) {
    case Verdict::kSucceeded:
      if (!traces_->empty()) traces_.Edit().erase(i);
      if (!cut_offs_->empty()) cut_offs_.Edit().erase(i);
      last_success_ = std::max(last_success_, ended.end.ref.attempt);
      SetState(i, TaskState::kSucceeded);
      graph_.ForChildren(i, [&](TaskIndex child) { graph_.Meet(child); });
      return;
    case Verdict::kUnknown:
      return SetLost(i, TaskState::kUnknown, stirred);
    case Verdict::kFailed:
      return SetLost(i, TaskState::kFailed, stirred);
    case Verdict::kCancelled:
      return SetLost(i, TaskState::kCancelled, stirred);
    case Verdict::kRetry:
    case Verdict::kPart:
      return QueueAgain(ended, node, stirred);
  }
}

void JobState::QueueAgain(const AttemptEnded& ended, NodeId node, Stirred& stirred) {
  const TaskIndex i = ended.end.ref.index;
  const Cause cause = ended.end.cause;
  Trace& trace = traces_.Edit().try_emplace(i, Trace{ended.end.ref.attempt, 0, 0}).first->second;
  trace.attempt = ended.end.ref.attempt;
  if (IsCutOff(ended.end)) cut_offs_.Edit()[i].Add(ended.end.wall);
  if (ended.counts) ++trace.tries;
  const Duration delay = ended.counts ? policy_.retry.delay : Duration{};
  if (cause == Cause::kNode) {
    ++trace.losses;
    lossy_ = true;
  } else if (cause == Cause::kStart && !ended.counts) {
    ++trace.no_starts;
  } else if (IsOfProgram(cause)) {
    if (!ended.counts) ++trace.elsewhere;
    trace.Blame(node);
    trace.blamed_at = ended.ended + delay;
  }
  if (delay.ns > 0) {
    Delay(i, ended.ended + delay, stirred);
  } else {
    Requeue(i, stirred);
  }
}

void JobState::CheckInvariants() const {
  JobCounts seen;
  size_t waiting = 0;
  size_t listed = 0;
  std::vector<uint32_t> unblocked(queues_.size());
  for (TaskIndex i = 0; i < tasks_.size(); ++i) {
    CHECK(StateOf(i) != TaskState::kQueued || !Has(i, kLeftList));
    if (LeftList(i)) {
      CHECK(StateOf(i) == TaskState::kCancelled || StateOf(i) == TaskState::kSucceeded);
      CHECK(!Has(i, kPart | kBlocked));
      continue;
    }
    ++seen.total;
    ++CountIn(seen, StateOf(i));
    if (PartOf(i) == kWaits) ++waiting;
    if (PartOf(i) == kAgain || PartOf(i) == kReadied) ++listed;
    CHECK(StateOf(i) == TaskState::kQueued || !Has(i, kPart | kBlocked));
    CHECK(!Has(i, kBlocked) || !Has(i, kPart));
    CHECK(StateOf(i) != TaskState::kQueued || graph_.Left(i) == 0 || Has(i, kBlocked));
    if (StateOf(i) == TaskState::kQueued && !Blocked(i)) ++unblocked[RequestOf(i)];
    CHECK(StateOf(i) != TaskState::kLeased || Has(i, kLeasedBefore));
    CHECK(StateOf(i) == TaskState::kLeased || !Has(i, kCancelled));
  }
  CHECK(seen == counts_);
  // Each queued task stands once: all entries are true, and there are as many as tasks.
  for (uint32_t request = 0; request < queues_.size(); ++request) {
    const Queue& queue = queues_[request];
    for (const auto& [due, index] : *queue.delayed) {
      CHECK(PartOf(index) == kWaits);
      CHECK(RequestOf(index) == request);
      CHECK(DueOf(index) == due);
    }
    waiting -= queue.delayed->size();
    for (uint8_t part : {kAgain, kReadied}) {
      for (const auto& [place, range] : part == kAgain ? *queue.requeued : *queue.readied) {
        for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
          CHECK(PartOf(i) == part);
          CHECK(RequestOf(i) == request);
        }
        listed -= range.count;
      }
    }
    CHECK(queue.cursor == FirstFresh(request));
    CHECK(queue.waiting == unblocked[request]);
  }
  CHECK(waiting == 0);
  CHECK(listed == 0);
  CheckGraph();
  CHECK(waiting_ == std::accumulate(unblocked.begin(), unblocked.end(), 0u));
  uint32_t gangs = 0;
  for (uint32_t i = 0; i < queues_.size(); ++i) gangs += IsGang(i) ? unblocked[i] : 0;
  CHECK(gangs_waiting_ == gangs);
  for (const auto& [index, gang] : *gangs_) {
    CHECK(StateOf(index) == TaskState::kLeased);
    CHECK(gang.left > 0 && gang.left <= gang.parts.size());
  }
}

void JobState::CheckGraph() const {
  if (graph_.empty()) return;
  std::vector<uint32_t> left(tasks_.size());
  for (TaskIndex i = 0; i < tasks_.size(); ++i) {
    if (StateOf(i) == TaskState::kSucceeded) continue;
    graph_.ForChildren(i, [&](TaskIndex child) { ++left[child]; });
  }
  for (TaskIndex i = 0; i < tasks_.size(); ++i) CHECK(graph_.Left(i) == left[i]);
}

uint32_t JobState::FirstFresh(uint32_t request) const {
  for (uint32_t at = 0; at < task_count(); ++at) {
    if (Fresh(AtPosition(at)) && RequestOf(AtPosition(at)) == request) return at;
  }
  return task_count();
}

}  // namespace spate::engine
