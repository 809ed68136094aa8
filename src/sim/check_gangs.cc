// A gang runs whole or not at all. Its lease names all of its parts, on different nodes, whose
// processes add up to what was asked for. No part begins before every one of its nodes has room and
// has said so; when a part fails, is lost or is stopped, or the one that decides has succeeded, the
// others are over soon, or never begin. How the gang ends is how the part ended that decided.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/units.h"
#include "core/model/retry.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

using engine::AttemptEnded;
using engine::GangLeased;
using engine::Verdict;

class GangsCheck final : public Checker {
 public:
  const char* name() const override { return "gangs"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* committed = std::get_if<Committed>(&fact)) {
      if (const auto* leased = std::get_if<GangLeased>(committed->record)) {
        SeeLease(scene, *leased, findings);
      } else if (const auto* ended = std::get_if<AttemptEnded>(committed->record)) {
        SeeEnd(scene, *ended, findings);
      }
    } else if (const auto* room = std::get_if<RoomHeard>(&fact)) {
      auto gang = gangs_.find(room->ref);
      if (gang != gangs_.end()) gang->second.rooms.insert(room->node);
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      if (executed->order->part != nullptr) Begin(scene, *executed, findings);
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      auto gang = gangs_.find(over->ref);
      if (gang != gangs_.end()) End(scene, *over, gang->second, findings);
    } else if (const auto* heard = std::get_if<NodeHeard>(&fact)) {
      heard_since_[heard->node] = scene.now;
    } else if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) {
      heard_since_.erase(unheard->node);
    }
  }

 private:
  struct Gang {
    GangLeased lease;
    GangShape::Start start = GangShape::Start::kEach;
    std::set<NodeId> rooms;
    std::set<NodeId> runs;
    std::map<NodeId, Cause> ends;  // of what ran
    std::optional<Instant> decided_at;
    Cause decided = Cause::kSuccess;
  };

  void SeeLease(const Scene& scene, const GangLeased& leased, Findings& findings) {
    const AttemptRef ref{leased.job, leased.index, leased.attempt};
    const BookedJob* job = scene.book.FindJob(leased.job);
    if (job == nullptr) return;
    const GangShape& shape = job->ClassOf(leased.index).gang;
    Gang& gang = gangs_[ref];
    gang.lease = leased;
    gang.start = shape.start;
    std::set<NodeId> nodes;
    uint32_t procs = 0;
    bool even = true;
    for (const GangLeased::Part& part : leased.parts) {
      nodes.insert(part.node);
      procs += part.procs;
      even = even && part.procs > 0 && (shape.nodes == 0 || part.procs == shape.procs_per_node());
    }
    if (nodes.size() != leased.parts.size()) {
      findings.Add(name(), NameOf(ref) + " has two parts on one node");
    }
    if (procs != shape.procs || !even || (shape.nodes > 0 && nodes.size() != shape.nodes)) {
      findings.Add(name(), fmt::format("{} asks for {} processes on {} nodes, and gets {} on {}",
                                       NameOf(ref), shape.procs, shape.nodes, procs, nodes.size()));
    }
  }

  void SeeEnd(const Scene& scene, const AttemptEnded& ended, Findings& findings) {
    auto at = gangs_.find(ended.end.ref);
    if (at == gangs_.end()) return;
    Gang& gang = at->second;
    const bool first = gang.lease.parts.front().node == ended.node;
    const bool decides =
        ended.end.cause != Cause::kSuccess || (gang.start == GangShape::Start::kFirst && first);
    const bool fresh = !gang.decided_at;
    // A failure next to a dying machine is due to the machine.
    const bool is_why = ended.end.cause == Cause::kNode && IsOfProgram(gang.decided);
    if (decides && fresh) gang.decided_at = scene.now;
    if (decides && (fresh || is_why)) gang.decided = ended.end.cause;
    if (ended.verdict == Verdict::kPart) return;
    if (!fresh && ended.end.cause != gang.decided) {
      findings.Add(name(), fmt::format("{} is said to end with '{}', and '{}' decided it",
                                       NameOf(ended.end.ref), WordOf(ended.end.cause),
                                       WordOf(gang.decided)));
    }
    if (ended.verdict == Verdict::kSucceeded) CheckSuccess(ended.end.ref, gang, findings);
  }

  void CheckSuccess(const AttemptRef& ref, const Gang& gang, Findings& findings) {
    // With kFirst the first part's success is the gang's.
    const size_t count = gang.start == GangShape::Start::kFirst ? 1 : gang.lease.parts.size();
    for (size_t i = 0; i < count; ++i) {
      const NodeId node = gang.lease.parts[i].node;
      auto end = gang.ends.find(node);
      if (end != gang.ends.end() && end->second == Cause::kSuccess) continue;
      findings.Add(name(), fmt::format("{} is said to have succeeded, and not on n{}", NameOf(ref),
                                       node.value));
    }
  }

  void Begin(const Scene& scene, const Executed& executed, Findings& findings) {
    const AttemptRef& ref = executed.order->ref;
    auto at = gangs_.find(ref);
    if (at == gangs_.end()) {
      findings.Add(name(), "a part of " + NameOf(ref) + " runs without a durable lease of all");
      return;
    }
    Gang& gang = at->second;
    gang.runs.insert(executed.node);
    const GangPart& part = *executed.order->part;
    const auto& parts = gang.lease.parts;
    const bool same =
        part.hosts.size() == parts.size() && part.index < parts.size() &&
        parts[part.index].node == executed.node &&
        std::ranges::equal(part.hosts, parts, {}, &GangHost::procs, &GangLeased::Part::procs);
    if (!same) findings.Add(name(), NameOf(ref) + " runs as other parts than were leased");
    // Skipped in a run's world, where reports of room are not seen; its gangs have one part.
    for (const GangLeased::Part& each : parts) {
      if (scene.hub == nullptr || gang.rooms.contains(each.node)) continue;
      findings.Add(name(), fmt::format("a part of {} begins on n{}, and n{} had no room yet",
                                       NameOf(ref), executed.node.value, each.node.value));
    }
    CheckStopped(scene, ref, gang, executed.node, "begins", findings);
  }

  void End(const Scene& scene, const Over& over, Gang& gang, Findings& findings) {
    gang.runs.erase(over.node);
    gang.ends[over.node] = over.end == nullptr ? Cause::kNode : over.end->cause;
    CheckStopped(scene, over.ref, gang, over.node, "goes on", findings);
  }

  // It is decided how the gang ends, and the hub had time to tell its other nodes: in so many
  // commits, as what people ask and what is forgotten is committed in between.
  void CheckStopped(const Scene& scene, const AttemptRef& ref, const Gang& gang, NodeId node,
                    const char* what, Findings& findings) {
    auto heard = heard_since_.find(node);
    if (scene.hub == nullptr || scene.hub->suspend) return;
    if (!gang.decided_at || heard == heard_since_.end()) return;
    const Duration late = scene.now - std::max(*gang.decided_at, heard->second);
    const Duration most = scene.slack + scene.hub->link_latency * 4 + scene.hub->commit_max * 20 +
                          scene.workload.job(ref.job).settings->kill_grace;
    if (late <= most) return;
    findings.Add(name(), fmt::format("{} {} on n{} {} after another part had decided its end",
                                     NameOf(ref), what, node.value, FormatDuration(late)));
  }

  std::map<AttemptRef, Gang> gangs_;
  std::map<NodeId, Instant> heard_since_;
};

}  // namespace

std::unique_ptr<Checker> MakeGangsCheck() { return std::make_unique<GangsCheck>(); }

}  // namespace spate::sim
