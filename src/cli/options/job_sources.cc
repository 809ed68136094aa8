// Options: where the tasks of a job come from.
#include "cli/options/shared.h"

namespace spate::cli::opt {

const Option kFormat = {
    .names = "format",
    .argument = "WHICH",
    .heading = Heading::kSources,
    .help = "format of FILE: list or dag (default: dag for *.dag)",
    .more =
        "list is a job list. dag is a graph of tasks in the format of pegasus-mpi-cluster "
        "(docs/formats/dag.md): one file, without -k, --order and --follow.",
    .complete = Complete::kWords,
    .words = "list dag"};

const Option kArgFile = {.names = "arg-file,argfile",
                         .letters = "a",
                         .argument = "FILE",
                         .heading = Heading::kSources,
                         .help = "read values from FILE (- is stdin)",
                         .repeat = true,
                         .complete = Complete::kFile};

const Option kJsonLines = {
    .names = "json-lines",
    .argument = "FILE",
    .heading = Heading::kSources,
    .help = "read values {key} from JSON objects, one per line",
    .more =
        "FILE (- is standard input) has one object per line; all objects have the keys of the "
        "first one. Strings are used as they are, numbers, true and false as written, null as the "
        "empty text. Nested values are refused.",
    .repeat = true,
    .complete = Complete::kFile};

const Option kNull = {.names = "null",
                      .letters = "0",
                      .heading = Heading::kSources,
                      .help = "values in files end with a zero byte"};

const Option kDelimiter = {
    .names = "delimiter",
    .letters = "d",
    .argument = "DELIM",
    .heading = Heading::kSources,
    .help = "values in files end with DELIM, not with a newline",
    .more =
        "\\n, \\t, \\r, \\0 and \\\\ are understood. The text after the last DELIM is a value too, "
        "including its newline, as in GNU parallel."};

const Option kColsep = {.names = "colsep,col-sep",
                        .letters = "C",
                        .argument = "SEP",
                        .heading = Heading::kSources,
                        .help = "split values into columns {1}, {2} and so on"};

const Option kCsv = {
    .names = "csv",
    .heading = Heading::kSources,
    .help = "read values as CSV columns: {1}, {2} and so on",
    .more =
        "A column in double quotes may contain the separator, newlines and \"\" for a quote. With "
        "--csv, --colsep is one character (default: a comma). --header : names the columns."};

const Option kHeader = {.names = "header",
                        .argument = ":",
                        .heading = Heading::kSources,
                        .help = "use the first value of a source as its name: {name}"};

const Option kMaxArgs = {.names = "max-args,max-replace-args",
                         .letters = "nN",
                         .argument = "N",
                         .heading = Heading::kSources,
                         .help = "pass N values to each task: {1} to {N}"};

const Option kLongMaxArgs = {.names = "max-args,max-replace-args",
                             .argument = "N",
                             .heading = Heading::kSources,
                             .help = "pass N values to each task: {1} to {N}",
                             .short_for = &kMaxArgs};

const Option kFill = {.names = "fill",
                      .letters = "X",
                      .heading = Heading::kSources,
                      .help = "pass as many values as fit into one command"};

const Option kTrim = {.names = "trim",
                      .argument = "n|l|r|lr",
                      .heading = Heading::kSources,
                      .help = "remove blanks around values",
                      .complete = Complete::kWords,
                      .words = "n l r lr rl"};

const Option kReplace = {.names = "replace-str,replace",
                         .letters = "I",
                         .argument = "TEXT",
                         .heading = Heading::kSources,
                         .help = "placeholder for the value; {} is then plain text",
                         .more = "The other placeholders do not change."};

const Option kLiteralBraces = {
    .names = "literal-braces",
    .heading = Heading::kSources,
    .help = "treat unknown words in braces as plain text",
    .more =
        "Without this option, a word such as {nmae} is refused if values have names (--header, "
        "--json-lines). So is a mistyped clause of a list, such as {chek in exists f}."};

const Option kPipe = {
    .names = "pipe,spreadstdin",
    .heading = Heading::kSources,
    .help = "split standard input into blocks, one for each task",
    .more =
        "Each task gets its block as standard input. Blocks end at the ends of records and are "
        "kept in the job's folder until their task has succeeded. With --resume and the same input "
        "again, the run continues where it stopped."};

const Option kPipepart = {.names = "pipepart,pipe-part",
                          .heading = Heading::kSources,
                          .help = "split the files of -a into blocks, without copying",
                          .more =
                              "Each task reads its part of the file. Until all tasks have ended, "
                              "the file must not change, except that data may be appended."};

const Option kBlock = {.names = "block,block-size",
                       .argument = "SIZE|-N",
                       .heading = Heading::kSources,
                       .help = "size of a block (default: 1M; with --pipepart: -10)",
                       .more =
                           "-N (only with --pipepart): N tasks for each slot. A record that is "
                           "longer than a block makes its block longer."};

const Option kRecstart = {.names = "recstart",
                          .argument = "TEXT",
                          .heading = Heading::kSources,
                          .help = "records begin with TEXT",
                          .more =
                              "\\n, \\t, \\r, \\0 and \\\\ are understood. With --recend, a record "
                              "ends where the text of --recstart follows that of --recend."};

const Option kRecend = {.names = "recend",
                        .argument = "TEXT",
                        .heading = Heading::kSources,
                        .help = "records end with TEXT (default: \\n)",
                        .more = "If TEXT is empty, blocks may end anywhere."};

const Option kRoundRobin = {.names = "round-robin,round",
                            .heading = Heading::kSources,
                            .help = "distribute the blocks among one task for each slot",
                            .more = "The tasks start when all input has been read."};

const Option kFollow = {.names = "follow",
                        .heading = Heading::kSources,
                        .help = "start while the list is still being written",
                        .more =
                            "Lines are checked as they arrive; an invalid line stops the run. A "
                            "pipe ends when its writers have finished. A file does not show that, "
                            "so it needs --follow-until."};

const Option kFollowUntil = {
    .names = "follow-until",
    .argument = "TEXT",
    .heading = Heading::kSources,
    .help = "follow each list up to the line TEXT",
    .more =
        "TEXT is not a task, and the lines after it are not read. Its newline may be missing if "
        "the file then stays unchanged for a second. Spate checks four times a second whether a "
        "file has grown. A file that is truncated, removed or replaced before that line stops the "
        "run. "
        "--resume reads the list once, as it is then, up to the same line."};

const Option kTarget = {
    .names = "target",
    .argument = "TASKS",
    .heading = Heading::kSources,
    .help = "run only these tasks and the tasks that they wait for",
    .more =
        "TASKS are names ({name NAME} in a list, TASK NAME in a graph) or numbers, separated by "
        "commas. The job leaves out all other tasks and numbers its own from 1. With --resume, "
        "tasks "
        "that are left out count as removed from the list; --target all runs them.",
    .repeat = true};

const Option kResume = {
    .names = "resume",
    .heading = Heading::kSources,
    .help = "resume the newest run of the same files",
    .more =
        "Without FILE, resume the newest unfinished run of this folder. Ended tasks stay as they "
        "are. New lines of the list are added. Missing lines are withdrawn and no longer count, so "
        "a corrected command replaces the old one. Options for needs apply to the tasks that are "
        "still to run. Options that cannot be changed are refused."};

const Option kSucceeded = {
    .names = "succeeded",
    .heading = Heading::kSources,
    .help = "run the named tasks again although they succeeded",
    .more =
        "JOB names tasks: 12.3-9. The tasks that waited for them, directly or through others, run "
        "again as well, however they have ended. Tasks that have not succeeded are refused."};

constexpr OptionRef kListsRefs[] = {kFormat,    kArgFile, kJsonLines, kNull,
                                    kDelimiter, kColsep,  kCsv,       kHeader};
const OptionGroup kLists = {kListsRefs};

constexpr OptionRef kValuesRefs[] = {kFill, kTrim, kReplace, kLiteralBraces};
const OptionGroup kValues = {kValuesRefs};

constexpr OptionRef kPartsRefs[] = {kPipepart, kBlock, kRecstart, kRecend};
const OptionGroup kParts = {kPartsRefs};
}  // namespace spate::cli::opt
