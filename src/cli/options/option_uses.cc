#include "cli/options/option_uses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "cli/options/job_words.h"
#include "cli/options/shared.h"
#include "cli/options/values.h"

namespace spate::cli {
namespace {

constexpr Use kYes = Use::kObeyed;
constexpr Use kKept = Use::kKept;
constexpr Use kNo = Use::kRefused;
constexpr Use kNone = Use::kNone;

struct Row {
  const Option* opt;
  std::array<Use, 6> uses;  // by Way
  std::string_view why;     // it is refused, or kept; the same everywhere
};

constexpr std::string_view kNewRun = "leave it out, or start a new run without --resume";
constexpr std::string_view kGang =
    "the tasks of a resumed run keep their gangs; start a new run without --resume";
constexpr std::string_view kHubKeeps =
    "a hub's job keeps the options that it was submitted with; only the needs of the retried tasks "
    "(--memory, --cpus, ...) and --time-limit can change";
constexpr std::string_view kReadOnce =
    "only a new run on this machine can follow a list; here, the list is read once, as it is now";
constexpr std::string_view kNodesOffer =
    "the nodes of a hub declare their resources (spate node start --resource)";
constexpr std::string_view kFiles =
    "only for nodes of a hub (spate run --hub, spate submit); tasks on this machine have your "
    "files already";

// resume, retry of a run, retry of a hub's job, submit, run --hub, run --pool
constexpr std::array<Use, 6> kSources = {kYes, kNone, kNone, kYes, kYes, kYes};
constexpr std::array<Use, 6> kKeptSource = {kKept, kNone, kNone, kYes, kYes, kYes};
constexpr std::array<Use, 6> kNeeds = {kYes, kYes, kYes, kYes, kYes, kYes};
constexpr std::array<Use, 6> kGangs = {kKept, kNone, kNone, kYes, kYes, kYes};
constexpr std::array<Use, 6> kSettings = {kYes, kYes, kNo, kYes, kYes, kYes};
constexpr std::array<Use, 6> kRunSettings = {kYes, kNone, kNone, kYes, kYes, kYes};
constexpr std::array<Use, 6> kScreen = {kYes, kYes, kNo, kNone, kYes, kYes};
constexpr std::array<Use, 6> kHereOnly = {kYes, kYes, kNo, kNone, kNo, kNo};
constexpr std::array<Use, 6> kSubmitOnly = {kNone, kNone, kNone, kYes, kNone, kNone};
constexpr std::array<Use, 6> kUsesOfNodeNeeds = {kNone, kNo, kYes, kYes, kNone, kNone};
constexpr std::string_view kIsOfRuns = "a run on this machine has only this machine's node";

constexpr Row kRows[] = {
    // How many at once, and when.
    {&opt::kJobs, {kYes, kYes, kNo, kNone, kYes, kYes}, kHubKeeps},
    {&opt::kDelay, kSettings, kHubKeeps},
    {&opt::kOrder, kKeptSource, kNewRun},
    {&opt::kShuf, kKeptSource, kNewRun},
    {&opt::kMinFreeMemory, kSettings, kHubKeeps},
    {&opt::kMaxLoad, kSettings, kHubKeeps},
    {&opt::kNice, kSettings, kHubKeeps},
    // Needs of one task.
    {&opt::kCpus, kNeeds, ""},
    {&opt::kMemory, kNeeds, ""},
    {&opt::kGpus, kNeeds, ""},
    {&opt::kResource, kNeeds, ""},
    {&opt::kOffer, kHereOnly, kNodesOffer},
    {&opt::kProcs, kGangs, kGang},
    {&opt::kGangNodes, kGangs, kGang},
    {&opt::kProcsPerNode, kGangs, kGang},
    {&opt::kWholeNodes, kGangs, kGang},
    {&opt::kGangStart, kGangs, kGang},
    {&opt::kBound, kGangs, kGang},
    // Time, failures and tries.
    {&opt::kRetries, kSettings, kHubKeeps},
    {&opt::kRetryOn, kSettings, kHubKeeps},
    {&opt::kRetryDelay, kSettings, kHubKeeps},
    {&opt::kRetryElsewhere, kSettings, kHubKeeps},
    {&opt::kRetryMemory, kSettings, kHubKeeps},
    {&opt::kMaxMemory, kSettings, kHubKeeps},
    {&opt::kOnce, kSettings, kHubKeeps},
    {&opt::kTimeLimit, kNeeds, ""},
    {&opt::kDeadline, kGangs,
     "the tasks of a resumed run keep their deadline; start a new run without --resume"},
    {&opt::kKillGrace, kSettings, kHubKeeps},
    {&opt::kWarnSignal, kSettings, kHubKeeps},
    {&opt::kLeftovers, kSettings, kHubKeeps},
    {&opt::kWarnTime,
     {kYes, kYes, kNo, kNo, kNo, kNo},
     "a hub's job has no terminal to report slow tasks to; use --time-limit, or watch them with "
     "spate job progress"},
    {&opt::kMaxFailures, kSettings, kHubKeeps},
    {&opt::kHalt, kSettings, kHubKeeps},
    // The tasks' surroundings.
    {&opt::kEnv, kSettings, kHubKeeps},
    {&opt::kCwd, kRunSettings, ""},
    {&opt::kShell, kRunSettings, ""},
    {&opt::kPipefail, kRunSettings, ""},
    {&opt::kStdin, kSettings, kHubKeeps},
    {&opt::kStdout, kSettings, kHubKeeps},
    {&opt::kStderr, kSettings, kHubKeeps},
    {&opt::kAppend, kSettings, kHubKeeps},
    {&opt::kPut, {kNo, kNone, kNone, kYes, kYes, kYes}, kFiles},
    {&opt::kGet, {kNo, kNone, kNone, kYes, kYes, kYes}, kFiles},
    {&opt::kForward, kRunSettings, ""},
    {&opt::kForwardFile, kRunSettings, ""},
    {&opt::kResident, kKeptSource, kNewRun},
    {&opt::kMeasureIo, kSettings, kHubKeeps},
    // Sources of the tasks. A resumed run reads its lists again with these.
    {&opt::kFormat, kSources, ""},
    {&opt::kArgFile, kSources, ""},
    {&opt::kJsonLines, kSources, ""},
    {&opt::kNull, kSources, ""},
    {&opt::kDelimiter, kSources, ""},
    {&opt::kColsep, kSources, ""},
    {&opt::kCsv, kSources, ""},
    {&opt::kHeader, kSources, ""},
    {&opt::kMaxArgs, kSources, ""},
    {&opt::kFill, kSources, ""},
    {&opt::kTrim, kSources, ""},
    {&opt::kReplace, kSources, ""},
    {&opt::kLiteralBraces, kSources, ""},
    {&opt::kPipe,
     {kKept, kNone, kNone, kNone, kNo, kNo},
     "standard input is read on this machine; with a hub, use --pipepart with a file that its "
     "nodes can read"},
    {&opt::kPipepart, kKeptSource, kNewRun},
    {&opt::kBlock, kSources, ""},
    {&opt::kRecstart, kSources, ""},
    {&opt::kRecend, kSources, ""},
    {&opt::kRoundRobin,
     {kKept, kNone, kNone, kNone, kNo, kNo},
     "blocks are distributed among the slots of this machine; leave it out"},
    {&opt::kFollow, {kNo, kNone, kNone, kNone, kNo, kNo}, kReadOnce},
    {&opt::kFollowUntil, {kNo, kNone, kNone, kNone, kNo, kNo}, kReadOnce},
    {&opt::kTarget, kSources, ""},
    {&opt::kSucceeded, {kNone, kYes, kYes, kNone, kNone, kNone}, ""},
    {&opt::kResume,
     {kYes, kNone, kNone, kNone, kNo, kYes},
     "a hub's job continues without a terminal (spate job progress); to retry failed tasks: spate "
     "job retry"},
    {&opt::kDryRun,
     {kNo, kYes, kYes, kYes, kYes, kNo},
     "spate job tasks last --filter queued shows the remaining tasks of a resumed run; without "
     "--pool, --dry-run prints the commands"},
    // Output.
    {&opt::kKeepOrder, kScreen, kHubKeeps},
    {&opt::kTag, kScreen, kHubKeeps},
    {&opt::kTagString, kScreen, kHubKeeps},
    {&opt::kLineBuffer,
     {kYes, kYes, kNo, kNone, kNo, kNo},
     "the output of a hub's task arrives when the task has ended; leave it out"},
    {&opt::kOutput, kNeeds, ""},
    {&opt::kQuiet, kNeeds, ""},
    {&opt::kJson, kNeeds, ""},
    {&opt::kNoBar, kScreen, kHubKeeps},
    {&opt::kJoblog, kScreen, kHubKeeps},
    {&opt::kResults, kScreen, kHubKeeps},
    {&opt::kKeepOutput, kSettings, kHubKeeps},
    // State.
    {&opt::kName, kSettings, kHubKeeps},
    {&opt::kProfile, kSources, ""},
    {&opt::kState, kNeeds, ""},
    {&opt::kKeep, kHereOnly, "a hub keeps the history of its jobs (spate hub start --keep)"},
    // A hub.
    {&opt::kHub,
     {kNo, kYes, kYes, kNone, kYes, kNo},
     "--resume is for runs on this machine, and --pool makes its own hub; leave out --hub"},
    {&opt::kLocal,
     {kNone, kYes, kNo, kNone, kNone, kNone},
     "a hub is requested; leave out --local"},
    {&opt::kAccess,
     {kNo, kYes, kYes, kYes, kYes, kNo},
     "--resume is for runs on this machine, and --pool makes its own hub; leave out --access"},
    // For a submit alone, and which nodes.
    {&opt::kWait, kSubmitOnly, ""},
    {&opt::kProgress, kSubmitOnly, ""},
    {&opt::kKey,
     {kNo, kNone, kNone, kYes, kYes, kNo},
     "only a new job of a hub has a key; leave it out"},
    {&opt::kArray, kSubmitOnly, ""},
    {&opt::kOpen, kSubmitOnly, ""},
    {&opt::kAfter, kSubmitOnly, ""},
    {&opt::kLike, kSubmitOnly, ""},
    {&opt::kNotify, kSubmitOnly, ""},
    {&opt::kPriority, kSubmitOnly, ""},
    {&opt::kJobWeight, kSubmitOnly, ""},
    {&opt::kMaxRunning, kSubmitOnly, ""},
    {&opt::kPlanTime, kNeeds, ""},
    {&opt::kWithLabel, kUsesOfNodeNeeds, kIsOfRuns},
    {&opt::kOnNode, kUsesOfNodeNeeds, kIsOfRuns},
    {&opt::kNotOnNode, kUsesOfNodeNeeds, kIsOfRuns},
    {&opt::kInPool, kSubmitOnly, ""},
    {&opt::kRunPool,
     {kYes, kNone, kNone, kNone, kNo, kYes},
     "--pool makes its own hub; leave out --pool or --hub"},
};

const Row* RowOf(const Option& opt) {
  auto row = std::ranges::find(kRows, &opt, &Row::opt);
  return row == std::end(kRows) ? nullptr : &*row;
}

bool IsForHelp(const Option& opt) { return &opt == &opt::kHelp || &opt == &opt::kHelpAll; }

// The part of an option that two command lines must agree on: a switch by whether it is on, any
// other option by its values.
std::vector<std::string> ValuesOf(const Words& words, const Option& opt) {
  if (opt.repeat) return words.All(opt);
  if (opt.argument.empty() && !words.Has(opt)) return {};
  auto last = words.Last(opt);
  return last ? std::vector<std::string>{std::string(*last)} : std::vector<std::string>();
}

// Why a hub cannot use this value, which only a run on this machine understands; empty: it can.
std::string_view WhyNotElsewhere(const TypedOption& option) {
  if (option.opt == &opt::kOrder && option.value == "longest") {
    return "the times of earlier runs are known only on this machine; write --order shuffle, or "
           "leave it out";
  }
  if (option.opt == &opt::kMaxLoad && option.value.ends_with('%')) {
    return "N% is relative to the cores of this machine, but the nodes have others; write a number";
  }
  if (option.opt == &opt::kBlock && option.value.starts_with('-')) {
    return "the number of slots of the nodes is not known; write --block SIZE";
  }
  auto slots = option.opt == &opt::kJobs ? ParseSlotRule(option.value) : SlotRule();
  if (option.opt == &opt::kJobs && slots && slots->form != SlotRule::Form::kCount) {
    return "N%, +N and -N are relative to the cores of this machine, but the nodes have others; "
           "write a number";
  }
  return "";
}

const char* WordOf(Use use) {
  switch (use) {
    case Use::kObeyed:
      return "obeyed";
    case Use::kKept:
      return "kept";
    case Use::kRefused:
      return "refused";
    case Use::kNone:
      break;
  }
  return "-";
}

}  // namespace

std::string_view NameOf(Way way) {
  constexpr std::array<std::string_view, std::size(kWays)> kNames = {
      "run --resume", "job retry (run)", "job retry (hub)", "submit", "run --hub", "run --pool"};
  return kNames[static_cast<size_t>(way)];
}

const Command& CommandOf(Way way) {
  switch (way) {
    case Way::kRetry:
    case Way::kHubRetry:
      return kRetryWords;
    case Way::kSubmit:
      return kSubmitWords;
    case Way::kResume:
    case Way::kHub:
    case Way::kPool:
      break;
  }
  return kRunWords;
}

bool HasUse(const Option& opt) { return RowOf(opt) != nullptr; }

Use UseOf(const Option& opt, Way way) {
  bool taken = std::ranges::any_of(OptionsOf(CommandOf(way)), [&](const Option* option) {
    return option == &opt || (!option->argument.empty() && option->short_for == &opt);
  });
  if (!taken) return Use::kNone;
  if (IsForHelp(opt)) return Use::kObeyed;
  const Row* row = RowOf(opt);
  CHECK(row != nullptr);
  return row->uses[static_cast<size_t>(way)];
}

Status CheckUses(Way way, const Words& typed) {
  for (const TypedOption& option : typed.options) {
    bool is_off = option.opt->argument.empty() && !typed.Has(*option.opt);
    bool elsewhere = way == Way::kSubmit || way == Way::kHub || way == Way::kPool;
    std::string_view not_there = elsewhere ? WhyNotElsewhere(option) : "";
    if (!not_there.empty()) {
      return Fail(ErrorKind::kInvalid, fmt::format("{} {}: {}", DashedName(*option.opt),
                                                   EscapeForScreen(option.value), not_there));
    }
    if (is_off || UseOf(*option.opt, way) != Use::kRefused) continue;
    // One reason serves all options that a hub's job keeps.
    std::string_view why = way == Way::kHubRetry ? kHubKeeps : RowOf(*option.opt)->why;
    return Fail(ErrorKind::kInvalid, fmt::format("{}: {}", DashedName(*option.opt), why));
  }
  return {};
}

Status CheckKept(std::span<const std::string> first, std::span<const std::string> typed) {
  auto now = TRY(ParseWords(kRunWords, typed));
  TRY(CheckUses(Way::kResume, now));
  auto before = ParseWords(kRunWords, first);
  if (!before) return Within("options of the first run", before.error());
  for (const TypedOption& option : now.options) {
    if (UseOf(*option.opt, Way::kResume) != Use::kKept) continue;
    if (ValuesOf(now, *option.opt) == ValuesOf(*before, *option.opt)) continue;
    auto was = before->Last(*option.opt);
    std::string given =
        was && !option.opt->argument.empty()
            ? fmt::format("the first run had {} {}", DashedName(*option.opt), ShellQuote(*was))
            : "the first run did not have it";
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: {}; {}", DashedName(*option.opt), given, RowOf(*option.opt)->why));
  }
  return {};
}

std::string OptionUsesTable() {
  std::string text = "| option |";
  std::string line = "|---|";
  for (Way way : kWays) {
    text += fmt::format(" `{}` |", NameOf(way));
    line += "---|";
  }
  text += '\n' + line + '\n';
  for (const Row& row : kRows) {
    text += fmt::format("| `{}` |", DashedName(*row.opt));
    for (Way way : kWays) text += fmt::format(" {} |", WordOf(UseOf(*row.opt, way)));
    text += '\n';
  }
  return text;
}

}  // namespace spate::cli
