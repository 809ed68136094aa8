// A placement pass: what place::Decide gives to nodes becomes leases here, where tasks are chosen
// last: those at the head of their class, but for the few that a node is not to have.
//
// Tasks that a node was given ahead of short ones may come to wait behind long ones. Such a node
// gets nothing more ahead, and gives back what waits there when another node has room. It also
// gives back what waits there when a task of their job with a higher priority becomes ready.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/engine/engine_state.h"

namespace spate::engine {
namespace {

// A lease of this pass, by its place in the output.
struct Written {
  NodeId node;
  Attempt attempt;
  uint32_t request = 0;
  size_t record = 0;
  size_t send = 0;
};

class Giver {
 public:
  explicit Giver(StepContext& step) : step_(step), board_(step.board) {}

  place::Answer Give(const place::Assignment& assigned) {
    const JobState& job = *step_.durable.FindJob(assigned.job.id);
    place::Node& node = board_.nodes.at(assigned.node);
    const uint32_t most = MostFor(job, assigned, node);
    if (most == 0) return {};
    Head head = job.Peek(assigned.request, step_.now, most, assigned.until);
    if (head.attempt.value > 1) {
      // A task that may take its node down waits for a free slot, and nothing goes before it
      // meanwhile.
      bool free = place::Starts(node.offer, node.held, job.request(head.request));
      bool lossy = job.Lossy(head.tasks[0].first);
      if (lossy && !free) return {.waits = true};
      head = RetriedFor(job, assigned, node, most);
      if (head.count == 0) return {.waits = lossy};
    }
    place::Answer answer{.tasks = head.count};
    Lease(job, assigned.node, node, std::move(head));
    step_.live.Settle();
    return answer;
  }

 private:
  // A node that seems to fail the job's tasks gets one at a time, and after a pause, while others
  // take them.
  uint32_t MostFor(const JobState& job, const place::Assignment& assigned,
                   const place::Node& node) {
    const NodeId id = assigned.node;
    if (job.troubles().empty() || !job.Suspects(id)) return assigned.most;
    if (!OthersTake(board_, job, assigned.request, {id}, step_.now)) return assigned.most;
    auto here = node.jobs.find(job.id());
    if (here != node.jobs.end() && here->second.leased > 0) return 0;
    // A replay may have the last failure by a node's clock, which may be ahead.
    const Instant trial = job.TrialOn(id);
    if (step_.now >= trial || step_.now < job.troubles().at(id).failed_at) return 1;
    step_.out.wake_at = std::min(step_.out.wake_at, trial);
    return 0;
  }

  // The tasks that were tried before and that the node is to have.
  Head RetriedFor(const JobState& job, const place::Assignment& assigned, const place::Node& node,
                  uint32_t most) {
    // No more than this many wait to be tried elsewhere.
    constexpr uint32_t kMostElsewhere = 256;
    const Limits& limits = board_.limits;
    uint32_t elsewhere = 0;
    auto skip = [&](TaskIndex i) {
      if (elsewhere < kMostElsewhere && GoesElsewhere(board_, job, i, assigned.node, step_.now)) {
        ++elsewhere;
        step_.out.wake_at = std::min(step_.out.wake_at, step_.now + limits.elsewhere_patience);
        return true;
      }
      // A task that has seen many losses does not see the next one together with another such task.
      return node.lossy > 0 && job.TraceOf(i).losses + 2u >= limits.node_losses;
    };
    return job.Peek(assigned.request, step_.now, most, assigned.until, skip);
  }

  // Leases tasks; while jobs take turns at a node, a job's successive parts become one lease.
  void Lease(const JobState& job, NodeId id, place::Node& node, Head head) {
    place::Amounts room;
    bool node_waits = place::Starts(node.offer, node.Taken(room), job.request(head.request));
    if (node_waits) {
      node.moved = step_.now;
      std::erase(step_.live.risen, Stirred::Each{job.id(), head.request});
    }
    node.recalled = false;
    Output& out = step_.out;
    const std::optional<Duration> limit = job.TimeLimitOf(head.tasks.front().first);
    if (board_.Contended()) {
      Written& last = last_[job.id()];
      bool same = last.node == id && last.attempt == head.attempt && last.request == head.request;
      if (same && std::get<SendLease>(out.sends[last.send]).time_limit == limit) {
        Append(std::get<SendLease>(out.sends[last.send]).tasks, head.tasks);
        step_.Extend(last.record, {id, job.id(), head.attempt, std::move(head.tasks)});
        node.jobs[job.id()].given_at = step_.now;
        return;
      }
      last = {id, head.attempt, head.request, out.records.size(), out.sends.size()};
    }
    out.sends.push_back(SendLease{id, job.id(), head.attempt, head.request,
                                  job.request(head.request), head.tasks, node_waits, nullptr,
                                  limit});
    step_.Record(Leased{id, job.id(), head.attempt, std::move(head.tasks)});
    node.jobs[job.id()].given_at = step_.now;
  }
  static void Append(std::vector<TaskRange>& to, const std::vector<TaskRange>& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  StepContext& step_;
  place::Board& board_;
  std::unordered_map<JobId, Written> last_;  // of each job; only where jobs take turns
};

// ---- What waits on a node

// A node that could start more.
struct Idle {
  NodeId id;
  const place::Node* node;
};

class Recaller {
 public:
  explicit Recaller(StepContext& step) : step_(step), board_(step.board) {}

  // Each node that stalls while another one could start what waits there is asked for that.
  void Run(const std::vector<place::Reservation>& reserved) {
    if (board_.crowded == 0 || board_.nodes.size() < 2) return;
    Instant& next = step_.live.next_recall;
    bool later = step_.now < next;
    if (!later) {
      next = step_.now + board_.limits.lease_patience / 4;
      std::vector<Idle> idle = IdleNodes(reserved);
      for (auto it = board_.nodes.begin(); it != board_.nodes.end() && !idle.empty(); ++it) {
        place::Node& node = it->second;
        if (!node.present || !node.crowded || node.recalled) continue;
        if (board_.Stalls(node, step_.now)) {
          RecallFor(idle, it->first, node);
        } else {
          later = true;
        }
      }
    }
    if (later) step_.out.wake_at = std::min(step_.out.wake_at, next);
  }

 private:
  std::vector<Idle> IdleNodes(const std::vector<place::Reservation>& reserved) const {
    std::set<NodeId> kept;
    for (const place::Reservation& each : reserved) kept.insert(each.node);
    std::vector<Idle> idle;
    for (const auto& [id, node] : board_.nodes) {
      bool room = node.TakesTasks() && node.held.At(place::Amounts::kSlots) < node.offer.slots;
      if (room && !kept.contains(id)) idle.push_back({id, &node});
    }
    return idle;
  }

  // Recalls tasks that fit one of the idle nodes, which then has enough.
  void RecallFor(std::vector<Idle>& idle, NodeId from, place::Node& node) {
    constexpr size_t kMostLooks = 64;
    for (size_t i = 0; i < std::min(idle.size(), kMostLooks); ++i) {
      JobId last;
      for (const auto& [key, range] : step_.durable.NodeOf(from).leases) {
        if (key.job == last || range.procs > 0) continue;  // a gang's parts wait for each other
        if (!HasRoomFor(idle[i], key.job, range.request)) continue;
        last = key.job;
        step_.out.sends.push_back(SendRecall{from, last});
      }
      if (last == JobId()) continue;
      node.recalled = true;
      idle.erase(idle.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

  bool HasRoomFor(const Idle& idle, JobId id, uint32_t request) const {
    const JobState& job = *step_.durable.FindJob(id);
    if (job.Avoids(idle.id) || job.Suspects(idle.id)) return false;
    if (FitNow(*idle.node, job, request, step_.now) == 0) return false;
    return place::Starts(idle.node->offer, idle.node->held, job.request(request));
  }

  StepContext& step_;
  place::Board& board_;
};

// Tasks that became ready, and do not start at once, go before tasks of their job that only wait on
// nodes.
class Riser {
 public:
  explicit Riser(StepContext& step) : step_(step), board_(step.board) {}

  void Run() {
    Live& live = step_.live;
    if (live.risen.empty()) return;
    if (step_.now < live.next_rise) {
      step_.out.wake_at = std::min(step_.out.wake_at, live.next_rise);
      return;
    }
    live.next_rise = step_.now + board_.limits.lease_patience / 4;
    for (const auto& [id, request] : std::exchange(live.risen, {})) Recall(id, request);
  }

 private:
  void Recall(JobId id, uint32_t request) {
    const JobState* found = step_.durable.FindJob(id);
    if (found == nullptr || !found->Runnable()) return;
    const JobState& job = *found;
    const int32_t priority = job.requests()[request].priority;
    for (auto& [node_id, node] : board_.nodes) {
      if (!node.present || !node.crowded || node.recalled) continue;
      if (!HasLower(job, node_id, priority) || job.Avoids(node_id)) continue;
      if (FitNow(node, job, request, step_.now) == 0) continue;
      step_.out.sends.push_back(SendRecall{node_id, id});
      node.recalled = true;
    }
  }

  bool HasLower(const JobState& job, NodeId node, int32_t priority) const {
    const Leases& leases = step_.durable.NodeOf(node).leases;
    auto lease = leases.lower_bound({job.id(), Attempt(), 0});
    for (; lease != leases.end() && lease->first.job == job.id(); ++lease) {
      if (lease->second.procs > 0) continue;
      if (job.requests()[lease->second.request].priority < priority) return true;
    }
    return false;
  }

  StepContext& step_;
  place::Board& board_;
};

}  // namespace

namespace {

// So often in a step single tasks let gangs go before them.
constexpr int kMostYields = 64;

std::vector<place::Reservation> PlaceSingles(StepContext& step, bool beside_gangs) {
  Live& live = step.live;
  std::vector<place::Reservation> reserved;
  for (int left = beside_gangs ? kMostYields : 0; !live.board.turns.empty(); --left) {
    Giver giver(step);
    place::Decider::YieldsTo yields;
    if (left > 0) yields = [&](const place::Job& job) { return live.gangs.ComesBefore(job); };
    reserved = live.decider.Decide(
        step.now, [&](const place::Assignment& assigned) { return giver.Give(assigned); }, yields);
    if (!live.decider.yielded()) break;
    if (!PlaceNextGangs(step)) left = 1;
  }
  return reserved;
}

}  // namespace

void Place(StepContext& step) {
  Live& live = step.live;
  live.Settle();
  live.Wake(step.durable, step.now);
  if (std::exchange(live.board.unpark, false)) {
    live.board.UnparkAll();
    live.board.look_at_gangs = true;
  }
  const bool looked_at_gangs = PlaceGangs(step);
  const std::vector<place::Reservation> reserved = PlaceSingles(step, looked_at_gangs);
  if (looked_at_gangs) {
    PlaceOtherGangs(step);
    live.gangs.ChargeUsers();
  }
  for (NodeId node : live.gangs.TakeUnasked()) step.out.sends.push_back(SendAsk{node});
  Recaller(step).Run(reserved);
  Riser(step).Run();
  step.out.wake_at = std::min(step.out.wake_at, live.board.NextDue());
  if (!live.trials.empty()) {
    step.out.wake_at = std::min(step.out.wake_at, live.trials.begin()->first);
  }
  if (live.room_deadlines.empty()) return;
  step.out.wake_at = std::min(step.out.wake_at, live.room_deadlines.begin()->first);
}

}  // namespace spate::engine
