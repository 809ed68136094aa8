#include "doors/mw/ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "doors/mw/formats/names.h"
#include "doors/mw/formats/packet.h"

namespace spate::mw {
namespace {

// Arguments in a packet, unless one task has more.
constexpr size_t kPacketBytes = 1 << 20;
// A packet is given to another slave when it takes so much longer than it should.
constexpr int64_t kMuchLonger = 3;
constexpr Duration kLeastLonger = Duration::Seconds(1);
// Results of an algorithm before its usual time is known; then the newest count most.
constexpr uint32_t kFewResults = 5;
constexpr int64_t kMemory = 16;
// Numbers of ended tasks that may stay among those that wait.
constexpr size_t kStaleFew = 1000;
constexpr const char* kMayNotBeRetried = "its slave disconnected, and it may not be retried";

size_t IndexOf(group which) { return static_cast<size_t>(which); }

std::string WhyFailed(const Answer& answer, const task& what) {
  switch (answer.end) {
    case CallEnd::kDone:
      return "";
    case CallEnd::kThrew:
      return answer.bytes.empty() ? "the algorithm threw an exception" : std::string(answer.bytes);
    case CallEnd::kUnknown:
      return fmt::format("the slave's program has no algorithm '{}': it is another build",
                         what.algorithm);
    case CallEnd::kTooLong:
      return "the result takes more bytes than a result may: write it to a file, and return its "
             "name";
    case CallEnd::kOverdue:
      return fmt::format("it took longer than its time limit of {} (policy::time)",
                         FormatDuration({what.how.time.count()}));
  }
  return "";
}

}  // namespace

std::string SlaveName(slave_id slave) { return fmt::format("SLAVE-{}", slave.value); }

// ---- Tasks -------------------------------------------------------------------------------------

void Ledger::Submit(std::vector<task> tasks) {
  Lanes touched;
  for (task& each : tasks) Add(std::move(each), touched);
  FitAll(touched);
}

void Ledger::HandBack(task what, std::string reason) {
  what.reason = std::move(reason);
  effects_.unrunnable.push_back(std::move(what));
}

void Ledger::Add(task&& what, Lanes& touched) {
  if (what.how.slave) {
    auto slave = slaves_.find(what.how.slave);
    const bool takes = slave != slaves_.end() && slave->second.info.group != group::unordered;
    if (!takes && !what.how.do_it_anyway) {
      const char* why =
          slave == slaves_.end() ? "{} is not connected" : "{} accepts no tasks of its own";
      return HandBack(std::move(what), fmt::format(fmt::runtime(why), SlaveName(what.how.slave)));
    }
    if (!takes) what.how.slave = {};
  }
  Lane* lane = LaneOf(what.how);
  if (lane == nullptr) {
    return HandBack(
        std::move(what),
        fmt::format("tasks with {} different needs have not ended (policy::needs): round "
                    "them up, so that more are equal",
                    FormatCount(kNeedsMost)));
  }
  const uint64_t id = what.id.value;
  auto held = tasks_.try_emplace(id, std::move(what)).first;
  ++lane->tasks;
  Wait(*lane, held->second);
  touched.insert(lane);
}

void Ledger::SubmitJob(JobId job, JobPlan plan) {
  effects_.events.emplace_back(engine::SubmitJob{.job = job, .plan = std::move(plan)});
  if (held_)
    effects_.events.emplace_back(engine::HoldJob{.job = job, .reason = HoldReason::kResults});
}

void Ledger::Recorded(const engine::Record& record) {
  // Calls `fn` for each packet of these; `fn` may erase it.
  auto each = [this](JobId job, const std::vector<TaskRange>& packets, const auto& fn) {
    for (TaskRange range : packets) {
      for (uint32_t k = 0; k < range.count; ++k) {
        auto at = packets_.find({job, range.first + k});
        if (at != packets_.end()) fn(at);
      }
    }
  };
  Lane* lane = nullptr;
  if (const auto* leased = std::get_if<engine::Leased>(&record)) {
    lane = FindLane(leased->job);
    if (lane == nullptr) return;
    each(leased->job, leased->tasks, [&](Packets::iterator at) {
      if (lane->unbound.erase(at->first) > 0) return Bind(*lane, at);
      lane->again.erase(at->first);
    });
  } else if (const auto* returned = std::get_if<engine::Returned>(&record)) {
    lane = FindLane(returned->job);
    each(returned->job, returned->tasks, [&](Packets::iterator at) {
      Leave(at->second);
      if (at->second.cancelled) {
        packets_.erase(at);
      } else if (lane != nullptr && !at->second.twin) {
        Unbind(*lane, at);
      }
    });
  } else if (const auto* withdrawn = std::get_if<engine::TasksWithdrawn>(&record)) {
    lane = FindLane(withdrawn->job);
    each(withdrawn->job, withdrawn->tasks, [&](Packets::iterator at) {
      if (lane != nullptr) lane->again.erase(at->first);
      packets_.erase(at);
    });
  } else if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
    // The engine may give the packet out again before its notice comes.
    auto at = packets_.find({ended->end.ref.job, ended->end.ref.index});
    lane = FindLane(ended->end.ref.job);
    if (at == packets_.end() || lane == nullptr || ended->verdict != Verdict::kRetry) return;
    // Tasks that had not been begun are ordered again with those that wait.
    const bool is_begun = at->second.begins == ended->end.ref.attempt;
    const bool is_free = ended->end.cause == Cause::kStopped && !at->second.twin && !is_begun;
    if (at->second.once || is_free) {
      Leave(at->second);
      std::vector<uint64_t>& lost = lost_[ended->end.ref];
      if (at->second.once) lost = std::exchange(at->second.tasks, {});
      Unbind(*lane, at);
    } else {
      lane->again.insert(at->first);
    }
  }
  if (lane != nullptr) Fit(*lane);
}

// The packet gets the tasks that are first in its lane, up to its limits.
void Ledger::Bind(Lane& lane, Packets::iterator at) {
  Packet& packet = at->second;
  packet.once = false;
  size_t bytes = 0;
  bool is_full = false;
  while (!lane.heap.empty() && !is_full) {
    auto found = tasks_.find(lane.heap.front().id);
    if (found != tasks_.end()) {
      Held& held = found->second;
      if (!packet.tasks.empty()) {
        const bool is_other = held.alone || packet.once == held.how.retry;
        if (is_other || bytes + held.arguments.size() > kPacketBytes) break;
      }
      packet.once = !held.how.retry;
      packet.tasks.push_back(found->first);
      bytes += held.arguments.size();
      held.waits = false;
      held.packet = at->first;
      lane.alone -= held.alone ? 1 : 0;
      is_full = held.alone || packet.tasks.size() == packet_;
    } else {
      --lane.stale;
    }
    std::pop_heap(lane.heap.begin(), lane.heap.end());
    lane.heap.pop_back();
  }
  packet.may_double = !lane.key.first && !packet.once;
}

void Ledger::Unbind(Lane& lane, Packets::iterator at) {
  for (uint64_t id : std::exchange(at->second.tasks, {})) {
    auto held = tasks_.find(id);
    if (held != tasks_.end()) Wait(lane, held->second);
  }
  at->second.may_double = at->second.once = false;
  lane.unbound.insert(at->first);
}

std::string Ledger::Row(JobId job, TaskIndex index) const {
  auto at = packets_.find({job, index});
  if (at == packets_.end()) return "";
  std::vector<Call> calls;
  calls.reserve(at->second.tasks.size());
  for (uint64_t id : at->second.tasks) {
    auto held = tasks_.find(id);
    if (held == tasks_.end()) continue;  // another slave was quicker
    const task& what = held->second;
    calls.push_back({id, what.algorithm, what.how.tries, what.arguments, {what.how.time.count()}});
    calls.back().counts_losses = CountsLosses(at->second) != nullptr;
    for (const auto& each : what.constants) {
      calls.back().constants.push_back({each->id(), each->size()});
    }
  }
  return WriteCalls(calls);
}

std::vector<uint64_t> Ledger::TasksOf(JobId job, TaskIndex index) const {
  auto at = packets_.find({job, index});
  return at == packets_.end() ? std::vector<uint64_t>() : at->second.tasks;
}

bool Ledger::IsUnbound(JobId job, TaskIndex index) const {
  const Lane* lane = FindLane(job);
  return lane != nullptr && lane->unbound.contains({job, index});
}

const task* Ledger::Find(uint64_t id) const {
  auto held = tasks_.find(id);
  return held == tasks_.end() ? nullptr : &held->second;
}

// ---- Tasks that are not wanted any more --------------------------------------------------------

std::vector<task> Ledger::Cancel(const std::vector<task_id>& tasks) {
  std::vector<task> cancelled;
  Lanes touched;
  for (task_id each : tasks) {
    if (auto what = CancelOne(each.value, touched)) cancelled.push_back(std::move(*what));
  }
  FitAll(touched);
  return cancelled;
}

std::vector<task> Ledger::CancelAll() {
  std::vector<task_id> all;
  for (const auto& [id, held] : tasks_) all.push_back({id});
  std::ranges::sort(all);
  return Cancel(all);
}

std::optional<task> Ledger::CancelOne(uint64_t id, Lanes& touched) {
  auto found = tasks_.find(id);
  if (found == tasks_.end()) return std::nullopt;
  Held held = Extract(found);
  if (Lane* lane = held.lane; held.waits) {
    lane->alone -= held.alone ? 1 : 0;
    ++lane->stale;
    touched.insert(lane);
    // Tasks of a low priority may not come to the front for long.
    if (lane->stale > lane->heap.size() / 2 + kStaleFew) {
      std::erase_if(lane->heap, [this](const Waits& each) { return !tasks_.contains(each.id); });
      std::make_heap(lane->heap.begin(), lane->heap.end());
      lane->stale = 0;
    }
  } else if (auto at = packets_.find(held.packet); at != packets_.end()) {
    if (at->second.twin) Remove(packets_.find(*at->second.twin), id);
    Remove(at, id);
  }
  held.arguments.clear();
  held.constants.clear();
  return std::optional<task>(std::move(held));
}

// A packet that a slave has begun goes on with it; nobody wants its result.
void Ledger::Remove(Packets::iterator at, uint64_t id) {
  if (at == packets_.end() || std::erase(at->second.tasks, id) == 0) return;
  if (at->second.slave) --given_;
  auto who = slaves_.find(at->second.slave);
  if (who != slaves_.end() && who->second.info.tasks > 0) --who->second.info.tasks;
  if (at->second.tasks.empty()) CancelPacket(at->first, "its tasks were cancelled");
}

// ---- Slaves ------------------------------------------------------------------------------------

void Ledger::AdjustWanted(group which, int64_t change) {
  uint64_t& wanted = wanted_[IndexOf(which)];
  if (change >= 0) {
    wanted += static_cast<uint64_t>(change);
  } else {
    wanted -= std::min(wanted, static_cast<uint64_t>(-change));
  }
}

uint64_t Ledger::Missing() const {
  uint64_t missing = 0;
  for (size_t i = 0; i < 3; ++i) missing += wanted_[i] - std::min(wanted_[i], have_[i]);
  // Tasks for a slave of their own are handed back without it, so any slave may compute these.
  const bool is_stuck = slaves_.empty() && !tasks_.empty();
  return std::max<uint64_t>(missing, is_stuck ? 1 : 0);
}

group Ledger::Arrived(slave_id id, std::string host) {
  group joins = group::unordered;
  for (group each : {group::ordered, group::intermingle}) {
    if (joins != group::unordered || have_[IndexOf(each)] >= wanted_[IndexOf(each)]) continue;
    joins = each;
  }
  ++have_[IndexOf(joins)];
  Slave& slave = slaves_[id];
  slave.info = {.id = id, .group = joins, .name = SlaveName(id), .host = std::move(host)};
  if (joins != group::unordered) effects_.arrived.push_back(slave.info);
  return joins;
}

// A slave without a number of slots is of no use, and none says which tasks it takes.
Offer Ledger::Offers(slave_id id, Offer said) {
  auto at = slaves_.find(id);
  if (at == slaves_.end()) return {.node_name = SlaveName(id), .slots = 1};
  Slave& slave = at->second;
  slave.offer = {.slots = std::clamp<uint32_t>(said.slots, 1, kLimits.slots),
                 .memory = said.memory,
                 .named = std::move(said.named),
                 .labels = std::move(said.labels)};
  std::erase_if(slave.offer.labels, [](const std::string& each) {
    return each == kAnySlaveLabel || each.starts_with(kFeatureMark);
  });
  slave.info.slots = slave.offer.slots;
  return OfferOf(id, slave);
}

Offer Ledger::OfferOf(slave_id id, const Slave& slave) const {
  Offer offer = slave.offer;
  offer.node_name = SlaveName(id);
  offer.milli_cpus = offer.slots * kMilliCpu;
  if (slave.info.group == group::ordered) return offer;
  AddAnySlave(offer.labels);
  return offer;
}

bool Ledger::Free(slave_id id) {
  auto slave = slaves_.find(id);
  if (slave == slaves_.end()) return false;
  mw::group& now = slave->second.info.group;
  if (now == group::unordered) return true;
  --have_[IndexOf(now)];
  now = group::unordered;
  ++have_[IndexOf(now)];
  effects_.events.emplace_back(
      engine::OfferChanged{NodeId(static_cast<uint32_t>(id.value)), OfferOf(id, slave->second)});
  return true;
}

void Ledger::Disconnected(slave_id id) {
  auto slave = slaves_.extract(id);
  if (!slave) return;
  const mw::group was = slave.mapped().info.group;
  --have_[IndexOf(was)];
  if (was != group::unordered) effects_.lost.push_back(slave.mapped().info);
  std::vector<uint64_t> tasks;
  std::vector<std::map<LaneKey, Lane>::node_type> own;
  for (auto at = FirstOf(id); at != lanes_.end() && at->first.first == id; at = FirstOf(id)) {
    own.push_back(lanes_.extract(at));
    LeaveLane(own.back().mapped(), tasks);
  }
  std::ranges::sort(tasks);
  Lanes touched;
  for (uint64_t task : tasks) Fate(task, touched);
  FitAll(touched);
}

// The slave of a lane has gone. `tasks`: those of the lane, to which more are added.
void Ledger::LeaveLane(Lane& lane, std::vector<uint64_t>& tasks) {
  if (lane.idle != 0) idle_.erase(lane.idle);
  needy_ -= lane.needy ? 1 : 0;
  lane.needy = false;
  for (JobId job : lane.jobs) {
    effects_.events.emplace_back(engine::CancelJob{job});
    lane_of_[job] = nullptr;
    auto first = packets_.lower_bound({job, 0});
    auto last = packets_.lower_bound({JobId(job.value + 1), 0});
    for (auto at = first; at != last; ++at) {
      Leave(at->second);
      tasks.insert(tasks.end(), at->second.tasks.begin(), at->second.tasks.end());
    }
    packets_.erase(first, last);
  }
  for (const Waits& each : lane.heap) tasks.push_back(each.id);
}

// Decides about a task whose slave has gone.
void Ledger::Fate(uint64_t id, Lanes& touched) {
  auto held = tasks_.find(id);
  if (held == tasks_.end()) return;
  task what = Extract(held);
  if (what.how.retry && what.how.do_it_anyway) return Add(std::move(what), touched);
  const std::string name = SlaveName(what.how.slave);
  HandBack(std::move(what), name + " disconnected");
}

// ---- What becomes of packets -------------------------------------------------------------------

void Ledger::Given(slave_id slave, JobId job, const std::vector<TaskRange>& packets, Instant now) {
  for (TaskRange range : packets) {
    for (uint32_t k = 0; k < range.count; ++k) {
      auto at = packets_.find({job, range.first + k});
      if (at == packets_.end()) continue;
      Leave(at->second);
      at->second.slave = slave;
      at->second.given = now;
      given_ += at->second.tasks.size();
      if (auto who = slaves_.find(slave); who != slaves_.end()) {
        ++who->second.packets;
        who->second.info.tasks += at->second.tasks.size();
      }
    }
  }
}

void Ledger::Leave(Packet& packet) {
  if (packet.slave) given_ -= packet.tasks.size();
  if (auto who = slaves_.find(packet.slave); who != slaves_.end() && who->second.packets > 0) {
    --who->second.packets;
    who->second.info.tasks -= std::min(who->second.info.tasks, packet.tasks.size());
  }
  packet.slave = {};
  packet.given = packet.begun = {};
}

void Ledger::Begun(const AttemptRef& ref, Instant now) {
  if (auto at = packets_.find({ref.job, ref.index}); at != packets_.end()) at->second.begun = now;
}

bool Ledger::Begins(const AttemptRef& ref) {
  auto at = packets_.find({ref.job, ref.index});
  if (at == packets_.end()) return true;
  at->second.begins = ref.attempt;
  return !at->second.cancelled;
}

// The only task of a packet, whose policy counts the slaves that are lost with it; else null.
const Ledger::Held* Ledger::CountsLosses(const Packet& packet) const {
  if (packet.once || packet.tasks.size() != 1) return nullptr;
  auto held = tasks_.find(packet.tasks[0]);
  if (held == tasks_.end() || held->second.how.losses == 0) return nullptr;
  return &held->second;
}

// The same, if a slave was lost that had begun it; else null.
const Ledger::Held* Ledger::LostOnceMore(const engine::NoticeEnded& notice,
                                         const Packet& packet) const {
  const AttemptEnd& end = notice.end;
  const bool is_lost = end.cause == Cause::kNode || end.cause == Cause::kStopped;
  if (!is_lost || IsCutOff(end) || packet.begins != end.ref.attempt) return nullptr;
  return CountsLosses(packet);
}

std::vector<result> Ledger::ResultsOf(const engine::NoticeEnded& notice,
                                      std::string_view output) const {
  std::vector<result> results;
  auto at = packets_.find({notice.end.ref.job, notice.end.ref.index});
  if (at == packets_.end() || lost_.contains(notice.end.ref)) return results;
  const Packet& packet = at->second;
  auto fails = [&](uint64_t id, slave_id slave, std::string why) {
    auto held = tasks_.find(id);
    if (held == tasks_.end()) return;
    const task& what = held->second;
    results.push_back({.task = what.id,
                       .algorithm = what.algorithm,
                       .slave = slave,
                       .tag = what.how.tag,
                       .failure = std::move(why)});
  };
  if (packet.twin && notice.verdict != Verdict::kSucceeded) return results;
  if (const Held* what = LostOnceMore(notice, packet)) {
    const uint32_t count = what->lost + 1;
    if (count >= what->how.losses) {
      fails(what->id.value, {},
            fmt::format("lost slaves that computed it: {} (policy::losses)", count));
    }
  } else if (notice.verdict == Verdict::kFailed && notice.end.cause != Cause::kNode &&
             packet.tasks.size() == 1) {
    fails(packet.tasks[0], {},
          notice.end.note.empty() ? "no slave can compute it" : notice.end.note);
  }
  if (notice.verdict != Verdict::kSucceeded) return results;
  auto answers = ReadAnswers(output);
  std::map<uint64_t, const Answer*> by_task;
  if (answers) {
    for (const Answer& answer : *answers) by_task.emplace(answer.task, &answer);
  }
  const bool is_cut = std::ranges::any_of(
      by_task, [](const auto& each) { return each.second->end == CallEnd::kOverdue; });
  for (uint64_t id : packet.tasks) {
    auto found = by_task.find(id);
    if (found == by_task.end() && is_cut) continue;
    if (found == by_task.end()) {
      fails(id, packet.slave, SlaveName(packet.slave) + " has returned no valid answer to it");
      continue;
    }
    const Answer& answer = *found->second;
    auto held = tasks_.find(id);
    if (held == tasks_.end()) continue;  // another slave was quicker
    fails(id, packet.slave, WhyFailed(answer, held->second));
    results.back().compute_time = std::chrono::nanoseconds(answer.time.ns);
    if (answer.end == CallEnd::kDone) results.back().bytes = answer.bytes;
  }
  return results;
}

void Ledger::Ended(const engine::NoticeEnded& notice, std::string_view output) {
  const bool is_lost = notice.end.cause == Cause::kNode || notice.end.cause == Cause::kStopped;
  const char* why = is_lost ? kMayNotBeRetried : "its slave ended before it had a result";
  if (auto lost = lost_.extract(notice.end.ref)) {
    // The packet may have other tasks by now.
    for (uint64_t id : lost.mapped()) {
      if (auto held = tasks_.find(id); held != tasks_.end()) HandBack(Extract(held), why);
    }
    return;
  }
  auto at = packets_.find({notice.end.ref.job, notice.end.ref.index});
  if (at == packets_.end()) return;
  std::vector<result> results = ResultsOf(notice, output);
  if (const Held* what = LostOnceMore(notice, at->second)) ++tasks_.at(what->id.value).lost;
  for (result& each : results) Deliver(std::move(each));
  if (notice.verdict == Verdict::kRetry) {
    // Another slave may have it by now.
    const Lane* lane = FindLane(at->first.first);
    if (lane == nullptr || lane->again.contains(at->first)) Leave(at->second);
    if (!results.empty()) CancelPacket(at->first, "too many slaves were lost with it");
    return;
  }
  Packet packet = std::move(at->second);
  Leave(packet);
  packets_.erase(at);
  if (packet.twin) return Settle(packets_.find(*packet.twin));
  if (notice.verdict != Verdict::kFailed && notice.verdict != Verdict::kSucceeded) return;
  // A success leaves tasks only when its slave had to end.
  for (uint64_t id : packet.tasks) {
    auto held = tasks_.find(id);
    if (held == tasks_.end() || held->second.how.retry) continue;
    HandBack(Extract(held), why);
  }
  // One of its tasks may be to blame for the slaves that were lost: each goes alone. The engine
  // counts their losses from zero.
  Resubmit(packet);
}

void Ledger::Resubmit(const Packet& packet) {
  Lanes touched;
  for (uint64_t id : packet.tasks) {
    auto held = tasks_.find(id);
    if (held == tasks_.end()) continue;
    held->second.alone = true;
    Wait(*held->second.lane, held->second);
    touched.insert(held->second.lane);
  }
  FitAll(touched);
}

void Ledger::Deliver(result answer) {
  if (answer.ok()) Learn(answer.algorithm, {answer.compute_time.count()});
  if (auto held = tasks_.find(answer.task.value); held != tasks_.end()) {
    Lane& lane = *held->second.lane;
    tasks_.erase(held);
    Left(lane);
  }
  if (auto who = slaves_.find(answer.slave); who != slaves_.end()) ++who->second.info.done;
  effects_.results.push_back(std::move(answer));
}

// The other copy of a packet that has ended is alone. Where its tasks have their results, what
// waits of it need not be computed.
void Ledger::Settle(Packets::iterator at) {
  if (at == packets_.end()) return;
  at->second.twin.reset();
  at->second.may_double = false;
  for (uint64_t id : at->second.tasks) {
    auto held = tasks_.find(id);
    if (held != tasks_.end()) held->second.packet = at->first;
  }
  const bool over =
      std::ranges::none_of(at->second.tasks, [&](uint64_t id) { return tasks_.contains(id); });
  if (over) CancelPacket(at->first, "another slave was quicker");
}

void Ledger::CancelPacket(PacketKey key, std::string reason) {
  auto [job, index] = key;
  if (auto at = packets_.find(key); at != packets_.end()) at->second.cancelled = true;
  engine::CancelTasks cancel{.job = job, .tasks = {{index, 1}}, .reason = {}};
  cancel.reason = std::move(reason);
  effects_.events.emplace_back(std::move(cancel));
}

void Ledger::Finished(JobId job) {
  auto at = lane_of_.find(job);
  if (at != lane_of_.end()) {
    if (at->second != nullptr) std::erase(at->second->jobs, job);
    lane_of_.erase(at);
  }
  effects_.over.push_back(job);
}

void Ledger::Hold(bool held) {
  if (held == std::exchange(held_, held)) return;
  for (const auto& [job, lane] : lane_of_) {
    if (held) {
      effects_.events.emplace_back(engine::HoldJob{.job = job, .reason = HoldReason::kResults});
    } else {
      effects_.events.emplace_back(engine::ReleaseJob{job});
    }
  }
}

// ---- Two at once -------------------------------------------------------------------------------

std::vector<slave_info> Ledger::ListSlaves() const {
  std::vector<slave_info> all;
  for (const auto& [id, slave] : slaves_) all.push_back(slave.info);
  return all;
}

size_t Ledger::idle() const {
  size_t slots = 0;
  for (const auto& [id, slave] : slaves_) {
    slots += slave.info.slots - std::min(slave.info.slots, slave.packets);
  }
  return slots;
}

bool Ledger::IsBusy(slave_id slave) const {
  auto at = slaves_.find(slave);
  return at != slaves_.end() && at->second.packets > 0;
}

slave_id Ledger::SlaveOf(JobId job, TaskIndex index) const {
  auto at = packets_.find({job, index});
  return at == packets_.end() ? slave_id() : at->second.slave;
}

void Ledger::Learn(std::string_view algorithm, Duration time) {
  auto at = usual_.find(algorithm);
  if (at == usual_.end()) at = usual_.try_emplace(std::string(algorithm)).first;
  Usual& usual = at->second;
  const int64_t weight = std::min<int64_t>(++usual.count, kMemory);
  usual.mean = usual.mean + Duration{(time - usual.mean).ns / weight};
}

// Max(): nobody knows.
Duration Ledger::Expected(const Packet& packet) const {
  Duration sum;
  for (uint64_t id : packet.tasks) {
    auto held = tasks_.find(id);
    if (held == tasks_.end()) continue;
    auto usual = usual_.find(held->second.algorithm);
    if (usual == usual_.end() || usual->second.count < kFewResults) return Duration::Max();
    sum = sum + usual->second.mean;
  }
  return sum;
}

bool Ledger::IsLate(const Packet& packet, Instant since, Instant now) const {
  const Duration expected = Expected(packet);
  if (since == Instant() || expected == Duration::Max()) return false;
  return now - since >= expected * kMuchLonger + kLeastLonger;
}

// Slaves with a packet that takes much longer than it should; or with packets that they should have
// begun by now, and none that they have.
std::set<slave_id> Ledger::LateSlaves(Instant now) const {
  std::set<slave_id> late, compute;
  for (const auto& [key, packet] : packets_) {
    if (!packet.slave || packet.begun == Instant()) continue;
    compute.insert(packet.slave);
    if (IsLate(packet, packet.begun, now)) late.insert(packet.slave);
  }
  for (const auto& [key, packet] : packets_) {
    if (!packet.slave || compute.contains(packet.slave)) continue;
    if (IsLate(packet, packet.given, now)) late.insert(packet.slave);
  }
  return late;
}

void Ledger::Speculate(Instant now) {
  size_t idle_slots = idle();
  size_t held = 0, slots = 0;
  for (const auto& [id, slave] : slaves_) {
    held += slave.packets;
    slots += slave.info.slots;
  }
  // If more packets wait than there are slots, idle ones have something else to do.
  if (held_ || idle_slots == 0 || packets_.size() > held + slots) return;
  const std::set<slave_id> late = LateSlaves(now);
  for (auto at = packets_.begin(); at != packets_.end(); ++at) {
    const Packet& packet = at->second;
    // Nobody wants anything of a cancelled packet, and its lane may have ended.
    if (packet.tasks.empty()) continue;
    if (!packet.may_double || !late.contains(packet.slave)) continue;
    if (packet.begun == Instant()) {
      // A stopped slave returns nothing, not even what it has not begun.
      Copy(at);
    } else if (idle_slots > 0 && IsLate(packet, packet.begun, now)) {
      Copy(at);
      --idle_slots;
    }
  }
}

void Ledger::Copy(Packets::iterator at) {
  const JobId job = last_job_ = JobId(last_job_.value + 1);
  const Lane& lane = *FindLane(at->first.first);
  Needs needs = lane.request.needs;
  needs.not_on = {SlaveName(at->second.slave)};
  JobPlan plan{.task_count = 1, .requests = {needs}, .runs = {{0, 1, 0}}};
  plan.priority = lane.priority;
  SubmitJob(job, std::move(plan));
  const PacketKey key(job, 0);
  lane_of_[job] = nullptr;
  packets_.emplace(key, Packet{.tasks = at->second.tasks, .twin = at->first});
  at->second.twin = key;
  at->second.may_double = false;
}

}  // namespace spate::mw
