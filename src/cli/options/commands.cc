// The definitions of all commands; their options are in table.cc. A second definition of a command
// is another name for it.
#include "base/check.h"
#include "cli/options/table.h"

namespace spate::cli {
namespace {

constexpr CommandDef kCommands[] = {
    {.id = Command::kRun,
     .name = "run",
     .arguments = "FILE... | - | -- COMMAND [{}] [::: VALUES]...",
     .summary = "run the commands of a job list, or one command for many values",
     .details =
         "FILE is a job list: one command a line; - is standard input. After -- comes a command "
         "with placeholders ({} {.} {/} {//} {/.} {#} {%} {1} ...) and sources of values: ::: "
         "VALUE..., :::+ VALUE... (linked to the source before it), :::: FILE..., -a FILE. "
         "Without any of these they are the lines of standard input when that is a pipe or a "
         "file; else the command runs once, as it stands. A command without a placeholder gets "
         "its value at the end. Several words after -- keep their boundaries; one word with "
         "blanks is shell text.\n"
         "Every end of a task is kept: after a kill or a loss of power `spate run --resume` goes "
         "on where the run stopped, and `spate job retry last` redoes what failed. Ctrl-C once "
         "lets the running tasks end, twice ends them.",
     .takes_command = true},
    {.id = Command::kJobList,
     .name = "job list",
     .arguments = "[JOB...]",
     .summary = "list jobs, the newest last",
     .details = "JOB is a number, a range (1-10, 1-10:2), a list of these (1,3,5-8), all or last."},
    {.id = Command::kJobInfo,
     .name = "job info",
     .arguments = "[JOB...]",
     .summary = "tell all about jobs (default: last)",
     .details = ""},
    {.id = Command::kJobTasks,
     .name = "job tasks",
     .arguments = "[JOB...]",
     .summary = "list the tasks of jobs (default: last)",
     .details = "JOB may name tasks: 12.3-9 are the tasks 3 to 9 of job 12."},
    {.id = Command::kJobCat,
     .name = "job cat",
     .arguments = "[JOB...]",
     .summary = "print what tasks wrote (default: last)",
     .details = "JOB may name tasks: 12.3-9 are the tasks 3 to 9 of job 12. All is kept that fits "
                "into --keep-output; where something is missing a line on standard error says so, "
                "and the exit code is 1."},
    {.id = Command::kJobTail,
     .name = "job tail",
     .arguments = "[JOB]",
     .summary = "print the last lines that a job's tasks wrote (default: last)",
     .details = "In the order in which the tasks ended, all tries of a task among them.",
     .words_max = 1},
    {.id = Command::kJobGet,
     .name = "job get",
     .arguments = "[JOB [DIR]]",
     .summary = "write the files that tasks brought home (default: last, .)",
     .details = "They are what --get named, of the last attempt of each task, by the same names "
                "below DIR. JOB may name tasks: 12.3-9 are the tasks 3 to 9 of job 12.",
     .words_max = 2},
    {.id = Command::kJobRetry,
     .name = "job retry",
     .arguments = "[JOB]",
     .summary = "run again what failed in a job (default: last)",
     .details =
         "The job keeps its number, its options and its folder; options given here come on top, "
         "and of one given twice the last counts. A switch is undone with --SWITCH=false. JOB "
         "may name tasks: 12.3-9 runs those of the tasks 3 to 9 again that did not succeed. "
         "Options "
         "about the needs of one task are for those that run again, now and later. A hub's job "
         "takes these, and once it has ended --time-limit; its other options stay.",
     .words_max = 1},
    {.id = Command::kJobForget,
     .name = "job forget",
     .arguments = "JOB...",
     .summary = "remove jobs from the history",
     .details = "JOB is a number, a range (1-10, 1-10:2), a list of these (1,3,5-8), last or all. "
                "A job that is running is refused; where all or --older-than choose, it is kept.",
     .words_min = 0},
    {.id = Command::kJobTasks,
     .name = "task list",
     .arguments = "[TASK...]",
     .summary = "the same as job tasks",
     .details = ""},
    {.id = Command::kJobCat,
     .name = "task cat",
     .arguments = "[TASK...]",
     .summary = "the same as job cat",
     .details = ""},
    {.id = Command::kTaskInfo,
     .name = "task info",
     .arguments = "TASK...",
     .summary = "tell all about tasks",
     .details = "TASK is JOB.INDEX: 12.3, 12.3-9, last.1.",
     .words_min = 1},
    {.id = Command::kTaskExplain,
     .name = "task explain",
     .arguments = "TASK...",
     .summary = "tell why tasks are in the state they are in",
     .details = "TASK is JOB.INDEX: 12.3, 12.3-9, last.1.",
     .words_min = 1},
    {.id = Command::kStateCheck,
     .name = "state check",
     .arguments = "[JOB... | hub]",
     .summary = "examine the stored state (default: all of it)",
     .details =
         "The runs of this machine and the journal of a hub that has its folder here. Changes "
         "nothing. Names every damaged file and what to do. The exit code is 1 when damage "
         "was found."},
    {.id = Command::kStateSalvage,
     .name = "state salvage",
     .arguments = "",
     .summary = "make a sound journal of what is sound in a hub's damaged one",
     .details =
         "For a hub that does not run. Jobs without damage stay as they are. Of a damaged one "
         "the ends that can be read are kept, tasks of which nobody knows what became of "
         "them, or what they are, are cancelled, and the rest waits: the job is held. The "
         "damaged journal stays beside the new one.",
     .words_max = 0},
    {.id = Command::kSubmit,
     .name = "submit",
     .arguments = "FILE... | - | -- COMMAND [{}] [::: VALUES]...",
     .summary = "give a job to a hub and print its number",
     .details =
         "Tasks come from the same sources as those of `spate run`. The number is printed when the "
         "job is durable: whatever is killed from then on, no task of it is lost. The tasks run in "
         "this folder, with this umask and this environment (see --env).",
     .takes_command = true},
    {.id = Command::kJobWait,
     .name = "job wait",
     .arguments = "[JOB...]",
     .summary = "wait until jobs have ended (default: last)",
     .details = "The exit code is 0 when all their tasks succeeded, else 1. A lost connection is "
                "made again. A run of this machine that nobody carries on is not waited for."},
    {.id = Command::kJobProgress,
     .name = "job progress",
     .arguments = "[JOB]",
     .summary = "watch a job in a bar until it has ended (default: last)",
     .details = "Ctrl-C ends the watching, never the job.",
     .words_max = 1},
    {.id = Command::kJobCancel,
     .name = "job cancel",
     .arguments = "JOB|TASK...",
     .summary = "end jobs or tasks: what runs, and what has not started",
     .details = "JOB is a number, a range (1-10, 1-10:2), a list of these (1,3,5-8), last or all. "
                "TASK is JOB.INDEX: 12.3, 12.3-9, last.1. A task that succeeds before its end "
                "reaches it has succeeded.",
     .words_min = 1},
    {.id = Command::kJobCancel,
     .name = "task cancel",
     .arguments = "TASK...",
     .summary = "the same as job cancel",
     .details = "",
     .words_min = 1},
    {.id = Command::kJobHold,
     .name = "job hold",
     .arguments = "JOB...",
     .summary = "start nothing more of jobs for now",
     .details = "What runs goes on. `spate job release` lets the jobs go on. A run of this machine "
                "waits meanwhile; Ctrl-C there ends it as ever.",
     .words_min = 1},
    {.id = Command::kJobRelease,
     .name = "job release",
     .arguments = "JOB...",
     .summary = "let jobs that are held go on",
     .details = "",
     .words_min = 1},
    {.id = Command::kJobSet,
     .name = "job set",
     .arguments = "JOB... [--weight N] [--max-running N]",
     .summary = "change the weight or the bound of jobs that have not ended",
     .details = "",
     .words_min = 1},
    {.id = Command::kJobAdd,
     .name = "job add",
     .arguments = "JOB FILE... | - | -- COMMAND [::: VALUES]...",
     .summary = "add tasks to a job that was submitted with --open",
     .details = "A job of a list takes lists; a job of a command takes values for that command.",
     .words_min = 1,
     .takes_command = true},
    {.id = Command::kJobClose,
     .name = "job close",
     .arguments = "JOB...",
     .summary = "add no more tasks to jobs; they end when their tasks have",
     .details = "",
     .words_min = 1},
    {.id = Command::kHubStart,
     .name = "hub start",
     .arguments = "",
     .summary = "run a hub: it takes jobs and gives their tasks to nodes",
     .details =
         "It runs in the foreground until it gets TERM or `spate hub stop`; with --daemon in the "
         "background. Clients and nodes of the same user on this machine find it without options; "
         "for another machine copy an access file there (`spate hub access add`). Killed, it goes "
         "on where it was when it is started again.",
     .words_max = 0},
    {.id = Command::kHubStatus,
     .name = "hub status",
     .arguments = "",
     .summary = "tell how the hub is",
     .details = "",
     .words_max = 0},
    {.id = Command::kHubStop,
     .name = "hub stop",
     .arguments = "",
     .summary = "stop the hub; nodes go on and wait for it",
     .details = "",
     .words_max = 0},
    {.id = Command::kHubAccess,
     .name = "hub access",
     .arguments = "add | list | revoke SERIAL...",
     .summary = "make, list and revoke access to the hub",
     .details =
         "add prints an access file for --role and --user; put it on the other machine with mode "
         "0600, as ~/.config/spate/access. revoke ends a credential and the connections that use "
         "it.",
     .words_min = 1},
    {.id = Command::kHubUser,
     .name = "hub user",
     .arguments = "[NAME]",
     .summary = "tell what users have and may have; with options: set it",
     .details = "Nodes are shared by weight between the users who want them.",
     .words_max = 1},
    {.id = Command::kNodeStart,
     .name = "node start",
     .arguments = "",
     .summary = "serve a hub with this machine",
     .details =
         "It runs in the foreground; with --daemon in the background. The hub is the one of the "
         "access file (--access, $SPATE_HUB, ~/.config/spate/access, /etc/spate/access), else the "
         "user's own on this machine. A node goes on while the hub is away.",
     .words_max = 0},
    {.id = Command::kNodeStop,
     .name = "node stop",
     .arguments = "[NODE]",
     .summary = "end a node of this machine; what it ran is run elsewhere",
     .details =
         "It waits until the node has ended its tasks and is gone. Without a name it is the only "
         "one of yours that runs here. A node that was started with --state or --tmp is found with "
         "the same option. From another machine, `spate node remove` ends it.",
     .words_max = 1},
    {.id = Command::kNodeList,
     .name = "node list",
     .arguments = "[NODE...]",
     .summary = "list the nodes of the hub",
     .details = ""},
    {.id = Command::kNodeInfo,
     .name = "node info",
     .arguments = "[NODE...]",
     .summary = "tell all about nodes",
     .details = ""},
    {.id = Command::kNodeDrain,
     .name = "node drain",
     .arguments = "NODE...",
     .summary = "start nothing more on nodes; what runs goes on",
     .details = "",
     .words_min = 1},
    {.id = Command::kNodeResume,
     .name = "node resume",
     .arguments = "NODE...",
     .summary = "use nodes again that were drained or set aside",
     .details = "",
     .words_min = 1},
    {.id = Command::kNodeRemove,
     .name = "node remove",
     .arguments = "NODE...",
     .summary = "forget nodes; what they ran is run elsewhere",
     .details = "A node that is connected ends. `spate node resume` lets it come again, once it is "
                "started.",
     .words_min = 1},
    {.id = Command::kTop,
     .name = "top",
     .arguments = "",
     .summary = "watch a hub, its nodes and its jobs",
     .details =
         "On a terminal it is drawn anew every second: q ends, n and j show the nodes or the "
         "jobs alone (and again: both), arrows, PgUp and PgDn scroll. A hub that goes away "
         "is waited for. Elsewhere it prints what is now, and ends. --output json is one "
         "object a line. Of others' jobs only administrators see the names.",
     .words_max = 0},
    {.id = Command::kReport,
     .name = "report",
     .arguments = "",
     .summary = "tell what users and their jobs have used",
     .details = "Each attempt that has ended counts, with its processor time and its wall time. "
                "SUGGEST is the largest peak of memory and 20% more, for --memory. Of others' jobs "
                "only administrators see more than the sums of each user.",
     .words_max = 0},
    {.id = Command::kSem,
     .name = "sem",
     .arguments = "-- COMMAND... | --wait",
     .summary = "run a command when a semaphore has room for it",
     .details =
         "It waits until fewer than -j commands of that name run, starts the command in the "
         "background and returns; --fg waits for it. `spate sem --wait` waits for all of them. A "
         "place is free again when the command and all that it started have ended or closed "
         "their files, however they ended. One word with blanks is shell text.",
     .words_max = 0,
     .takes_command = true},
    {.id = Command::kHelp,
     .name = "help",
     .arguments = "[COMMAND]",
     .summary = "explain a command",
     .details = "",
     .words_max = 2},
    {.id = Command::kVersion,
     .name = "version",
     .arguments = "",
     .summary = "print the version",
     .details = "",
     .words_max = 0},
};

}  // namespace

std::span<const CommandDef> Commands() { return kCommands; }

bool IsOtherName(const CommandDef& def) { return &Definition(def.id) != &def; }

const CommandDef& Definition(Command command) {
  for (const CommandDef& def : kCommands) {
    if (def.id == command) return def;
  }
  CHECK(!"every Command has a definition");
  return kCommands[0];
}

}  // namespace spate::cli
