// Options: what a run shows and keeps, and what a submit waits for.
#include "cli/options/shared.h"

namespace spate::cli::opt {

const Option kKeepOrder = {.names = "keep-order,keeporder",
                           .letters = "k",
                           .heading = Heading::kOutput,
                           .help = "print output in the order of the tasks"};

const Option kTag = {.names = "tag",
                     .heading = Heading::kOutput,
                     .help = "print a task's values before each of its lines"};

const Option kTagString = {.names = "tagstring,tag-string",
                           .argument = "TEXT",
                           .heading = Heading::kOutput,
                           .help = "print TEXT before each line, as in {1}-{#}"};

const Option kLineBuffer = {.names = "line-buffer,lb,linebuffer,line-buffered,linebuffered",
                            .heading = Heading::kOutput,
                            .help = "print whole lines as soon as they arrive"};

const Option kNoBar = {.names = "no-bar",
                       .heading = Heading::kOutput,
                       .help = "show no progress: no bar, no lines in a log"};

const Option kJoblog = {.names = "joblog,jl",
                        .argument = "FILE",
                        .heading = Heading::kOutput,
                        .help = "write one line per task, in GNU parallel's format",
                        .complete = Complete::kFile};

const Option kResults = {
    .names = "results,result,res",
    .argument = "DIR|FILE",
    .heading = Heading::kOutput,
    .help = "write outputs to a tree, or to FILE.csv or FILE.json",
    .more =
        "The tree is that of GNU parallel: DIR/1/VALUE/2/VALUE/stdout, stderr and seq. Tasks of a "
        "job list have one value, their line. A name that ends in .csv, .tsv or .json is a file "
        "with a row for each task: Seq Host Starttime JobRuntime Send Receive Exitval Signal "
        "Command V1 V2 ... Stdout Stderr; .json has one object per line. The output is then not "
        "printed.",
    .complete = Complete::kFile};

const Option kKeepOutput = {.names = "keep-output",
                            .argument = "SIZE",
                            .heading = Heading::kOutput,
                            .help = "limit of the output in the history (default: 1G)",
                            .more =
                                "The limit is for the whole job. Output that no longer fits is "
                                "left out: of tasks that wrote more than 128 KB, the first and the "
                                "last 64 KB are kept as long as those fit. 0 keeps no output."};

const Option kName = {.names = "name",
                      .argument = "NAME",
                      .heading = Heading::kState,
                      .help = "name of the job (default: its file or command)"};

const Option kProfile = {
    .names = "profile",
    .letters = "J",
    .argument = "NAME",
    .heading = Heading::kState,
    .help = "read options from ~/.config/spate/profiles/NAME",
    .more =
        "The file has words as in a shell, on any number of lines; # begins a comment. Options on "
        "the command line override the profile. A NAME with a / is the path of a file. The options "
        "in $SPATE_OPTIONS apply to every spate run; all others override them.",
    .repeat = true};

const Option kRunPool = {
    .names = "pool",
    .argument = "SYSTEM:OPTIONS",
    .heading = Heading::kHub,
    .help = "run in a batch system, as in slurm:'-p short'",
    .more =
        "For example: slurm:'-p short -t 1h'. SYSTEM is slurm, gridengine, pbs, htcondor, ssh "
        "(ssh:HOST) or local; OPTIONS are those of the batch system. No hub is required: the run "
        "has its own, requests up to ten pilots at once, and has withdrawn all of them when it "
        "ends. spate pool add makes a permanent pool."};

const Option kWait = {.names = "wait",
                      .heading = Heading::kOutput,
                      .help = "wait until the job has ended; exit code as for run",
                      .more =
                          "Waiting also ends when --halt, --max-failures or 25 failures in a row "
                          "have stopped the job."};

const Option kProgress = {.names = "progress",
                          .heading = Heading::kOutput,
                          .help = "wait as with --wait, and show a progress bar"};

const Option kArray = {.names = "array",
                       .argument = "A-B[:STEP],...[%MOST]",
                       .heading = Heading::kSources,
                       .help = "one task per number, in {} and $SPATE_ARRAY_VALUE",
                       .more =
                           "%MOST limits how many of the tasks run at once. Nothing is appended to "
                           "a command without {}."};

const Option kKey = {
    .names = "key",
    .argument = "KEY",
    .heading = Heading::kState,
    .help = "submit once, even if typed again with this KEY",
    .more =
        "If you have a job with this KEY, its number is printed and nothing is submitted. spate "
        "job list --key KEY shows it. A key is free again when its job is forgotten; of tasks that "
        "are added to a job, the last 4096 keys are remembered."};

const Option kOpen = {.names = "open",
                      .heading = Heading::kSources,
                      .help = "accept more tasks later (spate job add, job close)"};

const Option kAfter = {.names = "after",
                       .argument = "[HOW:]JOB",
                       .heading = Heading::kSlots,
                       .help = "start after JOB (conditions: ok, any, fail, each)",
                       .more =
                           "ok:JOB (the default): all tasks of JOB have succeeded. any:JOB: JOB "
                           "has ended. fail:JOB: JOB has ended with failed tasks. each:JOB: task N "
                           "starts when task N of JOB has succeeded.",
                       .repeat = true};

const Option kLike = {.names = "like",
                      .argument = "JOB",
                      .heading = Heading::kNeeds,
                      .help = "request what the tasks of JOB needed",
                      .more =
                          "Takes --cpus, --memory and --time from `spate report --suggest JOB`. "
                          "Values on the command line override them."};

const Option kNotify = {
    .names = "notify",
    .argument = "COMMAND",
    .heading = Heading::kSlots,
    .help = "run COMMAND once when the job has ended",
    .more =
        "COMMAND is a shell command. It runs whether or not the job succeeded, as a second job "
        "with "
        "--after any:JOB. A job that --halt or --max-failures has stopped has not ended until it "
        "is "
        "released or cancelled. SPATE_NOTIFY_JOB in its environment is the number of the job that "
        "has ended. The number of the new job is printed to standard error."};

const Option kPriority = {.names = "priority",
                          .argument = "N",
                          .heading = Heading::kSlots,
                          .help = "priority among your jobs, highest first (default: 0)"};

const Option kJobWeight = {.names = "weight",
                           .argument = "N",
                           .heading = Heading::kSlots,
                           .help = "share relative to your other jobs (default: 100)",
                           .more =
                               "1 to 10000. If all your jobs have a weight below 100, your share "
                               "relative to other users shrinks as well."};

const Option kMaxRunning = {.names = "max-running,jobs,max-procs",
                            .letters = "jP",
                            .argument = "N",
                            .heading = Heading::kSlots,
                            .help = "limit of tasks at once (of a user, 0: no limit)"};

constexpr OptionRef kScreenRefs[] = {kKeepOrder, kTag, kTagString, kLineBuffer};
const OptionGroup kScreen = {kScreenRefs};

constexpr OptionRef kRunFilesRefs[] = {kNoBar, kJoblog, kResults};
const OptionGroup kRunFiles = {kRunFilesRefs};
}  // namespace spate::cli::opt
