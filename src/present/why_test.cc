#include "present/why.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "core/model/job.h"
#include "present/reasons.h"
#include "wire/field_bytes.h"

namespace spate::present {
namespace {

int64_t Of(HoldReason reason) { return static_cast<int64_t>(reason); }

// Texts of whole jobs are in core/engine/testdata; here is what these do not reach.
TEST(WhyText, Commands) {
  const Why held = {{ReasonKind::kAfterHeld, {3}},
                    {ReasonKind::kHeld, {3, Of(HoldReason::kAllFail)}}};
  EXPECT_EQ(
      TextOf(held, " --hub"),
      "it waits for job 3, and job 3 is held because too many tasks failed in a row; check them "
      "(spate job info --hub 3), then release the job: spate job release --hub 3");
  // Nobody can release it.
  EXPECT_EQ(TextOf({{ReasonKind::kHeld, {3, Of(HoldReason::kResults)}}}),
            "job 3 starts no more tasks until its program has taken the results that wait; it "
            "continues by itself");
  EXPECT_EQ(TextOf({{ReasonKind::kNoNodeJoined}}, " --access a"),
            "no node is connected, so nothing runs yet; start one: spate node start --access a "
            "--daemon");
}

TEST(WhyText, NamesOfUsersStayAsTheyAre) {
  const Why why = {{ReasonKind::kNoNodeFits},
                   {ReasonKind::kLacksLabel, {}, {}, {"spate job x", "n1"}}};
  EXPECT_EQ(TextOf(why, " --hub --state S"),
            "no node fits: it needs a node with label 'spate job x'; n1 does not have it");
}

TEST(WhyText, FeaturesOfNodesAreExplained) {
  auto text = [](std::vector<std::string> names) {
    return TextOf(
        {{ReasonKind::kNoNodeFits}, {ReasonKind::kLacksFeature, {}, {}, std::move(names)}});
  };
  EXPECT_EQ(text({"pmi", "n1"}),
            "no node fits: it needs a node whose spate supports 'pmi', and that of n1 is too old: "
            "update it");
  EXPECT_EQ(text({"pmix", "n1"}),
            "no node fits: it needs a node with the program spate-pmix; n1 does not have it");
  EXPECT_EQ(text({"bash", "n1"}), "no node fits: it needs a node with bash; n1 does not have it");
}

TEST(WhyText, WordsOfOthersAreEscaped) {
  const Why why = {{ReasonKind::kPoolPaused, {}, {}, {"lab", "it wrote: \x1b[2J\xe2\x80\xae\nno"}}};
  EXPECT_EQ(TextOf(why),
            R"(pool lab is paused: it wrote: \x1b[2J\u202e\nno (spate pool resume lab))");
}

TEST(WhyText, ParentsAreCalledByTheirNames) {
  EXPECT_EQ(TextOf({{ReasonKind::kParents, {2, 3, 0, 4, 5}, {}, {"align", ""}}}),
            "it waits for 2 of 3 parents: tasks align, 5");
  EXPECT_EQ(TextOf({{ReasonKind::kParents, {1, 3, 0, 4}}}), "it waits for 1 of 3 parents: task 4");
}

TEST(WhyText, AGangWhoseTimeHasCome) {
  EXPECT_EQ(TextOf({{ReasonKind::kGangPlace, {1}},
                    {ReasonKind::kGangOverdue, {3, 2, 0}, {Duration::Seconds(100)}, {"n1"}}}),
            "it is the first waiting gang; it starts as soon as task 3.2 on n1 ends: it "
            "runs 1m40s longer than estimated");
  EXPECT_EQ(TextOf({{ReasonKind::kGangPlace, {1}},
                    {ReasonKind::kGangOverdue, {3, 0, 1}, {Duration::Seconds(100)}, {"n1"}}}),
            "it is the first waiting gang; it starts as soon as tasks of job 3 on n1 "
            "end: they run 1m40s longer than estimated, as other tasks on its nodes do");
  EXPECT_EQ(
      TextOf({{ReasonKind::kGangPlace, {1}}, {ReasonKind::kGangStarts, {0}, {Duration()}, {"n1"}}}),
      "it is the first waiting gang; it is about to start on n1");
}

TEST(WhyText, Pools) {
  Why why = {{ReasonKind::kNoNodeJoined}};
  AppendNext(why, {{ReasonKind::kPoolPaused, {}, {}, {"lab", "by ann"}}});
  AppendNext(why, {{ReasonKind::kPoolState, {1, 0}, {}, {"b", "", "", "asks slowly", "down"}}});
  AppendNext(why, {});
  EXPECT_EQ(TextOf(why, " --hub --state s"),
            "no node is connected, so nothing runs yet; start one: spate node start --state s "
            "--daemon; pool lab is paused: by ann (spate pool resume --state s lab); pool b gets "
            "no answer from its batch system: down; it has 1 pilot; asks slowly");
  EXPECT_EQ(TextOf({{ReasonKind::kPoolGone, {}, {}, {"lab"}}}, " --hub --state s"),
            "pool lab was removed; to add it again: spate pool add --state s SYSTEM lab");
}

TEST(WhyText, PoolsWhoseBatchSystemFails) {
  const std::string failed = "sbatch failed (exit code 1)";
  EXPECT_EQ(TextOf({{ReasonKind::kPoolState, {0, 0, 1}, {}, {"lab", "", "", "", failed}}}),
            "pool lab gets no answer from its batch system: sbatch failed (exit code 1); it has 1 "
            "pilot to submit");
  EXPECT_EQ(TextOf({{ReasonKind::kPoolState, {0, 2}, {}, {"lab", "20:15", "Priority"}}}),
            "pool lab has 2 pilots queued since 20:15 UTC (reason: Priority)");
}

TEST(WhyText, NodesThatTakeNoTasks) {
  const Reason nodes{ReasonKind::kNodesTakeNone,
                     {0, 1, 1, 3, 0, 4},
                     {Duration::Seconds(120), {}, {}, Duration::Seconds(60), {}, {}},
                     {"n1", "n2", "n3", "n4", "n5", "n6", "", "new disk", "", "0.0.9", "", ""}};
  EXPECT_EQ(TextOf({nodes}, " --access a"),
            "the only nodes that can run it accept no tasks: n1 (away for 2m00s), n2 (drained: new "
            "disk), n3 (drained), n4 (refused: the hub does not support its spate version "
            "0.0.9), n5 (silent), ...; to resume n2, n3: spate node resume --access a n2 n3");
  EXPECT_EQ(
      TextOf({{ReasonKind::kTooFewNodes, {2, 1, 1}},
              {ReasonKind::kNodesMissing, {0}, {Duration::Seconds(60)}, {"n1", ""}}}),
      "it needs 2 nodes with room for 1 process each, and 1 is there; not available: n1 (away "
      "for 1m00s)");
  EXPECT_EQ(TextOf({{ReasonKind::kNodesAway, {0}, {Duration::Seconds(60)}, {"n1", ""}}}),
            "no node is connected: n1 (away for 1m00s); a running node reconnects "
            "automatically; to start another: spate node start");
}

TEST(WhyText, WhatBecomesOfTasksOfSilentNodes) {
  auto text = [](SilentFate fate) {
    return TextOf({{ReasonKind::kSilentNodes,
                    {1, 0, static_cast<int64_t>(fate), 7},
                    {Duration::Seconds(90)},
                    {"n1"}}});
  };
  const std::string heard =
      "it is running on n1, which does not respond; if it stays silent for 1m30s more, its ";
  EXPECT_EQ(text(SilentFate::kElsewhere), heard + "tasks restart elsewhere");
  EXPECT_EQ(text(SilentFate::kSameNode), heard + "tasks restart once the node is back");
  EXPECT_EQ(text(SilentFate::kUnknown), heard + "tasks end as unknown (--once)");
  EXPECT_EQ(text(SilentFate::kCancelled), heard + "cancelled tasks count as ended");
  EXPECT_EQ(TextOf({{ReasonKind::kSilentNodes, {3, 1}, {Duration::Seconds(90)}, {"n1", "n2"}}}),
            "its 3 tasks are running on n1, n2, ..., which do not respond; if they stay silent for "
            "1m30s more, their tasks restart elsewhere");
  EXPECT_EQ(text(SilentFate::kKept),
            "it is running on n1, which the hub refuses because it does not support that version "
            "of spate; tasks there are kept, and continue once the node has a supported version");
}

// Each name in braces is an argument of its row, and each argument is told or decides what is told.
TEST(WhyText, TemplatesKnowTheirArguments) {
  const std::set<std::string> by_code = {"ids",    "troubles",  "away",   "names", "tasks", "cpus",
                                         "memory", "resources", "counts", "nodes", "more"};
  for (const ReasonRow& row : Reasons()) {
    std::string text(row.text);
    for (const auto& [name, part] : ReasonParts()) {
      if (text.find("{&" + std::string(name)) != text.npos) text += part;
    }
    for (const ReasonArgument& argument : ArgumentsOf(row)) {
      const std::regex use("[{*=@ ]" + std::string(argument.name) + "[}:| ]");
      EXPECT_TRUE(by_code.contains(std::string(argument.name)) || std::regex_search(text, use))
          << row.word << ": " << argument.name;
    }
    EXPECT_EQ(std::ranges::count(text, '{'), std::ranges::count(text, '}')) << row.word;
  }
}

// A message may be damaged, or of a newer program.
TEST(WhyText, EveryKindDoesWithoutArguments) {
  for (int kind = 0; kind < 256; ++kind) {
    const Reason reason{static_cast<ReasonKind>(kind)};
    EXPECT_FALSE(TextOf({reason}).empty()) << kind;
    auto read = wire::FromBytes<Reason>("reason", BytesOf(reason));
    ASSERT_TRUE(read) << kind;
    EXPECT_EQ(*read, reason);
  }
  EXPECT_NE(TextOf({{ReasonKind{255}}}).find("newer release"), std::string::npos);
}

TEST(WhyText, ArgumentsGoOverTheWire) {
  const Reason reason{ReasonKind::kSuspectNode, {2, -1}, {Duration::Seconds(3)}, {"n1", ""}};
  auto read = wire::FromBytes<Reason>("reason", BytesOf(reason));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, reason);
  EXPECT_EQ(
      TextOf({*read}),
      "2 tasks of its job failed on n1 in a row, so that node gets one of the job's tasks at a "
      "time, the next in 3.00 s, and no other node has room");
}

TEST(WhyText, OnItsNode) {
  const std::pair<Reason, const char*> table[] = {
      {{ReasonKind::kSlotsTaken, {1, 3, 2}, {}, {"n1"}}, ", which starts it when task 3.2 ends"},
      {{ReasonKind::kSlotsTaken, {8}, {}, {"n1"}},
       ", which starts it when one of the 8 tasks there ends"},
      {{ReasonKind::kSlotKept, {3, 2}, {}, {"n1", "sort (pid 12)"}},
       ", where the command of task 3.2 has ended but left running: sort (pid 12) (see "
       "--leftovers)"},
      {{ReasonKind::kNodeLacks, {1, 0}, {}, {"n1", "licence"}},
       ", but it needs 1 of 'licence', and 0 of it is free there"},
      {{ReasonKind::kNodeLacks, {1500, 500}, {}, {"n1", "cpus"}},
       ", but it needs 1.5 of 'cpus', and 0.5 of it is free there"},
      {{ReasonKind::kNodeLacks, {2 << 20, 1 << 20}, {}, {"n1", "memory"}},
       ", but it needs 2.0 MB of 'memory', and 1.0 MB of it is free there"},
      {{ReasonKind::kStartsPaused, {}, {}, {"n1", "the load is 3.0"}},
       ", which starts no tasks at the moment: the load is 3.0"},
      {{ReasonKind::kStartDelay, {}, {Duration::Seconds(60)}, {"n1"}},
       ", which starts a task of its job every 1m00s (--delay)"},
      {{ReasonKind::kLineOfNode, {}, {}, {"n1"}}, ", where other tasks are ahead of it"},
  };
  for (const auto& [reason, text] : table) {
    EXPECT_EQ(TextOf({reason}), std::string("it is next on node n1") + text);
  }
}

}  // namespace
}  // namespace spate::present
