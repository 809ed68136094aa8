// The program around World: arguments, seeds, reports. The seed and its options are printed before
// the world runs, so that a failed CHECK in it has its seed above it.
#include "sim/simulate.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "base/units.h"
#include "sim/hub_world.h"
#include "sim/world.h"

namespace spate::sim {
namespace {

constexpr const char* kUsage =
    "usage: spate-sim --seed N [--seeds M] [--hub | --run] [--tasks N] [--every-point]\n"
    "                 [--crash-at N] [--verbose]\n"
    "Runs the whole of Spate in virtual time, with faults, and judges its promises.\n"
    "  --seed N     the first seed; the same seed gives the same bytes of output\n"
    "  --seeds M    so many seeds from there (default 1)\n"
    "  --hub, --run  only worlds of a hub with nodes and users, or of one process (default: the\n"
    "               seed decides)\n"
    "  --tasks N    so many tasks in each world, whatever its seed says\n"
    "  --every-point  run each world once for every store write, message and turn of the loop of\n"
    "               its first life, which dies there, and lives on undisturbed\n"
    "  --crash-at N   only the N-th of these\n"
    "  --verbose    print every event as it happens\n";

struct Arguments {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  std::optional<uint32_t> tasks;
  uint64_t crash_at = 0;
  Worlds worlds = Worlds::kBySeed;
  bool every_point = false;
  bool verbose = false;
};

std::optional<Arguments> Parse(const std::vector<std::string>& args) {
  Arguments out;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& name = args[i];
    if (name == "--verbose" || name == "--every-point") {
      (name == "--verbose" ? out.verbose : out.every_point) = true;
      continue;
    }
    if (name == "--hub" || name == "--run") {
      out.worlds = name == "--hub" ? Worlds::kHub : Worlds::kRun;
      continue;
    }
    if (name != "--seed" && name != "--seeds" && name != "--tasks" && name != "--crash-at") {
      fmt::print(stderr, "spate-sim: unknown argument '{}'\n", name);
      return std::nullopt;
    }
    Result<uint64_t> value =
        i + 1 < args.size() ? ParseCount(args[i + 1]) : Fail(ErrorKind::kInvalid, "none is there");
    if (!value) {
      fmt::print(stderr, "spate-sim: {} needs a number: {}\n", name, value.error().message);
      return std::nullopt;
    }
    if (name == "--seed") out.seed = *value;
    if (name == "--seeds") out.seeds = *value;
    if (name == "--tasks") out.tasks = static_cast<uint32_t>(*value);
    if (name == "--crash-at") out.crash_at = *value;
    ++i;
  }
  return out;
}

// Totals of all worlds.
struct Sum {
  uint64_t worlds = 0;
  uint64_t lives = 0;
  uint64_t crashes = 0;
  uint64_t executions = 0;

  void Add(const WorldReport& report) {
    ++worlds;
    lives += report.lives;
    crashes += report.crashes;
    executions += report.executions;
  }
};

void PrintBroken(const Options& options, const WorldReport& report, const Printer& print) {
  print("the last events:\n");
  for (const std::string& line : report.last_events) print(fmt::format("  {}\n", line));
  print(fmt::format("seed {}: broken after {} of virtual time\n", options.seed,
                    FormatDuration(report.virtual_time)));
  constexpr size_t kPrinted = 10;
  for (size_t i = 0; i < report.findings.size() && i < kPrinted; ++i) {
    print(fmt::format("  {}: {}\n", report.findings[i].checker, report.findings[i].text));
  }
  if (report.findings.size() > kPrinted) {
    print(fmt::format("  and {} more\n", report.findings.size() - kPrinted));
  }
  std::string point =
      options.first_crash > 0 ? fmt::format(" --crash-at {}", options.first_crash) : "";
  print(fmt::format(
      "again, with every event: spate-sim --seed {}{} {} --verbose (and --tasks, if you "
      "gave it)\n",
      options.seed, point, options.hub ? "--hub" : "--run"));
}

// One world; false when it broke a promise.
bool RunOne(const Options& options, bool verbose, const Printer& print, Sum& sum) {
  WorldReport report = RunWorld(options, Sabotage::kNone, verbose ? print : nullptr);
  sum.Add(report);
  if (!report.findings.empty()) {
    PrintBroken(options, report, print);
    return false;
  }
  print(fmt::format(
      "  ok: {} lives, {} crashes, {} failed stores, {} cuts, {} executions, {} commits, {} steps, "
      "{} pilots, {}, digest {:016x}, trace {:016x}\n",
      report.lives, report.crashes, report.store_failures, report.cuts, report.executions,
      report.commits, report.steps, report.pilots, FormatDuration(report.virtual_time),
      report.digest, report.trace_hash));
  return true;
}

// The world once for each point of its first life.
bool RunEveryPoint(Options options, const Printer& print, Sum& sum) {
  options.crashes = 0;
  uint64_t points = RunWorld(options, Sabotage::kNone, nullptr).first_life_points;
  for (uint64_t point = 1; point <= points; ++point) {
    options.first_crash = point;
    WorldReport report = RunWorld(options, Sabotage::kNone, nullptr);
    sum.Add(report);
    if (report.findings.empty()) continue;
    PrintBroken(options, report, print);
    return false;
  }
  print(fmt::format("  ok at every one of {} points\n", points));
  return true;
}

}  // namespace

WorldReport RunWorld(const Options& options, Sabotage sabotage, Printer print) {
  if (options.hub) return HubWorld(options, sabotage, std::move(print)).Run();
  return World(options, sabotage, std::move(print)).Run();
}

int Simulate(const std::vector<std::string>& args, const Printer& print) {
  std::optional<Arguments> arguments = Parse(args);
  if (!arguments) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  Sum sum;
  for (uint64_t seed = arguments->seed; seed < arguments->seed + arguments->seeds; ++seed) {
    Options options = DrawOptions(seed, arguments->tasks, arguments->worlds);
    options.first_crash = arguments->crash_at;
    if (arguments->crash_at > 0) options.crashes = 0;
    print(fmt::format("seed {}\n{}", seed, Describe(options, "  ")));
    bool kept = arguments->every_point ? RunEveryPoint(options, print, sum)
                                       : RunOne(options, arguments->verbose, print, sum);
    if (!kept) return 1;
  }
  if (sum.worlds > 1) {
    print(fmt::format(
        "{} seeds from {}, {} worlds: all promises kept, {} lives, {} crashes, {} executions\n",
        arguments->seeds, arguments->seed, sum.worlds, sum.lives, sum.crashes, sum.executions));
  }
  return 0;
}

}  // namespace spate::sim
