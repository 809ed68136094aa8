// A placement pass: gives what wants to run to nodes with room.
//
// Who: the user with the smallest share first, and of that user's jobs of the highest priority the
// one with the smallest share, then the oldest. Alone, a job takes all the room there is; where
// users or jobs contend, each takes a part of a node's room and has to wait for its turn again, so
// that the shares meet.
//
// Where: the node with the most room for the request. A request for which no node has room waits,
// and has room reserved on as many nodes as it has tasks (those with the least to do), so that
// small tasks never starve large ones. What it leaves of such a node others may have: who waits for
// a card keeps no processors idle. A request that fits no node stands in nobody's way.
//
// What a node was given ahead of short tasks may come to wait behind long ones. Such a node gets
// nothing more ahead, and gives back what waits there when another node has room.
//
// Cost: a look at each open node for each distinct request that comes to a head, and a logarithm
// for each lease. Nodes that were found to be well supplied are not open until something ends
// there. Jobs that ask for the same are one group (place/turns.h): a new group looks at all nodes
// once, then at open ones; one that fits no node stands aside until a node joins; jobs and users at
// their bound stand in no line.
#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/engine/engine_state.h"
#include "core/engine/place/place.h"

namespace spate::engine {
namespace {

// What a node's jobs take of it, where those tasks that wait behind others count little.
struct Taken {
  place::Amounts exactly;
  place::Amounts about;  // in kParts
};

// A node that this pass may give tasks to.
struct Candidate {
  NodeId id;
  NodeState* state;
  // What a task takes that waits for it; and nothing has room beside that.
  std::optional<place::Amounts> reserved;
  bool kept = false;
  bool served = false;  // it was given tasks in this pass
  bool looked = false;  // a request that it fits looked at it,
  bool room = false;    // and last found room
  bool full = false;    // no task has room
  // What its jobs take there, exactly, and as far as it is estimated; empty: not looked at since
  // the last lease.
  std::optional<Taken> taken;
};

// A node that could start more.
struct Idle {
  NodeId id;
  const NodeState* state;
};

// The room for a request, by candidate; a heap.
struct Room {
  uint32_t tasks = 0;
  uint32_t candidate = 0;
  friend bool operator<(const Room& a, const Room& b) {
    return a.tasks != b.tasks ? a.tasks < b.tasks : a.candidate > b.candidate;
  }
};

// A lease of this pass, by its place in the output.
struct Written {
  NodeId node;
  Attempt attempt;
  uint32_t request = 0;
  size_t record = 0;
  size_t send = 0;
};

// A request in this pass: of one job, or of all those to which no node is special.
struct Seeker {
  bool built = false;
  bool fits = false;  // some candidate, kept or not
  std::vector<Room> heap;
  std::vector<uint32_t> fitting;       // candidates that it fits, and that were not kept
  size_t next = 0;                     // where Keep goes on in them; 0: they are not sorted yet
  uint32_t most_at_once = UINT32_MAX;  // on all nodes; UINT32_MAX: not counted yet
};

// What jobs have in common that share a seeker.
struct SeekerKey {
  const Needs* needs;
  const std::string* user;
  bool ahead;
  bool all;
  friend bool operator<(const SeekerKey& a, const SeekerKey& b) {
    return std::tie(*a.needs, *a.user, a.ahead, a.all) <
           std::tie(*b.needs, *b.user, b.ahead, b.all);
  }
};

// A job, in this pass.
struct Asking {
  std::vector<Seeker> seekers;  // of its own, by request; empty: none yet
  std::vector<bool> passed;     // requests for which there is no room; empty: none
  bool done = false;
  Written last;  // its last lease
};

// What may be given out of a request.
struct Bound {
  uint32_t tasks = 0;
  uint32_t lease_tasks = 0;  // ahead of a node's slots
};

// What became of a job's turn.
enum class Served : uint8_t {
  kTasks,     // it was given some
  kAskAgain,  // another node or request may do
  kNothing,
  kNoNode,  // nothing, and no node is left for jobs that ask for the same
  kMisfit,  // likewise, and no node ever fits them
};

class Pass {
 public:
  explicit Pass(StepContext& step) : step_(step), state_(step.state) {}

  void Run() {
    Gather();
    bool contended = state_.Contended();
    while (true) {
      if (contended && !state_.Contended()) {
        contended = false;
        AskAnew();
      }
      std::optional<place::Turn> turn = round_->Next(/*fresh_only=*/AllKept());
      if (!turn) break;
      Take(*turn);
    }
    Close();
  }

  // Each node that stalls while another one could start what waits there is asked for that. By
  // itself, or after Run.
  void RecallStalled() {
    if (state_.crowded == 0 || state_.nodes.size() < 2) return;
    bool later = step_.now < state_.next_recall;
    if (!later) {
      state_.next_recall = step_.now + state_.limits.lease_patience / 4;
      std::vector<Idle> idle = IdleNodes();
      for (auto it = state_.nodes.begin(); it != state_.nodes.end() && !idle.empty(); ++it) {
        NodeState& node = it->second;
        if (!node.present || !node.crowded || node.recalled) continue;
        if (state_.Stalls(node, step_.now)) {
          RecallFor(idle, it->first, node);
        } else {
          later = true;
        }
      }
    }
    if (later) step_.out.wake_at = std::min(step_.out.wake_at, state_.next_recall);
  }

 private:
  void Gather() {
    auto add = [this](NodeId id, NodeState& node) {
      if (node.IsThere()) candidates_.push_back({id, &node});
    };
    if (state_.look_at_all) {
      for (auto& [id, node] : state_.nodes) add(id, node);
    } else {
      for (NodeId id : state_.open) add(id, state_.nodes.at(id));
    }
    open_ = candidates_.size();
    gathered_all_ = std::exchange(state_.look_at_all, false);
    round_.emplace(state_.turns, ++state_.rounds);
  }

  // The nodes that are not open come behind, for those who have not looked at them yet.
  void GatherAll() {
    if (std::exchange(gathered_all_, true)) return;
    for (auto& [id, node] : state_.nodes) {
      if (node.IsThere() && !state_.open.contains(id)) candidates_.push_back({id, &node});
    }
  }

  // The last one that wants something may have more than its part.
  void AskAnew() {
    asking_.clear();
    shared_.clear();
    round_.emplace(state_.turns, ++state_.rounds);
    kept_ = 0;
    kept_in_all_ = 0;
    for (Candidate& node : candidates_) {
      node.kept = false;
      node.reserved.reset();
    }
  }

  // All open nodes are: who has looked at the others before need not be asked.
  bool AllKept() const { return kept_ == open_; }
  // All that the job whose turn it is may look at are.
  bool NoneLeft() const { return all_ ? kept_in_all_ == candidates_.size() : AllKept(); }

  // Open stay nodes with room that nobody wanted, or that is kept.
  void Close() {
    for (Candidate& node : candidates_) {
      if (node.room || !node.looked || (node.reserved && TakesMore(node))) {
        state_.open.insert(node.id);
      } else {
        state_.open.erase(node.id);
      }
    }
    for (const auto& [name, group] : looked_) state_.users.at(*name).line.SetLooked(group);
    for (const auto& [name, group] : misfits_) {
      auto user = state_.users.find(*name);
      user->second.line.Park(group);
      state_.UpdateTurn(user->first, user->second);
    }
  }

  void Take(const place::Turn& turn) {
    JobState& job = *state_.FindJob(turn.job);
    Asking& asking = asking_[turn.job];
    all_ = turn.fresh;
    if (!all_ && AllKept()) return round_->Closed();
    if (all_) GatherAll();
    looks_ = false;
    job.TellTime(step_.now);
    Served served = Served::kNothing;
    if (!asking.done) {
      do served = Serve(job, asking);
      while (served == Served::kAskAgain);
    }
    if (all_ && looks_) looked_.emplace_back(&job.user(), turn.group);
    if (served == Served::kMisfit) misfits_.emplace_back(&job.user(), turn.group);
    Tell(job, served);
    asking.done = served != Served::kTasks;
  }

  void Tell(const JobState& job, Served served) {
    const auto& place = job.account.place;
    if (served == Served::kTasks) {
      round_->Served(place ? &place->turn : nullptr, place ? place->group : 0);
    } else if (served == Served::kNothing) {
      round_->Passed();
    } else {
      round_->Closed();
    }
  }

  // Gives tasks of the job to one node, or finds that there is nothing more to give.
  Served Serve(JobState& job, Asking& asking) {
    Head head = job.Peek(step_.now, 1, asking.passed);
    if (head.count == 0) return Served::kNothing;
    Bound bound = BoundOf(job, head.request, asking);
    if (bound.tasks == 0) return Served::kNothing;
    Seeker& seeker = SeekerOf(job, head.request, bound, asking);
    Room room = Best(job, head.request, bound, seeker);
    if (room.tasks == 0) return PassOver(job, asking);
    uint32_t count = std::min(bound.tasks, PartOf(job, room.tasks));
    Head tasks = HeadFor(job, head, room.candidate, count, asking.passed);
    if (tasks.count == 0) {
      // All that is left goes to other nodes; this one need not be kept for it.
      if (!job.Lossy(head.tasks[0].first)) std::erase(seeker.fitting, room.candidate);
      return Served::kAskAgain;
    }
    Lease(job, room.candidate, std::move(tasks), asking.last);
    Candidate& node = candidates_[room.candidate];
    node.served = true;
    node.taken.reset();
    node.full = !TakesMore(node);
    node.room = node.room && !node.full;
    Push(job, head.request, bound, seeker, room.candidate);
    return Served::kTasks;
  }

  static Seeker& OwnSeeker(const JobState& job, uint32_t request, Asking& asking) {
    if (asking.seekers.empty()) asking.seekers.resize(job.request_count());
    return asking.seekers[request];
  }

  // Where no node is anything special to the job, it looks with the eyes of others.
  Seeker& SeekerOf(const JobState& job, uint32_t request, const Bound& bound, Asking& asking) {
    bool known = job.counts().leased > 0 || job.counts().succeeded > 0;
    if (known || job.particular() || state_.nodes.size() < 2)
      return OwnSeeker(job, request, asking);
    return shared_[{&job.request(request), &job.user(), bound.lease_tasks > 0, all_}];
  }

  // No node has room for the request at the job's head, nor for those behind it up to one that is
  // left there. They are passed in one go, for each look at the head looks at all requests.
  Served PassOver(const JobState& job, Asking& asking) {
    asking.passed.resize(job.request_count());
    bool fits = false;
    bool waits = false;
    auto turns = job.TurnsOfRequests(step_.now, asking.passed);
    for (; !turns.empty(); turns.pop()) {
      if (NoneLeft()) return Served::kNoNode;
      uint32_t request = std::get<3>(turns.top());
      Bound bound = BoundOf(job, request, asking);
      if (bound.tasks == 0) return Served::kNothing;
      Seeker& seeker = SeekerOf(job, request, bound, asking);
      if (Room room = Best(job, request, bound, seeker); room.tasks > 0) {
        Push(seeker, room);
        return Served::kAskAgain;
      }
      asking.passed[request] = true;
      Keep(job, request, seeker);
      fits |= seeker.fits;
      waits |= seeker.next < seeker.fitting.size();
    }
    if (!fits && all_ && !job.particular()) return Served::kMisfit;
    return waits ? Served::kNothing : Served::kNoNode;
  }

  // What the node is given of the request that stands at the job's head; count 0 when it is not to
  // have any of it now.
  Head HeadFor(const JobState& job, const Head& first, uint32_t candidate, uint32_t count,
               const std::vector<bool>& passed) {
    if (first.attempt.value <= 1) return job.Peek(step_.now, count, passed);
    NodeId id = candidates_[candidate].id;
    const NodeState& node = *candidates_[candidate].state;
    // What may take its node down waits for a free slot, and nothing goes before it meanwhile.
    bool free = place::Starts(node.offer, node.held, job.request(first.request));
    if (!free && job.Lossy(first.tasks[0].first)) return {};
    std::vector<bool> others(job.request_count(), true);
    others[first.request] = false;
    auto skip = [&](TaskIndex i) {
      if (GoesElsewhere(state_, job, i, id, step_.now)) {
        step_.out.wake_at =
            std::min(step_.out.wake_at, step_.now + state_.limits.elsewhere_patience);
        return true;
      }
      // What has seen many losses does not see the next one together with another such task.
      return node.lossy > 0 && job.TraceOf(i).losses + 2u >= state_.limits.node_losses;
    };
    return job.Peek(step_.now, count, others, skip);
  }

  // Where jobs take turns at a node, the parts of a job that follow each other become one lease.
  void Lease(JobState& job, uint32_t candidate, Head head, Written& last) {
    NodeId node = candidates_[candidate].id;
    NodeState& state = *candidates_[candidate].state;
    bool node_waits = place::Starts(state.offer, state.held, job.request(head.request));
    if (node_waits) state.moved = step_.now;
    state.recalled = false;
    Output& out = step_.out;
    bool same = last.node == node && last.attempt == head.attempt && last.request == head.request;
    if (same && state_.Contended()) {
      state_.Apply(Leased{node, job.id(), head.attempt, head.tasks});
      Append(std::get<Leased>(out.records[last.record]).tasks, head.tasks);
      Append(std::get<SendLease>(out.sends[last.send]).tasks, head.tasks);
      return;
    }
    last = {node, head.attempt, head.request, out.records.size(), out.sends.size()};
    out.sends.push_back(SendLease{node, job.id(), head.attempt, head.request,
                                  job.request(head.request), head.tasks, node_waits});
    step_.Record(Leased{node, job.id(), head.attempt, std::move(head.tasks)});
  }
  static void Append(std::vector<TaskRange>& to, const std::vector<TaskRange>& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  // What one turn takes of a node's room.
  uint32_t PartOf(const JobState& job, uint32_t room) const {
    if (!state_.Contended()) return room;
    // Beyond a few, smaller parts would only cost more turns.
    uint32_t beside = std::min(state_.UserOf(job).wanting.begin()->second, 8u);
    auto users = static_cast<uint32_t>(state_.wanting.size());
    return std::max(1u, room / (2 * users * std::max(beside, 1u)));
  }

  // ---- Bounds

  Bound BoundOf(const JobState& job, uint32_t request, Asking& asking) {
    uint64_t most = LeasesBeforeHold(job);
    uint64_t mine = job.policy().max_running == 0 ? UINT32_MAX : job.policy().max_running;
    const UserState& user = state_.UserOf(job);
    uint64_t all = user.rule.max_running == 0 ? UINT32_MAX : user.rule.max_running;
    Bound bound{job.counts().queued, state_.limits.lease_tasks};
    if (std::min({most, mine, all}) == UINT32_MAX) return bound;
    uint64_t fit = MostAtOnce(job, request, asking);
    // Where so few may be leased that slots would stay empty, nothing waits behind what runs. A
    // rule that may hold the job (--halt) leaves no slot empty all the same.
    if (std::min({most, mine, all}) <= fit) bound.lease_tasks = 0;
    if (most != UINT32_MAX) most = std::max(most, fit);
    uint64_t leased = job.counts().leased;
    uint64_t left = std::min(Left(most, leased), Left(mine, leased));
    left = std::min(left, Left(all, user.leased));
    bound.tasks = static_cast<uint32_t>(std::min<uint64_t>(bound.tasks, left));
    return bound;
  }
  static uint64_t Left(uint64_t most, uint64_t taken) { return most > taken ? most - taken : 0; }

  uint32_t MostAtOnce(const JobState& job, uint32_t request, Asking& asking) {
    bool own = job.particular();
    SeekerKey key{&job.request(request), &job.user(), false, false};
    Seeker& seeker = own ? OwnSeeker(job, request, asking) : shared_[key];
    if (seeker.most_at_once != UINT32_MAX) return seeker.most_at_once;
    uint64_t sum = 0;
    for (const auto& [id, node] : state_.nodes) {
      if (!own || !job.Avoids(id)) sum += FitNow(node, job, request, step_.now);
    }
    return seeker.most_at_once = static_cast<uint32_t>(std::min<uint64_t>(sum, UINT32_MAX - 1));
  }

  // ---- Rooms

  void Build(const JobState& job, uint32_t request, const Bound& bound, Seeker& seeker) {
    if (std::exchange(seeker.built, true)) return;
    // A node that fails the job's tasks, or all tasks, is better than none.
    bool avoid =
        (job.troubles().empty() && !AnySick()) || OthersTake(state_, job, request, {}, step_.now);
    auto end = static_cast<uint32_t>(all_ ? candidates_.size() : open_);
    for (uint32_t i = 0; i < end; ++i) {
      Candidate& node = candidates_[i];
      if (seeker.fits && node.kept) continue;
      if (FitNow(*node.state, job, request, step_.now, !avoid) == 0) continue;
      seeker.fits = true;
      if (node.kept || (avoid && job.Avoids(node.id))) continue;
      seeker.fitting.push_back(i);
      if (uint32_t tasks = RoomOf(job, request, bound, i); tasks > 0) {
        seeker.heap.push_back({tasks, i});
      }
    }
    std::make_heap(seeker.heap.begin(), seeker.heap.end());
  }

  bool AnySick() const {
    return std::any_of(candidates_.begin(), candidates_.end(), [](const Candidate& each) {
      return !each.state->sick.empty() || !each.state->set_aside.empty();
    });
  }

  void Push(const JobState& job, uint32_t request, const Bound& bound, Seeker& seeker,
            uint32_t candidate) {
    uint32_t tasks = candidates_[candidate].full ? 0 : RoomOf(job, request, bound, candidate);
    if (tasks > 0) Push(seeker, {tasks, candidate});
  }
  static void Push(Seeker& seeker, Room room) {
    seeker.heap.push_back(room);
    std::push_heap(seeker.heap.begin(), seeker.heap.end());
  }

  // Takes the node with the most room out of the heap. What stands there may be older than the
  // last lease, and rooms only shrink in a pass.
  Room Best(const JobState& job, uint32_t request, const Bound& bound, Seeker& seeker) {
    looks_ = true;
    Build(job, request, bound, seeker);
    while (!seeker.heap.empty()) {
      std::pop_heap(seeker.heap.begin(), seeker.heap.end());
      Room room = seeker.heap.back();
      seeker.heap.pop_back();
      if (candidates_[room.candidate].kept || candidates_[room.candidate].full) continue;
      uint32_t tasks = RoomOf(job, request, bound, room.candidate);
      if (tasks == room.tasks) return room;
      if (tasks > 0) Push(seeker, {tasks, room.candidate});
    }
    return {};
  }

  const Taken& TakenOf(Candidate& node) const {
    if (node.taken) return *node.taken;
    Taken& taken = node.taken.emplace();
    for (const auto& [id, here] : node.state->jobs) {
      if (here.leased == 0) continue;
      uint32_t ahead = Discount(*node.state, id);
      if (ahead == 0) {
        taken.exactly.Add(here.held);
      } else {
        taken.about.Add(here.held, place::kParts, 1 + ahead);
      }
    }
    return taken;
  }
  // So many of the job's tasks wait there behind each that runs.
  uint32_t Discount(const NodeState& node, JobId id) const {
    return state_.Stalls(node, step_.now) ? 0 : AheadOf(state_, node, id);
  }
  // A slot and some processor time are left there, beside what is reserved.
  bool TakesMore(Candidate& node, const place::Amounts* reserved = nullptr) const {
    const Offer& offer = node.state->offer;
    const Taken& taken = TakenOf(node);
    auto left = [&](size_t kind, uint64_t offered) {
      uint64_t held = taken.exactly.At(kind) + (reserved == nullptr ? 0 : reserved->At(kind));
      return held * place::kParts + taken.about.At(kind) < offered * place::kParts;
    };
    return left(place::Amounts::kSlots, offer.slots) &&
           left(place::Amounts::kCpus, offer.milli_cpus);
  }

  uint32_t RoomOf(const JobState& job, uint32_t request, const Bound& bound, uint32_t candidate) {
    Candidate& node = candidates_[candidate];
    const Needs& needs = job.request(request);
    const Taken& taken = TakenOf(node);
    place::NodeView view{.offer = &node.state->offer, .needs = &needs};
    view.fit = FitCount(node.state->offer, needs);
    view.others = taken.exactly;
    view.about = taken.about;
    view.contended = !state_.HoldsLongAhead();
    view.served = node.served;
    if (node.reserved) view.others.Add(*node.reserved);
    if (auto here = node.state->jobs.find(job.id()); here != node.state->jobs.end()) {
      view.own = &here->second.held;
      view.task_wall = here->second.wall;
      uint32_t ahead = Discount(*node.state, job.id());
      if (here->second.leased > 0 && ahead == 0) view.others.Take(here->second.held);
      if (here->second.leased > 0 && ahead > 0) {
        view.about.Take(here->second.held, place::kParts, 1 + ahead);
      }
    }
    Limits limits = state_.limits;
    // What waits behind others might start too late in the node's life.
    bool mortal = node.state->offer.end_of_life != Instant::Never();
    bool planned = needs.time.ns > 0;
    bool ahead = !(mortal && planned) && !state_.Stalls(*node.state, step_.now);
    limits.lease_tasks = ahead && node.state->lossy == 0 ? bound.lease_tasks : 0;
    uint32_t tasks = place::Room(view, limits);
    node.looked = true;
    node.room = tasks > 0;
    return tasks;
  }

  // ---- What waits on a node

  std::vector<Idle> IdleNodes() const {
    std::set<NodeId> kept;
    for (const Candidate& node : candidates_) {
      if (node.reserved) kept.insert(node.id);
    }
    std::vector<Idle> idle;
    for (const auto& [id, node] : state_.nodes) {
      bool room = node.TakesTasks() && node.held.At(place::Amounts::kSlots) < node.offer.slots;
      if (room && !kept.contains(id)) idle.push_back({id, &node});
    }
    return idle;
  }

  // What fits one of the idle nodes, which then has enough.
  void RecallFor(std::vector<Idle>& idle, NodeId from, NodeState& node) {
    constexpr size_t kMostLooks = 64;
    for (size_t i = 0; i < std::min(idle.size(), kMostLooks); ++i) {
      JobId last;
      for (const auto& [key, range] : node.leases) {
        if (key.job == last || !HasRoomFor(idle[i], key.job, range.request)) continue;
        last = key.job;
        step_.out.sends.push_back(SendRecall{from, last});
      }
      if (last == JobId()) continue;
      node.recalled = true;
      idle.erase(idle.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

  bool HasRoomFor(const Idle& node, JobId id, uint32_t request) const {
    const JobState& job = *state_.FindJob(id);
    if (job.Avoids(node.id) || FitNow(*node.state, job, request, step_.now) == 0) return false;
    return place::Starts(node.state->offer, node.state->held, job.request(request));
  }

  // ---- What waits for a node

  // Reserves room on the nodes with the least to do, as many as there are tasks.
  void Keep(const JobState& job, uint32_t request, Seeker& seeker) {
    std::vector<uint32_t>& nodes = seeker.fitting;
    if (seeker.next == 0) {
      std::vector<std::pair<uint64_t, uint32_t>> by_use;
      for (uint32_t i : nodes) {
        const NodeState& node = *candidates_[i].state;
        by_use.emplace_back(place::Used(node.offer, node.held), i);
      }
      std::sort(by_use.begin(), by_use.end());
      std::ranges::transform(by_use, nodes.begin(), [](const auto& each) { return each.second; });
    }
    uint32_t wanted = job.WaitingOf(request);
    for (; seeker.next < nodes.size(); ++seeker.next) {
      Candidate& node = candidates_[nodes[seeker.next]];
      if (node.reserved) continue;
      if (wanted-- == 0) return;
      place::AddTasks(node.reserved.emplace(), node.state->offer, job.request(request), 1);
      // What was present at a loss waits for a slot that is really free: nothing goes before it.
      node.kept = job.lossy() || !TakesMore(node, &*node.reserved);
      if (!node.kept) continue;
      ++kept_in_all_;
      if (nodes[seeker.next] < open_) ++kept_;
    }
  }

  StepContext& step_;
  EngineState& state_;
  std::vector<Candidate> candidates_;  // by id
  size_t open_ = 0;                    // so many of them were open
  bool gathered_all_ = false;
  size_t kept_in_all_ = 0;
  size_t kept_ = 0;     // of those that were open
  bool all_ = false;    // the job whose turn it is looks at all nodes
  bool looks_ = false;  // it did look
  std::optional<place::Round> round_;
  std::unordered_map<JobId, Asking> asking_;
  std::map<SeekerKey, Seeker> shared_;
  // Groups of jobs that have looked at all nodes, and those that fit none.
  std::vector<std::pair<const std::string*, place::GroupKey>> looked_;
  std::vector<std::pair<const std::string*, place::GroupKey>> misfits_;
};

void Unpark(EngineState& state) {
  for (auto& [name, user] : state.users) {
    user.line.UnparkAll();
    state.UpdateTurn(name, user);
  }
}

}  // namespace

void Place(StepContext& step) {
  step.state.WakeDue(step.now);
  if (std::exchange(step.state.unpark, false)) Unpark(step.state);
  Pass pass(step);
  if (!step.state.turns.empty()) pass.Run();
  pass.RecallStalled();
  step.out.wake_at = std::min(step.out.wake_at, step.state.NextDue(step.now));
}

}  // namespace spate::engine
