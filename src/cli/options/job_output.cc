// Options: what a run shows and keeps, and what a submit waits for.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "cli/options/job_rows.h"
#include "cli/options/shared.h"
#include "core/model/limits.h"

namespace spate::cli {
namespace {

void FillLineBuffer(Filler& filler) {
  Set<&ShowOptions::line_buffer>(filler);
  Set<&JobSettings::live_output>(filler);
}

void FillNoBar(Filler& filler) { filler.job.run.show.bar = !filler.in.Has(filler.opt); }

Result<std::string> ParseKey(std::string_view value) {
  constexpr size_t kMost = 256;
  if (value.empty()) return Fail(ErrorKind::kInvalid, "the key is empty");
  if (value.size() <= kMost) return std::string(value);
  return Fail(ErrorKind::kInvalid, fmt::format("a key has at most {} bytes, and this one has {}",
                                               kMost, FormatCount(value.size())));
}

Result<std::string> ParseComment(std::string_view value) {
  constexpr size_t kMost = 1024;
  if (value.size() <= kMost) return std::string(value);
  return Fail(ErrorKind::kInvalid,
              fmt::format("a comment has at most {} bytes, and this one has {}", FormatCount(kMost),
                          FormatCount(value.size())));
}

Result<std::string> ParseNotify(std::string_view value) {
  if (!value.empty()) return std::string(value);
  return Fail(ErrorKind::kInvalid, "name a command, as in: --notify 'mail -s done me'");
}

void FillArray(Filler& filler) {
  ArrayNumbers array;
  if (!filler.Read(array, ParseArray)) return;
  filler.job.max_running = filler.job.run.policy.max_running = array.most;
  filler.job.run.sources.array = std::move(array);
}

void FillAfter(Filler& filler) {
  filler.ReadAll(ParseAfter, [&](AfterJob after) { filler.job.after.push_back(std::move(after)); });
}

constexpr Option kScreen[] = {
    {.names = "keep-order,keeporder",
     .letters = "k",
     .heading = Heading::kOutput,
     .help = "print output in the order of the tasks",
     .job = {Set<&ShowOptions::keep_order>, kOfRuns}},
    {.names = "tag",
     .heading = Heading::kOutput,
     .help = "print a task's values before each of its lines",
     .job = {Set<&ShowOptions::tag>, kOfRuns}},
    {.names = "tagstring,tag-string",
     .argument = "TEXT",
     .heading = Heading::kOutput,
     .help = "print TEXT before each line, as in {1}-{#}",
     .job = {Set<&ShowOptions::tag_text>, kOfRuns}},
    {.names = "line-buffer,lb,linebuffer,line-buffered,linebuffered",
     .heading = Heading::kOutput,
     .help = "print whole lines as soon as they arrive",
     .job = {FillLineBuffer,
             {{kYes, kYes, kNo, kNoUse, kNo, kNo},
              "the output of a hub's task arrives when the task has ended; leave it out"}}}};

constexpr Option kKeptOutput[] = {
    {.names = "no-bar",
     .heading = Heading::kOutput,
     .help = "show no progress: no bar, no lines in a log",
     .job = {FillNoBar, kOfRuns}},
    {.names = "joblog,jl",
     .argument = "FILE",
     .heading = Heading::kOutput,
     .help = "write one line per task, in GNU parallel's format",
     .complete = Complete::kFile,
     .job = {Set<&ShowOptions::joblog>, kOfRuns}},
    {.names = "results,result,res",
     .argument = "DIR|FILE",
     .heading = Heading::kOutput,
     .help = "write outputs to a tree, or to FILE.csv or FILE.json",
     .more = "The tree is that of GNU parallel: DIR/1/VALUE/2/VALUE/stdout, stderr and seq. Tasks "
             "of a job list have one value, their line. A name that ends in .csv, .tsv or .json is "
             "a file with a row for each task: Seq Host Starttime JobRuntime Send Receive Exitval "
             "Signal Command V1 V2 ... Stdout Stderr; .json has one object per line. The output is "
             "then not printed.",
     .complete = Complete::kFile,
     .job = {Set<&ShowOptions::results_dir>, kOfRuns}},
    {.names = "keep-output",
     .argument = "SIZE",
     .heading = Heading::kOutput,
     .help = "limit of the output in the history (default: 1G)",
     .more = "The limit is for the whole job. Output that no longer fits is left out: of tasks "
             "that wrote more than 128 KB, the first and the last 64 KB are kept as long as those "
             "fit. 0 keeps no output.",
     .job = {Set<&RunOptions::keep_output, ParseSize>, kOfSettings}},
    {.names = "name",
     .argument = "NAME",
     .heading = Heading::kState,
     .help = "name of the job (default: its file or command)",
     .job = {Set<&JobSettings::name>, kOfSettings}},
    {.names = "comment",
     .argument = "TEXT",
     .heading = Heading::kState,
     .help = "text that job info shows (at most 1 KB)",
     .job = {Set<&JobSettings::comment, ParseComment>, kOfSettings}},
    {.names = "profile",
     .letters = "J",
     .argument = "NAME",
     .heading = Heading::kState,
     .help = "read options from ~/.config/spate/profiles/NAME",
     .more =
         "The file has words as in a shell, on any number of lines; # begins a comment. Options on "
         "the command line override the profile. A NAME with a / is the path of a file. The "
         "options in $SPATE_OPTIONS apply to every spate run; all others override them.",
     .repeat = true,
     .job = {Set<&RunOptions::profiles>, kOfNew}}};

constexpr Option kSubmission[] = {
    {.names = "wait",
     .heading = Heading::kOutput,
     .help = "wait until the job has ended; exit code as for run",
     .more = "Waiting also ends when --halt, --max-failures or 25 failures in a row have stopped "
             "the job.",
     .job = {Set<&SubmitOptions::wait>, kOfSubmit}},
    {.names = "progress",
     .heading = Heading::kOutput,
     .help = "wait as with --wait, and show a progress bar",
     .job = {Set<&SubmitOptions::progress>, kOfSubmit}},
    {.names = "key",
     .argument = "KEY",
     .heading = Heading::kState,
     .help = "submit once, even if typed again with this KEY",
     .more = "If you have a job with this KEY, its number is printed and nothing is submitted. "
             "spate job list --key KEY shows it. A key is free again when its job is forgotten; of "
             "tasks that are added to a job, the last 4096 keys are remembered.",
     .job = {Set<&SubmitOptions::key, ParseKey>,
             {{kNo, kNoUse, kNoUse, kYes, kYes, kNo},
              "only a new job of a hub has a key; leave it out"}}},
    {.names = "array",
     .argument = "A-B[:STEP],...[%MOST]",
     .heading = Heading::kSources,
     .help = "one task per number, in {} and $SPATE_ARRAY_VALUE",
     .more = "%MOST limits how many of the tasks run at once. Nothing is appended to a command "
             "without {}.",
     .job = {FillArray, kOfLists}},
    {.names = "open",
     .heading = Heading::kSources,
     .help = "accept more tasks later (spate job add, job close)",
     .job = {Set<&SubmitOptions::open>, kOfSubmit}},
    {.names = "after",
     .argument = "[HOW:]JOB",
     .heading = Heading::kSlots,
     .help = "start after JOB (conditions: ok, any, fail, each)",
     .more = "ok:JOB (the default): all tasks of JOB have succeeded. any:JOB: JOB has ended. "
             "fail:JOB: JOB has ended with failed tasks. each:JOB: task N starts when task N of "
             "JOB has succeeded.",
     .repeat = true,
     .job = {FillAfter, kOfSharedHub}},
    {.names = "like",
     .argument = "JOB",
     .heading = Heading::kNeeds,
     .help = "request what the tasks of JOB needed",
     .more = "Takes --cpus, --memory and --time from `spate report --suggest JOB`. Values on the "
             "command line override them.",
     .job = {nullptr, kOfSharedHub}},
    {.names = "notify",
     .argument = "COMMAND",
     .heading = Heading::kSlots,
     .help = "run COMMAND once when the job has ended",
     .more =
         "COMMAND is a shell command. It runs whether or not the job succeeded, as a second job "
         "with --after any:JOB. A job that --halt or --max-failures has stopped has not ended "
         "until it is released or cancelled. SPATE_NOTIFY_JOB in its environment is the number of "
         "the job that has ended. The number of the new job is printed to standard error.",
     .job = {Set<&SubmitOptions::notify, ParseNotify>, kOfSubmit}},
    {.names = "priority",
     .argument = "N",
     .heading = Heading::kSlots,
     .help = "priority among your jobs, highest first (default: 0)",
     .job = {Set<&SubmitOptions::priority, ParsePriority>, kOfSharedHub}},
    {.names = "weight",
     .argument = "N",
     .heading = Heading::kSlots,
     .help = "share relative to your other jobs (default: 100)",
     .more = "1 to 10000. If all your jobs have a weight below 100, your share relative to other "
             "users shrinks as well.",
     .job = {Set<&SubmitOptions::weight, ParseJobWeight>, kOfSharedHub}},
    {.names = "max-running,jobs,max-procs",
     .letters = "jP",
     .argument = "N",
     .heading = Heading::kSlots,
     .help = "limit of tasks at once (of a user, 0: no limit)",
     .job = {Set<&SubmitOptions::max_running, UpTo<kLimits.tasks_per_job>>, kOfSubmit}},
    // For `run`, whose -j bounds the tasks of a hub's job, too.
    {.names = "max-running",
     .argument = "N",
     .heading = Heading::kSlots,
     .help = "same as -j",
     .short_for = "jobs",
     .job = {nullptr, {{kYes, kNoUse, kNoUse, kNoUse, kYes, kYes}}}}};

}  // namespace

namespace opt {

const OptionRows kScreenRows = kScreen;
const OptionRows kKeptRows = kKeptOutput;
const OptionRows kSubmitRows = kSubmission;
const Option& kNoBar = Named(kKeptOutput, "no-bar");
const Option& kProfile = Named(kKeptOutput, "profile");
const Option& kKey = Named(kSubmission, "key");
const Option& kArray = Named(kSubmission, "array");
const Option& kLike = Named(kSubmission, "like");
const Option& kPriority = Named(kSubmission, "priority");
const Option& kJobWeight = Named(kSubmission, "weight");
const Option& kMaxRunning = Named(kSubmission, "max-running");

const Option kRunPool = {
    .names = "pool",
    .argument = "SYSTEM:OPTIONS",
    .heading = Heading::kHub,
    .help = "run in a batch system, as in slurm:'-p short'",
    .more =
        "For example: slurm:'-p short -t 1h'. SYSTEM is slurm, gridengine, pbs, htcondor, ssh "
        "(ssh:HOST) or local; OPTIONS are those of the batch system. No hub is required: the run "
        "has its own, requests up to ten pilots at once, and has withdrawn all of them when it "
        "ends. spate pool add makes a permanent pool.",
    .job = {nullptr,
            {{kYes, kNoUse, kNoUse, kNoUse, kNo, kYes},
             "--pool makes its own hub; leave out --pool or --hub"}}};

}  // namespace opt
}  // namespace spate::cli
