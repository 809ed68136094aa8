// Gangs that are leased: their nodes take room, say so, and start when all have. Each part's end is
// recorded by itself; the last one brings the task's end. One that fails, is lost or is stopped
// decides how the gang ends, and the others are stopped.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/engine/engine_state.h"
#include "core/model/gang_end.h"

namespace spate::engine {
namespace {

GangWatch* FindWatch(Live& live, const AttemptRef& ref) {
  auto at = live.gangs_leased.find({ref.job, ref.index});
  if (at == live.gangs_leased.end() || at->second.attempt != ref.attempt) return nullptr;
  return &at->second;
}

void SendStopTo(StepContext& step, NodeId node, JobId job, TaskIndex index) {
  if (!step.board.nodes.at(node).present) return;
  step.out.sends.push_back(SendStop{node, job, {{index, 1}}});
}

// From now on its nodes have so long to find room.
void Await(StepContext& step, GangWatch& watch, const AttemptRef& ref) {
  step.live.SetRoomDeadline(watch, {ref.job, ref.index},
                            step.now + step.board.limits.room_patience);
}

bool AllPresent(const StepContext& step, const GangRun& gang) {
  return std::ranges::all_of(gang.parts, [&](const GangLeased::Part& part) {
    auto node = step.board.nodes.find(part.node);
    return node != step.board.nodes.end() && node->second.present;
  });
}

// Empty: it was lost, or removed.
std::string NodeName(const StepContext& step, NodeId id) {
  auto node = step.board.nodes.find(id);
  return node == step.board.nodes.end() ? "" : node->second.offer.node_name;
}

// The end of a process of a gang, as what it did; empty: it is no end of its own.
std::string HowItEnded(Cause cause, int32_t status) {
  switch (cause) {
    case Cause::kExit:
      return fmt::format("ended with exit code {}", status);
    case Cause::kSignal:
      return fmt::format("was ended by signal {}", status);
    case Cause::kTimeLimit:
      return "went over the time limit";
    case Cause::kMemory:
      return "went over the memory limit";
    case Cause::kExcess:
      return "went over its limits";
    case Cause::kCheck:
      return "failed the output check";
    case Cause::kStart:
      return "could not be started";
    case Cause::kSuccess:
    case Cause::kNode:
    case Cause::kStopped:
      break;
  }
  return "";
}

// The lines of a part's note but the one about its rank, each behind a newline.
std::string RestOf(std::string_view note) {
  const std::string_view about_rank = FailedRankLine(note);
  std::string rest;
  while (!note.empty()) {
    std::string_view line = note.substr(0, note.find('\n'));
    if (line.data() != about_rank.data()) rest.append("\n").append(line);
    note.remove_prefix(line.size() == note.size() ? line.size() : line.size() + 1);
  }
  return rest;
}

// The note of a gang whose end `decided` has brought about: who, where, how, and the rest.
std::string NoteOfDecision(const StepContext& step, const GangRun::Outcome& decided) {
  const std::string name = NodeName(step, decided.node);
  const std::string on = name.empty() ? "" : fmt::format("on node {}", name);
  if (std::string how = HowItEnded(decided.cause, decided.status); !how.empty()) {
    return fmt::format("{}{}{} {}{}{}", decided.who, on.empty() ? "" : " ", on, how, kOthersEnded,
                       RestOf(decided.note));
  }
  if (decided.cause == Cause::kNode) return fmt::format("{}{}", decided.note, kOthersEnded);
  const bool both = !on.empty() && !decided.note.empty();
  return fmt::format("{}{}{}", on, both ? ": " : "", decided.note);
}

}  // namespace

bool MayHaveStarted(const StepContext& step, const AttemptRef& ref) {
  const GangWatch* watch = FindWatch(step.live, ref);
  return watch == nullptr || watch->gone || watch->resumed;
}

void StopParts(StepContext& step, const JobState& job, TaskIndex index) {
  const GangRun* gang = job.GangOf(index);
  if (gang == nullptr) return;
  const AttemptRef ref{job.id(), index, job.CurrentAttempt(index)};
  GangWatch* watch = FindWatch(step.live, ref);
  if (watch != nullptr && std::exchange(watch->stopping, true)) return;
  for (const GangLeased::Part& part : gang->parts) {
    if (IsCurrent(step.durable.NodeOf(part.node), job, ref)) {
      SendStopTo(step, part.node, job.id(), index);
    }
  }
}

void On(StepContext& step, const GangSent& event) {
  GangWatch* watch = FindWatch(step.live, event.ref);
  if (watch == nullptr || watch->gone || std::exchange(watch->sent, true)) return;
  Await(step, *watch, event.ref);
}

void On(StepContext& step, const RoomTaken& event) {
  const AttemptRef& ref = event.ref;
  auto from = step.board.nodes.find(event.node);
  if (from == step.board.nodes.end()) return;
  if (!std::exchange(from->second.answered, true)) step.board.look_at_gangs = true;
  const JobState* job = step.durable.FindJob(ref.job);
  const NodeRecord& record = step.durable.NodeOf(event.node);
  if (job == nullptr || !IsCurrent(record, *job, ref)) return;
  const GangRun* gang = job->GangOf(ref.index);
  if (gang == nullptr && from->second.ends_late_by.ns > 0) {
    from->second.moved = step.now;
    step.live.SetOver(*job, event.node, ref.index, FindLease(record, ref)->second.request);
    return;
  }
  GangWatch* watch = FindWatch(step.live, ref);
  if (gang == nullptr || watch == nullptr) return;
  if (watch->stopping || gang->outcome) return SendStopTo(step, event.node, ref.job, ref.index);
  watch->ready.insert(event.node);
  if (watch->gone && job->StopOf(ref.index) == nullptr) {
    step.out.sends.push_back(SendGo{event.node, ref});
  } else if (!watch->gone) {
    StartIfReady(step, *job, ref.index);
  }
}

void StartIfReady(StepContext& step, const JobState& job, TaskIndex index) {
  const GangRun* gang = job.GangOf(index);
  const AttemptRef ref{job.id(), index, job.CurrentAttempt(index)};
  GangWatch* watch = FindWatch(step.live, ref);
  if (gang == nullptr || watch == nullptr || job.StopOf(index) != nullptr) return;
  // Those that have ended had room in an earlier life.
  const bool all = std::ranges::all_of(gang->parts, [&](const GangLeased::Part& part) {
    return watch->ready.contains(part.node) || !IsCurrent(step.durable.NodeOf(part.node), job, ref);
  });
  if (!all) return;
  watch->gone = true;
  step.live.SetRoomDeadline(*watch, {ref.job, ref.index}, Instant::Never());
  for (NodeId node : watch->ready) step.out.sends.push_back(SendGo{node, ref});
}

void ContinueGang(StepContext& step, const JobState& job, TaskIndex index) {
  const AttemptRef ref{job.id(), index, job.CurrentAttempt(index)};
  GangWatch* watch = FindWatch(step.live, ref);
  if (watch == nullptr || watch->stopping) return;
  if (watch->gone) {  // parts that came again meanwhile may wait for it
    for (NodeId node : watch->ready) {
      if (step.board.nodes.at(node).present) step.out.sends.push_back(SendGo{node, ref});
    }
    return;
  }
  if (watch->sent) Await(step, *watch, ref);
  StartIfReady(step, job, index);
}

void On(StepContext& step, const ChangeGangPolicy& event) {
  if (event.policy == step.durable.gang_policy()) return;
  step.Record(GangPolicyChanged{event.policy});
}

void On(StepContext& step, const ChangeHalfLife& event) {
  if (event.half_life != step.board.half_life()) step.Record(HalfLifeChanged{event.half_life});
}

// Deadlines are met by the new time in this very step.
void On(StepContext& step, const ClockStepped& event) { step.Record(event); }

// A node that comes back hears of what became of its parts meanwhile.
void ResumeParts(StepContext& step, NodeId id) {
  for (const auto& [key, range] : step.durable.NodeOf(id).leases) {
    if (range.procs == 0) continue;
    const JobState& job = *step.durable.FindJob(key.job);
    const GangRun* gang = job.GangOf(key.first);
    const AttemptRef ref{key.job, key.first, key.attempt};
    GangWatch* watch = FindWatch(step.live, ref);
    if (gang == nullptr || watch == nullptr) continue;
    if (watch->stopping || gang->outcome) {
      SendStopTo(step, id, key.job, key.first);
    } else if (watch->sent && !watch->gone && AllPresent(step, *gang)) {
      Await(step, *watch, ref);
    }
  }
}

// Nodes that do not answer have something else to do, or another idea of what they have. The gang
// is tried anew, elsewhere where it can; nothing of it has run.
void GiveUpLateGangs(StepContext& step) {
  Live& live = step.live;
  while (!live.room_deadlines.empty() && live.room_deadlines.begin()->first <= step.now) {
    const place::PartKey key = live.room_deadlines.begin()->second;
    GangWatch& watch = live.gangs_leased.at(key);
    live.SetRoomDeadline(watch, key, Instant::Never());
    const JobState* job = step.durable.FindJob(key.job);
    const GangRun* gang = job == nullptr ? nullptr : job->GangOf(key.index);
    // One that is away is given up with its node, or goes on when it is back.
    if (gang == nullptr || watch.gone || watch.stopping || !AllPresent(step, *gang)) continue;
    if (job->StopOf(key.index) != nullptr) continue;
    constexpr int64_t kTimes = 30;
    const Instant until = step.now + step.board.limits.room_patience * kTimes;
    for (const GangLeased::Part& part : gang->parts) {
      if (watch.ready.contains(part.node)) continue;
      place::Node& node = step.board.nodes.at(part.node);
      node.late_until = until;
      node.asked = node.answered = false;
      if (node.offer.user == job->user()) step.board.users.at(job->user()).silent_until = until;
    }
    StopParts(step, *job, key.index);
  }
}

// nullopt: others have not ended.
std::optional<AttemptEnd> EndOfGang(StepContext& step, NodeId node, const JobState& job,
                                    const GangRun& gang, AttemptEnd end) {
  const AttemptRef ref = end.ref;
  const bool decides = job.Decides(gang, node, end);
  if (gang.left > 1) {
    step.out.notices.push_back(NoticeEnded{end, Verdict::kPart, false});
    step.Record(AttemptEnded{node, std::move(end), Verdict::kPart, false, step.now});
    if (decides) StopParts(step, job, ref.index);
    return std::nullopt;
  }
  if (decides && gang.outcome) {
    const std::string name = NodeName(step, gang.outcome->node);
    if (!name.empty()) end.note += fmt::format("; the part on {} had ended before", name);
  }
  if (decides) {
    const uint32_t procs = gang.parts.size() == 1 ? gang.parts.front().procs : 0;
    if (procs > 1) {
      end.note =
          NoteOfDecision(step, {end.cause, end.status, end.note, node, gang.WhoEnded(node, end)});
    }
    return end;
  }
  if (!gang.outcome) {
    // All parts succeeded.
    return end;
  }
  end.cause = gang.outcome->cause;
  end.status = gang.outcome->status;
  if (gang.outcome->cause == Cause::kSuccess) {
    end.note.clear();
  } else {
    end.note = NoteOfDecision(step, *gang.outcome);
  }
  return end;
}

}  // namespace spate::engine
