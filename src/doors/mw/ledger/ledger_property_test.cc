// Random masters and slaves. Whatever happens, each task ends once; each slave computes its own
// tasks in their order; what must not be tried twice is not; nobody computes what is not for them.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <vector>

#include "base/prng.h"
#include "doors/mw/ledger/testing_world.h"

namespace spate::mw {
namespace {

constexpr uint32_t kSlots = 4;  // of a slave, at most

class RandomMaster {
 public:
  explicit RandomMaster(uint64_t seed)
      : prng_(seed), world_(static_cast<uint32_t>(1 + prng_.Below(4))) {
    world_.ledger().AdjustWanted(group::ordered, static_cast<int64_t>(prng_.Below(3)));
    world_.ledger().AdjustWanted(group::intermingle, static_cast<int64_t>(prng_.Below(3)));
  }

  void Run(uint32_t steps) {
    for (uint32_t i = 0; i < steps; ++i) Step();
    // With patience everything ends: those that lack something go, nobody else does, and one more
    // comes.
    world_.ledger().AdjustWanted(group::ordered, -100);
    world_.ledger().AdjustWanted(group::intermingle, -100);
    for (auto at = slaves_.begin(); at != slaves_.end();) {
      const auto [slave, joined] = *at++;
      if (offers_.at(slave).slots < kSlots || offers_.at(slave).named.empty()) Lose(slave);
    }
    Arrive(kSlots, true);
    for (int round = 0; round < 10'000 && world_.ledger().size() > 0; ++round) {
      for (const auto& [slave, joined] : slaves_) Compute(slave);
      world_.Pass(Duration::Seconds(1));
    }
    RC_ASSERT(world_.ledger().size() == 0u);
    // Packets without a task are computed, too.
    for (int round = 0; round < 100 && world_.ledger().packets() > 0; ++round) {
      for (const auto& [slave, joined] : slaves_) world_.Compute(slave);
    }
    RC_ASSERT(world_.ledger().packets() == 0u);
    RC_ASSERT(world_.ledger().runnable() == 0u);
    for (const slave_info& each : world_.ledger().ListSlaves()) RC_ASSERT(!each.busy());
    Check();
  }

 private:
  void Step() {
    switch (prng_.Below(10)) {
      case 0:
      case 1:
      case 2:
        return Submit();
      case 3:
        return Arrive(1 + static_cast<uint32_t>(prng_.Below(kSlots)), prng_.Chance(50));
      case 4:
        if (auto slave = Any()) Lose(*slave);
        return;
      case 5:
        if (prng_.Chance(70)) return BeginSome();
        return Free();
      case 6:
        if (prng_.Chance(30)) return Cancel();
        world_.Pass(Duration::Millis(static_cast<int64_t>(prng_.Below(3000))));
        return world_.Speculate();
      default:
        if (auto slave = Any()) Compute(*slave);
    }
  }
  std::optional<uint64_t> Any() {
    if (slaves_.empty()) return std::nullopt;
    auto at = slaves_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(prng_.Below(slaves_.size())));
    return at->first;
  }
  void Submit() {
    policy how{.do_it_anyway = prng_.Chance(50), .retry = prng_.Chance(70)};
    if (prng_.Chance(20)) how.losses = static_cast<uint32_t>(1 + prng_.Below(6));
    if (prng_.Chance(50)) how.slave = {prng_.Below(last_slave_ + 2)};
    if (prng_.Chance(30)) how.priority = static_cast<double>(prng_.Below(3));
    if (prng_.Chance(30)) how.needs.slots = static_cast<uint32_t>(1 + prng_.Below(kSlots));
    if (prng_.Chance(20)) how.needs.resources = {{"gpus", 1}};
    const uint64_t count = 1 + prng_.Below(6);
    const uint64_t last = world_.SubmitAll(count, how);
    for (uint64_t id = last - count + 1; id <= last; ++id) tasks_[id] = how;
  }
  void Cancel() {
    std::vector<task_id> some;
    for (uint64_t n = prng_.Below(5); n > 0; --n) some.push_back({prng_.Below(tasks_.size() + 2)});
    for (uint64_t id : world_.Cancel(some)) RC_ASSERT(cancelled_.insert(id).second);
  }
  void Arrive(uint32_t slots, bool has_gpus) {
    const uint64_t slave = ++last_slave_;
    Offer& offer = offers_[slave];
    offer.slots = slots;
    if (has_gpus) offer.named = {{"gpus", {"0", "1", "2", "3"}}};
    slaves_[slave] = world_.Arrive(slave, offer);
  }
  void Lose(uint64_t slave) {
    slaves_.erase(slave);
    world_.Lose(slave);
  }
  void Free() {
    auto slave = Any();
    if (!slave) return;
    world_.Free(*slave);
    slaves_[*slave] = group::unordered;
  }
  // Its slave may go before it has computed it.
  void BeginSome() {
    auto slave = Any();
    if (!slave) return;
    for (uint64_t id : world_.Begin(*slave, prng_.Below(kSlots))) Begun(id, *slave);
  }
  void Begun(uint64_t id, uint64_t slave) {
    const needs& needs = tasks_.at(id).needs;
    RC_ASSERT(needs.slots <= offers_.at(slave).slots);
    RC_ASSERT(needs.resources.empty() || !offers_.at(slave).named.empty());
    auto first = begun_.try_emplace(id, slave).first;
    if (!tasks_[id].retry) RC_ASSERT(first->second == slave);
  }
  void Compute(uint64_t slave) {
    const size_t had = world_.results.size();
    const size_t computes = world_.Computing(slave);
    const size_t nth = prng_.Below(computes + 1);
    const auto ids =
        world_.Compute(slave, CallEnd::kDone, Duration::Millis(1), nth == computes ? 0 : nth);
    for (uint64_t id : ids) {
      RC_ASSERT(tasks_.contains(id));
      RC_ASSERT(tasks_.at(id).needs == tasks_.at(ids[0]).needs);
      Begun(id, slave);
    }
    for (size_t i = had; i < world_.results.size(); ++i) {
      const uint64_t id = world_.results[i].task.value;
      const policy& how = tasks_.at(id);
      const bool its_own = how.slave.value == slave;
      if (slaves_.at(slave) == group::ordered) RC_ASSERT(its_own);
      if (how.slave && !how.do_it_anyway) RC_ASSERT(its_own);
      if (!its_own || how.do_it_anyway || how.priority != 0) continue;  // it may lose its place
      // Several at once end in any order; those with other needs go by themselves.
      if (offers_.at(slave).slots > 1 || how.needs != needs()) continue;
      uint64_t& newest = newest_[slave];
      RC_ASSERT(newest < id);
      newest = id;
    }
  }
  void Check() {
    std::set<uint64_t> ended = cancelled_;
    for (const result& each : world_.results) {
      RC_ASSERT(ended.insert(each.task.value).second);
      RC_ASSERT(each.ok() || tasks_.at(each.task.value).losses > 0);
      RC_ASSERT(begun_.contains(each.task.value));
    }
    for (const task& each : world_.unrunnable) {
      RC_ASSERT(ended.insert(each.id.value).second);
      const policy& how = tasks_.at(each.id.value);
      RC_ASSERT(!how.retry || (how.slave && !how.do_it_anyway));
    }
    RC_ASSERT(ended.size() == tasks_.size());
  }

  Prng prng_;
  World world_;
  std::map<uint64_t, policy> tasks_;
  std::set<uint64_t> cancelled_;
  std::map<uint64_t, group> slaves_;
  std::map<uint64_t, Offer> offers_;  // of all that were ever there
  uint64_t last_slave_ = 0;
  std::map<uint64_t, uint64_t> begun_;   // by which slave first
  std::map<uint64_t, uint64_t> newest_;  // by slave: of its own tasks that it has computed
};

TEST(LedgerPropertyTest, EachTaskEndsOnceAsItsPolicySays) {
  EXPECT_TRUE(rc::check("random masters and slaves", [] {
    const auto seed = *rc::gen::inRange<uint64_t>(0, uint64_t{1} << 60);
    RandomMaster(seed).Run(static_cast<uint32_t>(50 + seed % 400));
  }));
}

}  // namespace
}  // namespace spate::mw
