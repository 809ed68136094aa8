#include "core/engine/place/greedy.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace spate::engine::place {

void Seeker::Clear() {
  built = fits = false;
  heap.clear();
  fitting.clear();
  next = 0;
  most_at_once = UINT32_MAX;
}

bool Greedy::SeekerKey::operator<(const SeekerKey& other) const {
  return std::tie(*needs, *user, ahead, all, bound) <
         std::tie(*other.needs, *other.user, other.ahead, other.all, other.bound);
}

// ---- A pass

void Greedy::Begin(Instant now) {
  now_ = now;
  candidates_.clear();
  any_sick_.reset();
  gathered_all_ = std::exchange(board_.look_at_all, false);
  if (gathered_all_) {
    for (auto& [id, node] : board_.nodes) {
      if (node.IsThere()) candidates_.push_back({id, &node});
    }
  } else {
    std::sort(board_.roomy.begin(), board_.roomy.end());
    for (NodeId id : board_.roomy) {
      auto node = board_.nodes.find(id);
      bool twice = !candidates_.empty() && candidates_.back().id == id;
      if (twice || node == board_.nodes.end() || !node->second.roomy) continue;
      if (node->second.IsThere()) candidates_.push_back({id, &node->second});
    }
  }
  roomy_ = candidates_.size();
  Anew();
}

// Nodes that are not roomy come behind, for those who have not looked at them yet.
void Greedy::GatherAll() {
  if (std::exchange(gathered_all_, true)) return;
  any_sick_.reset();
  for (auto& [id, node] : board_.nodes) {
    if (node.IsThere() && !node.roomy) candidates_.push_back({id, &node});
  }
}

void Greedy::Anew() {
  round_ = ++board_.rounds;
  seekers_used_ = 0;
  shared_.clear();
  reservations_.clear();
  kept_ = {};
  left_to_.clear();
  reserved_ = reserved_from_all_ = 0;
  for (Candidate& node : candidates_) {
    node.from_all.Clear();
    node.from_others.Clear();
    node.passing = nullptr;
    node.supplied = JobId();
  }
}

void Greedy::End() {
  for (Candidate& node : candidates_) {
    bool reserved = node.from_all.amounts || node.passing != nullptr;
    if (node.room || !node.looked || (reserved && TakesMore(node))) {
      board_.MarkRoomy(node.id, *node.node);
    } else {
      node.node->roomy = false;
    }
  }
  std::erase_if(board_.roomy, [&](NodeId id) {
    auto node = board_.nodes.find(id);
    return node == board_.nodes.end() || !node->second.roomy;
  });
}

void Greedy::SelectNodes(bool at_all) {
  all_ = at_all;
  if (all_) GatherAll();
}

bool Greedy::LeavesRoomFor(const Job& job) const {
  auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(all_ ? candidates_.size() : roomy_);
  return std::any_of(candidates_.begin(), end, [&](const Candidate& each) {
    if (each.full || each.From(*job.user_name).kept) return false;
    const Node& node = *each.node;
    auto here = node.jobs.find(job.id);
    if (here == node.jobs.end() || board_.Stalls(node, now_)) return true;
    // RoomFor has the same rule: leases ahead are refilled when half of them are gone.
    uint64_t ahead = board_.AheadOf(node, here->second);
    Amounts room;
    uint64_t held = node.TakenBy(here->second, room).At(Amounts::kSlots);
    if (each.served) return held < node.offer.slots * (1 + ahead);
    return 2 * held <= node.offer.slots * (2 + ahead);
  });
}

// ---- Seekers

uint32_t Greedy::NewSeeker() {
  if (seekers_used_ == seekers_.size()) {
    seekers_.emplace_back();
  } else {
    seekers_[seekers_used_].Clear();
  }
  return seekers_used_++;
}

Seeker& Greedy::Shared(const SeekerKey& key) {
  auto [at, is_new] = shared_.try_emplace(key);
  if (is_new) at->second = NewSeeker();
  return seekers_[at->second];
}

Seeker& Greedy::Own(Job& job, uint32_t request) {
  if (job.seeks.size() < job.requests->size()) job.seeks.resize(job.requests->size());
  Job::Seeks& seeks = job.seeks[request];
  if (std::exchange(seeks.round, round_) != round_) seeks.seeker = NewSeeker();
  return seekers_[seeks.seeker];
}

// A job to which all nodes are alike shares a seeker with others.
Seeker& Greedy::SeekerOf(Job& job, uint32_t request, const Bound& bound) {
  if (job.facts.known || job.facts.particular() || board_.nodes.size() < 2) {
    return Own(job, request);
  }
  return Shared({&job.NeedsOf(request), job.user_name, bound.lease_tasks > 0, all_,
                 job.ClassOf(request).bound});
}

uint32_t Greedy::MostAtOnce(Job& job, uint32_t request) {
  const Needs& needs = job.NeedsOf(request);
  bool own = job.facts.particular();
  Seeker& seeker =
      own ? Own(job, request) : Shared({&needs, job.user_name, false, false, BoundBy::kUnknown});
  if (seeker.most_at_once != UINT32_MAX) return seeker.most_at_once;
  uint64_t sum = 0;
  for (const auto& [id, node] : board_.nodes) {
    if (!own || !job.Avoids(id)) sum += FitNow(node, *job.user_name, needs, now_);
  }
  return seeker.most_at_once = static_cast<uint32_t>(std::min<uint64_t>(sum, UINT32_MAX - 1));
}

// ---- Rooms

void Greedy::Build(const Job& job, uint32_t request, const Bound& bound, Seeker& seeker) {
  if (std::exchange(seeker.built, true)) return;
  const Needs& needs = job.NeedsOf(request);
  // A node that fails the job's tasks, or all tasks, is better than none.
  bool avoid =
      (!job.facts.troubled && !AnySick()) ||
      board_.SomeTake(*job.user_name, needs, now_, [&](NodeId id) { return job.Avoids(id); });
  auto end = static_cast<uint32_t>(all_ ? candidates_.size() : roomy_);
  for (uint32_t i = 0; i < end; ++i) {
    Candidate& node = candidates_[i];
    bool kept = node.From(*job.user_name).kept;
    if (seeker.fits && kept) continue;
    uint32_t fit = FitNow(*node.node, *job.user_name, needs, now_, !avoid);
    if (fit == 0) continue;
    seeker.fits = true;
    if (kept || (avoid && job.Avoids(node.id))) continue;
    seeker.fitting.push_back(i);
    if (uint32_t tasks = RoomOf(job, request, bound, node, fit); tasks > 0) {
      seeker.heap.push_back({tasks, i, node.changes, node.node->SlowsDown(job, request)});
    }
  }
  std::make_heap(seeker.heap.begin(), seeker.heap.end());
}

bool Greedy::AnySick() {
  if (!any_sick_) {
    any_sick_ = std::any_of(candidates_.begin(), candidates_.end(), [](const Candidate& each) {
      return !each.node->sick.empty() || !each.node->set_aside.empty();
    });
  }
  return *any_sick_;
}

void Greedy::PutBack(Seeker& seeker, Room room) {
  seeker.heap.push_back(room);
  std::push_heap(seeker.heap.begin(), seeker.heap.end());
}

void Greedy::LeaveOut(Seeker& seeker, uint32_t candidate) { std::erase(seeker.fitting, candidate); }

// A room in the heap may be older than the last lease, and rooms only shrink in a pass.
Room Greedy::Best(const Job& job, uint32_t request, const Bound& bound, Seeker& seeker) {
  Build(job, request, bound, seeker);
  while (!seeker.heap.empty()) {
    std::pop_heap(seeker.heap.begin(), seeker.heap.end());
    Room room = seeker.heap.back();
    seeker.heap.pop_back();
    Candidate& node = candidates_[room.candidate];
    if (node.full || node.From(*job.user_name).kept) continue;
    if (room.seen == node.changes) return room;
    uint32_t tasks = RoomOf(job, request, bound, node);
    const bool slow = node.node->SlowsDown(job, request);
    if (tasks == room.tasks && slow == room.slow) return room;
    if (tasks > 0) PutBack(seeker, {tasks, room.candidate, node.changes, slow});
  }
  return {};
}

void Greedy::Given(const Job& job, uint32_t request, const Bound& bound, Seeker& seeker,
                   uint32_t candidate) {
  Candidate& node = candidates_[candidate];
  node.served = true;
  ++node.changes;
  node.taken.reset();
  node.supplied = JobId();
  node.full = !TakesMore(node);
  node.room = node.room && !node.full;
  uint32_t tasks = node.full ? 0 : RoomOf(job, request, bound, node);
  if (tasks == 0) return;
  PutBack(seeker, {tasks, candidate, node.changes, node.node->SlowsDown(job, request)});
}

const Greedy::Taken& Greedy::TakenOf(Candidate& node) const {
  if (node.taken) return *node.taken;
  Taken& taken = node.taken.emplace();
  // Room kept for gangs is no estimate: a task in line behind others would delay them.
  const bool exactly = node.node->IsHeld() || board_.Stalls(*node.node, now_);
  for (const auto& [key, part] : node.node->parts) taken.exactly.Add(part.held);
  Amounts room;
  for (const auto& [id, here] : node.node->jobs) {
    if (here.leased == 0) continue;
    // So many of the job's tasks wait there behind each that runs.
    uint32_t ahead = exactly ? 0 : board_.AheadOf(*node.node, here);
    if (ahead == 0) {
      taken.exactly.Add(node.node->TakenBy(here, room));
    } else {
      taken.about.Add(node.node->TakenBy(here, room), kParts, 1 + ahead);
    }
  }
  return taken;
}

// A slot and some processor time are left there, beside what is reserved.
bool Greedy::TakesMore(Candidate& node, const Amounts* reserved) const {
  const Offer& offer = node.node->offer;
  const Taken& taken = TakenOf(node);
  auto left = [&](size_t kind, uint64_t offered) {
    uint64_t held = taken.exactly.At(kind) + (reserved == nullptr ? 0 : reserved->At(kind));
    return held * kParts + taken.about.At(kind) < offered * kParts;
  };
  return left(Amounts::kSlots, offer.slots) && left(Amounts::kCpus, offer.milli_cpus);
}

// A whole slot is left there.
bool Greedy::HasSlot(Candidate& node) const {
  const Taken& taken = TakenOf(node);
  uint64_t held = taken.exactly.At(Amounts::kSlots) * kParts + taken.about.At(Amounts::kSlots);
  return held + kParts <= node.node->offer.slots * kParts;
}

uint32_t Greedy::RoomOf(const Job& job, uint32_t request, const Bound& bound, Candidate& node) {
  return RoomOf(job, request, bound, node, FitCount(node.node->offer, job.NeedsOf(request)));
}

// Room that a task of these needs must leave to gangs there: none if it ends before they begin.
// A task whose end is unknown gets only the room that gangs leave.
Amounts Greedy::HeldForGangs(const Job& job, const Needs& needs, const Node& node) const {
  const Duration takes = needs.time.ns > 0 ? needs.time : job.wall;
  Amounts held;
  for (const Hold& hold : node.holds) {
    if (hold.user != nullptr && hold.user != job.user_name) continue;
    if (takes.ns > 0 && now_ + takes <= hold.start) continue;
    held.Add(hold.amounts);
  }
  return held;
}

uint32_t Greedy::RoomOf(const Job& job, uint32_t request, const Bound& bound, Candidate& node,
                        uint32_t fit) {
  static const Needs kSlot{.milli_cpus = 0};
  const Node& there = *node.node;
  const Needs& needs = job.NeedsOf(request);
  const bool stalls = board_.Stalls(there, now_);
  // A task that waits behind others might start too late in the node's life. Behind ends that are
  // only reported late it waits no longer than one of them takes.
  bool mortal = there.offer.end_of_life != Instant::Never() && needs.time.ns > 0;
  if (there.ends_late_by.ns > 0 && now_ + needs.time * 3 < there.offer.end_of_life) mortal = false;
  const bool held = there.IsHeld();
  uint32_t ahead = mortal || stalls || there.lossy > 0 || held ? 0 : bound.lease_tasks;
  NodeView view{.offer = &there.offer, .needs = &needs, .fit = fit};
  node.looked = true;
  node.room = false;
  if (node.supplied == job.id && node.supplied_fit == view.fit && node.supplied_ahead == ahead) {
    return 0;
  }
  const Taken& taken = TakenOf(node);
  view.exactly = &taken.exactly;
  view.about = &taken.about;
  if (const auto& reserved = node.From(*job.user_name).amounts) view.reserved = &*reserved;
  Amounts held_for_gangs;
  if (!there.holds.empty()) {
    held_for_gangs = HeldForGangs(job, needs, there);
    if (view.reserved != nullptr) held_for_gangs.Add(*view.reserved);
    view.reserved = &held_for_gangs;
  }
  view.contended = !board_.HoldsLongAhead();
  view.served = node.served;
  view.ends_late_by = there.ends_late_by;
  Amounts own;
  if (auto here = there.jobs.find(job.id); here != there.jobs.end()) {
    view.own = &there.TakenBy(here->second, own);
    // One that fails at once is not to be given more ahead, unless it is the only one.
    if (!here->second.fails || board_.nodes.size() == 1) view.task_wall = here->second.wall;
    view.own_counted = here->second.leased > 0;
    view.own_ahead = stalls || held ? 0 : board_.AheadOf(there, here->second);
  }
  uint32_t tasks = RoomFor(view, ahead, board_.limits.lease_ahead);
  node.room = tasks > 0;
  if (node.room) return tasks;
  // Others of the job may end before gangs have their reservation, and so may other users'.
  if (!there.holds.empty()) return 0;
  view.needs = &kSlot;
  if (RoomFor(view, ahead, board_.limits.lease_ahead) > 0) return 0;
  node.supplied = job.id;
  node.supplied_fit = view.fit;
  node.supplied_ahead = ahead;
  return 0;
}

// ---- What waits for a node

// Its user's others may go before it for a while. Nothing goes before a task that was present at a
// loss: it waits for a slot that is really free.
bool Greedy::IsPassed(Job& job, uint32_t request) const {
  return !job.facts.lossy && now_ < job.ready.NoRoom(request, now_) + board_.limits.passed_for;
}

void Greedy::ReserveRoom(Job& job, uint32_t request, Seeker& seeker) {
  if (!seeker.fits) return;
  const bool passed = IsPassed(job, request);
  std::vector<uint32_t>& nodes = seeker.fitting;
  if ((passed ? reserved_ : reserved_from_all_) == candidates_.size()) {
    seeker.next = nodes.size();  // each has one
    return;
  }
  if (seeker.next == 0 && nodes.size() > 1) {
    std::vector<std::pair<uint64_t, uint32_t>> by_use;
    for (uint32_t i : nodes) {
      const Node& node = *candidates_[i].node;
      by_use.emplace_back(Used(node.offer, node.held), i);
    }
    std::sort(by_use.begin(), by_use.end());
    std::ranges::transform(by_use, nodes.begin(), [](const auto& each) { return each.second; });
  }
  uint32_t wanted = job.ready.Of(request).waiting;
  for (; seeker.next < nodes.size(); ++seeker.next) {
    const Candidate& node = candidates_[nodes[seeker.next]];
    if (node.from_all.amounts || (passed && node.passing != nullptr)) continue;
    if (wanted-- == 0) return;
    Reserve(nodes[seeker.next], job, request, passed);
  }
}

// One for each node; beside one that may be passed also one that may not.
void Greedy::Reserve(uint32_t candidate, const Job& job, uint32_t request, bool passed) {
  Candidate& node = candidates_[candidate];
  const bool was_kept = node.kept();
  const bool was_left = was_kept && !node.from_all.kept;
  reserved_ += node.passing == nullptr ? 1 : 0;
  reserved_from_all_ += passed ? 0 : 1;
  reservations_.push_back({node.id, job.id, request, passed});
  ++node.changes;
  if (passed) {
    node.passing = job.user_name;
    node.from_all.kept = !HasSlot(node);
  } else {
    AddTasks(node.from_all.amounts.emplace(), node.node->offer, job.NeedsOf(request), 1);
    node.from_all.kept = job.facts.lossy || !TakesMore(node, &*node.from_all.amounts);
  }
  if (node.from_all.kept) {
    node.from_others.kept = true;
  } else if (node.passing != nullptr) {
    Amounts& amounts =
        node.from_others.amounts ? *node.from_others.amounts : node.from_others.amounts.emplace();
    Amounts more;
    AddTasks(more, node.node->offer, job.NeedsOf(request), 1);
    amounts.Raise(more);
    node.from_others.kept = !TakesMore(node, &amounts);
  }
  auto count = [&](Counts& counts, size_t before, size_t after) {
    counts.all += after - before;
    if (candidate < roomy_) counts.roomy += after - before;
  };
  count(kept_, was_kept, node.kept());
  const bool is_left = node.kept() && !node.from_all.kept;
  if (is_left != was_left) count(left_to_[*node.passing], was_left, is_left);
}

Greedy::Counts Greedy::LeftTo(const std::string& user) const {
  auto counts = left_to_.find(user);
  return counts == left_to_.end() ? Counts() : counts->second;
}

}  // namespace spate::engine::place
