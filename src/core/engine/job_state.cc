// JobState: see job_state.h. The queues' invariant: a queued task is in the queue of its request,
// in exactly one part, told by its bits (kWaits: delayed, kAgain: requeued, neither: fresh, at or
// after the cursor), and stands there once; only a blocked task is in none. Leases take from the
// fronts, as SkipStale then sees; Withdraw takes from anywhere, and cleans the whole.
#include "core/engine/job_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace spate::engine {
namespace {

constexpr uint8_t kStateMask = 0x07;
constexpr uint8_t kLeasedBefore = 0x08;  // attempt 1 was given out
constexpr uint8_t kWaits = 0x10;         // in a queue's delayed
constexpr uint8_t kAgain = 0x20;         // in a queue's requeued
constexpr uint8_t kBlocked = 0x40;       // queued, but in no queue
constexpr uint8_t kCancelled = 0x80;     // leased, and not to be queued again

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

// Equal needs give the same number.
uint64_t KindOf(const Needs& needs) {
  std::hash<std::string> text;
  uint64_t hash = Mix(needs.milli_cpus, needs.memory);
  for (const NamedNeed& named : needs.named) hash = Mix(hash, text(named.name) + named.count);
  hash = Mix(hash, static_cast<uint64_t>(needs.time.ns));
  for (const std::string& label : needs.labels) hash = Mix(hash, text(label));
  hash = Mix(hash, text(needs.on_node));
  for (const std::string& node : needs.not_on) hash = Mix(hash, text(node) + 1);
  return hash;
}

// `runs`, which cover all tasks, with what `over` says of some of them.
std::vector<RequestRun> Overlaid(const std::vector<RequestRun>& runs,
                                 const std::vector<RequestRun>& over) {
  std::vector<RequestRun> all;
  auto next = over.begin();
  for (const RequestRun& run : runs) {
    TaskIndex end = run.first + run.count;
    for (TaskIndex at = run.first, until = end; at < end; at = until) {
      while (next != over.end() && next->first + next->count <= at) ++next;
      bool inside = next != over.end() && next->first <= at;
      uint32_t request = inside ? next->request : run.request;
      until = end;
      if (next != over.end()) until = inside ? next->first + next->count : next->first;
      until = std::min(until, end);
      if (!all.empty() && all.back().request == request) {
        all.back().count += until - at;
      } else {
        all.push_back({at, until - at, request});
      }
    }
  }
  return all;
}

}  // namespace

JobState::JobState(JobId id, const JobPlan& plan)
    : id_(id),
      policy_(plan.policy),
      open_(plan.open),
      user_(plan.user),
      priority_(plan.priority),
      after_(plan.after),
      requests_(plan.requests),
      runs_(plan.runs),
      order_(plan.order),
      tasks_(plan.task_count, static_cast<uint8_t>(TaskState::kQueued)) {
  counts_.total = plan.task_count;
  counts_.queued = plan.task_count;
  queues_.resize(requests_.size());
  for (const RequestRun& run : runs_) CountWaiting(run.request, run.count);
  PlaceCursors(0);
}

bool JobState::Runnable() const {
  return held_ == HoldReason::kNone && !finished_ && !cancelled_ &&
         std::all_of(after_.begin(), after_.end(),
                     [](const After& after) { return after.kind == AfterKind::kEach; });
}

bool JobState::AsksNow() const {
  bool bounded = policy_.max_running > 0 && counts_.leased >= policy_.max_running;
  return awake_ > 0 && !bounded && Runnable();
}

place::GroupKey JobState::group() const {
  return particular() ? awake_kinds_ + Mix(id_.value, 1) : awake_kinds_;
}

bool JobState::AsksFor(const Queue& queue) const {
  if (!queue.requeued->empty() || queue.cursor < counts_.total) return true;
  return !queue.delayed.empty() && queue.delayed.front().at <= clock_;
}

void JobState::Stir(uint32_t request) {
  Queue& queue = queues_[request];
  bool awake = AsksFor(queue);
  if (awake == queue.awake) return;
  queue.awake = awake;
  place::GroupKey kind = KindOf(requests_[request]);
  awake_ += awake ? 1 : -1;
  awake_kinds_ += awake ? kind : -kind;
}

void JobState::Wake(Instant now) {
  clock_ = now;
  for (uint32_t request = 0; request < queues_.size(); ++request) Stir(request);
}

bool JobState::WaitsForEachOf(JobId other) const {
  return std::any_of(after_.begin(), after_.end(), [other](const After& after) {
    return after.job == other && after.kind == AfterKind::kEach;
  });
}

bool JobState::Blocked(TaskIndex index) const { return Has(index, kBlocked); }

bool JobState::Cancelled(TaskIndex index) const { return cancelled_ || Has(index, kCancelled); }

bool JobState::Avoids(NodeId node) const {
  auto it = troubles_->find(node);
  return it != troubles_->end() && (it->second.set_aside || it->second.no_start);
}

bool JobState::SucceededOn(NodeId node) const {
  return std::binary_search(good_nodes_.begin(), good_nodes_.end(), node);
}

bool JobState::SucceededBeside(NodeId node) const {
  return good_nodes_.size() > (SucceededOn(node) ? 1u : 0u);
}

uint32_t JobState::FailuresBesideWorst() const {
  uint32_t worst = 0;
  for (const auto& [node, failures] : *row_) worst = std::max(worst, failures);
  return failures_in_row_ - worst;
}

void JobState::EndRow() {
  failures_in_row_ = 0;
  row_.Clear();
}

uint32_t JobState::RequestOf(TaskIndex index) const {
  if (runs_.size() == 1) return runs_.front().request;
  auto after = std::upper_bound(runs_.begin(), runs_.end(), index,
                                [](TaskIndex i, const RequestRun& run) { return i < run.first; });
  CHECK(after != runs_.begin());
  return std::prev(after)->request;
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

bool JobState::Lossy(TaskIndex index) const {
  auto it = traces_->find(index);
  return it != traces_->end() && it->second.losses > 0;
}

bool JobState::MayReopen(TaskIndex index) const {
  if (CurrentAttempt(index) >= kLastAttempt) return false;
  TaskState state = StateOf(index);
  return state == TaskState::kFailed || state == TaskState::kUnknown ||
         state == TaskState::kCancelled;
}

bool JobState::Fresh(TaskIndex index) const {
  return tasks_[index] == static_cast<uint8_t>(TaskState::kQueued);
}

uint32_t JobState::SeekFresh(uint32_t request, uint32_t position) const {
  if (queues_.size() == 1 || !order_.empty()) {
    while (position < counts_.total) {
      TaskIndex index = AtPosition(position);
      if (Fresh(index) && (queues_.size() == 1 || RequestOf(index) == request)) break;
      ++position;
    }
    return position;
  }
  if (position >= counts_.total) return position;
  auto run = std::upper_bound(runs_.begin(), runs_.end(), position,
                              [](TaskIndex i, const RequestRun& r) { return i < r.first; });
  for (--run; run != runs_.end(); ++run) {
    if (run->request != request) continue;
    for (position = std::max(position, run->first); position < run->first + run->count;
         ++position) {
      if (Fresh(position)) return position;
    }
  }
  return counts_.total;
}

void JobState::PlaceCursors(uint32_t position) {
  uint32_t missing = 0;
  for (Queue& queue : queues_) {
    if (queue.cursor < position) continue;
    queue.cursor = counts_.total;
    ++missing;
  }
  while (missing > 0 && position < counts_.total) {
    uint32_t request = RequestOf(AtPosition(position));
    if (Queue& queue = queues_[request]; queue.cursor == counts_.total) {
      queue.cursor = position;
      --missing;
    }
    ++position;
  }
  for (uint32_t request = 0; request < queues_.size(); ++request) Stir(request);
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
  }
  if (!head.tasks.empty() && head.tasks.back().first + head.tasks.back().count == index) {
    ++head.tasks.back().count;
  } else {
    head.tasks.push_back({index, 1});
  }
  ++head.count;
  return true;
}

bool JobState::JoinRequeued(Head& head, uint32_t max, uint32_t request, const Skip& skip) const {
  for (const auto& [place, range] : *queues_[request].requeued) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (skip && skip(i)) continue;
      if (head.count == max || !Join(head, i, request)) return true;
    }
  }
  return head.count > 0;
}

bool JobState::PeekRequeued(Head& head, uint32_t max, const std::vector<bool>& passed,
                            const Skip& skip) const {
  for (uint32_t request = 0; request < queues_.size(); ++request) {
    if (queues_[request].requeued->empty() || (!passed.empty() && passed[request])) continue;
    if (JoinRequeued(head, max, request, skip)) return true;
  }
  return false;
}

bool JobState::PeekDelayed(Head& head, Instant now, const std::vector<bool>& passed,
                           const Skip& skip) const {
  uint32_t first = 0;
  const Delayed* next = nullptr;
  for (uint32_t request = 0; request < queues_.size(); ++request) {
    const Queue& queue = queues_[request];
    if (queue.delayed.empty() || (!passed.empty() && passed[request])) continue;
    const Delayed& top = queue.delayed.front();
    if (top.at > now || (next != nullptr && top < *next)) continue;
    if (skip && skip(top.index)) continue;
    next = &top;
    first = request;
  }
  return next != nullptr && Join(head, next->index, first);
}

void JobState::PeekFresh(Head& head, uint32_t max, const std::vector<bool>& passed) const {
  uint32_t first = 0;
  uint32_t position = counts_.total;
  uint32_t bound = counts_.total;  // where a task of another request has its turn
  for (uint32_t request = 0; request < queues_.size(); ++request) {
    if (!passed.empty() && passed[request]) continue;
    uint32_t cursor = queues_[request].cursor;
    if (cursor < position) {
      bound = position;
      position = cursor;
      first = request;
    } else {
      bound = std::min(bound, cursor);
    }
  }
  while (position < bound && head.count < max) {
    if (!Join(head, AtPosition(position), first)) return;
    position = SeekFresh(first, position + 1);
  }
}

Head JobState::Peek(Instant now, uint32_t max, const std::vector<bool>& passed,
                    const Skip& skip) const {
  Head head;
  if (max == 0 || counts_.queued == 0) return head;
  if (PeekRequeued(head, max, passed, skip) || PeekDelayed(head, now, passed, skip)) return head;
  PeekFresh(head, max, passed);
  return head;
}

JobState::Turns JobState::TurnsOfRequests(Instant now, const std::vector<bool>& passed) const {
  std::vector<Turns::value_type> turns;
  for (uint32_t request = 0; request < queues_.size(); ++request) {
    if (!passed.empty() && passed[request]) continue;
    const Queue& queue = queues_[request];
    if (!queue.requeued->empty()) {
      turns.emplace_back(0, Instant{}, 0, request);
    } else if (!queue.delayed.empty() && queue.delayed.front().at <= now) {
      turns.emplace_back(1, queue.delayed.front().at, queue.delayed.front().index, request);
    } else if (queue.cursor < counts_.total) {
      turns.emplace_back(2, Instant{}, queue.cursor, request);
    }
  }
  return Turns(std::greater<>(), std::move(turns));
}

Instant JobState::NextDue(Instant now) const {
  Instant next = Instant::Never();
  for (const Queue& queue : queues_) {
    if (!queue.delayed.empty() && queue.delayed.front().at > now) {
      next = std::min(next, queue.delayed.front().at);
    }
  }
  return next;
}

Instant JobState::DueOf(TaskIndex index) const {
  if (!Has(index, kWaits)) return Instant{};
  for (const Delayed& delayed : queues_[RequestOf(index)].delayed) {
    if (delayed.index == index) return delayed.at;
  }
  return Instant{};
}

uint32_t& JobState::CountOf(TaskState state) {
  switch (state) {
    case TaskState::kQueued:
      return counts_.queued;
    case TaskState::kLeased:
      return counts_.leased;
    case TaskState::kSucceeded:
      return counts_.succeeded;
    case TaskState::kFailed:
      return counts_.failed;
    case TaskState::kCancelled:
      return counts_.cancelled;
    case TaskState::kUnknown:
      break;
  }
  return counts_.unknown;
}

// Also takes the task out of the queues.
void JobState::SetState(TaskIndex index, TaskState state) {
  uint32_t& before = CountOf(StateOf(index));
  CHECK(before > 0);
  --before;
  ++CountOf(state);
  tasks_[index] = static_cast<uint8_t>((tasks_[index] & kLeasedBefore) | static_cast<int>(state));
}

void JobState::Requeue(TaskIndex index) {
  SetState(index, TaskState::kQueued);
  tasks_[index] |= kAgain;
  uint32_t request = RequestOf(index);
  CountWaiting(request, 1);
  queues_[request].requeued.Edit().Push(index);
  Stir(request);
}

void JobState::Delay(TaskIndex index, Instant until) {
  SetState(index, TaskState::kQueued);
  tasks_[index] |= kWaits;
  uint32_t request = RequestOf(index);
  CountWaiting(request, 1);
  std::vector<Delayed>& delayed = queues_[request].delayed;
  delayed.push_back({until, index});
  std::push_heap(delayed.begin(), delayed.end());
  TellDelayed(queues_[request]);
  Stir(request);
}

void JobState::SkipStale(uint32_t request) {
  Queue& queue = queues_[request];
  while (!queue.delayed.empty() && !Has(queue.delayed.front().index, kWaits)) {
    std::pop_heap(queue.delayed.begin(), queue.delayed.end());
    queue.delayed.pop_back();
  }
  TellDelayed(queue);
  queue.cursor = SeekFresh(request, queue.cursor);
  Stir(request);
}

// What stood before it may have hidden it.
void JobState::TellDelayed(const Queue& queue) {
  if (!queue.delayed.empty() && queue.delayed.front().at > clock_) {
    account.delayed = std::min(account.delayed, queue.delayed.front().at);
  }
}

void JobState::DropStale() {
  for (uint32_t request = 0; request < queues_.size(); ++request) {
    Queue& queue = queues_[request];
    const Rare<Requeued> before = std::exchange(queue.requeued, {});
    for (const auto& [place, range] : *before) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        if (Has(i, kAgain)) queue.requeued.Edit().Push(i);
      }
    }
    std::erase_if(queue.delayed, [this](const Delayed& d) { return !Has(d.index, kWaits); });
    std::make_heap(queue.delayed.begin(), queue.delayed.end());
    TellDelayed(queue);
    queue.cursor = SeekFresh(request, queue.cursor);
    Stir(request);
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
}

void JobState::Cancel() {
  cancelled_ = true;
  open_ = false;
  held_ = HoldReason::kNone;
  for (TaskIndex i = 0; i < tasks_.size(); ++i) {
    if (StateOf(i) == TaskState::kQueued) SetState(i, TaskState::kCancelled);
  }
  after_.clear();
  for (Queue& queue : queues_) queue.waiting = 0;
  waiting_ = 0;
  DropStale();
}

void JobState::CancelLeased(const std::vector<TaskRange>& tasks) {
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      CHECK(StateOf(i) == TaskState::kLeased);
      tasks_[i] |= kCancelled;
    }
  }
}

void JobState::Block(TaskIndex index) {
  CHECK(Fresh(index));
  tasks_[index] |= kBlocked;
  uint32_t request = RequestOf(index);
  CountWaiting(request, -1);
  queues_[request].cursor = SeekFresh(request, queues_[request].cursor);
  Stir(request);
}

void JobState::Unblock(TaskIndex index) {
  if (Blocked(index)) Requeue(index);
}

void JobState::CountWaiting(uint32_t request, int64_t change) {
  queues_[request].waiting = static_cast<uint32_t>(queues_[request].waiting + change);
  waiting_ = static_cast<uint32_t>(waiting_ + change);
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

// For new requests; they have no fresh tasks yet.
void JobState::AddQueues(uint32_t cursor) {
  while (queues_.size() < requests_.size()) queues_.emplace_back().cursor = cursor;
}

void JobState::Grow(const JobGrown& grown) {
  // What comes to a job that had ended is not to blame for how that went.
  if (finished_) EndRow();
  if (finished_ && held_ == HoldReason::kAllFail) Release();
  uint32_t before = counts_.total;
  requests_.insert(requests_.end(), grown.new_requests.begin(), grown.new_requests.end());
  AddQueues(before);
  for (const RequestRun& run : grown.runs) {
    CountWaiting(run.request, run.count);
    if (!runs_.empty() && runs_.back().request == run.request) {
      runs_.back().count += run.count;
    } else {
      runs_.push_back(run);
    }
  }
  if (!order_.empty()) {
    for (uint32_t i = 0; i < grown.count; ++i) order_.push_back(counts_.total + i);
  }
  tasks_.resize(tasks_.size() + grown.count, static_cast<uint8_t>(TaskState::kQueued));
  counts_.total += grown.count;
  counts_.queued += grown.count;
  finished_ = false;
  cancelled_ = false;
  PlaceCursors(before);
}

void JobState::Withdraw(const std::vector<TaskRange>& tasks) {
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      CHECK(StateOf(i) == TaskState::kQueued);
      if (!Blocked(i)) CountWaiting(RequestOf(i), -1);
      SetState(i, TaskState::kCancelled);
    }
  }
  DropStale();
}

void JobState::Reopen(const std::vector<TaskRange>& tasks) {
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      CHECK(MayReopen(i));
      if (Attempt attempt = CurrentAttempt(i); attempt.value > 0)
        traces_.Edit()[i] = {attempt, 0, 0};
      Requeue(i);
    }
  }
  finished_ = false;
  cancelled_ = false;
  EndRow();
  // What was taken out of the counts does not count for --halt any more either.
  counts_at_release_.failed = std::min(counts_at_release_.failed, counts_.failed);
  counts_at_release_.unknown = std::min(counts_at_release_.unknown, counts_.unknown);
  counts_at_release_.cancelled = std::min(counts_at_release_.cancelled, counts_.cancelled);
}

void JobState::ChangeNeeds(const NeedsChanged& changed) {
  requests_.insert(requests_.end(), changed.new_requests.begin(), changed.new_requests.end());
  AddQueues(counts_.total);
  for (const RequestRun& run : changed.runs) {
    CHECK(run.request < requests_.size());
    // Tasks that have ended are in no queue.
    for (TaskIndex i = run.first; i < run.first + run.count; ++i) CHECK(MayReopen(i));
  }
  runs_ = Overlaid(runs_, changed.runs);
}

void JobState::Lease(TaskRange tasks, Attempt attempt) {
  uint32_t request = RequestOf(tasks.first);
  for (TaskIndex i = tasks.first; i < tasks.first + tasks.count; ++i) {
    CHECK(StateOf(i) == TaskState::kQueued);
    // Replay may not know the job whose end had unblocked it.
    if (!Blocked(i)) CountWaiting(request, -1);
    if (Has(i, kAgain)) queues_[request].requeued.Edit().Take(i);
    SetState(i, TaskState::kLeased);
    tasks_[i] |= kLeasedBefore;
    if (attempt.value > 1) traces_.Edit()[i].attempt = attempt;
  }
  SkipStale(request);
}

void JobState::Return(TaskRange tasks, Attempt attempt) {
  for (TaskIndex i = tasks.first; i < tasks.first + tasks.count; ++i) {
    CHECK(StateOf(i) == TaskState::kLeased);
    CHECK(CurrentAttempt(i) == attempt);
    if (Cancelled(i)) {
      SetState(i, TaskState::kCancelled);
    } else {
      Requeue(i);
    }
  }
}

// Which nodes fail the job's tasks. A success is the common case, and costs next to nothing.
void JobState::Learn(const AttemptEnded& ended) {
  Cause cause = ended.end.cause;
  if (cause == Cause::kSuccess) {
    if (!troubles_->empty()) {
      auto& troubles = troubles_.Edit();
      if (auto it = troubles.find(ended.node); it != troubles.end()) {
        it->second.failures = 0;
        it->second.no_start = false;
        if (!it->second.set_aside) troubles.erase(it);
      }
    }
    auto at = std::lower_bound(good_nodes_.begin(), good_nodes_.end(), ended.node);
    if (at == good_nodes_.end() || *at != ended.node) good_nodes_.insert(at, ended.node);
    // An open job outlives many nodes: those with the lowest numbers came first.
    if (good_nodes_.size() > kGoodNodes) good_nodes_.erase(good_nodes_.begin());
    if (failures_in_row_ > 0) EndRow();
    starts_nowhere_ = false;
    return;
  }
  if (cause == Cause::kTimeLimit || cause == Cause::kStopped || cause == Cause::kNode) return;
  LearnFailure(ended);
}

void JobState::LearnFailure(const AttemptEnded& ended) {
  ++failures_in_row_;
  ++row_.Edit()[ended.node];
  const Trace trace = TraceOf(ended.end.ref.index);
  bool own_fault = ended.verdict == Verdict::kFailed && trace.blamed[0] != NodeId();
  for (NodeId node : trace.blamed) {
    auto it = troubles_.Edit().find(node);
    if (own_fault && it != troubles_->end() && it->second.failures > 0) --it->second.failures;
  }
  if (own_fault) return;
  Trouble& trouble = troubles_.Edit()[ended.node];
  ++trouble.failures;
  if (ended.end.cause != Cause::kStart) return;
  if (!ended.counts) {
    trouble.no_start = true;
  } else if (!starts_nowhere_) {
    // No node was left to try.
    starts_nowhere_ = true;
    for (auto& [node, each] : troubles_.Edit()) each.no_start = false;
  }
}

void JobState::End(const AttemptEnded& ended) {
  TaskIndex i = ended.end.ref.index;
  CHECK(StateOf(i) == TaskState::kLeased);
  Learn(ended);
  if (ended.verdict == Verdict::kSucceeded) {
    if (!traces_->empty()) traces_.Edit().erase(i);
    SetState(i, TaskState::kSucceeded);
    return;
  }
  if (ended.verdict == Verdict::kUnknown) {
    SetState(i, TaskState::kUnknown);
    return;
  }
  if (ended.verdict == Verdict::kFailed || ended.verdict == Verdict::kCancelled) {
    SetState(i, ended.verdict == Verdict::kFailed ? TaskState::kFailed : TaskState::kCancelled);
    return;
  }
  Trace& trace = traces_.Edit().try_emplace(i, Trace{ended.end.ref.attempt, 0, 0}).first->second;
  trace.attempt = ended.end.ref.attempt;
  if (ended.counts) ++trace.tries;
  if (ended.end.cause == Cause::kNode) {
    ++trace.losses;
    lossy_ = true;
  } else if (ended.end.cause == Cause::kStart && !ended.counts) {
    ++trace.no_starts;
  } else if (!ended.counts && ended.end.cause != Cause::kStopped) {
    trace.blamed = {ended.node, trace.blamed[0]};
    trace.blamed_at = ended.ended;
  }
  if (ended.counts && policy_.retry.delay.ns > 0) {
    Delay(i, ended.ended + policy_.retry.delay);
  } else {
    Requeue(i);
  }
}

void JobState::CheckInvariants() const {
  JobCounts seen;
  seen.total = static_cast<uint32_t>(tasks_.size());
  size_t waiting = 0;
  size_t again = 0;
  std::vector<uint32_t> unblocked(queues_.size());
  place::GroupKey kinds = 0;
  for (TaskIndex i = 0; i < tasks_.size(); ++i) {
    switch (StateOf(i)) {
      case TaskState::kQueued:
        ++seen.queued;
        break;
      case TaskState::kLeased:
        ++seen.leased;
        break;
      case TaskState::kSucceeded:
        ++seen.succeeded;
        break;
      case TaskState::kFailed:
        ++seen.failed;
        break;
      case TaskState::kCancelled:
        ++seen.cancelled;
        break;
      case TaskState::kUnknown:
        ++seen.unknown;
        break;
    }
    if (Has(i, kWaits)) ++waiting;
    if (Has(i, kAgain)) ++again;
    CHECK(!(Has(i, kWaits) && Has(i, kAgain)));
    CHECK(StateOf(i) == TaskState::kQueued || !Has(i, kWaits | kAgain | kBlocked));
    if (StateOf(i) == TaskState::kQueued && !Blocked(i)) ++unblocked[RequestOf(i)];
    CHECK(StateOf(i) != TaskState::kLeased || Has(i, kLeasedBefore));
    CHECK(StateOf(i) == TaskState::kLeased || !Has(i, kCancelled));
  }
  CHECK(seen == counts_);
  // Each queued task stands once: all entries are true, and there are as many as tasks.
  for (uint32_t request = 0; request < queues_.size(); ++request) {
    const Queue& queue = queues_[request];
    for (const Delayed& delayed : queue.delayed) {
      CHECK(Has(delayed.index, kWaits));
      CHECK(RequestOf(delayed.index) == request);
    }
    waiting -= queue.delayed.size();
    for (const auto& [place, range] : *queue.requeued) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        CHECK(Has(i, kAgain));
        CHECK(RequestOf(i) == request);
      }
      again -= range.count;
    }
    CHECK(queue.cursor == SeekFresh(request, 0));
    CHECK(queue.waiting == unblocked[request]);
    CHECK(queue.awake == AsksFor(queue));
    if (queue.awake) kinds += KindOf(requests_[request]);
  }
  CHECK(kinds == awake_kinds_);
  CHECK(waiting == 0);
  CHECK(again == 0);
  CHECK(waiting_ == std::accumulate(unblocked.begin(), unblocked.end(), 0u));
}

uint64_t JobState::Digest() const {
  uint64_t hash = Mix(id_.value, counts_.total);
  hash = Mix(hash, static_cast<uint64_t>(held_) * 8 + cancelled_ * 4 + open_ * 2 + finished_);
  hash = Mix(hash, std::hash<std::string>()(user_) + static_cast<uint32_t>(priority_));
  for (const After& after : after_) {
    hash = Mix(hash, uint64_t{after.job.value} << 2 | static_cast<uint64_t>(after.kind));
  }
  hash = Mix(hash, uint64_t{failures_in_row_} << 1 | starts_nowhere_);
  for (NodeId node : good_nodes_) hash = Mix(hash, node.value);
  for (const auto& [node, failures] : *row_)
    hash = Mix(hash, uint64_t{node.value} << 32 | failures);
  for (const auto& [node, trouble] : *troubles_) {
    hash = Mix(hash, uint64_t{node.value} << 32 | trouble.failures << 2 | trouble.set_aside << 1 |
                         trouble.no_start);
  }
  hash = Mix(hash, uint64_t{policy_.max_running} << 32 | policy_.pause_after_failures);
  hash = Mix(hash, counts_at_release_.failed);
  hash = Mix(hash, counts_at_release_.succeeded);
  hash = Mix(hash, counts_at_release_.finished());
  hash = Mix(hash, uint64_t{policy_.retry.retries} << 32 | policy_.max_failures);
  hash = Mix(hash, static_cast<uint64_t>(policy_.retry.delay.ns));
  hash = Mix(hash, uint64_t{policy_.retry.retry_on} << 1 | policy_.retry.once);
  hash = Mix(hash, uint64_t{policy_.halt.count} << 32 | policy_.halt.percent);
  for (TaskIndex i = 0; i < tasks_.size(); ++i) {
    hash = Mix(hash, tasks_[i]);
    if (!Fresh(i) && StateOf(i) != TaskState::kSucceeded) {
      Trace trace = TraceOf(i);
      hash = Mix(hash,
                 uint64_t{trace.attempt.value} << 32 | uint32_t{trace.tries} << 16 | trace.losses);
      hash = Mix(hash, uint64_t{trace.blamed[0].value} << 32 | trace.blamed[1].value);
      hash = Mix(hash, trace.no_starts);
    }
  }
  for (const RequestRun& run : runs_) {
    hash = Mix(hash, uint64_t{run.first} << 32 | run.request);
  }
  for (const Queue& queue : queues_) {
    for (const auto& [place, range] : *queue.requeued) {
      hash = Mix(hash, uint64_t{range.first} << 32 | range.count);
    }
    for (const Delayed& delayed : queue.delayed) {
      hash = Mix(hash, static_cast<uint64_t>(delayed.at.ns) ^ delayed.index);
    }
    hash = Mix(hash, queue.cursor);
  }
  return hash;
}

uint64_t JobState::StateBytes() const {
  uint64_t bytes = sizeof(*this) + tasks_.capacity() + order_.capacity() * sizeof(TaskIndex) +
                   runs_.capacity() * sizeof(RequestRun) + traces_->size() * 72;
  for (const Queue& queue : queues_) {
    bytes +=
        sizeof(Queue) + queue.requeued->size() * 112 + queue.delayed.capacity() * sizeof(Delayed);
  }
  return bytes;
}

}  // namespace spate::engine
