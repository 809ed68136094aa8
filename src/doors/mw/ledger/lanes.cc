// Lanes of a ledger: which tasks wait for the same, how many packets stand for them, and in which
// order the engine gives these out.
//
// A lane without needs stays for as long as its slave is there, and the one for any slave for ever.
// Lanes with needs are at most kNeedsMost. When another one is wanted, those without a task end:
// their jobs are sealed, and the engine forgets them.
#include <algorithm>
#include <bit>

#include "doors/mw/formats/names.h"
#include "doors/mw/ledger/ledger.h"

namespace spate::mw {
namespace {

// Packets of a job before another one takes its place: it keeps some 64 KB of ended packets.
constexpr TaskIndex kJobPackets = 65'536;
// Priorities have 30 bits, with the sign; tasks of a slave go before others there. What a lost
// slave had computed goes before its like.
constexpr int32_t kOwnFirst = 1 << 30;
constexpr int32_t kPriorityMost = (1 << 29) - 1;
// Tasks that are looked at for those of the highest priority, and packets that are cancelled at
// once when others have come before them.
constexpr size_t kLooksAtFirst = 4096;
constexpr size_t kTrimmedAtOnce = 256;
// Lanes with needs, of which some stay when they have no task.
constexpr size_t kNeedsKept = 100;
static_assert(kNeedsKept < kNeedsMost);

// Needs in the form of Lane::key.
Needs NeedsOf(const needs& asked) {
  Needs needs{
      .milli_cpus = asked.slots * kMilliCpu, .memory = asked.memory, .labels = asked.labels};
  for (const auto& [name, count] : asked.resources) needs.named.push_back({name, count});
  std::ranges::sort(needs.named);
  std::ranges::sort(needs.labels);
  needs.labels.erase(std::ranges::unique(needs.labels).begin(), needs.labels.end());
  return needs;
}

bool IsPlain(const needs& asked) {
  return asked.slots == 1 && asked.memory == 0 && asked.resources.empty() && asked.labels.empty();
}

// The same for the engine.
Needs RequestOf(slave_id slave, Needs needs) {
  if (slave) {
    needs.on_node = SlaveName(slave);
  } else {
    AddAnySlave(needs.labels);
  }
  return needs;
}

// The order of a priority among others, in 30 bits: what is larger is not smaller there.
int32_t Rounded(double priority) {
  const auto bits = std::bit_cast<int64_t>(priority == 0 ? 0.0 : priority);  // of two zeros one
  constexpr int kDropped = 34;
  const auto size = static_cast<int32_t>((bits & INT64_MAX) >> kDropped);
  return bits < 0 ? -size : size;
}

}  // namespace

Ledger::Ledger(uint32_t packet) : packet_(packet) { any_.request.needs = RequestOf({}, Needs()); }

Ledger::Lane* Ledger::LaneOf(const policy& how) {
  const bool is_plain = IsPlain(how.needs);
  if (is_plain && !how.slave) return &any_;
  LaneKey key(how.slave, NeedsOf(how.needs));
  auto at = lanes_.find(key);
  if (at == lanes_.end()) {
    if (!is_plain && !MakeRoom()) return nullptr;
    at = lanes_.try_emplace(key).first;
    at->second.key = key;
    at->second.request.needs = RequestOf(key.first, std::move(key.second));
    at->second.needy = !is_plain;
    if (!is_plain) {
      ++needy_;
      RankPlain(how.slave);
    }
  }
  Lane& lane = at->second;
  if (lane.idle != 0) idle_.erase(std::exchange(lane.idle, 0));
  return &lane;
}

// For one more lane with needs.
bool Ledger::MakeRoom() {
  while (needy_ >= kNeedsKept && !idle_.empty()) EndLane(*idle_.begin()->second);
  return needy_ < kNeedsMost;
}

// Its packets that wait were cancelled before; one that a slave has begun may still be there.
void Ledger::EndLane(Lane& lane) {
  idle_.erase(lane.idle);
  if (lane.job != JobId()) effects_.events.emplace_back(engine::SealJob{lane.job});
  for (JobId job : lane.jobs) lane_of_[job] = nullptr;
  --needy_;
  lanes_.erase(LaneKey(lane.key));
}

// One of its tasks has ended, or gets another lane.
void Ledger::Left(Lane& lane) {
  if (--lane.tasks > 0 || !lane.needy) return;
  lane.idle = ++last_idle_;
  idle_.emplace(lane.idle, &lane);
}

Ledger::Held Ledger::Extract(std::unordered_map<uint64_t, Held>::iterator at) {
  Held held = std::move(at->second);
  tasks_.erase(at);
  Left(*held.lane);
  return held;
}

Ledger::Lane* Ledger::FindLane(JobId job) const {
  auto lane = lane_of_.find(job);
  return lane == lane_of_.end() ? nullptr : lane->second;
}

void Ledger::Wait(Lane& lane, Held& held) {
  held.lane = &lane;
  held.waits = true;
  lane.alone += held.alone ? 1 : 0;
  if (lane.waiting() == 0) {
    lane.is_even = true;
    lane.priority_of_all = held.how.priority;
  }
  lane.is_even = lane.is_even && held.how.priority == lane.priority_of_all;
  lane.heap.push_back({held.how.priority, held.id.value});
  std::push_heap(lane.heap.begin(), lane.heap.end());
}

void Ledger::FitAll(const Lanes& lanes) {
  for (Lane* lane : lanes) Fit(*lane);
}

bool Ledger::HasNeedy(slave_id slave) const {
  // A lane without needs is the first one of its slave.
  auto at = lanes_.lower_bound({slave, Needs{.milli_cpus = 0}});
  if (at != lanes_.end() && at->first.first == slave && !at->second.needy) ++at;
  return at != lanes_.end() && at->first.first == slave;
}

// The engine orders jobs, so a job has the priority of the first task of its lane. Where a slave,
// or any slave, has one lane, there is nothing to order.
bool Ledger::Rank(Lane& lane) {
  int32_t priority = lane.key.first ? kOwnFirst : 0;
  const bool counts = lane.needy || (needy_ > 0 && HasNeedy(lane.key.first));
  if (counts) {
    while (!lane.heap.empty() && !tasks_.contains(lane.heap.front().id)) {
      std::pop_heap(lane.heap.begin(), lane.heap.end());
      lane.heap.pop_back();
      --lane.stale;
    }
    if (!lane.again.empty()) {
      priority += kPriorityMost;
    } else if (!lane.heap.empty()) {
      priority += Rounded(lane.heap.front().priority);
    } else {
      return counts;
    }
  }
  if (priority == lane.priority) return counts;
  lane.priority = priority;
  for (JobId job : lane.jobs) {
    effects_.events.emplace_back(engine::ChangePriority{.job = job, .priority = priority});
  }
  return counts;
}

// The packets that the tasks of the highest priority need, as far as a look at some of them shows.
// Below a task of the heap are none of a higher priority.
size_t Ledger::FirstPackets(const Lane& lane) const {
  std::vector<size_t> open = {0};
  size_t found = 0;
  while (!open.empty() && found < kLooksAtFirst) {
    const size_t at = open.back();
    open.pop_back();
    if (at >= lane.heap.size() || lane.heap[at].priority != lane.heap[0].priority) continue;
    ++found;
    open.push_back(2 * at + 1);
    open.push_back(2 * at + 2);
  }
  return (found + packet_ - 1) / packet_;
}

void Ledger::Trim(Lane& lane, size_t most, size_t at_once) {
  for (; lane.unbound.size() > most && at_once > 0; --at_once) {
    const PacketKey key = *std::prev(lane.unbound.end());
    lane.unbound.erase(key);
    CancelPacket(key, "its tasks do not wait any more");
  }
}

// The first lane with needs has come: now there is an order.
void Ledger::RankPlain(slave_id slave) {
  if (!slave) return Fit(any_);
  if (auto at = lanes_.find({slave, Needs()}); at != lanes_.end()) Fit(at->second);
}

// The lane has as many packets without tasks as its tasks need, if a packet has as many as it may;
// and no more than it has tasks, because each may have to go alone.
void Ledger::Fit(Lane& lane) {
  const bool is_ranked = Rank(lane);
  const size_t together = lane.waiting() - lane.alone;
  size_t needed = lane.alone + (together + packet_ - 1) / packet_;
  Trim(lane, lane.waiting(), SIZE_MAX);
  if (is_ranked && !lane.is_even) {
    needed = std::min(needed, FirstPackets(lane));
    Trim(lane, needed, kTrimmedAtOnce);
  }
  while (lane.unbound.size() < needed) {
    if (lane.job == JobId()) {
      lane.job = last_job_ = JobId(last_job_.value + 1);
      lane.jobs.push_back(lane.job);
      lane_of_[lane.job] = &lane;
      lane.next = 0;
    }
    const size_t more = std::min<size_t>(needed - lane.unbound.size(), kJobPackets - lane.next);
    Grow(lane, static_cast<uint32_t>(more));
  }
}

void Ledger::Grow(Lane& lane, uint32_t packets) {
  for (uint32_t k = 0; k < packets; ++k) {
    const PacketKey key(lane.job, lane.next + k);
    packets_.emplace_hint(packets_.end(), key, Packet{});
    lane.unbound.insert(lane.unbound.end(), key);
  }
  const std::vector<RequestRun> runs = {{lane.next, packets, 0}};
  if (lane.next == 0) {
    JobPlan plan{.task_count = packets, .open = true, .requests = {lane.request}, .runs = runs};
    plan.priority = lane.priority;
    SubmitJob(lane.job, std::move(plan));
  } else {
    effects_.events.emplace_back(engine::GrowJob{.job = lane.job, .count = packets, .runs = runs});
  }
  lane.next += packets;
  if (lane.next < kJobPackets) return;
  effects_.events.emplace_back(engine::SealJob{lane.job});
  lane.job = JobId();
}

}  // namespace spate::mw
