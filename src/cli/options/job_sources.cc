// Options: where the tasks of a job come from.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "cli/options/job_rows.h"
#include "cli/options/shared.h"
#include "core/model/limits.h"

namespace spate::cli {
namespace {

Result<std::string> ParseColsep(std::string_view value) {
  if (value.empty()) return Fail(ErrorKind::kInvalid, "the value is empty; write for example ,");
  return std::string(value);
}

Result<bool> ParseHeader(std::string_view value) {
  if (value == ":") return true;
  return Fail(ErrorKind::kInvalid, fmt::format("'{}' is not supported; write --header :, which "
                                               "uses the first value of each source as its name",
                                               EscapeForScreen(value)));
}

Result<uint32_t> ParseMaxArgs(std::string_view value) {
  auto count = ParseCountUpTo(value, 100'000);
  if (count && *count == 0)
    return Fail(ErrorKind::kInvalid,
                "a task cannot have '0' values; write 1 or more. To run a command once per value "
                "without using the value: -- ': {}; COMMAND' ::: ...");
  return count;
}

// Not empty, and with \n and its like understood.
Result<std::string> ParseEscaped(std::string_view value) {
  if (value.empty()) return Fail(ErrorKind::kInvalid, "the value is empty");
  return Unescaped(value);
}

void FillTrim(Filler& filler) {
  filler.in.Choice<std::optional<TrimRule>>(filler.opt, filler.job.run.sources.trim,
                                            {{"n", TrimRule::kNone},
                                             {"l", TrimRule::kLeft},
                                             {"r", TrimRule::kRight},
                                             {"lr", TrimRule::kBoth},
                                             {"rl", TrimRule::kBoth}});
}

template <InputOptions::From kFrom>
void FillInput(Filler& filler) {
  if (filler.in.Has(filler.opt)) filler.job.run.sources.input.from = kFrom;
}

void FillBlock(Filler& filler) {
  InputOptions& input = filler.job.run.sources.input;
  std::string block;
  filler.in.Text(filler.opt, block);
  if (block.starts_with('-')) {
    filler.Read(input.per_slot, [](std::string_view value) {
      return ParseCountUpTo(value.substr(1), kLimits.slots);
    });
  } else if (!block.empty()) {
    filler.Read(input.block, ParseSize);
  }
  if (block.empty() || input.block > 0 || input.per_slot > 0) return;
  filler.in.RecordError(
      filler.opt, {ErrorKind::kInvalid,
                   fmt::format("'{}' splits nothing; write for example 1M, or with --pipepart -10",
                               EscapeForScreen(block))});
}

std::string_view WhyBlockOnlyHere(std::string_view value) {
  return value.starts_with('-')
             ? "the number of slots of the nodes is not known; write --block SIZE"
             : "";
}

void FillRecstart(Filler& filler) {
  InputOptions& input = filler.job.run.sources.input;
  if (filler.Read(input.recstart, ParseEscaped)) input.recend.clear();
}

void FillRecend(Filler& filler) {
  InputOptions& input = filler.job.run.sources.input;
  input.recend_given = filler.Read(
      input.recend, [](std::string_view value) -> Result<std::string> { return Unescaped(value); });
}

constexpr Option kSources[] = {
    {.names = "format",
     .argument = "WHICH",
     .heading = Heading::kSources,
     .help = "format of FILE: list or dag (default: dag for *.dag)",
     .more = "list is a job list. dag is a graph of tasks in the format of pegasus-mpi-cluster "
             "(docs/formats/dag.md): one file, without -k, --order and --follow.",
     .complete = Complete::kWords,
     .words = "list dag",
     .job = {Set<&SourceOptions::format>, kOfLists}},
    {.names = "arg-file,argfile",
     .letters = "a",
     .argument = "FILE",
     .heading = Heading::kSources,
     .help = "read values from FILE (- is stdin)",
     .repeat = true,
     .complete = Complete::kFile,
     .job = {.fill = Set<&SourceOptions::arg_files>, .use = kOfLists, .replaces = true}},
    {.names = "json-lines",
     .argument = "FILE",
     .heading = Heading::kSources,
     .help = "read values {key} from JSON objects, one per line",
     .more = "FILE (- is standard input) has one object per line; all objects have the keys of the "
             "first one. Strings are used as they are, numbers, true and false as written, null as "
             "the empty text. Nested values are refused.",
     .repeat = true,
     .complete = Complete::kFile,
     .job = {.fill = Set<&SourceOptions::json_files>, .use = kOfLists, .replaces = true}},
    {.names = "null",
     .letters = "0",
     .heading = Heading::kSources,
     .help = "values in files end with a zero byte",
     .job = {Set<&SourceOptions::null_separated>, kOfLists}},
    {.names = "delimiter",
     .letters = "d",
     .argument = "DELIM",
     .heading = Heading::kSources,
     .help = "values in files end with DELIM, not with a newline",
     .more = "\\n, \\t, \\r, \\0 and \\\\ are understood. The text after the last DELIM is a value "
             "too, including its newline, as in GNU parallel.",
     .job = {Set<&SourceOptions::delimiter, ParseEscaped>, kOfLists}},
    {.names = "colsep,col-sep",
     .letters = "C",
     .argument = "SEP",
     .heading = Heading::kSources,
     .help = "split values into columns {1}, {2} and so on",
     .job = {Set<&SourceOptions::colsep, ParseColsep>, kOfLists}},
    {.names = "csv",
     .heading = Heading::kSources,
     .help = "read values as CSV columns: {1}, {2} and so on",
     .more =
         "A column in double quotes may contain the separator, newlines and \"\" for a quote. With "
         "--csv, --colsep is one character (default: a comma). --header : names the columns.",
     .job = {Set<&SourceOptions::csv>, kOfLists}},
    {.names = "header",
     .argument = ":",
     .heading = Heading::kSources,
     .help = "use the first value of a source as its name: {name}",
     .job = {Set<&SourceOptions::header, ParseHeader>, kOfLists}},
    {.names = "max-args,max-replace-args",
     .letters = "nN",
     .argument = "N",
     .heading = Heading::kSources,
     .help = "pass N values to each task: {1} to {N}",
     .job = {Set<&SourceOptions::max_args, ParseMaxArgs>,
             {{kYes, kNoUse, kNoUse, kNoUse, kYes, kYes}}}},
    {.names = "max-args,max-replace-args",
     .argument = "N",
     .heading = Heading::kSources,
     .help = "pass N values to each task: {1} to {N}",
     .job = {Set<&SourceOptions::max_args, ParseMaxArgs>,
             {{kNoUse, kNoUse, kNoUse, kYes, kNoUse, kNoUse, kYes}}}},
    {.names = "fill",
     .letters = "X",
     .heading = Heading::kSources,
     .help = "pass as many values as fit into one command",
     .job = {Set<&SourceOptions::fill>, kOfLists}},
    {.names = "trim",
     .argument = "n|l|r|lr",
     .heading = Heading::kSources,
     .help = "remove blanks around values",
     .complete = Complete::kWords,
     .words = "n l r lr rl",
     .job = {FillTrim, kOfLists}},
    {.names = "replace-str,replace",
     .letters = "I",
     .argument = "TEXT",
     .heading = Heading::kSources,
     .help = "placeholder for the value; {} is then plain text",
     .more = "The other placeholders do not change.",
     .job = {Set<&JobSettings::replace>, kOfLists}},
    {.names = "literal-braces",
     .heading = Heading::kSources,
     .help = "treat unknown words in braces as plain text",
     .more =
         "Without this option, a word such as {nmae} is refused if values have names (--header, "
         "--json-lines). So is a mistyped clause of a list, such as {chek in exists f}.",
     .job = {Set<&RunOptions::literal_braces>, kOfLists}},
    {.names = "pipe,spreadstdin",
     .heading = Heading::kSources,
     .help = "split standard input into blocks, one for each task",
     .more = "Each task gets its block as standard input. Blocks end at the ends of records and "
             "are kept in the job's folder until their task has succeeded. With --resume and the "
             "same input again, the run continues where it stopped.",
     .job = {FillInput<InputOptions::From::kPipe>,
             FromHere("standard input is read on this machine; with a hub, use --pipepart with a "
                      "file that its nodes can read")}},
    {.names = "pipepart,pipe-part",
     .heading = Heading::kSources,
     .help = "split the files of -a into blocks, without copying",
     .more = "Each task reads its part of the file. Until all tasks have ended, the file must not "
             "change, except that data may be appended.",
     .job = {FillInput<InputOptions::From::kParts>, kOfFirst}},
    {.names = "block,block-size",
     .argument = "SIZE|-N",
     .heading = Heading::kSources,
     .help = "size of a block (default: 1M; with --pipepart: -10)",
     .more = "-N (only with --pipepart): N tasks for each slot. A record that is longer than a "
             "block makes its block longer.",
     .job = {FillBlock, kOfNew, WhyBlockOnlyHere}},
    {.names = "recstart",
     .argument = "TEXT",
     .heading = Heading::kSources,
     .help = "records begin with TEXT",
     .more = "\\n, \\t, \\r, \\0 and \\\\ are understood. With --recend, a record ends where the "
             "text of --recstart follows that of --recend.",
     .job = {FillRecstart, kOfNew}},
    {.names = "recend",
     .argument = "TEXT",
     .heading = Heading::kSources,
     .help = "records end with TEXT (default: \\n)",
     .more = "If TEXT is empty, blocks may end anywhere.",
     .job = {FillRecend, kOfNew}},
    {.names = "round-robin,round",
     .heading = Heading::kSources,
     .help = "distribute the blocks among one task for each slot",
     .more = "The tasks start when all input has been read.",
     .job = {Set<&InputOptions::round_robin>,
             FromHere("blocks are distributed among the slots of this machine; leave it out")}},
    {.names = "follow",
     .heading = Heading::kSources,
     .help = "start while the list is still being written",
     .more = "Lines are checked as they arrive; an invalid line stops the run. A pipe ends when "
             "its writers have finished. A file does not show that, so it needs --follow-until.",
     .job = {Set<&SourceOptions::follow>, kOfFollowed}},
    {.names = "follow-until",
     .argument = "TEXT",
     .heading = Heading::kSources,
     .help = "follow each list up to the line TEXT",
     .more =
         "TEXT is not a task, and the lines after it are not read. Its newline may be missing if "
         "the file then stays unchanged for a second. Spate checks four times a second whether a "
         "file has grown. A file that is truncated, removed or replaced before that line stops the "
         "run. --resume reads the list once, as it is then, up to the same line.",
     .job = {Set<&SourceOptions::follow_until>, kOfFollowed}}};

}  // namespace

namespace opt {

const OptionRows kSourceRows = kSources;
const Option& kFollowUntil = Named(kSources, "follow-until");

const Option kTarget = {
    .names = "target",
    .argument = "TASKS",
    .heading = Heading::kSources,
    .help = "run only these tasks and the tasks that they wait for",
    .more =
        "TASKS are names ({name NAME} in a list, TASK NAME in a graph) or numbers, separated by "
        "commas. The job leaves out all other tasks and numbers its own from 1. With --resume, "
        "tasks that are left out count as removed from the list; --target all runs them.",
    .repeat = true,
    .job = {.fill = Set<&SourceOptions::targets>, .use = kOfNew, .replaces = true}};

const Option kResume = {
    .names = "resume",
    .heading = Heading::kSources,
    .help = "resume the newest run of the same files",
    .more =
        "Without FILE, resume the newest unfinished run of this folder. Ended tasks stay as they "
        "are. New lines of the list are added. Missing lines are withdrawn and no longer count, so "
        "a corrected command replaces the old one. Options for needs apply to the tasks that are "
        "still to run. Options that cannot be changed are refused.",
    .job = {
        Set<&RunOptions::resume>,
        {{kYes, kNoUse, kNoUse, kNoUse, kNo, kYes},
         "a hub's job continues without a terminal (spate job progress); to retry failed tasks: "
         "spate job retry"}}};

const Option kSucceeded = {
    .names = "succeeded",
    .heading = Heading::kSources,
    .help = "run the named tasks again although they succeeded",
    .more =
        "JOB names tasks: 12.3-9. The tasks that waited for them, directly or through others, run "
        "again as well, however they have ended. Tasks that have not succeeded are refused.",
    .job = {nullptr, {{kNoUse, kYes, kYes}}}};

}  // namespace opt
}  // namespace spate::cli
