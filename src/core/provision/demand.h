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
//
// A gang starts when all of its nodes are there. However little work it is, it wants as many pilots
// as it needs at the same time; one that needs more than the pool may have wants none.
//
// A pool that spreads asks for as many as have something to do at once, whatever the work.
//
// A node of which only the slots are known has a cpu for each (spreading: at least one slot). For
// tasks that do not fit there, one pilot finds out.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/provision/durable.h"

namespace spate::provision {

// A class's share of a pool's demand. Times are pilots' milliseconds, tasks thousandths of pilots.
struct Share {
  int64_t left = 0;         // work beyond the horizon, at least 0
  int64_t signed_left = 0;  // the same, below 0 where the slots would do more
  int64_t width = 0;        // ready tasks
  Duration time;            // planned, of one
  uint32_t at_once = 0;     // whole pilots that one gang needs at the same time, if any is to come
  bool probe = false;       // nothing is known of the nodes, and one would tell
  bool empty() const { return width == 0 && !probe; }
};

class Demand {
 public:
  explicit Demand(const Pool& pool) : pool_(pool) { Refresh(); }

  // Sets the class's share. It is none if the class could not start here, or has no ready tasks.
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
  // Pilots that the largest gang needs at the same time; 0: nothing that waits is a gang.
  uint32_t at_once() const { return at_once_.empty() ? 0 : *at_once_.rbegin(); }
  void CheckInvariants() const;

 private:
  Share ShareOf(const ClassDemand& demand) const;
  void Refresh();

  const Pool& pool_;
  // Values at the last Renew.
  Offer offer_;
  NodeShape shape_;
  bool shape_known_ = false;
  bool spread_ = false;
  std::string user_;
  uint32_t nodes_ = 1;
  Duration horizon_;
  Duration life_;

  std::map<ClassKey, Share> shares_;  // none that is empty
  std::multiset<Duration> times_;
  std::multiset<uint32_t> at_once_;  // of shares with gangs
  int64_t left_ = 0;
  int64_t signed_left_ = 0;
  int64_t width_ = 0;
  size_t probes_ = 0;
};

// Why no pilot of the pool will do such tasks; nullopt: one could. `gang`: empty for single
// tasks.
std::optional<Reason> WhyNotHere(const Pool& pool, const Needs& needs, const GangShape& gang,
                                 std::string_view user);

}  // namespace spate::provision
