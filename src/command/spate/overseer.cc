// `spate overseer`
#include <algorithm>
#include <utility>

#include "base/units.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/needs_change.h"
#include "cli/options/option_reader.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "cli/options/values.h"
#include "cli/report.h"
#include "core/model/pool_facts.h"
#include "doors/mw/overseer/overseer.h"
#include "submit/hub_submit.h"

namespace spate::cli::command {
namespace {

constexpr Option kLocalSlaves = {.names = "local",
                                 .argument = "N",
                                 .heading = Heading::kSlots,
                                 .help = "run up to N slaves on this machine, without a hub",
                                 .more = "The slaves end with this command, however it ends."};

constexpr Option kSlaveSlots = {.names = "slots",
                                .argument = "N",
                                .heading = Heading::kSlots,
                                .help = "tasks that a slave computes at once (default: 1)",
                                .more =
                                    "Each slave is started with --mw-slots N, and on a hub it "
                                    "requests N cores unless --cpus says "
                                    "otherwise. It then offers its tasks the memory, resources and "
                                    "labels that it requests. The "
                                    "program's algorithms must be safe for threads."};

constexpr Option kMaxSlaves = {.names = "max-slaves",
                               .argument = "N",
                               .heading = Heading::kSlots,
                               .help = "limit of slaves of all files (default: 10000)",
                               .more = "Queued slaves count as well."};

constexpr Option kEvery = {.names = "every",
                           .argument = "T",
                           .heading = Heading::kSlots,
                           .help = "check files and slaves every T (default: 5s)"};

constexpr Option kShip = {.names = "ship",
                          .heading = Heading::kTask,
                          .help = "send the program and its libraries to the nodes",
                          .more =
                              "For nodes that share no files with this machine. Program, libraries "
                              "and resource file are placed in the slave's own folder, with which "
                              "LD_LIBRARY_PATH begins. The limit is 16 MB per file."};

constexpr Option kNoShip = {.names = "no-ship",
                            .heading = Heading::kTask,
                            .help = "expect nodes to see this machine's files (default)",
                            .short_for = "ship",
                            .short_for_value = "false"};

constexpr uint32_t kMostSlaves = 10'000;  // for a file that asks for too many
constexpr uint32_t kMostTyped = 1'000'000;
constexpr uint32_t kMostSlots = 4096;
constexpr Duration kDefaultEvery = Duration::Seconds(5);
constexpr Duration kLeastEvery = Duration::Millis(10);

Result<Duration> ParseEvery(std::string_view text) {
  auto every = ParseDuration(text);
  if (every && *every < kLeastEvery) return Fail(ErrorKind::kInvalid, "at least 10ms");
  return every;
}

Result<uint32_t> ParseSlaves(std::string_view text) {
  auto count = ParseCountUpTo(text, kMostTyped);
  if (count && *count == 0) return Fail(ErrorKind::kInvalid, "at least 1");
  return count;
}

Result<uint32_t> ParseSlaveSlots(std::string_view text) {
  auto count = ParseCountUpTo(text, kMostSlots);
  if (count && *count == 0) return Fail(ErrorKind::kInvalid, "at least 1");
  return count;
}

// Rejects options that only a hub can serve.
Status CheckLocal(const mw::OverseerOptions& options, const Words& words) {
  if (options.local == 0) return {};
  for (const Option* option :
       {&opt::kInPool, &kShip, &opt::kAccess, &opt::kCpus, &opt::kMemory, &opt::kGpus,
        &opt::kResource, &opt::kPlanTime, &opt::kWithLabel, &opt::kOnNode, &opt::kNotOnNode}) {
    if (!words.Last(*option)) continue;
    return Fail(
        ErrorKind::kInvalid,
        DashedName(*option) + " is for slaves on a hub; leave it out, or leave out --local");
  }
  return {};
}

Result<mw::OverseerOptions> OverseerOptionsOf(const Words& words) {
  mw::OverseerOptions options{.paths = words.words, .most = kMostSlaves, .every = kDefaultEvery};
  OptionReader in(words);
  in.Read(kLocalSlaves, options.local, ParseSlaves);
  in.Read(kMaxSlaves, options.most, ParseSlaves);
  if (in.Has(kSlaveSlots)) in.Read(kSlaveSlots, options.slots.emplace(), ParseSlaveSlots);
  in.Read(kEvery, options.every, ParseEvery);
  in.Text(opt::kInPool, options.pool);
  options.ship = in.Has(kShip);
  TRY(in.status());
  TRY(CheckLocal(options, words));
  if (options.local > 0) options.most = std::min(options.most, options.local);
  auto needs = TRY(MakeNeedsChange(words));
  options.needs = Changed({.milli_cpus = options.slots.value_or(1) * kMilliCpu}, needs);
  if (!options.pool.empty()) {
    std::vector<std::string>& labels = options.needs.labels;
    labels.push_back(std::string(kPoolLabel) + options.pool);
    std::ranges::sort(labels);
  }
  auto form = TRY(OutputFormOf(words));
  options.form = form;
  return options;
}

}  // namespace

extern const Command kSpateOverseer = {
    .order = 520,
    .group = CommandGroup::kHub,
    .name = "overseer",
    .arguments = "FILE... | FOLDER...",
    .completes = Completes::kFiles,
    .summary = "run as many slaves as resource files request",
    .details =
        "A master of a master-worker program writes into its resource file how many slaves it "
        "still needs, and which program they run. For each file, a job of the hub gets as many "
        "tasks; pools provide nodes for them. With --local, the slaves run on this machine and end "
        "with this command. Queued slaves that are no longer needed are withdrawn; running slaves "
        "are never terminated.\nThe overseer ends when all files are marked as finished (exit code "
        "0), or have not been written in time (1). In folders, it looks for files *.rsc until it "
        "gets a signal. It uses only files that belong to you or root, because they determine what "
        "runs as you.",
    .examples = {{{"spate overseer search.rsc --pool big", "slaves are tasks on a pool's nodes"},
                  {"spate overseer search.rsc --local 4", "at most 4, on this machine"},
                  {"spate overseer ~/masters --ship", "all files of a folder; no shared files"}}},
    .words_min = 1,
    .options = {{opt::kCpus, opt::kMemory, opt::kGpus, opt::kResource, opt::kAboutHub,
                 opt::kPlanTime, opt::kWithLabel, opt::kOnNode, opt::kNotOnNode, opt::kInPool,
                 kLocalSlaves, kMaxSlaves, kSlaveSlots, kEvery, kShip, kNoShip}},
    .run =
        [](const Invocation& invocation) {
          auto options = OverseerOptionsOf(invocation.words);
          if (!options) return ReportError(options.error());
          return mw::Oversee(std::move(*options),
                             [&] { return submit::FindSetting(invocation.words); });
        },
};

}  // namespace spate::cli::command
