#include <gtest/gtest.h>

#include "core/model/job.h"

namespace spate {
namespace {

Offer TwoCores() {
  Offer offer;
  offer.node_name = "this machine";
  offer.slots = 8;
  offer.milli_cpus = 2000;
  offer.memory = 4096;
  offer.named = {{"gpus", {"0", "1", "2"}}};
  return offer;
}

TEST(Needs, FitCountTakesTheScarcestResource) {
  EXPECT_EQ(FitCount(TwoCores(), Needs{}), 2u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{500, 0, {}})), 4u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{0, 0, {}})), 8u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{0, 1500, {}})), 2u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{0, 0, {{"gpus", 2}}})), 1u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{0, 0, {{"licence", 1}}})), 0u);
}

TEST(Needs, WhyNeverNamesTheResource) {
  EXPECT_FALSE(WhyNever(TwoCores(), Needs{}));
  EXPECT_EQ(WhyNever(TwoCores(), (Needs{8000, 0, {}})).value(),
            "needs 8 cpus, this machine offers 2");
  EXPECT_EQ(WhyNever(TwoCores(), (Needs{0, 0, {{"licence", 1}}})).value(),
            "needs 1 of 'licence', this machine offers 0");
}

TEST(Names, CoverEveryCause) {
  for (int c = 0; c < kCauseCount; ++c) EXPECT_STRNE(CauseName(static_cast<Cause>(c)), "?");
  EXPECT_STREQ(CauseName(static_cast<Cause>(kCauseCount)), "?");
}

}  // namespace
}  // namespace spate
