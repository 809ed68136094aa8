#include "cli/options/option_uses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "cli/options/values.h"

namespace spate::cli {
namespace {

constexpr Use kYes = Use::kObeyed;
constexpr Use kKept = Use::kKept;
constexpr Use kNo = Use::kRefused;
constexpr Use kNone = Use::kNone;

struct Row {
  Opt opt;
  std::array<Use, 6> uses;  // by Way
  std::string_view why;     // it is refused, or kept; the same everywhere
};

constexpr std::string_view kNewRun = "leave it out, or begin a new run without --resume";
constexpr std::string_view kGang =
    "the tasks of a resumed run keep their gangs; begin a new run without --resume";
constexpr std::string_view kHubKeeps =
    "a hub's job keeps the options that it was submitted with; only the needs of what is run again "
    "(--memory, --cpus, ...) and --time-limit can be others";
constexpr std::string_view kNodesOffer =
    "the nodes of a hub say what they have (spate node start --resource)";
constexpr std::string_view kFiles =
    "for nodes of a hub (spate run --hub, spate submit); here the tasks have your files already";

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
constexpr std::string_view kIsOfRuns = "a run on this machine has this machine's node alone";

constexpr Row kRows[] = {
    // Where the tasks come from. A resumed run reads its lists again with these.
    {Opt::kFormat, kSources, ""},
    {Opt::kArgFile, kSources, ""},
    {Opt::kJsonLines, kSources, ""},
    {Opt::kNull, kSources, ""},
    {Opt::kDelimiter, kSources, ""},
    {Opt::kColsep, kSources, ""},
    {Opt::kCsv, kSources, ""},
    {Opt::kHeader, kSources, ""},
    {Opt::kMaxArgs, kSources, ""},
    {Opt::kFill, kSources, ""},
    {Opt::kTrim, kSources, ""},
    {Opt::kReplace, kSources, ""},
    {Opt::kPipe,
     {kKept, kNone, kNone, kNone, kNo, kNo},
     "standard input is read here; with a hub, use --pipepart with a file that its nodes see"},
    {Opt::kPipepart, kKeptSource, kNewRun},
    {Opt::kBlock, kSources, ""},
    {Opt::kRecstart, kSources, ""},
    {Opt::kRecend, kSources, ""},
    {Opt::kRoundRobin,
     {kKept, kNone, kNone, kNone, kNo, kNo},
     "blocks are dealt out to the slots of this machine; leave it out"},
    {Opt::kFollow,
     {kNo, kNone, kNone, kNone, kNo, kNo},
     "only a new run on this machine follows a list; here the list is read once, as it is now"},
    {Opt::kResume,
     {kYes, kNone, kNone, kNone, kNo, kYes},
     "a hub's job goes on without its terminal (spate job progress); to run again what failed: "
     "spate job retry"},
    {Opt::kDryRun,
     {kNo, kYes, kYes, kYes, kYes, kNo},
     "spate job tasks last --filter queued shows what a resumed run has left; without --pool, "
     "--dry-run prints the commands"},
    {Opt::kArray, kSubmitOnly, ""},
    {Opt::kOpen, kSubmitOnly, ""},
    // Needs of one task.
    {Opt::kCpus, kNeeds, ""},
    {Opt::kMemory, kNeeds, ""},
    {Opt::kGpus, kNeeds, ""},
    {Opt::kResource, kNeeds, ""},
    {Opt::kPlanTime, kNeeds, ""},
    {Opt::kOffer, kHereOnly, kNodesOffer},
    {Opt::kWithLabel, kUsesOfNodeNeeds, kIsOfRuns},
    {Opt::kOnNode, kUsesOfNodeNeeds, kIsOfRuns},
    {Opt::kNotOnNode, kUsesOfNodeNeeds, kIsOfRuns},
    {Opt::kProcs, kGangs, kGang},
    {Opt::kGangNodes, kGangs, kGang},
    {Opt::kProcsPerNode, kGangs, kGang},
    {Opt::kWholeNodes, kGangs, kGang},
    {Opt::kGangStart, kGangs, kGang},
    {Opt::kBound, kGangs, kGang},
    {Opt::kDeadline, kGangs,
     "the tasks of a resumed run keep their deadline; begin a new run without --resume"},
    {Opt::kLike, kSubmitOnly, ""},
    // How many at once, and when.
    {Opt::kJobs, {kYes, kYes, kNo, kNone, kYes, kYes}, kHubKeeps},
    {Opt::kDelay, kSettings, kHubKeeps},
    {Opt::kMinFreeMemory, kSettings, kHubKeeps},
    {Opt::kMaxLoad, kSettings, kHubKeeps},
    {Opt::kNice, kSettings, kHubKeeps},
    {Opt::kOrder, kKeptSource, kNewRun},
    {Opt::kShuf, kKeptSource, kNewRun},
    {Opt::kAfter, kSubmitOnly, ""},
    {Opt::kNotify, kSubmitOnly, ""},
    {Opt::kPriority, kSubmitOnly, ""},
    {Opt::kJobWeight, kSubmitOnly, ""},
    {Opt::kMaxRunning, kSubmitOnly, ""},
    // Time, failures and tries.
    {Opt::kRetries, kSettings, kHubKeeps},
    {Opt::kRetryOn, kSettings, kHubKeeps},
    {Opt::kRetryDelay, kSettings, kHubKeeps},
    {Opt::kOnce, kSettings, kHubKeeps},
    {Opt::kRetryElsewhere, kSettings, kHubKeeps},
    {Opt::kRetryMemory, kSettings, kHubKeeps},
    {Opt::kMaxMemory, kSettings, kHubKeeps},
    {Opt::kTimeLimit, kNeeds, ""},
    {Opt::kWarnSignal, kSettings, kHubKeeps},
    {Opt::kLeftovers, kSettings, kHubKeeps},
    {Opt::kKillGrace, kSettings, kHubKeeps},
    {Opt::kWarnTime,
     {kYes, kYes, kNo, kNo, kNo, kNo},
     "a hub's job has no terminal that could be told of slow tasks; use --time-limit, or watch "
     "them with spate job progress"},
    {Opt::kMaxFailures, kSettings, kHubKeeps},
    {Opt::kHalt, kSettings, kHubKeeps},
    // The tasks' surroundings.
    {Opt::kEnv, kSettings, kHubKeeps},
    {Opt::kCwd, kRunSettings, ""},
    {Opt::kShell, kRunSettings, ""},
    {Opt::kPipefail, kRunSettings, ""},
    {Opt::kStdin, kSettings, kHubKeeps},
    {Opt::kStdout, kSettings, kHubKeeps},
    {Opt::kStderr, kSettings, kHubKeeps},
    {Opt::kPut, {kNo, kNone, kNone, kYes, kYes, kYes}, kFiles},
    {Opt::kGet, {kNo, kNone, kNone, kYes, kYes, kYes}, kFiles},
    {Opt::kForward, kRunSettings, ""},
    {Opt::kForwardFile, kRunSettings, ""},
    {Opt::kResident, kKeptSource, kNewRun},
    {Opt::kMeasureIo, kSettings, kHubKeeps},
    // Output.
    {Opt::kKeepOrder, kScreen, kHubKeeps},
    {Opt::kTag, kScreen, kHubKeeps},
    {Opt::kTagString, kScreen, kHubKeeps},
    {Opt::kLineBuffer,
     {kYes, kYes, kNo, kNone, kNo, kNo},
     "the output of a hub's task comes when the task has ended; leave it out"},
    {Opt::kOutput, kNeeds, ""},
    {Opt::kQuiet, kNeeds, ""},
    {Opt::kJson, kNeeds, ""},
    {Opt::kNoBar, kScreen, kHubKeeps},
    {Opt::kJoblog, kScreen, kHubKeeps},
    {Opt::kResults, kScreen, kHubKeeps},
    {Opt::kKeepOutput, kSettings, kHubKeeps},
    {Opt::kWait, kSubmitOnly, ""},
    {Opt::kProgress, kSubmitOnly, ""},
    // State.
    {Opt::kName, kSettings, kHubKeeps},
    {Opt::kProfile, kSources, ""},
    {Opt::kState, kNeeds, ""},
    {Opt::kKeep, kHereOnly, "a hub keeps the history of its jobs (spate hub start --keep)"},
    {Opt::kHub,
     {kNo, kYes, kYes, kNone, kYes, kNo},
     "--resume is for runs on this machine, and --pool makes a hub of its own; leave --hub out"},
    {Opt::kLocal, {kNone, kYes, kNo, kNone, kNone, kNone}, "a hub is asked for; leave --local out"},
    {Opt::kAccess,
     {kNo, kYes, kYes, kYes, kYes, kNo},
     "--resume is for runs on this machine, and --pool makes a hub of its own; leave --access out"},
    {Opt::kRunPool,
     {kYes, kNone, kNone, kNone, kNo, kYes},
     "--pool makes a hub of its own; leave --pool or --hub out"},
    {Opt::kInPool, kSubmitOnly, ""},
};

const Row* RowOf(Opt opt) {
  auto row = std::ranges::find(kRows, opt, &Row::opt);
  return row == std::end(kRows) ? nullptr : &*row;
}

bool IsForHelp(Opt opt) { return opt == Opt::kHelp || opt == Opt::kHelpAll; }

// The part of an option that two command lines must agree on: a switch by whether it is on, any
// other option by its values.
std::vector<std::string> ValuesOf(const Words& words, Opt opt) {
  const OptionDef& def = Definition(opt);
  if (def.repeat) return words.All(opt);
  if (def.argument.empty() && !words.Has(opt)) return {};
  auto last = words.Last(opt);
  return last ? std::vector<std::string>{std::string(*last)} : std::vector<std::string>();
}

// Why a hub cannot use this value, which only a run on this machine understands; empty: it can.
std::string_view WhyNotElsewhere(const TypedOption& option) {
  if (option.opt == Opt::kOrder && option.value == "longest") {
    return "the times of earlier runs are known on this machine only; write --order shuffle, or "
           "leave it out";
  }
  if (option.opt == Opt::kMaxLoad && option.value.ends_with('%')) {
    return "N% counts from the cores of this machine, and the nodes have others; write a number";
  }
  if (option.opt == Opt::kBlock && option.value.starts_with('-')) {
    return "how many slots the nodes will have is not known; write --block SIZE";
  }
  auto slots = option.opt == Opt::kJobs ? ParseSlotRule(option.value) : SlotRule();
  if (option.opt == Opt::kJobs && slots && slots->form != SlotRule::Form::kCount) {
    return "N%, +N and -N count from the cores of this machine, and the nodes have others; write a "
           "number";
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

Command CommandOf(Way way) {
  switch (way) {
    case Way::kRetry:
    case Way::kHubRetry:
      return Command::kJobRetry;
    case Way::kSubmit:
      return Command::kSubmit;
    case Way::kResume:
    case Way::kHub:
    case Way::kPool:
      break;
  }
  return Command::kRun;
}

bool HasUse(Opt opt) { return RowOf(opt) != nullptr; }

Use UseOf(Opt opt, Way way) {
  if ((Definition(opt).commands & Bit(CommandOf(way))) == 0) return Use::kNone;
  if (IsForHelp(opt)) return Use::kObeyed;
  const Row* row = RowOf(opt);
  CHECK(row != nullptr);
  return row->uses[static_cast<size_t>(way)];
}

Status CheckUses(Way way, const Words& typed) {
  for (const TypedOption& option : typed.options) {
    const OptionDef& def = Definition(option.opt);
    bool is_off = def.argument.empty() && !typed.Has(option.opt);
    bool elsewhere = way == Way::kSubmit || way == Way::kHub || way == Way::kPool;
    std::string_view not_there = elsewhere ? WhyNotElsewhere(option) : "";
    if (!not_there.empty()) {
      return Fail(ErrorKind::kInvalid, fmt::format("{} {}: {}", DashedName(option.opt),
                                                   EscapeForScreen(option.value), not_there));
    }
    if (is_off || UseOf(option.opt, way) != Use::kRefused) continue;
    // One reason serves all options that a hub's job keeps.
    std::string_view why = way == Way::kHubRetry ? kHubKeeps : RowOf(option.opt)->why;
    return Fail(ErrorKind::kInvalid, fmt::format("{}: {}", DashedName(option.opt), why));
  }
  return {};
}

Status CheckKept(std::span<const std::string> first, std::span<const std::string> typed) {
  auto now = ParseWords(Command::kRun, typed);
  if (!now) return std::unexpected(now.error());
  if (auto used = CheckUses(Way::kResume, *now); !used) return used;
  auto before = ParseWords(Command::kRun, first);
  if (!before) return Within("options of the first run", before.error());
  for (const TypedOption& option : now->options) {
    if (UseOf(option.opt, Way::kResume) != Use::kKept) continue;
    if (ValuesOf(*now, option.opt) == ValuesOf(*before, option.opt)) continue;
    auto was = before->Last(option.opt);
    std::string given =
        was && !Definition(option.opt).argument.empty()
            ? fmt::format("the first run was given {} {}", DashedName(option.opt), ShellQuote(*was))
            : "the first run was not given it";
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: {}; {}", DashedName(option.opt), given, RowOf(option.opt)->why));
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
  for (const OptionDef& def : Options()) {
    if (IsForHelp(def.id)) continue;
    bool any = std::ranges::any_of(kWays, [&](Way way) { return UseOf(def.id, way) != kNone; });
    if (!any) continue;
    text += fmt::format("| `{}` |", DashedName(def.id));
    for (Way way : kWays) text += fmt::format(" {} |", WordOf(UseOf(def.id, way)));
    text += '\n';
  }
  return text;
}

}  // namespace spate::cli
