// The order within a job: which classes of its tasks have something to give out, and whose turn it
// is. A change costs a logarithm of the classes; the first is there at once.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"

namespace spate::engine::place {

// Common key of jobs that find room on the same nodes.
using GroupKey = uint64_t;

// The place of a class's first task among its job's: by priority; of equal ones requeued tasks go
// first, in that order, then those that waited for their delay, then fresh ones, then those that
// waited for other tasks, in the order in which they became ready.
struct ClassTurn {
  enum class Kind : uint8_t { kAgain, kDue, kFresh, kReadied };

  int32_t priority = 0;
  Kind kind = Kind::kFresh;
  Instant at = {};        // kDue: since when
  uint64_t sequence = 0;  // kAgain, kReadied: how many were before; else the task's place

  friend bool operator==(const ClassTurn&, const ClassTurn&) = default;
  friend bool operator<(const ClassTurn& a, const ClassTurn& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.kind != b.kind) return a.kind < b.kind;
    return a.at != b.at ? a.at < b.at : a.sequence < b.sequence;
  }
};
// No turn comes after it.
inline constexpr ClassTurn kNoTurn = {INT32_MIN, ClassTurn::Kind::kReadied, Instant::Never(),
                                      UINT64_MAX};

class Ready {
 public:
  struct Entry {
    ClassTurn turn;
    uint32_t number = 0;
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.turn < b.turn || b.turn < a.turn) return a.turn < b.turn;
      return a.number < b.number;
    }
  };
  // Tasks of a class that are queued.
  struct Queued {
    std::optional<ClassTurn> turn;   // of its first task that waits for room alone
    Instant due = Instant::Never();  // when the next one behind it has waited for its delay
    uint32_t waiting = 0;            // tasks that wait for room, or their delay
    friend bool operator==(const Queued&, const Queued&) = default;
  };

  // `kind`: equal for classes that find room on the same nodes.
  void AddClass(GroupKey kind) { classes_.push_back({.queued = {}, .kind = kind}); }
  void Set(uint32_t number, const Queued& queued);

  uint32_t class_count() const { return static_cast<uint32_t>(classes_.size()); }
  const Queued& Of(uint32_t number) const { return classes_[number].queued; }
  // There is no room for the class. Returns since when, which is remembered until none of it waits
  // for room any more.
  Instant NoRoom(uint32_t number, Instant now) {
    return classes_[number].no_room = std::min(classes_[number].no_room, now);
  }
  bool empty() const { return order_.empty(); }
  const std::set<Entry>& order() const { return order_; }
  // The sum of what stands for the classes that have a turn.
  GroupKey kinds() const { return kinds_; }
  // The earliest `due`, and its class.
  Instant NextDue() const { return dues_.empty() ? Instant::Never() : dues_.begin()->first; }
  uint32_t NextDueClass() const { return dues_.begin()->second; }

 private:
  struct Class {
    Queued queued;
    GroupKey kind = 0;
    Instant no_room = Instant::Never();  // since when
  };
  void Place(uint32_t number, Class& known, const std::optional<ClassTurn>& turn);

  std::vector<Class> classes_;
  std::set<Entry> order_;
  std::set<std::pair<Instant, uint32_t>> dues_;
  GroupKey kinds_ = 0;
};

}  // namespace spate::engine::place
