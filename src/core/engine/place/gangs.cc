// Gangs: see gangs.h. A pass begins with what all nodes have ahead (node_ahead.h). Room only
// shrinks in it: what starts takes some, a promise claims some. So a request that found none need
// not look again, nor need others that ask for the same.
#include "core/engine/place/gangs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace spate::engine::place {
namespace {

// Only with kConservative. Gangs behind so many wait without a promise, and start nothing.
constexpr size_t kMostPromises = 50;

// Only with kFair, while single tasks wait too: so many classes have promises. The first one's is
// kept; the others' change as shares do.
constexpr size_t kMostFair = 8;
// Only with kFair: gangs wait behind single tasks no longer than this until one of them becomes the
// head or starts.
constexpr Duration kPatience = Duration::Seconds(300);

// So many promises of which nobody knows when they start are looked for in a pass.
constexpr size_t kMostUnknown = 8;

// Nodes for a gang of this shape, when so many of its processes fit on each; empty: none. With a
// number of nodes these are the ones that it fills best; else those where most fit, so that it has
// few parts. `kept`: nodes promised before are preferred, so that promises do not wander. Before
// all that comes how well it would run there.
class Choice {
 public:
  explicit Choice(const GangShape& shape, std::span<const GangPlace> kept = {})
      : shape_(shape), kept_(kept) {}

  enum class Worse : uint8_t { kNot, kSlowsDown, kWasLate };
  void Add(NodeId node, uint32_t fit, Worse worse) {
    if (Useful(fit)) fits_.push_back({!IsKept(node), worse, fit, node});
  }
  std::vector<GangPlace> Take() {
    const bool fixed = shape_.nodes > 0;
    auto comes_behind = [fixed](const Fit& b, const Fit& a) {
      if (a.worse != b.worse) return a.worse < b.worse;
      if (a.fit != b.fit && !fixed) return a.fit > b.fit;
      return std::tie(a.other, a.fit, a.node) < std::tie(b.other, b.fit, b.node);
    };
    // A heap: mostly a few of many are taken.
    std::ranges::make_heap(fits_, comes_behind);
    std::vector<GangPlace> places;
    uint32_t left = shape_.procs;
    for (; left > 0 && !fits_.empty(); fits_.pop_back()) {
      std::ranges::pop_heap(fits_, comes_behind);
      const Fit& best = fits_.back();
      const uint32_t procs = fixed ? shape_.procs_per_node() : std::min(best.fit, left);
      places.push_back({best.node, procs});
      left -= procs;
    }
    if (left > 0) places.clear();
    return places;
  }

 private:
  struct Fit {
    bool other = false;
    Worse worse = Worse::kNot;
    uint32_t fit = 0;
    NodeId node;
  };
  bool Useful(uint32_t fit) const {
    return fit > 0 && (shape_.nodes == 0 || fit >= shape_.procs_per_node());
  }
  bool IsKept(NodeId node) const {
    return std::ranges::any_of(kept_, [&](const GangPlace& place) { return place.node == node; });
  }

  const GangShape& shape_;
  const std::span<const GangPlace> kept_;
  std::vector<Fit> fits_;
};

// How much of the gang has room at once, as nodes come to have more or less.
class Count {
 public:
  explicit Count(const GangShape& shape) : shape_(shape) {}
  void Change(uint32_t from, uint32_t to) { sum_ = sum_ - Worth(from) + Worth(to); }
  bool enough() const { return sum_ >= (shape_.nodes > 0 ? shape_.nodes : shape_.procs); }

 private:
  uint64_t Worth(uint32_t fit) const {
    return shape_.nodes == 0 ? fit : fit >= shape_.procs_per_node() ? 1 : 0;
  }
  const GangShape& shape_;
  uint64_t sum_ = 0;
};

uint64_t KindOf(const Job& job, uint32_t request) {
  const GangShape& shape = job.ClassOf(request).gang;
  uint64_t hash = place::KindOf(job.NeedsOf(request)) * 0xff51afd7ed558ccdu;
  hash = (hash ^ (uint64_t{shape.procs} << 32 | uint64_t{shape.nodes} << 1 | shape.whole)) *
         0xff51afd7ed558ccdu;
  hash ^= std::hash<std::string>()(*job.user_name);
  return job.facts.avoids.empty() ? hash : hash + job.id.value * 0x9e3779b97f4a7c15u;
}

}  // namespace

// ---- The line

size_t Gangs::MostPromises() const {
  if (policy_ == GangPolicy::kConservative) return kMostPromises;
  return policy_ == GangPolicy::kFair && beside_singles_ ? kMostFair : 1;
}

Gangs::Entry Gangs::EntryOf(Job& job, uint32_t request, const ClassTurn& turn) const {
  Entry entry{.job = job.id, .turn = turn, .request = request, .known = &job};
  if (policy_ == GangPolicy::kFair) {
    entry.group_share = board_.GroupShareOf(*job.user);
    entry.group_given = job.user->group->given;
    entry.user_share = board_.ShareOf(*job.user);
    entry.user_given = job.user->given;
    entry.priority = job.priority;
    entry.share = job.used * kJobWeight / std::max(job.facts.weight, 1u);
  } else if (policy_ == GangPolicy::kEasySjbf && claimed_ > 0) {
    const Duration time = job.NeedsOf(request).time;
    entry.rank = time.ns > 0 ? time.ns : INT64_MAX;
  }
  return entry;
}

void Gangs::Line::Push(const Entry& entry) {
  entries_.push_back(entry);
  std::ranges::push_heap(entries_, ComesBehind);
}

Gangs::Entry Gangs::Line::Pop() {
  std::ranges::pop_heap(entries_, ComesBehind);
  const Entry entry = entries_.back();
  entries_.pop_back();
  return entry;
}

void Gangs::Line::EraseIf(const std::function<bool(const Entry&)>& gone) {
  std::erase_if(entries_, gone);
  std::ranges::make_heap(entries_, ComesBehind);
}

void Gangs::Line::Fill(std::vector<Entry> entries) {
  entries_ = std::move(entries);
  std::ranges::make_heap(entries_, ComesBehind);
}

// Enters the next gang of a class that one was started of. Its job's others are in the line.
void Gangs::EnterNext(Line& line, const Entry& started) const {
  Job& job = *started.known;
  if (!job.asks_for_gang() || job.user->IsBound()) return;
  const auto& turn = job.gangs.Of(started.request).turn;
  if (turn) line.Push(EntryOf(job, started.request, *turn));
}

Gangs::Line Gangs::LineNow() const {
  std::vector<Entry> entries;
  entries.reserve(board_.asking_for_gangs.size());
  for (const auto& [id, job] : board_.asking_for_gangs) {
    if (job->user->IsBound()) continue;
    for (const Ready::Entry& each : job->gangs.order()) {
      entries.push_back(EntryOf(*job, each.number, each.turn));
    }
  }
  Line line;
  line.Fill(std::move(entries));
  return line;
}

// A start of the same job, or the same user, may have changed what there is.
bool Gangs::IsCurrent(const Entry& entry) const {
  const Job& job = *entry.known;
  return job.asks_for_gang() && !job.user->IsBound() &&
         job.gangs.Of(entry.request).turn == entry.turn;
}

bool Gangs::ComesBeforeSingles(const Entry& entry) const {
  if (policy_ != GangPolicy::kFair || board_.turns.empty()) return true;
  const GroupTurn& group = *board_.turns.begin();
  const User& user = *entry.known->user;
  if (group.name != user.group_name) {
    return GroupTurn{entry.group_share, entry.group_given, user.group_name, nullptr} < group;
  }
  const UserTurn& first = *group.of->turns.begin();
  if (first.name == entry.known->user_name) {
    const auto contenders = user.contenders();
    return !contenders || entry.priority >= contenders->priority;
  }
  return UserTurn{entry.user_share, entry.user_given, entry.known->user_name, nullptr} < first;
}

// The first user in turn may wait for a node that others do not need. During that time, small
// tasks could keep taking the nodes of a gang for ever.
void Gangs::NoteWaiting() {
  if (started_ || claimed_ > 0 || rest_.empty()) {
    behind_since_.reset();
  } else if (!behind_since_) {
    behind_since_ = now_;
  }
  started_ = false;
}

// ---- A pass

void Gangs::Begin(Instant now) {
  now_ = now;
  ahead_.clear();
  no_room_.clear();
  misfits_.clear();
  unknown_.clear();
  hold_without_failing_.clear();
  for (auto& [id, node] : board_.nodes) {
    if (node.IsThere()) ahead_.emplace_back(id, node, board_, now);
  }
  CountFree();
}

void Gangs::Free::Count(std::vector<uint64_t> of_each) {
  counted = std::move(of_each);
  of_node.clear();
  std::ranges::copy_if(counted, std::back_inserter(of_node),
                       [](uint64_t cpus) { return cpus > 0; });
  std::ranges::sort(of_node, std::ranges::greater());
  all = std::accumulate(of_node.begin(), of_node.end(), uint64_t{0});
}

void Gangs::Free::Change(size_t node, uint64_t to) {
  const uint64_t from = std::exchange(counted[node], to);
  all = all - from + to;
  if (from > 0) of_node.erase(std::ranges::lower_bound(of_node, from, std::ranges::greater()));
  if (to > 0) of_node.insert(std::ranges::lower_bound(of_node, to, std::ranges::greater()), to);
}

bool Gangs::Free::Fits(const TaskClass& of_gang) const {
  const GangShape& shape = of_gang.gang;
  const uint64_t each = of_gang.needs.milli_cpus;
  if (shape.procs * each > all) return false;
  const size_t nodes = std::max(shape.nodes, 1u);
  return of_node.size() >= nodes && of_node[nodes - 1] >= shape.procs_per_node() * each;
}

// So that of very many who wait hardly one looks at nodes in vain.
void Gangs::CountFree() {
  std::vector<uint64_t> free;
  std::vector<uint64_t> lasting;
  for (NodeAhead& ahead : ahead_) {
    free.push_back(ahead.FreeCpus());
    lasting.push_back(IsClaimed() ? ahead.LastingCpus() : 0);
  }
  free_.Count(std::move(free));
  lasting_.Count(std::move(lasting));
  lasts_until_ = IsClaimed() ? now_ : Instant::Never();
  for (const GangPromise& promise : promises_) {
    const bool known = promise.claims() && promise.start != Instant::Never();
    if (IsClaimed() && known) lasts_until_ = std::max(lasts_until_, promise.start);
  }
}

// The board was told of parts there.
void Gangs::CountTaken(std::span<const GangPlace> places) {
  for (const GangPlace& place : places) {
    NodeAhead& ahead = AheadOf(place.node);
    ahead.Changed();
    const auto at = static_cast<size_t>(&ahead - ahead_.data());
    free_.Change(at, ahead.FreeCpus());
    if (IsClaimed()) lasting_.Change(at, ahead.LastingCpus());
  }
}

void Gangs::Decide(Instant now, const Heads& heads, const GiveGang& give) {
  Begin(now);
  rest_ = {};
  const std::vector<GangPromise> before = std::exchange(promises_, {});
  before_ = &before;
  claimed_ = 0;
  drains_ = false;
  next_look_ = Instant::Never();
  has_started_.clear();
  beside_singles_ = !board_.turns.empty();
  Line line = LineNow();
  if (policy_ == GangPolicy::kConservative) {
    WalkConservative(std::move(line), heads, give);
  } else {
    TryHeads(line, heads, give);
    if (!IsOver()) Walk(std::move(line), Which::kFirst, give);
  }
  before_ = nullptr;
  SetHolds();
  NoteWaiting();
}

// The head, and before it those of its user that have a higher priority: out of the line, in turn.
std::vector<Gangs::Entry> Gangs::DrainFirst(Line& line, const ClassKey& head) {
  auto is_head = [&](const Entry& entry) {
    return entry.job == head.job && entry.request == head.request;
  };
  auto at = std::ranges::find_if(line.entries(), is_head);
  if (at == line.entries().end()) return {};
  const Job& job = *at->known;
  std::vector<Entry> first;
  line.EraseIf([&](const Entry& entry) {
    const Job& other = *entry.known;
    if (!is_head(entry) && (other.user != job.user || other.priority <= job.priority)) return false;
    first.push_back(entry);
    return true;
  });
  std::ranges::sort(first, [&](const Entry& a, const Entry& b) {
    if (a.known->priority != b.known->priority) return a.known->priority > b.known->priority;
    return a < b;
  });
  return first;
}

// The head keeps its place until it starts, whoever else's turn it would be by now; those of its
// user that have a higher priority have it before. True: the head, or one of its class that is
// tried again, has started.
bool Gangs::TryHead(Line& line, const ClassKey& head, const GiveGang& give) {
  std::vector<Entry> first = DrainFirst(line, head);
  for (auto at = first.begin(); at != first.end();) {
    Entry& entry = *at;
    if (IsCurrent(entry) && TryStart(entry, give)) {
      if (std::next(at) == first.end()) {
        EnterNext(line, entry);
        return true;
      }
      const auto& turn = entry.known->gangs.Of(entry.request).turn;
      if (turn) entry.turn = *turn;
      continue;
    }
    ++at;
    if (!IsCurrent(entry) || !Promise(entry)) continue;
    for (; at != first.end(); ++at) line.Push(*at);
    ReorderFor(line);
    return false;
  }
  return false;
}

const GangPromise* Gangs::head() const {
  auto first = std::ranges::find_if(promises_, &GangPromise::claims);
  if (first != promises_.end()) return &*first;
  return promises_.empty() ? nullptr : &promises_.front();
}

// With kFcfs: a gang waits that no other gang overtakes. A gang that waits for its own user's tasks
// for an unknown time does not block other users' gangs, and neither does an unbound one.
bool Gangs::IsOver() const {
  return !Overtakes() && std::ranges::any_of(promises_, [](const GangPromise& promise) {
    const bool bound = promise.unbound == GangPromise::Unbound::kNot;
    return promise.claims() || (bound && !promise.waits_for_own);
  });
}

// Until one of them waits, and has a promise that others plan around.
void Gangs::TryHeads(Line& line, const Heads& heads, const GiveGang& give) {
  for (bool has_started = true; has_started && claimed_ == 0 && !IsOver();) {
    has_started = false;
    for (const ClassKey& head : heads()) {
      has_started = TryHead(line, head, give);
      if (has_started || claimed_ > 0 || IsOver()) break;
    }
  }
}

// The order for overtaking differs from the order for becoming the head; and when no more promises
// are made, only those gangs matter that may have room.
void Gangs::ReorderFor(Line& line) const {
  if (!Overtakes()) {
    const User* user = board_.FindJob(promises_.back().job)->user;
    line.EraseIf([&](const Entry& entry) { return entry.known->user == user; });
  }
  if (IsFull()) {
    line.EraseIf(
        [this](const Entry& entry) { return !MayHaveRoom(entry.known->ClassOf(entry.request)); });
  }
  if (policy_ != GangPolicy::kEasySjbf) return;
  std::vector<Entry> entries;
  for (const Entry& each : line.entries()) {
    entries.push_back(EntryOf(*each.known, each.request, each.turn));
  }
  line.Fill(std::move(entries));
}

void Gangs::Walk(Line line, Which which, const GiveGang& give) {
  std::vector<Entry> left;  // for others to go first
  while (!line.empty()) {
    Entry entry = line.Pop();
    if (!IsCurrent(entry)) continue;
    // Shares grow as gangs start: it may not be the first any more.
    if (policy_ == GangPolicy::kFair) {
      const Entry now = EntryOf(*entry.known, entry.request, entry.turn);
      if (entry < now) {
        line.Push(now);
        continue;
      }
    }
    const bool overdue = behind_since_ && now_ >= *behind_since_ + kPatience && claimed_ == 0;
    if (which != Which::kRest && !overdue && !ComesBeforeSingles(entry)) {
      left.push_back(entry);
      break;
    }
    if (TryStart(entry, give)) {
      EnterNext(line, entry);
      continue;
    }
    if (which == Which::kNext) left.push_back(entry);
    if (which != Which::kFirst || IsFull() || promises_.size() == kMostUnknown) continue;
    if (!Promise(entry)) continue;
    if (IsOver()) return;
    ReorderFor(line);
  }
  for (const Entry& entry : left) line.Push(entry);
  rest_ = std::move(line);
}

// ---- Conservative

// The gangs that have promises, in the order of the line; before others the heads, and before these
// their user's gangs of a higher priority.
std::vector<Gangs::Entry> Gangs::FirstOf(Line& line, const std::vector<ClassKey>& heads) {
  std::vector<Entry> first;
  for (const ClassKey& head : heads)
    std::ranges::copy(DrainFirst(line, head), std::back_inserter(first));
  while (first.size() < kMostPromises && !line.empty()) first.push_back(line.Pop());
  return first;
}

// So many at the front unseat the head: it was promised something, and they were not.
size_t Gangs::CountUnseating(std::span<const Entry> first,
                             const std::vector<ClassKey>& heads) const {
  if (heads.empty()) return 0;
  auto head = std::ranges::find(first, heads.front(), &Entry::key);
  if (head == first.end()) return 0;
  auto promised = std::find_if(
      first.begin(), head, [this](const Entry& entry) { return PromisedBefore(entry) != nullptr; });
  return static_cast<size_t>(promised - first.begin());
}

const GangPromise* Gangs::PromisedBefore(const Entry& entry) const {
  auto at = std::ranges::find_if(*before_, [&](const GangPromise& promise) {
    return promise.job == entry.job && promise.request == entry.request;
  });
  return at == before_->end() || at->start == Instant::Never() ? nullptr : &*at;
}

// Claims what they were promised. False: that cannot be any more, and nothing is claimed.
bool Gangs::Restore(std::span<const Entry> first) {
  restored_.clear();
  for (const Entry& entry : first) {
    const GangPromise* promise = PromisedBefore(entry);
    if (promise == nullptr) continue;
    const TaskClass& of_gang = entry.known->ClassOf(entry.request);
    const Instant to = EndOf(promise->start, of_gang.needs.time);
    const bool stands =
        promise->start >= now_ && std::ranges::all_of(promise->places, [&](const GangPlace& place) {
          auto at = std::ranges::lower_bound(ahead_, place.node, {}, &NodeAhead::id);
          return at != ahead_.end() && at->id() == place.node &&
                 IsFor(*entry.known, entry.request, *at) &&
                 at->FitIn(of_gang, promise->start, to) >= place.procs;
        });
    if (!stands) {
      for (NodeAhead& ahead : ahead_) ahead.RemoveClaims();
      restored_.clear();
      return false;
    }
    Claim(*promise);
    restored_.insert(entry.key());
  }
  return true;
}

// Each is moved in turn to the first room beside all others, so none comes later than it was
// promised. To give all of them room anew in the order of the line would be simpler and is wrong:
// the first one may move into a gap in front of the second one's place, and push it behind its
// promise. Where a promise cannot be kept (something takes longer than was said, a node went, a
// higher priority unseats the head) all begin anew in the order of their promises, so that who is a
// little late pushes the next ones by as little.
void Gangs::WalkConservative(Line line, const Heads& heads, const GiveGang& give) {
  restored_.clear();
  const std::vector<ClassKey> known = heads();
  std::vector<Entry> first = FirstOf(line, known);
  std::map<ClassKey, size_t> order;
  for (const Entry& entry : first) order.emplace(entry.key(), order.size());
  const size_t unseating = CountUnseating(first, known);
  auto take = [&](Entry entry) {
    if (restored_.erase(entry.key()) > 0) Unclaim(*PromisedBefore(entry));
    while (IsCurrent(entry) && TryStart(entry, give)) GoOn(entry);
    no_room_.clear();  // the next one's own promise goes before it is tried
    if (IsCurrent(entry)) Promise(entry);
  };
  if (unseating > 0) {
    const auto behind = first.begin() + static_cast<std::ptrdiff_t>(unseating);
    for (const Entry& entry : std::vector(first.begin(), behind)) take(entry);
    first = BeginAnew({behind, first.end()}, order, give);
  } else if (!Restore(first)) {
    first = BeginAnew(std::move(first), order, give);
  }
  for (const Entry& entry : first) take(entry);
  // Those behind a bound of promises wait without one, and start nothing.
  while (promises_.size() < MostPromises() && !line.empty()) {
    const Entry entry = line.Pop();
    order.emplace(entry.key(), order.size());
    take(entry);
  }
  std::ranges::stable_sort(promises_, {}, [&](const GangPromise& promise) {
    return order.at({promise.job, promise.request});
  });
}

// Those that were promised something, in the order of that. Returns the others, in the order of the
// line; the next of a class that one was started of has been promised nothing.
std::vector<Gangs::Entry> Gangs::BeginAnew(std::vector<Entry> first,
                                           const std::map<ClassKey, size_t>& order,
                                           const GiveGang& give) {
  auto is_promised = [this](const Entry& entry) { return PromisedBefore(entry) != nullptr; };
  auto behind = std::ranges::stable_partition(first, is_promised);
  std::vector<Entry> others(behind.begin(), behind.end());
  first.erase(behind.begin(), behind.end());
  // By what was said first: passes are rarer than the ends of short gangs, and those that could
  // start at each pass would leave the others behind for ever.
  std::ranges::stable_sort(first, {}, [this](const Entry& entry) {
    const GangPromise& promise = *PromisedBefore(entry);
    return std::min(promise.said, promise.start);
  });
  for (Entry& entry : first) {
    if (!IsCurrent(entry)) continue;
    if (TryStart(entry, give)) {
      GoOn(entry);
      others.push_back(entry);
    } else {
      Promise(entry);
    }
  }
  std::ranges::sort(others, {}, [&](const Entry& entry) { return order.at(entry.key()); });
  return others;
}

// With the next of its class, if there is one.
void Gangs::GoOn(Entry& entry) {
  const auto& turn = entry.known->gangs.Of(entry.request).turn;
  if (turn) entry.turn = *turn;
}

bool Gangs::MayHaveRoom(const TaskClass& of_gang) const {
  const bool in_time = EndOf(now_, of_gang.needs.time) <= lasts_until_;
  return (in_time ? free_ : lasting_).Fits(of_gang);
}

bool Gangs::TryStart(const Entry& entry, const GiveGang& give) {
  const Job& job = *entry.known;
  const TaskClass& of_gang = job.ClassOf(entry.request);
  if (!MayHaveRoom(of_gang)) return false;
  const uint64_t kind = KindOf(job, entry.request);
  if (no_room_.contains(kind)) return false;
  std::vector<GangPlace> places = PlacesNow(job, entry.request);
  if (places.empty()) {
    no_room_.insert(kind);
    return false;
  }
  if (AwaitsAnswer(job, places) || !give({job, entry.request, places})) return false;
  broke_.erase(*job.user_name);
  CountTaken(places);
  started_ = true;
  has_started_.insert(entry.key());
  return true;
}

NodeAhead& Gangs::AheadOf(NodeId id) {
  auto at = std::ranges::lower_bound(ahead_, id, {}, &NodeAhead::id);
  CHECK(at != ahead_.end() && at->id() == id);
  return *at;
}

bool Gangs::IsFor(const Job& job, uint32_t request, const NodeAhead& ahead) {
  if (FitNow(ahead.node(), *job.user_name, job.NeedsOf(request), now_, /*even_sick=*/true) == 0) {
    return false;
  }
  return !Fails(job, ahead) || !HoldWithoutFailing(job, request);
}

bool Gangs::Fails(const Job& job, const NodeAhead& ahead) {
  const Node& node = ahead.node();
  return job.Avoids(ahead.id()) || !node.sick.empty() || node.Fails(*job.user_name);
}

// Nodes that fail tasks, or those of its job or its user, take it all the same when the others,
// were they idle, could not.
bool Gangs::HoldWithoutFailing(const Job& job, uint32_t request) {
  auto [known, is_new] = hold_without_failing_.try_emplace(KindOf(job, request));
  if (!is_new) return known->second;
  const TaskClass& of_gang = job.ClassOf(request);
  Count count(of_gang.gang);
  for (const NodeAhead& ahead : ahead_) {
    if (Fails(job, ahead)) continue;
    if (FitNow(ahead.node(), *job.user_name, of_gang.needs, now_) == 0) continue;
    count.Change(0, ProcsThatFit(ahead.node().offer, {}, of_gang));
  }
  return known->second = count.enough();
}

std::vector<GangPlace> Gangs::PlacesNow(const Job& job, uint32_t request) {
  const TaskClass& of_gang = job.ClassOf(request);
  const Instant until = EndOf(now_, of_gang.needs.time);
  Choice choice(of_gang.gang);
  for (NodeAhead& ahead : ahead_) {
    if (ahead.node().held.At(Amounts::kSlots) >= ahead.node().offer.slots) continue;
    if (!IsFor(job, request, ahead)) continue;
    const auto worse = ahead.node().IsLate(now_)              ? Choice::Worse::kWasLate
                       : ahead.node().SlowsDown(job, request) ? Choice::Worse::kSlowsDown
                                                              : Choice::Worse::kNot;
    choice.Add(ahead.id(), ahead.FitIn(of_gang, now_, until), worse);
  }
  return choice.Take();
}

// ---- Promises

// False: the nodes that there are never have room for it at once. It is in nobody's way.
bool Gangs::Promise(const Entry& entry) {
  const uint64_t kind = KindOf(*entry.known, entry.request);
  if (misfits_.contains(kind) || unknown_.contains(kind)) return false;
  GangPromise promise = Earliest(*entry.known, entry.request);
  if (promise.places.empty()) {
    misfits_.insert(kind);
    return false;
  }
  Judge(promise);
  promises_.push_back(std::move(promise));
  if (!promises_.back().claims()) {
    unknown_.insert(kind);
    return true;
  }
  Claim(promises_.back());
  if (const uint32_t more = CountFurther(*entry.known, entry.request); more > 0) {
    GangPromise& made = promises_.back();
    made.further = Emptiest(*entry.known, entry.request, FurtherBefore(made), more);
    for (const GangPlace& place : made.further) {
      AheadOf(place.node).Add({now_, Instant::Never(), PartAt(made, place)});
    }
  }
  ++claimed_;
  CountFree();
  return true;
}

Amounts Gangs::PartAt(const GangPromise& promise, const GangPlace& place) const {
  const TaskClass& of_gang = board_.FindJob(promise.job)->ClassOf(promise.request);
  return AmountsOfPart(board_.nodes.at(place.node).offer, of_gang, place.procs);
}

void Gangs::Claim(const GangPromise& promise) {
  for (const GangPlace& place : promise.further) {
    AheadOf(place.node).Add({now_, Instant::Never(), PartAt(promise, place)});
  }
  for (const GangPlace& place : promise.places) {
    auto at = std::ranges::lower_bound(ahead_, place.node, {}, &NodeAhead::id);
    if (at == ahead_.end() || at->id() != place.node) continue;
    at->Add(ClaimOf(promise, place));
  }
}

void Gangs::Unclaim(const GangPromise& promise) {
  for (const GangPlace& place : promise.places) AheadOf(place.node).Remove(ClaimOf(promise, place));
}

namespace {

// Some node comes to have room for another number of processes.
struct Change {
  Instant at;
  uint32_t node = 0;
  friend auto operator<=>(const Change&, const Change&) = default;
};

}  // namespace

// The first moment at which so many nodes have room at once, for as long as it takes.
GangPromise Gangs::Earliest(const Job& job, uint32_t request) {
  const TaskClass& of_gang = job.ClassOf(request);
  const Duration length = of_gang.needs.time;
  std::vector<uint32_t> fits(ahead_.size());
  std::vector<Change> next;  // of each node; a heap
  Count count(of_gang.gang);
  for (uint32_t i = 0; i < ahead_.size(); ++i) {
    if (!IsFor(job, request, ahead_[i])) continue;
    fits[i] = ahead_[i].FitIn(of_gang, now_, EndOf(now_, length));
    count.Change(0, fits[i]);
    const Instant turn = ahead_[i].NextTurn(now_, length);
    if (turn != Instant::Never()) next.push_back({turn, i});
  }
  std::ranges::make_heap(next, std::ranges::greater());
  Instant start = now_;
  while (!next.empty() && !count.enough()) {
    start = next.front().at;
    while (!next.empty() && next.front().at == start) {
      std::ranges::pop_heap(next, std::ranges::greater());
      const uint32_t node = next.back().node;
      const uint32_t fit = ahead_[node].FitIn(of_gang, start, EndOf(start, length));
      count.Change(std::exchange(fits[node], fit), fit);
      next.back().at = ahead_[node].NextTurn(start, length);
      if (next.back().at == Instant::Never()) {
        next.pop_back();
      } else {
        std::ranges::push_heap(next, std::ranges::greater());
      }
    }
  }
  std::span<const GangPlace> kept;
  for (const GangPromise& promise : *before_) {
    if (promise.job == job.id && promise.request == request) kept = promise.places;
  }
  GangPromise promise{job.id, request, start, {}};
  if (count.enough()) {
    Choice choice(of_gang.gang, kept);
    for (uint32_t i = 0; i < ahead_.size(); ++i) {
      const bool late = ahead_[i].node().IsLate(now_);
      choice.Add(ahead_[i].id(), fits[i], late ? Choice::Worse::kWasLate : Choice::Worse::kNot);
    }
    promise.places = choice.Take();
  } else {
    promise.start = Instant::Never();
    promise.places = Emptiest(job, request, kept);
  }
  return promise;
}

// Nobody knows when what runs will end: those nodes are kept where the least has to.
std::vector<GangPlace> Gangs::Emptiest(const Job& job, uint32_t request,
                                       std::span<const GangPlace> kept, uint32_t gangs) {
  const TaskClass& of_gang = job.ClassOf(request);
  const GangShape& shape = of_gang.gang;
  std::vector<std::pair<uint64_t, const NodeAhead*>> by_use;
  for (const NodeAhead& ahead : ahead_) {
    if (!IsFor(job, request, ahead) || !ahead.claims().empty()) continue;
    const bool again =
        std::ranges::any_of(kept, [&](const GangPlace& place) { return place.node == ahead.id(); });
    by_use.emplace_back(again ? 0 : 1 + ahead.used(), &ahead);
  }
  std::ranges::stable_sort(by_use, {}, [](const auto& each) { return each.first; });
  // Each gang gets all of its nodes, or none.
  std::vector<GangPlace> places;
  size_t whole = 0;
  uint32_t left = shape.procs;
  for (const auto& [used, ahead] : by_use) {
    if (gangs == 0) break;
    const uint32_t fit = ProcsThatFit(ahead->node().offer, {}, of_gang);
    const uint32_t procs = shape.nodes > 0 ? shape.procs_per_node() : std::min(fit, left);
    if (procs == 0 || fit < procs) continue;
    places.push_back({ahead->id(), procs});
    left -= procs;
    if (left > 0) continue;
    whole = places.size();
    left = shape.procs;
    --gangs;
  }
  // A gang that fits on no nodes that are there has nothing kept for it.
  places.resize(whole);
  return places;
}

}  // namespace spate::engine::place
