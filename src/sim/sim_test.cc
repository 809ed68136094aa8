// The simulator's own tests: fixed seeds, the same bytes twice, and sabotage that must be found.
#include <execinfo.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include "os/fake_loop.h"
#include "sim/process_loop.h"
#include "sim/simulate.h"

namespace spate::sim {
namespace {

// Description of the newest world, for a crash in it.
char g_world[64] = "no world yet\n";

WorldReport RunNamed(const Options& options, Sabotage sabotage = Sabotage::kNone) {
  std::snprintf(g_world, sizeof g_world, "the newest world has seed %ju, sabotage %d\n",
                static_cast<uintmax_t>(options.seed), static_cast<int>(sabotage));
  return RunWorld(options, sabotage, nullptr);
}

// A crash takes along all that GoogleTest knows of it: this says which world, and where, for
// addr2line. Only calls that a signal handler may make, once backtrace() was called before.
void OnCrash(int signal) {
  void* frames[64];
  (void)!write(STDERR_FILENO, g_world, std::char_traits<char>::length(g_world));
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  raise(signal);  // the default again (SA_RESETHAND)
}

std::string Say(const WorldReport& report) {
  std::string text;
  for (const Findings::Line& line : report.findings) text += line.checker + ": " + line.text + "\n";
  for (const std::string& line : report.last_events) text += "  " + line + "\n";
  return text;
}

// Promises are kept in so many worlds, and among them every kind of trouble is met: a fault that
// never happens tests nothing.
TEST(Sim, PromisesAreKept) {
  constexpr uint64_t kSeeds = 400;
  WorldReport all;
  uint64_t clean_exits = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Options options = DrawOptions(seed, std::nullopt, Worlds::kRun);
    WorldReport report = RunNamed(options);
    ASSERT_TRUE(report.findings.empty()) << "seed " << seed << "\n" << Say(report);
    all.crashes += report.crashes;
    all.store_failures += report.store_failures;
    all.cuts += report.cuts;
    all.executions += report.executions;
    all.orphans += report.orphans;
    all.cut_commits += report.cut_commits;
    all.kept_commits += report.kept_commits;
    clean_exits += report.lives - report.crashes - report.store_failures;
  }
  EXPECT_GT(all.crashes, kSeeds);
  EXPECT_GT(all.store_failures, kSeeds / 50);
  EXPECT_GT(all.cuts, kSeeds / 2);
  EXPECT_GT(all.cut_commits, kSeeds / 10);
  EXPECT_GT(all.kept_commits, 0u);
  EXPECT_GT(all.orphans, kSeeds / 50);
  EXPECT_GT(all.executions, kSeeds * 20);
  EXPECT_GT(clean_exits, kSeeds + kSeeds / 10);
}

TEST(Sim, PromisesOfAHubAreKept) {
  constexpr uint64_t kSeeds = 150;
  WorldReport all;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Options options = DrawOptions(seed, std::nullopt, Worlds::kHub);
    WorldReport report = RunNamed(options);
    ASSERT_TRUE(report.findings.empty()) << "seed " << seed << "\n" << Say(report);
    all.crashes += report.crashes;
    all.node_crashes += report.node_crashes;
    all.store_failures += report.store_failures;
    all.cuts += report.cuts;
    all.executions += report.executions;
    all.silent_nodes += report.silent_nodes;
    all.frozen += report.frozen;
    all.signalled += report.signalled;
    all.odd_answers += report.odd_answers;
  }
  EXPECT_GT(all.silent_nodes, kSeeds / 25);
  EXPECT_GT(all.frozen, kSeeds / 75);
  EXPECT_GT(all.signalled, 0u);
  EXPECT_GT(all.odd_answers, kSeeds / 50);
  EXPECT_GT(all.crashes, kSeeds);
  EXPECT_GT(all.node_crashes, kSeeds / 2);
  EXPECT_GT(all.store_failures, kSeeds / 50);
  EXPECT_GT(all.cuts, kSeeds / 2);
  EXPECT_GT(all.executions, kSeeds * 20);
}

// Worlds with a batch system: each of its troubles is met.
TEST(Sim, PromisesOfPoolsAreKept) {
  constexpr uint64_t kWorlds = 50;
  uint64_t worlds = 0;
  WorldReport all;
  for (uint64_t seed = 1; worlds < kWorlds; ++seed) {
    Options options = DrawOptions(seed, std::nullopt, Worlds::kHub);
    if (options.pools == 0) continue;
    ++worlds;
    WorldReport report = RunNamed(options);
    ASSERT_TRUE(report.findings.empty()) << "seed " << seed << "\n" << Say(report);
    all.crashes += report.crashes;
    all.pilots += report.pilots;
    all.unanswered += report.unanswered;
    all.refused += report.refused;
    all.garbled += report.garbled;
    all.left_out += report.left_out;
    all.forgotten += report.forgotten;
    all.killed += report.killed;
    all.requeued += report.requeued;
    all.never_joined += report.never_joined;
    all.gluttonous += report.gluttonous;
    all.hopeless += report.hopeless;
    all.parts_on_pilots += report.parts_on_pilots;
    all.cut_off += report.cut_off;
  }
  EXPECT_GT(all.crashes, kWorlds);
  EXPECT_GT(all.pilots, kWorlds * 2);
  for (uint64_t each : {all.unanswered, all.refused, all.garbled, all.left_out, all.forgotten,
                        all.killed, all.requeued, all.never_joined, all.gluttonous, all.hopeless,
                        all.parts_on_pilots, all.cut_off}) {
    EXPECT_GE(each, kWorlds / 40);
  }
}

TEST(ProcessLoop, MessagesThatComeWhileItsMachineSleepsAreHeardWhenItWakes) {
  constexpr Duration kSecond = Duration::Seconds(1);
  os::FakeLoop world;
  ProcessLoop loop(world, kSecond * 60);
  const Instant began = world.Now();
  Instant heard, rang;
  loop.At(loop.Now() + kSecond * 3, [&] { rang = world.Now(); });
  loop.Sleep(kSecond * 10);
  world.At(began + kSecond * 4, [&] {
    EXPECT_EQ(loop.Now(), began + kSecond * 60) << "its steady clock stands still";
    loop.Post([&] { heard = world.Now(); });
  });
  world.RunFor(kSecond * 100);
  EXPECT_EQ(heard, began + kSecond * 10);
  EXPECT_EQ(rang, began + kSecond * 13);
  EXPECT_EQ(loop.Wall() - loop.Now(), kSecond * 10);
}

std::string OutputOf(const std::vector<std::string>& args, int expected_status) {
  std::string text;
  EXPECT_EQ(Simulate(args, [&](std::string_view line) { text += line; }), expected_status);
  return text;
}

TEST(Sim, SameSeedSameBytes) {
  for (const char* seed : {"1", "2", "77", "300"}) {
    std::string first = OutputOf({"--seed", seed, "--verbose"}, 0);
    EXPECT_GT(first.size(), 200u);
    EXPECT_EQ(first, OutputOf({"--seed", seed, "--verbose"}, 0)) << "seed " << seed;
  }
  EXPECT_NE(OutputOf({"--seed", "1"}, 0), OutputOf({"--seed", "2"}, 0));
}

// Not at random points but at all of them: each store write, message, order and turn of the loop.
TEST(Sim, DiesAtEveryPoint) {
  // A hub's world has many more points; `tools/check sim` takes others.
  const std::vector<std::string> run = {"--run", "--seed", "1", "--seeds", "3"};
  const std::vector<std::string> hub = {"--hub", "--seed", "1"};
  for (std::vector<std::string> args : {run, hub}) {
    args.insert(args.end(), {"--tasks", "6", "--every-point"});
    std::string text = OutputOf(args, 0);
    EXPECT_NE(text.find("  ok at every one of "), std::string::npos) << text;
  }
}

TEST(Sim, SeedsAndTasksAreTaken) {
  std::string text = OutputOf({"--seed", "5", "--seeds", "3", "--tasks", "4"}, 0);
  EXPECT_TRUE(text.starts_with("seed 5\n  tasks=4 "));
  EXPECT_NE(text.find("\nseed 7\n"), std::string::npos);
  EXPECT_NE(text.find("3 seeds from 5, 3 worlds: all promises kept"), std::string::npos);
  OutputOf({"--sed", "5"}, 2);
  OutputOf({"--seed"}, 2);
  OutputOf({"--seed", "x"}, 2);
}

struct Canary {
  Sabotage sabotage;
  const char* checker;
  Worlds worlds = Worlds::kRun;
  bool gangs = true;
  std::optional<uint32_t> tasks = {};  // in each world; its seed says it otherwise
  // Worlds in which its checker can find it; the others are left out.
  bool (*judged)(const Options& world) = [](const Options&) { return true; };
  // Makes rare troubles frequent.
  void (*change)(Options& world) = [](Options&) {};
};

// Worlds of a hub that are `judged`.
Canary InHubs(Sabotage sabotage, const char* checker, bool (*judged)(const Options& world)) {
  return {.sabotage = sabotage, .checker = checker, .worlds = Worlds::kHub, .judged = judged};
}

bool Steers(const Options& o) { return o.steer && !o.suspend && !o.slow_disk() && o.pools == 0; }
bool HasPools(const Options& o) { return o.pools > 0; }
bool Holds(const Options& o) { return o.hold_release; }

bool HasGangsInTime(const Options& o) {
  return o.gangs && !o.suspend && !o.load_bound && !o.roomless && !o.user_rules && !o.max_running &&
         !o.steer;
}

// Nobody comes, goes or dies, which would be an excuse.
bool HasGangsInPeace(const Options& o) {
  return HasGangsInTime(o) && o.crashes == 0 && o.node_crashes == 0 && o.node_life.ns == 0 &&
         o.pools == 0 && !o.silent_node;
}

bool HasGangsWithEstimates(const Options& o) {
  return HasGangsInTime(o) && o.estimates == Estimates::kRight && !o.start_delay &&
         !o.retry_delay && !o.liars && !o.stream && !o.slow_disk();
}

class SimCanary : public testing::TestWithParam<Canary> {};

// Each broken wiring is found by its checker, and soon.
TEST_P(SimCanary, IsFound) {
  constexpr uint64_t kSeeds = 3000;
  std::string others;
  int worlds = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Options options = DrawOptions(seed, GetParam().tasks, GetParam().worlds);
    // Gangs that are never ended, or never have room, are tried for hours of virtual time.
    options.gangs = options.gangs && GetParam().gangs;
    if (!GetParam().judged(options)) continue;
    GetParam().change(options);
    ++worlds;
    WorldReport report = RunNamed(options, GetParam().sabotage);
    for (const Findings::Line& line : report.findings) {
      if (line.checker != GetParam().checker) {
        others += line.checker + ": " + line.text + "\n";
        continue;
      }
      std::printf("  seed %ju, world %d\n", static_cast<uintmax_t>(seed), worlds);
      return;
    }
  }
  FAIL() << "'" << GetParam().checker << "' found nothing in " << kSeeds << " seeds; others:\n"
         << others;
}

INSTANTIATE_TEST_SUITE_P(
    All, SimCanary,
    testing::Values(
        Canary{Sabotage::kReleaseEarly, "durable"}, Canary{Sabotage::kLoseCommit, "durable"},
        Canary{Sabotage::kLoseRow, "journal"}, Canary{Sabotage::kLoseRow, "journal", Worlds::kHub},
        Canary{Sabotage::kForgetRecord, "replay"}, Canary{Sabotage::kRunTwice, "attempts"},
        Canary{Sabotage::kOversell, "resources"}, Canary{Sabotage::kTellTwice, "ends"},
        Canary{Sabotage::kLoseEnds, "complete"}, Canary{Sabotage::kMixOutput, "output"},
        Canary{Sabotage::kForgetPolicy, "repeats"}, Canary{Sabotage::kDeafToKill, "limits"},
        Canary{Sabotage::kForgetEdges, "graph"},
        Canary{Sabotage::kForgetEdges, "graph", Worlds::kHub},
        Canary{Sabotage::kDeafToKill, "strays", Worlds::kHub, /*gangs=*/false},
        Canary{Sabotage::kForgetOrder, "order", Worlds::kHub},
        Canary{Sabotage::kForgetBounds, "bounds", Worlds::kHub},
        Canary{Sabotage::kForgetBlame,
               "blame",
               Worlds::kHub,
               true,
               {},
               [](const Options& o) { return o.black_holes; }},
        Canary{Sabotage::kForgetShares,
               "fair",
               Worlds::kHub,
               true,
               {},
               [](const Options& o) { return o.fair; }},
        Canary{Sabotage::kHastyHub, "losses", Worlds::kHub},
        Canary{Sabotage::kPatientHub, "silent", Worlds::kHub},
        Canary{Sabotage::kBelieveLies, "output", Worlds::kHub},
        Canary{Sabotage::kGoEarly, "gangs", Worlds::kHub},
        Canary{Sabotage::kLateDeadlines, "deadlines", Worlds::kHub},
        Canary{Sabotage::kDeafToClock, "deadlines", Worlds::kHub},
        Canary{Sabotage::kDeafToClock,
               "clock",
               Worlds::kHub,
               true,
               {},
               [](const Options& o) { return o.suspend; }},
        Canary{Sabotage::kDeafToClock, "displays", Worlds::kHub},
        Canary{Sabotage::kRunLonger, "displays", Worlds::kHub},
        Canary{Sabotage::kWaitLonger, "displays", Worlds::kHub},
        Canary{Sabotage::kLoseRooms, "starving", Worlds::kHub, true, 8, HasGangsInPeace},
        Canary{Sabotage::kLoseStarts,
               "running",
               Worlds::kHub,
               true,
               {},
               [](const Options& o) {
                 return o.full_disk && !o.cheat && !o.suspend && !o.liars && !o.silent_node;
               }},
        InHubs(Sabotage::kShortTimes, "reservations", HasGangsWithEstimates),
        InHubs(Sabotage::kFalseFrozen, "frozen", Steers),
        InHubs(Sabotage::kDeafToFreeze, "frozen", Steers),
        InHubs(Sabotage::kDeafToThaw, "frozen", Steers),
        Canary{.sabotage = Sabotage::kForgetFrozen,
               .checker = "frozen",
               .worlds = Worlds::kHub,
               .judged = Steers,
               .change =
                   [](Options& o) {
                     o.time_limit = true;
                     o.time_limit_percent = false;
                     o.node_crashes = 20;
                     o.adopt_percent = 100;
                     o.long_percent = 60;
                   }},
        InHubs(Sabotage::kEverybodySteers, "rights", [](const Options& o) { return o.greedy; }),
        InHubs(Sabotage::kStopLess, "answers", Steers),
        InHubs(Sabotage::kForgetCont, "answers", Steers),
        Canary{Sabotage::kAckEarly, "answers", Worlds::kHub},
        InHubs(Sabotage::kForgetHold, "answers", Holds),
        InHubs(Sabotage::kForgetRelease, "answers", Holds),
        InHubs(Sabotage::kForgetClose, "answers", [](const Options& o) { return o.open; }),
        InHubs(Sabotage::kForgetSet, "answers", [](const Options& o) { return o.set; }),
        InHubs(Sabotage::kCancelLess, "answers", [](const Options& o) { return o.cancel; }),
        InHubs(Sabotage::kRetryLess, "answers", [](const Options& o) { return o.redo_failed; }),
        InHubs(Sabotage::kForgetNothing, "answers", [](const Options& o) { return o.forget; }),
        InHubs(Sabotage::kSetAllOfUser, "answers", [](const Options& o) { return o.user_rules; }),
        InHubs(Sabotage::kForgetDrain, "answers", [](const Options& o) { return o.drain; }),
        Canary{Sabotage::kTellLess, "answers", Worlds::kHub},
        InHubs(Sabotage::kHideHolds, "answers", Holds),
        Canary{Sabotage::kEverybodyMay, "rights", Worlds::kHub},
        InHubs(Sabotage::kSubmitEarly, "early", HasPools),
        InHubs(Sabotage::kSubmitTwice, "doubled", HasPools),
        InHubs(Sabotage::kForgetMost, "most", HasPools),
        InHubs(Sabotage::kKeepMost, "demand", HasPools),
        Canary{Sabotage::kShortTimes, "lives", Worlds::kHub},
        Canary{Sabotage::kForgetShares,
               "passed",
               Worlds::kHub,
               true,
               {},
               [](const Options& o) { return o.glutton && !o.gangs && !o.user_rules; }},
        InHubs(Sabotage::kForgetServed, "vain", HasPools),
        InHubs(Sabotage::kDeafToCancel, "left", HasPools),
        InHubs(Sabotage::kLosePilots, "complete", HasPools),
        InHubs(Sabotage::kNeverCut, "growth", HasPools),
        Canary{Sabotage::kBabble, "growth", Worlds::kHub},
        InHubs(Sabotage::kForgetPools, "kept", HasPools),
        InHubs(Sabotage::kChangeLate, "resources", [](const Options& o) { return o.resize; })),
    [](const auto& each) {
      return each.param.checker + std::to_string(static_cast<int>(each.param.sabotage)) +
             (each.param.worlds == Worlds::kHub ? "OfAHub" : "");
    });

}  // namespace
}  // namespace spate::sim

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);  // a crash leaves the names of the tests before it
  void* frame = nullptr;
  backtrace(&frame, 1);
  struct sigaction action = {};
  action.sa_handler = spate::sim::OnCrash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) sigaction(signal, &action, nullptr);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
