// The program around World: arguments, seeds, reports. The seed and its options are printed before
// the world runs, so that a failed CHECK in it has its seed above it.
#include "sim/simulate.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "base/units.h"
#include "sim/options.h"
#include "sim/world.h"

namespace spate::sim {
namespace {

constexpr const char* kUsage =
    "usage: spate-sim --seed N [--seeds M] [--tasks N] [--verbose]\n"
    "Runs the whole of Spate in virtual time, with faults, and judges its promises.\n"
    "  --seed N     the first seed; the same seed gives the same bytes of output\n"
    "  --seeds M    so many seeds from there (default 1)\n"
    "  --tasks N    so many tasks in each world, whatever its seed says\n"
    "  --verbose    print every event as it happens\n";

struct Arguments {
  uint64_t seed = 1;
  uint64_t seeds = 1;
  std::optional<uint32_t> tasks;
  bool verbose = false;
};

std::optional<Arguments> Parse(const std::vector<std::string>& args) {
  Arguments out;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--verbose") {
      out.verbose = true;
      continue;
    }
    if (args[i] != "--seed" && args[i] != "--seeds" && args[i] != "--tasks") {
      fmt::print(stderr, "spate-sim: unknown argument '{}'\n", args[i]);
      return std::nullopt;
    }
    Result<uint64_t> value =
        i + 1 < args.size() ? ParseCount(args[i + 1]) : Fail(ErrorKind::kInvalid, "no number");
    if (!value) {
      fmt::print(stderr, "spate-sim: {} needs a number: {}\n", args[i], value.error().message);
      return std::nullopt;
    }
    if (args[i] == "--seed") out.seed = *value;
    if (args[i] == "--seeds") out.seeds = *value;
    if (args[i] == "--tasks") out.tasks = static_cast<uint32_t>(*value);
    ++i;
  }
  return out;
}

void PrintBroken(uint64_t seed, const WorldReport& report, const Printer& print) {
  print("the last events:\n");
  for (const std::string& line : report.last_events) print(fmt::format("  {}\n", line));
  print(fmt::format("seed {}: broken after {} of virtual time\n", seed,
                    FormatDuration(report.virtual_time)));
  constexpr size_t kPrinted = 10;
  size_t count = 0;
  for (const Findings::Line& line : report.findings) {
    if (++count > kPrinted) break;
    print(fmt::format("  {}: {}\n", line.checker, line.text));
  }
  if (report.findings.size() > kPrinted) {
    print(fmt::format("  and {} more\n", report.findings.size() - kPrinted));
  }
  print(fmt::format("again, with every event: spate-sim --seed {} --verbose\n", seed));
}

}  // namespace

int Simulate(const std::vector<std::string>& args, const Printer& print) {
  std::optional<Arguments> arguments = Parse(args);
  if (!arguments) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  uint64_t lives = 0;
  uint64_t crashes = 0;
  uint64_t executions = 0;
  for (uint64_t seed = arguments->seed; seed < arguments->seed + arguments->seeds; ++seed) {
    Options options = DrawOptions(seed, arguments->tasks);
    print(fmt::format("seed {}\n{}", seed, Describe(options, "  ")));
    WorldReport report =
        World(options, Sabotage::kNone, arguments->verbose ? print : nullptr).Run();
    if (!report.findings.empty()) {
      PrintBroken(seed, report, print);
      return 1;
    }
    print(fmt::format(
        "  ok: {} lives, {} crashes, {} failed stores, {} cuts, {} executions, {} commits, "
        "{} steps, {}, digest {:016x}, trace {:016x}\n",
        report.lives, report.crashes, report.store_failures, report.cuts, report.executions,
        report.commits, report.steps, FormatDuration(report.virtual_time), report.digest,
        report.trace_hash));
    lives += report.lives;
    crashes += report.crashes;
    executions += report.executions;
  }
  if (arguments->seeds > 1) {
    print(fmt::format("{} seeds from {}: all promises kept, {} lives, {} crashes, {} executions\n",
                      arguments->seeds, arguments->seed, lives, crashes, executions));
  }
  return 0;
}

}  // namespace spate::sim
