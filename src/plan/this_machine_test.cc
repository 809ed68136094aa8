#include "plan/this_machine.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::run {
namespace {

using Names = std::vector<std::string>;

os::MachineFacts WithGpus(Names gpus, bool granted = true) {
  os::MachineFacts facts;
  facts.gpus = std::move(gpus);
  facts.gpus_granted = granted;
  facts.gpu_variable = "CUDA_VISIBLE_DEVICES";
  return facts;
}

// The GPUs that are offered when `asked` was typed; empty: that is refused.
Names OfferedGpus(const os::MachineFacts& facts, Names asked) {
  std::vector<NamedOffer> offers = {{"gpus", std::move(asked)}};
  return UseGrantedGpus(facts, offers) ? offers.front().indices : Names();
}

TEST(UseGrantedGpus, CountsFromTheFirstOfTheGrant) {
  const os::MachineFacts facts = WithGpus({"2", "5"});
  EXPECT_EQ(OfferedGpus(facts, {"0", "1"}), (Names{"2", "5"}));
  EXPECT_EQ(OfferedGpus(facts, {"5", "2"}), (Names{"5", "2"}));
  EXPECT_EQ(OfferedGpus(facts, {"0", "2"}), Names());  // the third
  EXPECT_EQ(OfferedGpus(facts, {"x"}), Names());
  EXPECT_EQ(OfferedGpus(WithGpus({}), {"0"}), Names());
}

TEST(UseGrantedGpus, LeavesOffersAloneWhereNothingIsGranted) {
  EXPECT_EQ(OfferedGpus(WithGpus({"0"}, /*granted=*/false), {"7"}), Names{"7"});
  std::vector<NamedOffer> others = {{"lic", {"7"}}};
  EXPECT_TRUE(UseGrantedGpus(WithGpus({"0"}), others));
  EXPECT_EQ(others.front().indices, Names{"7"});
}

Offer SmallOffer() {
  Offer offer;
  offer.node_name = "here";
  offer.slots = 2;
  offer.milli_cpus = 2000;
  offer.memory = uint64_t{1} << 30;
  return offer;
}

TaskClass ClassWith(Needs needs, uint32_t procs = 0, uint32_t nodes = 0) {
  TaskClass each;
  each.needs = std::move(needs);
  each.gang.procs = procs;
  each.gang.nodes = nodes;
  return each;
}

TEST(WhyNeverHere, LooksAtAllProcessesOfAGang) {
  const Offer offer = SmallOffer();
  const Needs one{.milli_cpus = 1000};
  EXPECT_FALSE(WhyNeverHere(offer, ClassWith(one)));
  EXPECT_FALSE(WhyNeverHere(offer, ClassWith(one, 2)));
  EXPECT_TRUE(WhyNeverHere(offer, ClassWith(one, 3))->starts_with("is a gang of 3 processes"));
  EXPECT_TRUE(WhyNeverHere(offer, ClassWith(one, 2, 2))->starts_with("is a gang on 2 nodes"));
}

TEST(CheckNeeds, NamesTheFirstPlaceOfEachRequest) {
  cli::TaskList tasks;
  tasks.requests = {ClassWith({.milli_cpus = 1000}), ClassWith({.milli_cpus = 3000}),
                    ClassWith({.memory = uint64_t{2} << 30})};
  tasks.places = {"a:1", "a:2", "b:9"};
  auto checked = CheckNeeds(tasks, SmallOffer());
  ASSERT_FALSE(checked);
  const std::string& why = checked.error().message;
  EXPECT_FALSE(why.contains("a:1")) << why;
  EXPECT_TRUE(why.starts_with("a:2: it needs 3 cpus, here offers 2\nb:9: it needs")) << why;
  EXPECT_TRUE(why.ends_with("\nrequest less\nnothing was started")) << why;
  tasks.requests.resize(1);
  EXPECT_TRUE(CheckNeeds(tasks, SmallOffer()));
}

TEST(CheckNeeds, SaysHowToDeclareWhatTheMachineHas) {
  cli::TaskList tasks;
  Needs licence;
  licence.named = {{"lic", 1}};
  tasks.requests = {ClassWith(licence)};
  tasks.places = {"the command"};
  auto checked = CheckNeeds(tasks, SmallOffer());
  ASSERT_FALSE(checked);
  EXPECT_TRUE(checked.error().message.contains("--offer NAME=N")) << checked.error().message;
}

TEST(FitOpenFiles, GivesASlotAtLeast) {
  EXPECT_EQ(FitOpenFiles(1), 1u);
  EXPECT_GE(FitOpenFiles(1'000'000), 1u);
}

}  // namespace
}  // namespace spate::run
