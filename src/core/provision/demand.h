// Demand: the work that the pilots of one pool could do, as sums that a change of one class of
// tasks corrects, so that nothing looks at all classes.
//
// The estimate. A new pilot begins after the time that the newest ones waited (the horizon). Of
// each class, what the slots that have it now will do until then is taken off its work; a slot goes
// on with the same class. What is left, in pilots' time, divided by the time that a pilot would
// have (the horizon, or its life where that is shorter) is how many are worth asking for: each is
// then to be busy about as long as it waits. And never more than there are tasks to give them.
//
// A class of which no time is measured counts with its planned time, and without one as if each
// task took a pilot's life: to wait for hours is dearer than to cancel what still queues when the
// first tasks have been measured.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/provision/durable.h"

namespace spate::provision {

// What a class adds to a pool. Times are pilots' milliseconds, tasks are thousandths of pilots.
struct Share {
  int64_t left = 0;         // work beyond the horizon, at least 0
  int64_t signed_left = 0;  // the same, below 0 where the slots would do more
  int64_t width = 0;        // ready tasks
  Duration time;            // planned, of one
  bool probe = false;       // nothing is known of the nodes, and one would tell
  bool empty() const { return width == 0 && !probe; }
};

class Demand {
 public:
  explicit Demand(const Pool& pool) : pool_(pool) { Refresh(); }

  // What the class adds now. None where it could not start, or nothing of it is ready.
  void Set(const ClassDemand& demand);
  void Drop(const ClassKey& key);
  // The pool's nodes, life, wait or user are others than before: all classes anew.
  bool IsStale() const;
  void Renew(const std::map<ClassKey, ClassDemand>& classes);

  // Some task could start on a pilot.
  bool any() const { return !shares_.empty(); }
  // Pilots that are worth asking for beside those that work, when the latter's time that ends
  // within the horizon is `ending` (each: how much of it they will be missing).
  uint32_t Wanted(Duration ending) const;
  Duration horizon() const { return horizon_; }
  Duration life() const { return life_; }
  // The longest planned time of what could start.
  Duration longest() const { return times_.empty() ? Duration{} : *times_.rbegin(); }
  bool probes() const { return probes_ > 0; }
  void CheckInvariants() const;

 private:
  Share ShareOf(const ClassDemand& demand) const;
  void Refresh();

  const Pool& pool_;
  // As of the last Renew.
  Offer offer_;
  NodeShape shape_;
  bool shape_known_ = false;
  std::string user_;
  uint32_t nodes_ = 1;
  Duration horizon_;
  Duration life_;

  std::map<ClassKey, Share> shares_;  // none that is empty
  std::multiset<Duration> times_;
  int64_t left_ = 0;
  int64_t signed_left_ = 0;
  int64_t width_ = 0;
  size_t probes_ = 0;
};

// Why no pilot of the pool will do such tasks, in words; empty: one could.
std::string WhyNotHere(const Pool& pool, const Needs& needs, std::string_view user);

}  // namespace spate::provision
