// Compile decides once how the command of a job is started:
//   list   each row is a line of its own (list_line.h)
//   text   one word that needs a shell; values in it are quoted, then make's rule decides again
//   argv   several words; values fill them as they are
// A process that takes task after task has a command of one of the last two, as it stands: its rows
// are what it is given.
// A piece of input (input_row.h) is one of the last two, without values. A part of a file comes
// through a pipe from a process of ours (format/input_row.h): a step of two commands.
// Shell text whose literal part needs no shell becomes argv here already, so that a million
// `gzip {}` cost no shell: the quoting of a value and the shell's reading of it cancel out.

#include "format/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "base/units.h"
#include "core/model/limits.h"
#include "format/argv.h"
#include "format/dag_line.h"
#include "format/forward.h"
#include "format/input_row.h"
#include "format/list_line.h"
#include "format/shell_words.h"
#include "format/template.h"

namespace spate::format {

namespace {

// Files of a task, whatever its rows are.
struct Files {
  Template stdin_file;
  Template stdout_file;
  Template stderr_file;
  std::vector<Template> puts;
  std::vector<Template> gets;
  std::vector<Template> rank_gets;      // with {rank}
  std::vector<Template> pipe_forwards;  // "VAR=FILE"
  std::vector<Template> file_forwards;  // "SRC=DEST"
};

// Common parts of all rows of a job.
struct Parts {
  uint32_t job = 0;
  bool repeat = false;
  bool has_values = false;
  bool is_array = false;  // the value is a number of --array
  std::string shell;      // --shell; empty: `own_shell`, where a text needs one
  std::string own_shell;
  Files files;
};

// The command of a job whose rows are values or pieces of input.
struct CommandParts {
  bool is_text = false;  // for a shell, else `words`
  Template text;         // of a text, and of words that came from text
  bool from_text = false;
  std::vector<Template> words;
};

// True if some value could make a shell do more with the text than split it into words. Values are
// quoted, so the most that one can do is what a '-' at its place does (echo -n); only as the
// command's name it can do anything.
bool LiteralNeedsShell(const Template& text) {
  std::string probe;
  bool first_word = true;
  for (const Piece& piece : text.pieces()) {
    if (piece.kind == Piece::Kind::kBlanks) {
      first_word = first_word && probe.find_first_not_of(" \t\n") == std::string::npos;
      probe += piece.text;
    } else if (piece.kind == Piece::Kind::kText) {
      probe += piece.text;
    } else {
      if (first_word) return true;
      probe += '-';
    }
  }
  return NeedsShell(probe);
}

std::vector<Template> WordsOf(const Template& text, const Template::Known& known) {
  std::vector<Template> words;
  std::string word;
  auto end_word = [&] {
    if (!word.empty()) words.push_back(Template::Parse(word, known));
    word.clear();
  };
  for (const Piece& piece : text.pieces()) {
    if (piece.kind == Piece::Kind::kBlanks) {
      end_word();
    } else {
      word += piece.text;
    }
  }
  end_word();
  return words;
}

// True if a command of one word is an argv of one, and not a text for a shell.
bool IsPlainWord(const Template& word) {
  if (word.has_blanks()) return false;
  std::string probe;
  for (const Piece& piece : word.pieces()) probe += piece.is_literal() ? piece.text : "x";
  return !NeedsShell(probe);
}

// Rejects text that GNU parallel would run as Perl.
Status CheckNoPerl(std::string_view text) {
  size_t open = text.find("{=");
  if (open == std::string_view::npos || text.find("=}", open + 2) == std::string_view::npos) {
    return {};
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}': {{= =}} is Perl code for GNU parallel, which is not supported "
                          "here; use {{.}} {{..}} {{/}} {{//}} {{/.}} {{%.txt}}, or let a shell "
                          "change the value, as in `-- 'f={{}}; mv $f ${{f%.x}}.y'`",
                          EscapeForScreen(text)));
}

Status CheckCommand(const JobSettings& settings) {
  if (settings.command.empty()) {
    return Fail(ErrorKind::kInvalid,
                "there is no command for the values: write one after --, as in `-- gzip {} ::: "
                "a b`; lines that are commands themselves go into a job list");
  }
  for (const std::string& word : settings.command) {
    if (word.find('\0') != std::string::npos) {
      return Fail(ErrorKind::kInvalid, "a word of the command contains a NUL byte; remove it");
    }
    if (!settings.has_source) continue;
    TRY(CheckNoPerl(word));
  }
  return {};
}

CommandParts CompileCommand(const JobSettings& settings, const Parts& parts) {
  Template::Known known{.names = settings.value_names, .replace = ReplaceOf(settings.replace)};
  auto parse = [&](std::string_view word) {
    // Without a source all braces are literal.
    return settings.has_source ? Template::Parse(word, known) : Template::Literal(word);
  };
  CommandParts command;
  bool placeholder = false;
  for (const std::string& word : settings.command) {
    command.words.push_back(parse(word));
    placeholder = placeholder || command.words.back().has_placeholder();
  }
  bool append = parts.has_values && !placeholder && !parts.is_array;
  bool plain = parts.shell.empty() && IsPlainWord(command.words.front());
  if (command.words.size() > 1 || plain) {
    if (append) command.words.push_back(Template::Parse("{}", {}));
    return command;
  }
  std::string_view replace = known.replace.empty() ? "{}" : known.replace;
  command.text = append ? parse(fmt::format("{} {}", settings.command.front(), replace))
                        : std::move(command.words.front());
  command.words.clear();
  command.from_text = true;
  command.is_text = !parts.shell.empty() || LiteralNeedsShell(command.text);
  if (!command.is_text) command.words = WordsOf(command.text, known);
  return command;
}

// The name of a file of each task; `option` is for the message.
Result<Template> CompilePattern(const std::string& pattern, std::string_view option,
                                const JobSettings& settings, bool has_values) {
  if (pattern.find('\0') != std::string::npos) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} contains a NUL byte, which is not allowed in file names", option));
  }
  if (auto status = CheckNoPerl(pattern); !status) {
    return Within(option, status.error());
  }
  Template parsed = Template::Parse(pattern, {.names = settings.value_names,
                                              .job = true,
                                              .replace = ReplaceOf(settings.replace),
                                              .rank = option == "--get"});
  if (!has_values && !parsed.first_value().empty()) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} '{}': {} is a placeholder for a value, but the tasks have none; "
                            "use {{#}} (the task's number), {{%}} (its slot) or {{job}}",
                            option, EscapeForScreen(pattern), parsed.first_value()));
  }
  return parsed;
}

// The values of a row, as views into it.
std::vector<std::string_view> SplitRow(std::string_view row) {
  std::vector<std::string_view> values;
  while (true) {
    size_t end = row.find('\0');
    values.push_back(row.substr(0, end));
    if (end == std::string_view::npos) return values;
    row.remove_prefix(end + 1);
  }
}

std::string FileName(const Template& pattern, const Filling& filling) {
  std::string name;
  AppendText(pattern, filling, name);
  return name;
}

// Each name once, in the order of the options.
Result<std::vector<std::string>> FileNames(const std::vector<Template>& patterns,
                                           const Filling& filling, std::string_view option) {
  std::vector<std::string> names;
  for (const Template& pattern : patterns) {
    std::string name = FileName(pattern, filling);
    if (auto checked = CheckTaskFileName(name); !checked) return Within(option, checked.error());
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

Filling FillingOf(const Parts& parts, std::span<const std::string_view> values, const RowRun& run) {
  return Filling{.values = values,
                 .number = uint64_t{run.index} + 1,
                 .slot = run.slot == 0 ? 1u : run.slot,
                 .job = parts.job,
                 .repeat = parts.repeat};
}

// Behind those of the row itself.
Status FillForwards(const Files& files, const Filling& filling, TaskBody& body) {
  for (const Template& pattern : files.pipe_forwards) {
    auto forward = ParsePipeForward(FileName(pattern, filling));
    if (!forward) return Within("--forward", forward.error());
    ForwardPipe(body, forward->from, std::move(forward->to));
  }
  for (const Template& pattern : files.file_forwards) {
    auto forward = ParseFileForward(FileName(pattern, filling));
    if (!forward) return Within("--forward-file", forward.error());
    ForwardFile(body, std::move(forward->from), std::move(forward->to));
  }
  return {};
}

// Files of each rank, and those of the whole task, which come from the first rank's folder.
Status FillGets(const Files& files, Filling filling, const RowRun& run, TaskBody& body) {
  for (uint32_t i = 0; i < run.ranks && !files.rank_gets.empty(); ++i) {
    filling.rank = run.first_rank + i;
    auto names = TRY(FileNames(files.rank_gets, filling, "--get"));
    std::ranges::move(names, std::back_inserter(body.gets));
  }
  if (run.first_rank > 0) return {};
  auto names = TRY(FileNames(files.gets, filling, "--get"));
  std::ranges::move(names, std::back_inserter(body.gets));
  return {};
}

Status FillFiles(const Files& files, const Filling& filling, const RowRun& run, TaskBody& body) {
  if (body.stdin_file.empty()) body.stdin_file = FileName(files.stdin_file, filling);
  body.stdout_file = FileName(files.stdout_file, filling);
  body.stderr_file = FileName(files.stderr_file, filling);
  auto puts = TRY(FileNames(files.puts, filling, "--put"));
  for (std::string& name : puts) body.puts.push_back({.name = std::move(name), .from = {}});
  TRY(FillGets(files, filling, run, body));
  return FillForwards(files, filling, body);
}

// ---- Lines of a list ---------------------------------------------------------------------------

class LineReader final : public RowReader {
 public:
  explicit LineReader(Parts parts) : parts_(std::move(parts)) {}
  Result<TaskBody> Body(std::string_view row, const RowRun& run) const override {
    auto line = TRY(ParseListLine(row));
    TaskBody body;
    std::vector<std::string>& argv = body.steps.emplace_back().commands.emplace_back().argv;
    argv = CommandArgv(line.command, parts_.shell, parts_.own_shell);
    if (!parts_.shell.empty()) {
      TRY(CheckArgv(argv));
    }
    for (Check& check : line.checks) {
      if (check.when == CheckWhen::kOut) body.output_checks.push_back(std::move(check));
    }
    for (Forward& pipe : line.pipe_forwards) ForwardPipe(body, pipe.from, std::move(pipe.to));
    TRY(FillFiles(parts_.files, FillingOf(parts_, {}, run), run, body));
    return body;
  }
  std::string CommandText(std::string_view row, const RowRun&) const override {
    auto line = ParseListLine(row);
    return line ? std::move(line->command) : std::string(row);
  }
  bool HasNames() const override { return true; }
  std::string Name(std::string_view row) const override {
    if (row.find("{name") == std::string_view::npos) return "";
    auto line = ParseListLine(row);
    return line ? std::move(line->name) : "";
  }

 private:
  const Parts parts_;
};

// ---- Tasks of a graph

class DagTaskReader final : public RowReader {
 public:
  explicit DagTaskReader(Parts parts) : parts_(std::move(parts)) {}
  Result<TaskBody> Body(std::string_view row, const RowRun& run) const override {
    auto task = TRY(ParseDagTask(row));
    TaskBody body;
    body.steps.emplace_back().commands.emplace_back().argv = std::move(task.argv);
    for (Forward& pipe : task.pipe_forwards) ForwardPipe(body, pipe.from, std::move(pipe.to));
    for (Forward& file : task.file_forwards) {
      ForwardFile(body, std::move(file.from), std::move(file.to));
    }
    TRY(FillFiles(parts_.files, FillingOf(parts_, {}, run), run, body));
    return body;
  }
  std::string CommandText(std::string_view row, const RowRun&) const override {
    auto task = ParseDagTask(row);
    if (!task) return std::string(row);
    std::string text;
    for (const std::string& word : task->argv) {
      if (!text.empty()) text += ' ';
      text += ShellQuote(word);
    }
    return text;
  }
  bool HasNames() const override { return true; }
  std::string Name(std::string_view row) const override { return std::string(DagTaskName(row)); }

 private:
  const Parts parts_;
};

// ---- Values, and pieces of input ---------------------------------------------------------------

class CommandReader : public RowReader {
 public:
  CommandReader(Parts parts, CommandParts command)
      : parts_(std::move(parts)), command_(std::move(command)) {}
  Result<TaskBody> Body(std::string_view row, const RowRun& run) const override {
    std::vector<std::string_view> values;
    if (parts_.has_values) values = SplitRow(row);
    Filling filling = FillingOf(parts_, values, run);
    TaskBody body;
    std::vector<std::string>& argv = body.steps.emplace_back().commands.emplace_back().argv;
    argv = command_.is_text ? CommandArgv(ShellText(filling), parts_.shell, parts_.own_shell)
                            : Words(filling);
    if (parts_.is_array && !values.empty()) {
      body.environment.push_back(fmt::format("{}={}", kArrayVariable, values.front()));
    }
    Status good = CheckArgv(argv);
    if (good) good = GiveInput(row, run.index, body);
    if (good) good = FillFiles(parts_.files, filling, run, body);
    if (!good) return std::unexpected(std::move(good.error()));
    return body;
  }
  std::string CommandText(std::string_view row, const RowRun& run) const override {
    std::vector<std::string_view> values;
    if (parts_.has_values) values = SplitRow(row);
    Filling filling = FillingOf(parts_, values, run);
    if (command_.from_text) return ShellText(filling);
    std::string text;
    for (const std::string& word : Words(filling)) {
      if (!text.empty()) text += ' ';
      text += ShellQuote(word);
    }
    return text;
  }

 private:
  virtual Status GiveInput(std::string_view, TaskIndex, TaskBody&) const { return {}; }
  std::string ShellText(Filling filling) const {
    filling.quote = true;
    std::string text;
    AppendText(command_.text, filling, text);
    return text;
  }
  std::vector<std::string> Words(const Filling& filling) const {
    std::vector<std::string> words;
    words.reserve(command_.words.size());
    for (const Template& word : command_.words) AppendWords(word, filling, words);
    return words;
  }

  const Parts parts_;
  const CommandParts command_;
};

class InputReader final : public CommandReader {
 public:
  // `blocks` is the folder of pieces that are no part of a file.
  InputReader(Parts parts, CommandParts command, std::string blocks)
      : CommandReader(std::move(parts), std::move(command)), blocks_(std::move(blocks)) {}

 private:
  Status GiveInput(std::string_view row, TaskIndex index, TaskBody& body) const override {
    auto input = TRY(ParseInputRow(row));
    if (input.file.empty()) {
      body.stdin_file = blocks_ + "/" + BlockName(uint64_t{index} + 1);
      return {};
    }
    auto& commands = body.steps.front().commands;
    commands.insert(commands.begin(), Command{PartCommand(input)});
    PipeCommands(body);
    return {};
  }

  const std::string blocks_;
};

// ---- What a process is given that takes task after task
// ------------------------------------------

class ResidentReader final : public RowReader {
 public:
  // `process` is the body of each task but for its input, `text` what is started.
  ResidentReader(TaskBody process, std::string text)
      : process_(std::move(process)), text_(std::move(text)) {}
  Result<TaskBody> Body(std::string_view row, const RowRun&) const override {
    TaskBody body = process_;
    body.input = InputOf(row);
    return body;
  }
  // Written like a shell's here string to a process of its own.
  std::string CommandText(std::string_view row, const RowRun&) const override {
    return fmt::format("{} <<< {}", text_, ShellQuote(InputOf(row)));
  }

 private:
  static std::string InputOf(std::string_view row) {
    std::string input(row);
    std::ranges::replace(input, '\0', '\t');
    return input;
  }

  const TaskBody process_;
  const std::string text_;
};

// ---- Compiling ---------------------------------------------------------------------------------

Result<std::vector<Template>> CompilePatterns(const std::vector<std::string>& patterns,
                                              std::string_view option, const JobSettings& settings,
                                              bool has_values) {
  std::vector<Template> compiled;
  for (const std::string& pattern : patterns) {
    auto one = TRY(CompilePattern(pattern, option, settings, has_values));
    compiled.push_back(std::move(one));
  }
  return compiled;
}

// `input` is the pattern of standard input.
Result<Files> CompileFiles(const JobSettings& settings, const std::string& input, bool has_values) {
  Files files;
  struct File {
    const std::string& pattern;
    std::string_view option;
    Template& compiled;
  };
  for (const File& file : {File{input, "--stdin", files.stdin_file},
                           File{settings.stdout_pattern, "--stdout", files.stdout_file},
                           File{settings.stderr_pattern, "--stderr", files.stderr_file}}) {
    auto compiled = TRY(CompilePattern(file.pattern, file.option, settings, has_values));
    file.compiled = std::move(compiled);
  }
  auto puts = TRY(CompilePatterns(settings.put_patterns, "--put", settings, has_values));
  auto gets = TRY(CompilePatterns(settings.get_patterns, "--get", settings, has_values));
  auto pipes = TRY(CompilePatterns(settings.forward_patterns, "--forward", settings, has_values));
  auto forwarded =
      CompilePatterns(settings.forward_file_patterns, "--forward-file", settings, has_values);
  if (!forwarded) return std::unexpected(std::move(forwarded.error()));
  files.puts = std::move(puts);
  for (Template& get : gets) {
    (get.has_rank() ? files.rank_gets : files.gets).push_back(std::move(get));
  }
  files.pipe_forwards = std::move(pipes);
  files.file_forwards = std::move(*forwarded);
  return files;
}

Parts PartsOf(const JobSettings& settings, JobId job, std::string_view bash) {
  return {.job = job.value,
          .repeat = settings.repeat_context,
          .has_values = settings.row_kind == RowKind::kValues && settings.has_source,
          .is_array = settings.value_names == std::vector<std::string>{kArrayVariable},
          .shell = settings.shell,
          .own_shell = std::string(settings.bash ? bash : kSh),
          .files = {}};
}

class OwnDialect : public RowDialect {
 public:
  explicit OwnDialect(const std::string& bash) : bash_(bash.empty() ? "/bin/bash" : bash) {}

 protected:
  const std::string bash_;  // its file
};

class Lines final : public OwnDialect {
 public:
  using OwnDialect::OwnDialect;
  Result<CompiledJob> Compile(const JobSettings& settings, JobId job) const override {
    Parts parts = PartsOf(settings, job, bash_);
    auto files = TRY(CompileFiles(settings, settings.stdin_pattern, false));
    parts.files = std::move(files);
    return std::make_shared<LineReader>(std::move(parts));
  }
};

class DagTasks final : public RowDialect {
 public:
  Result<CompiledJob> Compile(const JobSettings& settings, JobId job) const override {
    Parts parts = PartsOf(settings, job, "");
    auto files = TRY(CompileFiles(settings, settings.stdin_pattern, false));
    parts.files = std::move(files);
    return std::make_shared<DagTaskReader>(std::move(parts));
  }
};

class Values final : public OwnDialect {
 public:
  using OwnDialect::OwnDialect;
  Result<CompiledJob> Compile(const JobSettings& settings, JobId job) const override {
    TRY(CheckCommand(settings));
    Parts parts = PartsOf(settings, job, bash_);
    CommandParts command = CompileCommand(settings, parts);
    auto files = TRY(CompileFiles(settings, settings.stdin_pattern, parts.has_values));
    parts.files = std::move(files);
    return std::make_shared<CommandReader>(std::move(parts), std::move(command));
  }
};

class Input final : public OwnDialect {
 public:
  using OwnDialect::OwnDialect;
  Result<CompiledJob> Compile(const JobSettings& settings, JobId job) const override {
    TRY(CheckCommand(settings));
    Parts parts = PartsOf(settings, job, bash_);
    CommandParts command = CompileCommand(settings, parts);
    auto files = TRY(CompileFiles(settings, "", false));
    parts.files = std::move(files);
    return std::make_shared<InputReader>(std::move(parts), std::move(command),
                                         settings.stdin_pattern);
  }
};

class Residents final : public OwnDialect {
 public:
  using OwnDialect::OwnDialect;
  Result<CompiledJob> Compile(const JobSettings& settings, JobId job) const override {
    TRY(CheckCommand(settings));
    TRY(CheckResidentSettings(settings));
    JobSettings literal = settings;
    literal.has_source = false;
    Parts parts = PartsOf(literal, job, bash_);
    CommandReader command(parts, CompileCommand(literal, parts));
    auto body = TRY(command.Body("", {}));
    body.resident = true;
    return std::make_shared<ResidentReader>(std::move(body), command.CommandText("", {}));
  }

 private:
  static Status CheckResidentSettings(const JobSettings& settings) {
    for (const std::string& word : settings.command) {
      Template parsed = Template::Parse(
          word, {.names = settings.value_names, .replace = ReplaceOf(settings.replace)});
      if (!parsed.has_placeholder()) continue;
      return Fail(ErrorKind::kInvalid,
                  fmt::format("'{}': the command of --resident is started once and reads its tasks "
                              "as input, so it cannot have placeholders; leave them out",
                              EscapeForScreen(word)));
    }
    bool streams = !settings.stdin_pattern.empty() || !settings.stdout_pattern.empty() ||
                   !settings.stderr_pattern.empty();
    bool files = settings.has_own_folder() || !settings.forward_patterns.empty() ||
                 !settings.forward_file_patterns.empty();
    if (!streams && !files) return {};
    return Fail(
        ErrorKind::kInvalid,
        "--resident: one process runs many tasks, so a task has no files or streams of its own");
  }
};

}  // namespace

Dialects::Dialects(const std::string& bash) {
  Add(RowKind::kListLine, std::make_shared<Lines>(bash));
  Add(RowKind::kValues, std::make_shared<Values>(bash));
  Add(RowKind::kInput, std::make_shared<Input>(bash));
  Add(RowKind::kDagTask, std::make_shared<DagTasks>());
  Add(RowKind::kResident, std::make_shared<Residents>(bash));
}

Result<CompiledJob> Dialects::Compile(const JobSettings& settings, JobId job) const {
  if (const RowDialect* dialect = Find(settings.row_kind)) return dialect->Compile(settings, job);
  return Fail(ErrorKind::kInvalid, fmt::format("this program does not know rows of kind {}; it may "
                                               "be too old for the job; use a newer version",
                                               static_cast<int>(settings.row_kind)));
}

bool AsksForValue(std::span<const std::string> command, std::string_view replace) {
  return std::ranges::any_of(command, [&](const std::string& word) {
    return !Template::Parse(word, {.names = {}, .replace = ReplaceOf(replace)})
                .first_value()
                .empty();
  });
}

Result<CompiledJob> CompileJob(const JobSettings& settings, JobId job) {
  return Dialects().Compile(settings, job);
}

bool MayNeedShell(const JobSettings& settings) {
  return !settings.command.empty() &&
         CompileCommand(settings, PartsOf(settings, JobId(1), "")).is_text;
}

Status CheckFill(const JobSettings& settings) {
  std::string first;
  for (const std::string& word : settings.command) {
    Template parsed = Template::Parse(
        word, {.names = settings.value_names, .replace = ReplaceOf(settings.replace)});
    if (parsed.has_all_values()) return {};
    if (first.empty()) first = parsed.first_value();
  }
  if (first.empty()) return {};  // they are added to the end
  return Fail(ErrorKind::kInvalid,
              fmt::format("-X gives a task as many values as fit, but {} is only one of them; "
                          "write {{}}, or leave out -X",
                          EscapeForScreen(first)));
}

Status CheckPositions(const JobSettings& settings, size_t values_per_row) {
  if (settings.row_kind != RowKind::kValues || !settings.has_source) return {};
  auto check = [&](const std::string& text) -> Status {
    Template parsed = Template::Parse(
        text, {.names = settings.value_names, .job = true, .replace = ReplaceOf(settings.replace)});
    for (const Piece& piece : parsed.pieces()) {
      auto asked = static_cast<size_t>(std::abs(piece.position));
      if (asked <= values_per_row) continue;
      return Fail(
          ErrorKind::kInvalid,
          fmt::format("{} in '{}' needs value {}, but each task has {}; use {{}} or a number from "
                      "1 to {}, or add a source (:::)",
                      piece.text, EscapeForScreen(text), asked, values_per_row, values_per_row));
    }
    return {};
  };
  for (const std::string& word : settings.command) {
    TRY(check(word));
  }
  for (const std::string* pattern :
       {&settings.stdin_pattern, &settings.stdout_pattern, &settings.stderr_pattern}) {
    TRY(check(*pattern));
  }
  for (const auto* patterns : {&settings.put_patterns, &settings.get_patterns,
                               &settings.forward_patterns, &settings.forward_file_patterns}) {
    for (const std::string& pattern : *patterns) {
      TRY(check(pattern));
    }
  }
  return {};
}

}  // namespace spate::format
