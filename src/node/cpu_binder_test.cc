#include "node/cpu_binder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "os/fake_loop.h"
#include "os/topology.h"

namespace spate::node {
namespace {

// Remembers orders; the test is the tasks.
class NoExecutor final : public Executor {
 public:
  void OpenJob(JobId, std::shared_ptr<const JobSettings>, bool) override {}
  void CloseJob(JobId) override {}
  void Start(StartOrder order) override { orders.push_back(std::move(order)); }
  void Withdraw(const AttemptRef&) override {}
  void End(const AttemptRef&, EndHow, Cause) override {}
  void Pause(bool) override {}
  void Resize(ResizeOrder order) override { resizes.push_back(std::move(order)); }
  std::vector<StartOrder> orders;
  std::vector<ResizeOrder> resizes;
};

class NoEvents final : public ExecutorEvents {
 public:
  void OnStarted(const AttemptRef&, Instant) override {}
  void OnEnded(AttemptEnd, TaskOutputPtr) override { ++ended; }
  void OnTakenBack(const AttemptRef&) override { ++taken_back; }
  void OnOutput(const AttemptRef&, int, std::string_view) override {}
  void OnMemory(const AttemptRef&, uint64_t) override {}
  void OnResized(const AttemptRef&, const std::string&) override { ++resized; }
  int ended = 0;
  int taken_back = 0;
  int resized = 0;
};

AttemptRef Ref(uint32_t index) { return {JobId(1), index, Attempt(1)}; }
std::string Text(const std::vector<int>& cpus) { return fmt::format("{}", fmt::join(cpus, ",")); }

// On two packages of two NUMA nodes of two cores, units 0 to 7 in this order.
class CpuBinderTest : public testing::Test {
 protected:
  void Make(agent::Binding binding = agent::Binding::kCore, bool binds = true, bool floats = true) {
    std::string machine = "pack:2 numa:2 core:2 pu:1";
    std::function<bool(const AttemptRef&, const std::vector<int>&)> bind;
    if (floats) {
      bind = [this](const AttemptRef& ref, const std::vector<int>& cpus) {
        if (!runs_.contains(ref.index)) return false;
        anew_.push_back(fmt::format("{}:{}", ref.index, Text(cpus)));
        return true;
      };
    }
    binder_ = std::make_unique<CpuBinder>(CpuBinder::Parts{
        .loop = loop_,
        .under = under_,
        .packer = {*os::TopologyOfSynthetic(machine), binding},
        .variable = "UNITS",
        .binds = binds,
        .on_split = [this](const AttemptRef& ref, uint32_t) { split_.push_back(ref.index); },
        .bind_floating = std::move(bind)});
    binder_->SetEvents(events_);
  }
  // "what it is told of its units > what it is bound to"; then it runs, unless it waits.
  std::string Start(uint32_t index, uint16_t slot, uint32_t milli_cpus, bool waits = false) {
    if (!binder_) Make();
    StartOrder order;
    order.ref = Ref(index);
    order.slot = slot;
    order.needs.milli_cpus = milli_cpus;
    order.given = {{"gpus", {"3"}}};
    binder_->Start(std::move(order));
    if (!waits) runs_.insert(index);
    const StartOrder& last = under_.orders.back();
    EXPECT_EQ(last.given[0].name, "gpus");
    std::string told;
    for (const std::string& variable : last.body.environment) told += variable;
    if (told.empty()) {
      EXPECT_EQ(last.given.size(), 1u);
    } else {
      EXPECT_EQ(told, fmt::format("UNITS={}", fmt::join(last.given.at(1).indices, ",")));
    }
    std::string units = told.substr(std::min(told.size(), std::string("UNITS=").size()));
    return fmt::format("{}>{}", units, fmt::join(last.body.cpus, ","));
  }
  // "what it is told of its units > what its shepherd is to bind it to"
  std::string Resize(uint32_t index, uint16_t slot, uint32_t milli_cpus) {
    ResizeOrder order;
    order.ref = Ref(index);
    order.slot = slot;
    order.needs.milli_cpus = milli_cpus;
    order.given = {{"gpus", {"3"}}};
    binder_->Resize(std::move(order));
    const ResizeOrder& last = under_.resizes.back();
    EXPECT_EQ(last.given[0].name, "gpus");
    std::string told;
    if (last.given.size() > 1) told = fmt::format("{}", fmt::join(last.given[1].indices, ","));
    return fmt::format("{}>{}", told, fmt::join(last.cpus, ","));
  }
  void End(uint32_t index) {
    runs_.erase(index);
    AttemptEnd end;
    end.ref = Ref(index);
    binder_->OnEnded(std::move(end), nullptr);
  }
  // New bindings of floating attempts since the last call, and for a little longer.
  std::vector<std::string> Anew() {
    loop_.RunFor(kFloatDelay);
    std::ranges::sort(anew_);
    return std::exchange(anew_, {});
  }
  using Texts = std::vector<std::string>;

  os::FakeLoop loop_;
  NoExecutor under_;
  NoEvents events_;
  std::unique_ptr<CpuBinder> binder_;
  std::set<uint32_t> runs_;
  Texts anew_;
  std::vector<uint32_t> split_;
};

TEST_F(CpuBinderTest, TasksThatChangeHaveBothUntilThatIsConfirmed) {
  EXPECT_EQ(Start(1, 1, 2000), "0,1>0,1");
  EXPECT_EQ(Start(2, 2, 1000), ">2,3,4,5,6,7");
  EXPECT_EQ(Resize(1, 1, 4000), "0,1,2,3>0,1,2,3");
  EXPECT_EQ(Start(3, 3, 4000), "4,5,6,7>4,5,6,7") << "none of these is the first one's";
  binder_->OnResized(Ref(1), "");
  EXPECT_EQ(events_.resized, 1);
  // Less, and the others have its units only when that is confirmed.
  EXPECT_EQ(Resize(1, 1, 2000), "0,1>0,1");
  EXPECT_EQ(Start(4, 4, 2000), ">") << "it floats, since none is free";
  binder_->OnResized(Ref(1), "");
  EXPECT_EQ(Start(5, 5, 2000), "2,3>2,3");
  End(1);
  EXPECT_EQ(Start(6, 6, 2000), "0,1>0,1");
}

TEST_F(CpuBinderTest, TasksThatAreRefusedOrEndKeepNothing) {
  EXPECT_EQ(Start(1, 1, 2000), "0,1>0,1");
  EXPECT_EQ(Resize(1, 1, 6000), "0,1,2,3,4,5>0,1,2,3,4,5");
  binder_->OnResized(Ref(1), "it uses more");
  EXPECT_EQ(Start(2, 2, 6000), "2,3,4,5,6,7>2,3,4,5,6,7") << "the others are free again";
  End(2);
  EXPECT_EQ(Resize(1, 1, 4000), "0,1,2,3>0,1,2,3");
  End(1);
  EXPECT_EQ(Start(3, 3, 8000), "0,1,2,3,4,5,6,7>0,1,2,3,4,5,6,7") << "all are free";
}

TEST_F(CpuBinderTest, TasksBeginToFloatAndStopIt) {
  EXPECT_EQ(Start(1, 1, 4000), "0,1,2,3>0,1,2,3");
  EXPECT_EQ(Start(2, 2, 1000), ">4,5,6,7");
  (void)Anew();
  EXPECT_EQ(Resize(1, 1, 1000), ">4,5,6,7") << "where the others float, as its units are not free";
  binder_->OnResized(Ref(1), "");
  EXPECT_EQ(Anew(), Texts({"1:0,1,2,3,4,5,6,7", "2:0,1,2,3,4,5,6,7"}));
  EXPECT_EQ(Resize(2, 2, 2000), "0,1>0,1");
  binder_->OnResized(Ref(2), "");
  EXPECT_EQ(Anew(), Texts({"1:2,3,4,5,6,7"}));
  End(2);
  EXPECT_EQ(Anew(), Texts({"1:0,1,2,3,4,5,6,7"}));
  End(1);
}

TEST_F(CpuBinderTest, GivesUnitsToTasksOfSeveralCpusUntilTheirEnd) {
  EXPECT_EQ(Start(1, 1, 2000), "0,1>0,1");
  EXPECT_EQ(Start(2, 2, 4000), "4,5,6,7>4,5,6,7");
  EXPECT_EQ(Start(3, 3, 2000), "2,3>2,3");
  End(1);
  EXPECT_EQ(Start(4, 4, 2000), "0,1>0,1");
  EXPECT_EQ(events_.ended, 1);
  binder_->OnTakenBack(Ref(4));
  EXPECT_EQ(Start(5, 5, 2000), "0,1>0,1");
  EXPECT_EQ(events_.taken_back, 1);
  EXPECT_TRUE(split_.empty());
}

TEST_F(CpuBinderTest, ASlotsOrdersShareItsUnits) {
  EXPECT_EQ(Start(1, 1, 2000), "0,1>0,1");
  EXPECT_EQ(Start(2, 1, 2000, /*waits=*/true), "0,1>0,1");
  EXPECT_EQ(Start(3, 1, 2000, /*waits=*/true), "0,1>0,1");
  binder_->OnTakenBack(Ref(3));
  End(1);
  EXPECT_EQ(Start(4, 2, 2000), "2,3>2,3");
  End(2);
  EXPECT_EQ(Start(5, 3, 2000), "0,1>0,1");
}

TEST_F(CpuBinderTest, SaysWhatIsSpread) {
  for (uint32_t i = 1; i <= 4; ++i) Start(i, static_cast<uint16_t>(i), 2000);
  End(1);
  End(3);
  EXPECT_EQ(Start(5, 5, 4000), "0,1,4,5>0,1,4,5");
  EXPECT_EQ(split_, std::vector<uint32_t>{5});
}

TEST_F(CpuBinderTest, ByNumaNodeATaskHasItsUnitsAndMayUseTheNode) {
  Make(agent::Binding::kNuma);
  EXPECT_EQ(Start(1, 1, 3000), "0,1,2>0,1,2,3");
  EXPECT_EQ(Start(2, 2, 1000), ">3,4,5,6,7");
}

TEST_F(CpuBinderTest, WithoutBindingNothingIsAdded) {
  Make(agent::Binding::kNone);
  EXPECT_EQ(Start(1, 1, 2000), ">");
  EXPECT_EQ(Start(2, 2, 1000), ">");
  EXPECT_EQ(Anew(), Texts());
}

TEST_F(CpuBinderTest, TasksMayBeToldOnly) {
  Make(agent::Binding::kCore, /*binds=*/false);
  EXPECT_EQ(Start(1, 1, 2000), "0,1>");
  EXPECT_EQ(Start(2, 2, 1000), ">");
  EXPECT_EQ(Anew(), Texts());
}

TEST_F(CpuBinderTest, FloatingTasksMayBeLeftAlone) {
  Make(agent::Binding::kCore, /*binds=*/true, /*floats=*/false);
  EXPECT_EQ(Start(1, 1, 2000), "0,1>0,1");
  EXPECT_EQ(Start(2, 2, 1000), ">");
  EXPECT_EQ(loop_.waiting(), 0u);
}

TEST_F(CpuBinderTest, FloatingTasksKeepOutOfTheWay) {
  EXPECT_EQ(Start(1, 1, 1000), ">");
  EXPECT_EQ(Start(2, 2, 2000), "0,1>0,1");
  EXPECT_EQ(Start(3, 3, 500), ">2,3,4,5,6,7");
  EXPECT_EQ(Start(4, 4, 1500), ">2,3,4,5,6,7");
  EXPECT_EQ(Anew(), Texts{"1:2,3,4,5,6,7"});
  EXPECT_EQ(Anew(), Texts());
  // Several changes at once are one; what has ended is left alone.
  Start(5, 5, 4000);
  Start(6, 6, 2000);
  End(4);
  End(2);
  EXPECT_EQ(Anew(), (Texts{"1:0,1", "3:0,1"}));
  // If no task leaves cpus, floating tasks are everywhere, as is one for which too few are left.
  Start(7, 7, 2000);
  EXPECT_EQ(Start(8, 8, 2000), ">");
  EXPECT_EQ(Anew(), (Texts{"1:0,1,2,3,4,5,6,7", "3:0,1,2,3,4,5,6,7"}));
  for (uint32_t i : {5, 6, 7}) End(i);
  EXPECT_EQ(Anew().size(), 3u);
  EXPECT_EQ(Start(9, 9, 1000), ">");
}

TEST_F(CpuBinderTest, AnOrderThatIsHeldAheadIsBoundAnewWhenItRuns) {
  Start(1, 1, 1000);
  Start(2, 1, 1000, /*waits=*/true);
  Start(3, 2, 4000);
  EXPECT_EQ(Anew(), Texts{"1:4,5,6,7"});
  EXPECT_EQ(loop_.waiting(), 0u);
  End(1);
  // The shepherd is about to start it.
  EXPECT_EQ(Anew(), Texts());
  EXPECT_EQ(Anew(), Texts());
  runs_.insert(2);
  EXPECT_EQ(Anew(), Texts{"2:4,5,6,7"});
  EXPECT_EQ(loop_.waiting(), 0u);
}

TEST_F(CpuBinderTest, ManyAreBoundAnewInTurns) {
  constexpr uint32_t kMany = 2 * kFloatsAtOnce + 1;
  for (uint32_t i = 0; i < kMany; ++i) Start(100 + i, static_cast<uint16_t>(10 + i), 100);
  Start(1, 1, 2000);
  std::set<std::string> bound;
  for (size_t wanted : {kFloatsAtOnce, kFloatsAtOnce, 1u, 0u}) {
    Texts now = Anew();
    EXPECT_EQ(now.size(), wanted);
    bound.insert(now.begin(), now.end());
  }
  EXPECT_EQ(bound.size(), kMany);
}

TEST_F(CpuBinderTest, AdoptedAttemptsKeepTheirUnits) {
  Make();
  Adopted adopted;
  auto add = [&](uint32_t index, uint16_t slot, uint32_t milli_cpus,
                 std::vector<NamedOffer> given) {
    agent::AttemptAdopted one;
    one.ref = Ref(index);
    one.slot = slot;
    one.needs.milli_cpus = milli_cpus;
    one.given = std::move(given);
    adopted.running.push_back(std::move(one));
    runs_.insert(index);
  };
  std::string units(kUnitsGiven);
  add(1, 1, 2000, {{"gpus", {"0"}}, {units, {"2", "3"}}});
  add(2, 2, 1000, {{"gpus", {"1"}}});
  // A process that had other cpus, or bound nothing.
  add(3, 3, 3000, {{units, {"0", "77", "78"}}});
  add(4, 4, 2000, {{units, {"98", "99"}}});
  add(5, 5, 2000, {});
  binder_->Adopt(adopted);
  for (const agent::AttemptAdopted& one : adopted.running) {
    EXPECT_EQ(one.given.size(), one.ref.index <= 2 ? 1u : 0u) << one.ref.index;
  }
  EXPECT_EQ(Anew(), (Texts{"2:1,4,5,6,7", "5:1,4,5,6,7"}));
  EXPECT_EQ(Start(10, 10, 4000), "4,5,6,7>4,5,6,7");
  EXPECT_EQ(Start(11, 11, 2000), ">1");
  End(1);
  EXPECT_EQ(Start(12, 12, 2000), "2,3>2,3");
  for (uint32_t i : {2, 3, 4, 5}) End(i);
  EXPECT_EQ(Start(13, 13, 2000), "0,1>0,1");
  EXPECT_EQ(events_.ended, 5);
}

// The next binder understands the units that one has given.
TEST_F(CpuBinderTest, UnitsComeBackWithAnAdoptedAttempt) {
  Start(1, 1, 2000);
  Start(2, 2, 2000);
  const StartOrder given = under_.orders.back();
  Make();
  Adopted adopted;
  agent::AttemptAdopted one;
  one.ref = given.ref;
  one.slot = given.slot;
  one.needs = given.needs;
  one.given = given.given;
  adopted.running.push_back(std::move(one));
  binder_->Adopt(adopted);
  EXPECT_EQ(Start(3, 3, 2000), "0,1>0,1");
  EXPECT_EQ(Start(4, 4, 4000), "4,5,6,7>4,5,6,7");
}

}  // namespace
}  // namespace spate::node
