#include "remote/pmix/space.h"

#include <gtest/gtest.h>

namespace spate::remote {
namespace {

// "to:message" for each reply, with '|' for the newline.
std::string Text(const PmixSpace::Step& step) {
  std::string text;
  for (const PmixSpace::Reply& reply : step.replies) {
    std::string message = *reply.text;
    message[message.find('\n')] = '|';
    text += std::to_string(reply.to) + ":" + message + " ";
  }
  return text;
}
std::string Said(PmixSpace& space, uint32_t part, std::string_view words,
                 std::string_view body = {}) {
  const PmixSpace::Step step = space.Handle(part, FormatPmix(words, body));
  EXPECT_FALSE(step.abort) << step.why;
  return Text(step);
}
std::string WhyItEnds(PmixSpace& space, uint32_t part, std::string_view words) {
  const PmixSpace::Step step = space.Handle(part, FormatPmix(words));
  return step.abort ? std::to_string(*step.abort) + ": " + step.why : "";
}

TEST(Pmix, AFenceCollectsTheDataOfAllParts) {
  PmixSpace space({2, 1, 2});
  EXPECT_EQ(space.members(), 3u);
  EXPECT_EQ(Said(space, 2, "fence 0-4", "CC"), "");
  EXPECT_EQ(Said(space, 0, "fence 0-4", "A"), "");
  EXPECT_EQ(Said(space, 1, "fence 0-4", "B"),
            "0:fenced 0-4 0 4|ABCC 1:fenced 0-4 0 4|ABCC 2:fenced 0-4 0 4|ABCC ");
}

TEST(Pmix, AFenceOfSomeNeedsTheirPartsAlone) {
  PmixSpace space({2, 1, 2});
  EXPECT_EQ(Said(space, 0, "fence 1,3", "A"), "");
  EXPECT_EQ(Said(space, 2, "fence 1,3", "C"), "0:fenced 1,3 0 2|AC 2:fenced 1,3 0 2|AC ");
  EXPECT_EQ(Said(space, 1, "fence 2", "x"), "1:fenced 2 0 1|x ");
  EXPECT_EQ(Said(space, 0, "fence 1-2", "y"), "");
  EXPECT_EQ(Said(space, 1, "fence 1-2", "z"), "0:fenced 1-2 0 2|yz 1:fenced 1-2 0 2|yz ");
}

TEST(Pmix, APartMayBeAFenceAhead) {
  PmixSpace space({1, 1});
  EXPECT_EQ(Said(space, 0, "fence 0-1", "1"), "");
  EXPECT_EQ(Said(space, 0, "fence 0-1", "2"), "");
  EXPECT_EQ(Said(space, 1, "fence 0-1", "a"), "0:fenced 0-1 0 2|1a 1:fenced 0-1 0 2|1a ");
  EXPECT_EQ(Said(space, 1, "fence 0-1", "b"), "0:fenced 0-1 0 2|2b 1:fenced 0-1 0 2|2b ");
}

TEST(Pmix, DataOfOneProcessComesFromItsPart) {
  PmixSpace space({1, 2});
  EXPECT_EQ(Said(space, 0, "get 7 2"), "1:get 0 2 0| ");
  EXPECT_EQ(Said(space, 0, "get 8 1"), "1:get 1 1 0| ");
  EXPECT_EQ(Said(space, 1, "data 1 0", "xy"), "0:data 8 0 2|xy ");
  EXPECT_EQ(Said(space, 1, "data 0 1"), "0:data 7 1 0| ");
  EXPECT_EQ(Said(space, 1, "data 0 0", "again"), "");
  // Others' answers are not taken for its.
  EXPECT_EQ(Said(space, 0, "get 9 2"), "1:get 2 2 0| ");
  EXPECT_NE(WhyItEnds(space, 0, "data 2 0"), "");
}

TEST(Pmix, NobodyWaitsForDataOfOneThatIsGone) {
  PmixSpace space({1, 2, 1});
  EXPECT_EQ(Said(space, 0, "get 7 2"), "1:get 0 2 0| ");
  EXPECT_EQ(Said(space, 2, "get 1 1"), "1:get 1 1 0| ");
  EXPECT_EQ(Said(space, 1, "ended 2"), "0:data 7 1 0| ");
  EXPECT_EQ(Said(space, 0, "get 8 2"), "0:data 8 1 0| ");
  EXPECT_EQ(Text(space.Left(1)), "2:data 1 1 0| ");
}

TEST(Pmix, AProcessThatLeavesOthersInMpiEndsTheProgram) {
  PmixSpace space({1, 2});
  EXPECT_EQ(Said(space, 0, "connected 0"), "");
  EXPECT_EQ(Said(space, 1, "connected 1"), "");
  EXPECT_EQ(Said(space, 1, "connected 2"), "");
  EXPECT_EQ(Said(space, 1, "finalized 1"), "");
  EXPECT_EQ(Said(space, 1, "ended 1"), "");
  EXPECT_EQ(WhyItEnds(space, 1, "ended 2"), "1: process 2 has ended without MPI_Finalize");
}

TEST(Pmix, AProcessThatNeverBeginsEndsAProgramThatHasBegun) {
  PmixSpace none({1, 1});
  EXPECT_EQ(Said(none, 0, "ended 0"), "");
  EXPECT_EQ(Said(none, 1, "ended 1"), "");
  EXPECT_FALSE(none.used());
  const std::string why = "1: process 1 has ended without MPI_Init, and others wait for it";
  PmixSpace before({1, 1});
  EXPECT_EQ(Said(before, 1, "ended 1"), "");
  EXPECT_EQ(WhyItEnds(before, 0, "connected 0"), why);
  PmixSpace after({1, 1});
  EXPECT_EQ(Said(after, 0, "connected 0"), "");
  EXPECT_TRUE(after.used());
  EXPECT_EQ(WhyItEnds(after, 1, "ended 1"), why);
}

TEST(Pmix, AnAbortEndsTheProgram) {
  PmixSpace space({2});
  EXPECT_EQ(WhyItEnds(space, 0, "abort 1 7"), "7: process 1 called MPI_Abort");
  EXPECT_EQ(WhyItEnds(space, 0, "abort 1 0"), "1: process 1 called MPI_Abort");
  EXPECT_EQ(WhyItEnds(space, 0, "abort 1 256"), "1: process 1 called MPI_Abort");
  EXPECT_TRUE(space.Handle(0, FormatPmix("abort 1 7")).ends_itself);
}

TEST(Pmix, WhoBreaksTheRulesEndsTheProgram) {
  for (const char* words :
       {"x", "fence", "fence 2", "fence 0-3", "fence x", "get 1", "get 1 3", "get x x", "connected",
        "connected 2", "connected 3", "finalized x", "ended 2", "abort 0", "begin 1"}) {
    PmixSpace space({2, 1});
    EXPECT_NE(WhyItEnds(space, 0, words), "") << words;
  }
  PmixSpace space({1, 1});
  std::string why;
  for (int i = 0; i < 1000 && why.empty(); ++i) why = WhyItEnds(space, 0, "fence 0-1");
  EXPECT_NE(why, "") << "a part is ahead without end";
}

}  // namespace
}  // namespace spate::remote
