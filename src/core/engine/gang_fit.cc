// Checks that idle nodes could run a gang, and explains to people a shape that no set of nodes has.
// Assigning tasks to nodes is place/'s.
#include <algorithm>
#include <vector>

#include "core/engine/engine_state.h"
#include "core/model/limits.h"

namespace spate::engine {
namespace {

// How many processes of a gang an idle node has room for: they share one slot.
uint32_t ProcsFit(const Offer& offer, const std::string& user, const TaskClass& gang, Instant now) {
  if (offer.slots == 0 || !TakesUser(offer, user) || !OutlivesTask(offer, gang.needs, now))
    return 0;
  Offer idle = offer;
  idle.slots = kLimits.gang_procs;
  return FitCount(idle, gang.needs);
}

struct Room {
  std::string node;
  uint32_t procs = 0;
};

// `have` of `of`: the nodes with that room, of all; of a gang on any nodes, the processes with
// room.
Why TooLarge(const TaskClass& of_tasks, uint64_t have, std::vector<Room> rooms) {
  constexpr size_t kMost = 5;
  const GangShape& gang = of_tasks.gang;
  const Needs& needs = of_tasks.needs;
  const size_t of = rooms.size();
  const bool more = of > kMost;
  std::ranges::stable_sort(rooms, std::ranges::greater(), &Room::procs);
  if (more) rooms.resize(kMost);
  Reason reason{
      ReasonKind::kGangTooLarge,
      {gang.nodes > 0 ? std::max(gang.procs_per_node(), 1u) : gang.procs, gang.nodes,
       static_cast<int64_t>(have), static_cast<int64_t>(of), needs.milli_cpus,
       static_cast<int64_t>(needs.memory), more ? 1 : 0, static_cast<int64_t>(needs.named.size())}};
  for (const NamedNeed& need : needs.named) {
    reason.numbers.push_back(static_cast<int64_t>(need.count));
    reason.names.push_back(need.name);
  }
  for (Room& room : rooms) {
    reason.numbers.push_back(room.procs);
    reason.names.push_back(std::move(room.node));
  }
  return {{ReasonKind::kNoSetOfNodes}, std::move(reason)};
}

}  // namespace

Why WhyGangNowhere(const place::Board& board, const std::string& user, const TaskClass& of_tasks,
                   Instant now) {
  const GangShape& gang = of_tasks.gang;
  const uint32_t each = std::max(gang.procs_per_node(), 1u);
  std::vector<Room> rooms;
  const Offer* largest = nullptr;
  uint64_t procs = 0;
  uint32_t nodes = 0;
  for (const auto& [id, node] : board.nodes) {
    if (node.offer.slots == 0) {
      // It has leases of an earlier life of the hub, and may come back with any offer.
      if (node.lost_at != Instant::Never()) return {};
      continue;
    }
    const uint32_t fit = ProcsFit(node.offer, user, of_tasks, now);
    rooms.push_back({node.offer.node_name, fit});
    procs += fit;
    nodes += fit >= each ? 1 : 0;
    if (largest == nullptr || node.offer.milli_cpus > largest->milli_cpus) largest = &node.offer;
  }
  if (rooms.empty()) return {};
  if (gang.nodes == 0 && procs >= gang.procs) return {};
  if (gang.nodes > 0 && nodes >= gang.nodes) return {};
  auto one = WhyNever(*largest, of_tasks.needs);
  if (procs == 0 && one) {
    return {{ReasonKind::kNoSetOfNodes}, {ReasonKind::kGangProcess}, std::move(*one)};
  }
  return TooLarge(of_tasks, gang.nodes > 0 ? nodes : procs, std::move(rooms));
}

bool SomeHoldGang(const place::Board& board, const std::string& user, const TaskClass& of_gang,
                  Instant now, const std::function<bool(NodeId)>& without) {
  const GangShape& gang = of_gang.gang;
  const uint32_t each = std::max(gang.procs_per_node(), 1u);
  uint64_t procs = 0;
  uint32_t nodes = 0;
  for (const auto& [id, node] : board.nodes) {
    if (without(id) || place::FitNow(node, user, of_gang.needs, now) == 0) continue;
    const uint32_t fit = place::ProcsThatFit(node.offer, {}, of_gang);
    procs += fit;
    nodes += fit >= each ? 1 : 0;
  }
  return gang.nodes > 0 ? nodes >= gang.nodes : procs >= gang.procs;
}

Why WhyNeverRuns(const Live& live, const std::string& user, const TaskClass& of_tasks, Instant now,
                 bool expects_nodes) {
  if (Why why = WhyTooLate(of_tasks, now + live.clock_ahead); !why.empty()) return why;
  if (of_tasks.gang.empty() || expects_nodes || !live.to_come.empty()) return {};
  Why why = WhyGangNowhere(live.board, user, of_tasks, now);
  if (!why.empty()) why.push_back({ReasonKind::kAskForLess});
  return why;
}

}  // namespace spate::engine
