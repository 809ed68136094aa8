// Options that commands of many kinds take.
#include "cli/options/job_rows.h"
#include "cli/options/shared.h"

namespace spate::cli {
namespace {

void FillKeep(Filler& filler) {
  auto read = [&](std::string_view value) -> Result<bool> {
    TRY(ParseHistoryBound(value, filler.job.run.keep));
    return true;
  };
  filler.ReadAll(read, [](bool) {});
}

}  // namespace
}  // namespace spate::cli

namespace spate::cli::opt {

const Option kDryRun = {
    .names = "dry-run,dryrun,dr",
    .heading = Heading::kSources,
    .help = "only print what would be done",
    .job = {Set<&RunOptions::dry_run>,
            {{kNo, kYes, kYes, kYes, kYes, kNo},
             "spate job tasks last --filter queued shows the remaining tasks of "
             "a resumed run; without --pool, --dry-run prints the commands"}}};

const Option kOutput = {
    .names = "output",
    .argument = "FORM",
    .heading = Heading::kOutput,
    .help = "form of the output: human, json or quiet",
    .more =
        "json prints one object per line; its fields are documented and stable. quiet prints only "
        "the data; a run also prints one line on standard error for each failed task.",
    .complete = Complete::kWords,
    .words = "human json quiet",
    .job = {Set<&ShowOptions::form>, kOfAll}};

const Option kQuiet = {.names = "quiet",
                       .letters = "q",
                       .heading = Heading::kOutput,
                       .help = "short for --output quiet",
                       .short_for = "output",
                       .short_for_value = "quiet",
                       .job = {nullptr, kOfAll}};

const Option kJson = {.names = "json",
                      .heading = Heading::kOutput,
                      .help = "short for --output json",
                      .short_for = "output",
                      .short_for_value = "json",
                      .job = {nullptr, kOfAll}};

const Option kState = {
    .names = "state",
    .argument = "DIR",
    .heading = Heading::kState,
    .help = "folder of the history",
    .more = "Default: $SPATE_STATE, else $XDG_STATE_HOME/spate, else ~/.local/state/spate.",
    .complete = Complete::kFolder,
    .job = {Set<&RunOptions::state_dir>, kOfAll}};

const Option kKeep = {
    .names = "keep",
    .argument = "T|SIZE",
    .heading = Heading::kState,
    .help = "limit of the history (default: 90d and 10G)",
    .more =
        "An age (90d), a size (10G), or both (90d,10G). The oldest finished jobs are removed "
        "first. A hub keeps up to a quarter of its disk where no size is given, if that is more "
        "than 10G.",
    .repeat = true,
    .job = {FillKeep, HereAlone("a hub keeps the history of its jobs (spate hub start --keep)")}};

const Option kLimit = {.names = "limit",
                       .letters = "n",
                       .argument = "N",
                       .heading = Heading::kSelect,
                       .help = "show at most N rows"};

const Option kJobsOfUser = {.names = "user",
                            .argument = "NAME",
                            .heading = Heading::kSelect,
                            .help = "all unfinished jobs of this user"};

const Option kReason = {.names = "reason",
                        .argument = "TEXT",
                        .heading = Heading::kGeneral,
                        .help = "why, for node list and the hub's log"};

const Option kTimeout = {.names = "timeout",
                         .argument = "T",
                         .heading = Heading::kSelect,
                         .help = "stop waiting after T, with exit code 124"};

const Option kFilter = {
    .names = "filter",
    .argument = "STATE,...",
    .heading = Heading::kSelect,
    .help = "show only jobs or tasks in these states, as failed",
    .more =
        "Of tasks: queued running succeeded failed cancelled unknown. Of jobs: running stopped "
        "interrupted damaged newer (of a newer release) queued held succeeded cancelled; finished "
        "(succeeded, cancelled or failed); failed (has failed tasks, ended or not).",
    .repeat = true,
    .complete = Complete::kWords,
    .words =
        "queued running succeeded failed cancelled unknown finished stopped interrupted damaged "
        "newer held"};

const Option kStream = {.names = "stream",
                        .argument = "WHICH",
                        .heading = Heading::kSelect,
                        .help = "stream: stdout, stderr or both (default: both)",
                        .more =
                            "With both, standard output and standard error stay separate. One "
                            "stream alone goes to standard output.",
                        .complete = Complete::kWords,
                        .words = "stdout stderr both"};

const Option kStderrOnly = {.names = "stderr",
                            .heading = Heading::kSelect,
                            .help = "short for --stream stderr",
                            .short_for = "stream",
                            .short_for_value = "stderr"};

const Option kFollowOutput = {.names = "follow",
                              .letters = "f",
                              .heading = Heading::kSelect,
                              .help = "continue until the job (of a hub) or task has ended"};

const Option kHub = {
    .names = "hub",
    .heading = Heading::kHub,
    .help = "use the hub instead of local runs",
    .more = "For jobs, this is the default wherever a hub is configured.",
    .job = {
        Set<&RunOptions::hub>,
        {{kNo, kYes, kYes, kNoUse, kYes, kNo},
         "--resume is for runs on this machine, and --pool makes its own hub; leave out --hub"}}};

const Option kLocal = {
    .names = "local",
    .heading = Heading::kHub,
    .help = "use local runs instead of the hub",
    .job = {nullptr, {{kNoUse, kYes, kNo}, "a hub is requested; leave out --local"}}};

const Option kAccess = {
    .names = "access",
    .argument = "FILE",
    .heading = Heading::kHub,
    .help = "access file of the hub",
    .more =
        "Default: $SPATE_HUB, ~/.config/spate/access or /etc/spate/access, else your own hub on "
        "this machine.",
    .complete = Complete::kFile,
    .job = {Set<&RunOptions::access>,
            {{kNo, kYes, kYes, kYes, kYes, kNo},
             "--resume is for runs on this machine, and --pool makes its own hub; leave out "
             "--access"}}};

const Option kAt = {
    .names = "at",
    .argument = "SOCKET",
    .heading = Heading::kHub,
    .help = "ask the hub that listens at SOCKET",
    .more =
        "A run listens at jobs/N/socket in the state folder. Masters of master-worker programs and "
        "pegasus-mpi-cluster print their sockets, and spate job list shows them; others can look "
        "at their jobs and change nothing.",
    .complete = Complete::kFile};

const Option kHelp = {.names = "help",
                      .letters = "h",
                      .heading = Heading::kGeneral,
                      .help = "print this help",
                      .job = {nullptr, kOfAll}};

const Option kHelpAll = {.names = "help-all",
                         .heading = Heading::kGeneral,
                         .help = "print this help with all details",
                         .job = {nullptr, kOfAll}};

constexpr OptionRef kFormsRefs[] = {kOutput, kQuiet, kJson};
const OptionGroup kForms = {kFormsRefs};

constexpr OptionRef kWhoseRefs[] = {kHub, kLocal, kAccess};
const OptionGroup kWhose = {kWhoseRefs};

constexpr OptionRef kAboutJobsRefs[] = {kForms, kState, kWhose, kAt};
const OptionGroup kAboutJobs = {kAboutJobsRefs};

constexpr OptionRef kAboutHubJobsRefs[] = {kForms, kState, kHub, kAccess};
const OptionGroup kAboutHubJobs = {kAboutHubJobsRefs};

constexpr OptionRef kAboutHubRefs[] = {kForms, kState, kAccess};
const OptionGroup kAboutHub = {kAboutHubRefs};

constexpr OptionRef kAboutHereRefs[] = {kForms, kState};
const OptionGroup kAboutHere = {kAboutHereRefs};
}  // namespace spate::cli::opt
