// Fit: how many tasks of a request a node should be given now. Views in, numbers out; no state.
//
// Each kind of resource is counted by itself: slots, processors, memory, each named one. A node's
// room is counted in tasks of the request at hand: as many as fit at once beside what others have
// there, plus what it works off in `lease_ahead`, less what it holds already. A node is
// refilled only when half of its ahead is used up, so that leases stay long.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/model/limits.h"
#include "core/model/needs.h"

namespace spate::engine::place {

// The share of a node is counted in billionths.
inline constexpr uint64_t kWhole = 1'000'000'000;

// So much of each resource of an offer: slots, thousandths of processors, bytes, and pieces of the
// named ones as the offer lists them.
class Amounts {
 public:
  static constexpr size_t kSlots = 0;
  static constexpr size_t kCpus = 1;
  static constexpr size_t kMemory = 2;
  static constexpr size_t kNamed = 3;

  uint64_t At(size_t kind) const {
    if (kind < kNamed) return common_[kind];
    return kind - kNamed < named_.size() ? named_[kind - kNamed] : 0;
  }
  void Add(size_t kind, uint64_t amount) { Edit(kind) += amount; }
  void Subtract(size_t kind, uint64_t amount) { Edit(kind) -= amount; }
  // All of `other`, times and divided by these.
  void Add(const Amounts& other, uint64_t times = 1, uint64_t divisor = 1);
  void Subtract(const Amounts& other, uint64_t times = 1, uint64_t divisor = 1);
  // Sets each amount to the larger of the two.
  void Raise(const Amounts& other);
  friend bool operator==(const Amounts&, const Amounts&) = default;

 private:
  uint64_t& Edit(size_t kind);

  std::array<uint64_t, kNamed> common_ = {};
  std::vector<uint64_t> named_;
};

// Calls fn(kind, offered, needed) for each resource that bounds tasks with these needs.
template <typename Fn>
void ForEachNeed(const Offer& offer, const Needs& needs, Fn fn) {
  fn(Amounts::kSlots, uint64_t{offer.slots}, uint64_t{1});
  if (needs.milli_cpus > 0) {
    fn(Amounts::kCpus, uint64_t{offer.milli_cpus}, uint64_t{needs.milli_cpus});
  }
  if (needs.memory > 0 && offer.memory > 0) fn(Amounts::kMemory, offer.memory, needs.memory);
  for (const NamedNeed& need : needs.named) {
    for (size_t i = 0; i < offer.named.size(); ++i) {
      if (offer.named[i].name != need.name) continue;
      fn(Amounts::kNamed + i, uint64_t{offer.named[i].indices.size()}, uint64_t{need.count});
    }
  }
}

// Equal needs give the same number.
uint64_t KindOf(const Needs& needs);

void AddTasks(Amounts& to, const Offer& offer, const Needs& needs, uint64_t tasks);
void SubtractTasks(Amounts& from, const Offer& offer, const Needs& needs, uint64_t tasks);
// All that there is, and what so many processes of a gang take of it: one slot, and what each
// needs; all, where they are to have the node for themselves.
Amounts AllOf(const Offer& offer);
Amounts AmountsOfPart(const Offer& offer, const TaskClass& of_gang, uint32_t procs);
// So many processes of it have room at once beside what is held, as one part; at most all of them.
uint32_t ProcsThatFit(const Offer& offer, const Amounts& held, const TaskClass& of_gang);
// One more such task would start at once beside what is held.
bool Starts(const Offer& offer, const Amounts& held, const Needs& needs);
// More is held of some resource than there is: tasks wait behind others.
bool Crowded(const Offer& offer, const Amounts& held);
// The part of the scarcest resource that is held, in billionths.
uint64_t Used(const Offer& offer, const Amounts& held);

inline constexpr uint64_t kParts = 64;

struct NodeView {
  const Offer* offer = nullptr;
  const Needs* needs = nullptr;
  uint32_t fit = 0;                  // such tasks that the idle node runs at once; 0: never
  const Amounts* exactly = nullptr;  // what runs there
  // Likewise, as far as it is only estimated, in parts of kParts: rounded to a task.
  const Amounts* about = nullptr;
  const Amounts* reserved = nullptr;  // what is kept for others; null: nothing
  const Amounts* own = nullptr;  // that this job's leases take, what waits included; null: none
  // So many of these tasks wait for each that runs. They are in `exactly` if none do, else in
  // `about`; in neither, when not counted.
  uint32_t own_ahead = 0;
  bool own_counted = false;
  Duration task_wall;      // what a task of this job took there lately; zero: not known yet
  bool contended = false;  // others want the node, or there are others: long tasks do not wait
  bool served = false;     // it is being refilled, so any room is given
  // The node reports ends so late: its slots take the next tasks in this time.
  Duration ends_late_by = {};
};

// How many tasks the node should be given now; 0 when it is well supplied.
uint32_t RoomFor(const NodeView& view, uint32_t lease_tasks, Duration lease_ahead);

}  // namespace spate::engine::place
