// The gangs of a job that are leased: which of their parts have ended, and which one decided.
#include <fmt/format.h>

#include "base/check.h"
#include "core/engine/job_state.h"
#include "core/model/gang_end.h"
#include "core/model/retry.h"

namespace spate::engine {

void JobState::LeaseGang(const GangLeased& leased, uint32_t request, Stirred& stirred) {
  Lease({leased.index, 1}, request, leased.attempt, stirred);
  gangs_.Edit()[leased.index] = {.parts = leased.parts,
                                 .left = static_cast<uint32_t>(leased.parts.size())};
}

const GangRun* JobState::GangOf(TaskIndex index) const {
  if (gangs_->empty()) return nullptr;
  auto at = gangs_->find(index);
  return at == gangs_->end() ? nullptr : &at->second;
}

// A machine that dies takes the parts on other nodes with it: they end with errors of their own,
// and before anybody knows that it is gone. Its loss decides, whenever that is heard of.
bool JobState::Decides(const GangRun& gang, NodeId node, const AttemptEnd& end) const {
  if (gang.outcome) return end.cause == Cause::kNode && IsOfProgram(gang.outcome->cause);
  if (end.cause != Cause::kSuccess) return true;
  const GangShape& shape = requests_[RequestOf(end.ref.index)].gang;
  return shape.start == GangShape::Start::kFirst && gang.parts.front().node == node;
}

GangRun::Ranks GangRun::RanksOf(NodeId node) const {
  Ranks ranks;
  for (const GangLeased::Part& part : parts) {
    ranks.count = part.procs;
    if (part.node == node) return ranks;
    ranks.first += part.procs;
  }
  return {};
}

std::string GangRun::Ranks::Text() const {
  if (count == 0) return "";
  if (count == 1) return fmt::format("rank {}", first);
  return fmt::format("ranks {}-{}", first, first + count - 1);
}

std::string GangRun::WhoEnded(NodeId node, const AttemptEnd& end) const {
  const Ranks ranks = RanksOf(node);
  auto failed = RankOfLine(FailedRankLine(end.note));
  if (failed && *failed >= ranks.first && *failed - ranks.first < ranks.count) {
    return fmt::format("rank {}", *failed);
  }
  const bool of_one = end.cause == Cause::kExit || end.cause == Cause::kSignal;
  return of_one && ranks.count > 1 ? "one of " + ranks.Text() : ranks.Text();
}

std::vector<NodeId> JobState::EndPart(const AttemptEnded& ended) {
  auto& gangs = gangs_.Edit();
  auto at = gangs.find(ended.end.ref.index);
  CHECK(at != gangs.end());
  GangRun& gang = at->second;
  if (Decides(gang, ended.node, ended.end)) {
    gang.outcome = {ended.end.cause, ended.end.status, ended.end.note, ended.node,
                    gang.WhoEnded(ended.node, ended.end)};
  }
  --gang.left;
  CHECK((gang.left == 0) == (ended.verdict != Verdict::kPart));
  if (gang.left > 0) return {};
  std::vector<NodeId> nodes;
  if (ended.end.cause == Cause::kSuccess) {
    for (const GangLeased::Part& part : gang.parts) nodes.push_back(part.node);
  } else {
    nodes.push_back(gang.outcome ? gang.outcome->node : ended.node);
  }
  gangs.erase(at);
  return nodes;
}

}  // namespace spate::engine
