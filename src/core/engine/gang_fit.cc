// Whether there are nodes at all that could run a gang, were they idle: what people are told of a
// shape that no set of nodes has. Who runs what is place/'s.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units.h"
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

std::string ProcessesOf(const Needs& needs) {
  std::string text = fmt::format("{:g} cpu{}", needs.milli_cpus / 1000.0,
                                 needs.milli_cpus == kMilliCpu ? "" : "s");
  if (needs.memory > 0) text += fmt::format(", {} of memory", FormatSize(needs.memory));
  for (const NamedNeed& need : needs.named) text += fmt::format(", {} {}", need.count, need.name);
  return text;
}

struct Room {
  std::string node;
  uint32_t procs = 0;
};

// "n1 holds 4, n2 holds 1": the largest ones.
std::string RoomsText(std::vector<Room> rooms) {
  constexpr size_t kMost = 5;
  std::ranges::stable_sort(rooms, std::ranges::greater(), &Room::procs);
  std::string text;
  for (size_t i = 0; i < std::min(rooms.size(), kMost); ++i) {
    text += fmt::format("{}{} holds {}", text.empty() ? "" : ", ", rooms[i].node, rooms[i].procs);
  }
  if (rooms.size() > kMost) text += ", ...";
  return text;
}

}  // namespace

std::string WhyGangNowhere(const place::Board& board, const std::string& user,
                           const TaskClass& of_tasks, Instant now) {
  const GangShape& gang = of_tasks.gang;
  const uint32_t each = std::max(gang.procs_per_node(), 1u);
  std::vector<Room> rooms;
  const Offer* largest = nullptr;
  uint64_t procs = 0;
  uint32_t nodes = 0;
  for (const auto& [id, node] : board.nodes) {
    if (node.offer.slots == 0) {
      // It has leases of an earlier life of the hub, and may come back with any offer.
      if (node.lost_at != Instant::Never()) return "";
      continue;
    }
    const uint32_t fit = ProcsFit(node.offer, user, of_tasks, now);
    rooms.push_back({node.offer.node_name, fit});
    procs += fit;
    nodes += fit >= each ? 1 : 0;
    if (largest == nullptr || node.offer.milli_cpus > largest->milli_cpus) largest = &node.offer;
  }
  if (rooms.empty()) return "";
  if (gang.nodes == 0 && procs >= gang.procs) return "";
  if (gang.nodes > 0 && nodes >= gang.nodes) return "";
  auto one = WhyNever(*largest, of_tasks.needs);
  if (procs == 0 && one) return "is a gang, each process of which " + *one;
  const std::string process = ProcessesOf(of_tasks.needs);
  if (gang.nodes == 0) {
    return fmt::format("is a gang of {} processes of {}, and all nodes together hold {}: {}",
                       FormatCount(gang.procs), process, FormatCount(procs),
                       RoomsText(std::move(rooms)));
  }
  return fmt::format(
      "is a gang of {} process{} of {} on each of {} node{}, and {} of {} hold{} so many: {}",
      FormatCount(each), each == 1 ? "" : "es", process, FormatCount(gang.nodes),
      gang.nodes == 1 ? "" : "s", nodes == 0 ? "none" : FormatCount(nodes), rooms.size(),
      nodes == 1 ? "s" : "", RoomsText(rooms));
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

std::string WhyNeverRuns(const Live& live, const std::string& user, const TaskClass& of_tasks,
                         Instant now) {
  if (std::string why = WhyTooLate(of_tasks, now); !why.empty()) return why;
  if (of_tasks.gang.empty() || !live.to_come.empty()) return "";
  std::string why = WhyGangNowhere(live.board, user, of_tasks, now);
  if (why.empty()) return "";
  return "no set of nodes has room for it: it " + why +
         "; ask for less, or start more nodes first (spate node start)";
}

}  // namespace spate::engine
