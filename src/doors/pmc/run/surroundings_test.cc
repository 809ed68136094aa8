#include "doors/pmc/run/surroundings.h"

#include <gtest/gtest.h>

namespace spate::pmc {
namespace {

using Variables = std::vector<std::string>;

HostSurroundings Of(const Surroundings& first, const std::vector<Surroundings>& others) {
  std::vector<std::string> texts;
  for (const Surroundings& other : others) {
    texts.push_back(TextOfOther(other, TextOfFirst(first)));
  }
  return Combine(first, texts);
}

TEST(Surroundings, EqualOnesTakeNoRoom) {
  const Surroundings same{{"A=1", "B=two\nlines"}, {0, 1}};
  EXPECT_EQ(TextOfOther(same, TextOfFirst(same)).size(), 4u);
  auto host = Of(same, {same, same});
  EXPECT_TRUE(host.missing.empty());
  EXPECT_EQ(host.slots, std::vector<SlotSurroundings>(3));
}

TEST(Surroundings, ASlotHasItsOwnValues) {
  auto host =
      Of({{"GPU=1", "A=1"}, {0}}, {{{"GPU=2", "A=1"}, {1}}, {{"A=1", "GPU=3", "B="}, {2, 3}}});
  EXPECT_TRUE(host.missing.empty());
  ASSERT_EQ(host.slots.size(), 3u);
  EXPECT_EQ(host.slots[0], SlotSurroundings());
  EXPECT_EQ(host.slots[1], (SlotSurroundings{{"GPU=2"}, {1}}));
  EXPECT_EQ(host.slots[2], (SlotSurroundings{{"GPU=3", "B="}, {2, 3}}));
}

TEST(Surroundings, AVariableThatASlotLacksIsGivenToTheOthers) {
  auto host = Of({{"X=1", "A=1"}, {}}, {{{"A=1"}, {}}, {{"X=2", "A=1"}, {}}, {{"X=1", "A=1"}, {}}});
  EXPECT_EQ(host.missing, Variables{"X"});
  ASSERT_EQ(host.slots.size(), 4u);
  EXPECT_EQ(host.slots[0].environment, Variables{"X=1"});
  EXPECT_EQ(host.slots[1].environment, Variables{});
  EXPECT_EQ(host.slots[2].environment, Variables{"X=2"});
  EXPECT_EQ(host.slots[3].environment, Variables{"X=1"});
}

TEST(Surroundings, VariablesOfTheLauncherDoNotCount) {
  auto host = Of({{"PMI_RANK=1", "OMPI_X=1"}, {}}, {{{"PMI_RANK=2", "PMIX_Y=1"}, {}}});
  EXPECT_TRUE(host.missing.empty());
  EXPECT_EQ(host.slots, std::vector<SlotSurroundings>(2));
}

TEST(Surroundings, ADamagedTextIsNoCrash) {
  auto host =
      Combine({{"A=1"}, {}}, std::vector<std::string>{"", std::string("x,9999999,3\0?\0+", 15)});
  EXPECT_EQ(host.slots.size(), 3u);
  EXPECT_EQ(host.slots[2].cpus, std::vector<uint16_t>{3});
}

}  // namespace
}  // namespace spate::pmc
