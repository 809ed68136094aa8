// CompileJob decides once how the command of a job is started:
//   list   each row is a line of its own (list_line.h)
//   text   one word that needs a shell; values in it are quoted, then make's rule decides again
//   argv   several words; values fill them as they are
//   parasol  each row is a job of Parasol (parasol_row.h)
// A piece of input (input_row.h) is one of the two in the middle, without values. A part of a file
// comes through a pipe from a process of ours (format/input_row.h): a step of two commands.
// Shell text whose literal part needs no shell becomes argv here already, so that a million
// `gzip {}` cost no shell: the quoting of a value and the shell's reading of it cancel out.

#include "format/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/units.h"
#include "core/model/limits.h"
#include "format/argv.h"
#include "format/input_row.h"
#include "format/list_line.h"
#include "format/parasol_row.h"
#include "format/shell_words.h"
#include "format/template.h"

namespace spate::format {

struct CompiledJob::Parts {
  enum class How : uint8_t { kList, kText, kArgv, kParasol };
  How how = How::kList;
  bool has_values = false;
  bool repeat = false;
  uint32_t job = 0;
  Template text;  // kText, and kArgv that came from text
  bool from_text = false;
  std::vector<Template> words;  // kArgv
  std::string shell;            // empty: /bin/sh, where a text needs one
  bool has_input = false;       // rows are pieces of input
  std::string block_folder;     // of pieces that are no part of a file
  Template stdin_file;
  Template stdout_file;
  Template stderr_file;
  std::vector<Template> puts;
  std::vector<Template> gets;
};

namespace {

using Parts = CompiledJob::Parts;
using How = CompiledJob::Parts::How;

// Whether some value could make a shell do more with the text than split it into words. Values
// are quoted, so the most that one can do is what a '-' at its place does (echo -n); only in the
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

// Whether a command of one word is an argv of one, and not a text for a shell.
bool IsPlainWord(const Template& word) {
  if (word.has_blanks()) return false;
  std::string probe;
  for (const Piece& piece : word.pieces()) probe += piece.is_literal() ? piece.text : "x";
  return !NeedsShell(probe);
}

// What is Perl inside GNU parallel.
Status CheckNoPerl(std::string_view text) {
  size_t open = text.find("{=");
  if (open == std::string_view::npos || text.find("=}", open + 2) == std::string_view::npos) {
    return {};
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}': {{= =}} is Perl inside GNU parallel, which is not understood "
                          "here: use {{.}} {{..}} {{/}} {{//}} {{/.}} {{%.txt}}, or let a shell "
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
      return Fail(ErrorKind::kInvalid, "a word of the command holds a NUL byte: remove it");
    }
    if (!settings.has_source) continue;
    if (auto status = CheckNoPerl(word); !status) return status;
  }
  return {};
}

// {} itself is nothing special.
std::string_view ReplaceOf(const JobSettings& settings) {
  return settings.replace == "{}" ? std::string_view() : std::string_view(settings.replace);
}

void CompileCommand(const JobSettings& settings, Parts& parts) {
  Template::Known known{.names = settings.value_names, .replace = ReplaceOf(settings)};
  auto parse = [&](std::string_view word) {
    // Without a source all braces are literal.
    return settings.has_source ? Template::Parse(word, known) : Template::Literal(word);
  };
  bool placeholder = false;
  for (const std::string& word : settings.command) {
    parts.words.push_back(parse(word));
    placeholder = placeholder || parts.words.back().has_placeholder();
  }
  bool append = parts.has_values && !placeholder;
  bool plain = parts.shell.empty() && IsPlainWord(parts.words.front());
  if (parts.words.size() > 1 || plain) {
    parts.how = How::kArgv;
    if (append) parts.words.push_back(Template::Parse("{}", {}));
    return;
  }
  std::string_view replace = known.replace.empty() ? "{}" : known.replace;
  parts.text = append ? parse(fmt::format("{} {}", settings.command.front(), replace))
                      : std::move(parts.words.front());
  parts.words.clear();
  parts.from_text = true;
  if (!parts.shell.empty() || LiteralNeedsShell(parts.text)) {
    parts.how = How::kText;
  } else {
    parts.how = How::kArgv;
    parts.words = WordsOf(parts.text, known);
  }
}

// The name of a file of each task; `option` is for the message.
Result<Template> CompilePattern(const std::string& pattern, std::string_view option,
                                const JobSettings& settings, bool has_values) {
  if (pattern.find('\0') != std::string::npos) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} holds a NUL byte, which no file name can contain", option));
  }
  if (auto status = CheckNoPerl(pattern); !status) {
    return Within(option, status.error());
  }
  Template parsed = Template::Parse(
      pattern, {.names = settings.value_names, .job = true, .replace = ReplaceOf(settings)});
  if (!has_values && !parsed.first_value().empty()) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} '{}': {} stands for a value, and the tasks have none: use {{#}} "
                            "(the task's number), {{%}} (its slot) or {{job}}",
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

Filling FillingOf(const Parts& parts, std::span<const std::string_view> values, TaskIndex index,
                  uint16_t slot) {
  return Filling{.values = values,
                 .number = uint64_t{index} + 1,
                 .slot = slot == 0 ? 1u : slot,
                 .job = parts.job,
                 .repeat = parts.repeat};
}

std::string ShellTextOf(const Parts& parts, Filling filling) {
  filling.quote = true;
  std::string text;
  AppendText(parts.text, filling, text);
  return text;
}

std::vector<std::string> WordsOf(const Parts& parts, const Filling& filling) {
  std::vector<std::string> words;
  words.reserve(parts.words.size());
  for (const Template& word : parts.words) AppendWords(word, filling, words);
  return words;
}

Status GiveInput(const Parts& parts, std::string_view row, TaskIndex index, TaskBody& body) {
  auto input = ParseInputRow(row);
  if (!input) return std::unexpected(input.error());
  if (input->file.empty()) {
    body.stdin_file = parts.block_folder + "/" + BlockName(uint64_t{index} + 1);
    return {};
  }
  auto& commands = body.steps.front().commands;
  commands.insert(commands.begin(), Command{PartCommand(*input)});
  return {};
}

}  // namespace

Result<CompiledJob> CompileJob(const JobSettings& settings, JobId job) {
  auto parts = std::make_shared<Parts>();
  parts->has_values = settings.row_kind == RowKind::kValues && settings.has_source;
  parts->repeat = settings.repeat_context;
  parts->job = job.value;
  parts->shell = settings.shell;
  parts->has_input = settings.row_kind == RowKind::kInput;
  if (parts->has_input) parts->block_folder = settings.stdin_pattern;
  if (settings.row_kind == RowKind::kParasol) parts->how = How::kParasol;
  if (settings.row_kind == RowKind::kValues || parts->has_input) {
    if (auto status = CheckCommand(settings); !status) return std::unexpected(status.error());
    CompileCommand(settings, *parts);
  }
  struct File {
    const std::string& pattern;
    std::string_view option;
    Template& compiled;
  };
  const std::string none;
  const std::string& input = parts->has_input ? none : settings.stdin_pattern;
  for (const File& file : {File{input, "--stdin", parts->stdin_file},
                           File{settings.stdout_pattern, "--stdout", parts->stdout_file},
                           File{settings.stderr_pattern, "--stderr", parts->stderr_file}}) {
    auto compiled = CompilePattern(file.pattern, file.option, settings, parts->has_values);
    if (!compiled) return std::unexpected(std::move(compiled.error()));
    file.compiled = std::move(*compiled);
  }
  struct Files {
    const std::vector<std::string>& patterns;
    std::string_view option;
    std::vector<Template>& compiled;
  };
  for (const Files& files : {Files{settings.put_patterns, "--put", parts->puts},
                             Files{settings.get_patterns, "--get", parts->gets}}) {
    for (const std::string& pattern : files.patterns) {
      auto compiled = CompilePattern(pattern, files.option, settings, parts->has_values);
      if (!compiled) return std::unexpected(std::move(compiled.error()));
      files.compiled.push_back(std::move(*compiled));
    }
  }
  return CompiledJob(std::move(parts));
}

Status CheckPositions(const JobSettings& settings, size_t values_per_row) {
  if (settings.row_kind != RowKind::kValues || !settings.has_source) return {};
  auto check = [&](const std::string& text) -> Status {
    Template parsed = Template::Parse(
        text, {.names = settings.value_names, .job = true, .replace = ReplaceOf(settings)});
    for (const Piece& piece : parsed.pieces()) {
      auto asked = static_cast<size_t>(std::abs(piece.position));
      if (asked <= values_per_row) continue;
      return Fail(
          ErrorKind::kInvalid,
          fmt::format("{} in '{}' asks for value {}, and each task has {}: use {{}} or a "
                      "number from 1 to {}, or add a source (:::)",
                      piece.text, EscapeForScreen(text), asked, values_per_row, values_per_row));
    }
    return {};
  };
  for (const std::string& word : settings.command) {
    if (auto status = check(word); !status) return status;
  }
  for (const std::string* pattern :
       {&settings.stdin_pattern, &settings.stdout_pattern, &settings.stderr_pattern}) {
    if (auto status = check(*pattern); !status) return status;
  }
  for (const auto* patterns : {&settings.put_patterns, &settings.get_patterns}) {
    for (const std::string& pattern : *patterns) {
      if (auto status = check(pattern); !status) return status;
    }
  }
  return {};
}

Result<TaskBody> Expand(const CompiledJob& job, std::string_view row, TaskIndex index,
                        uint16_t slot) {
  const Parts& parts = job.parts();
  if (parts.how == How::kParasol) return ParasolBody(row, JobId(parts.job), index);
  TaskBody body;
  std::vector<std::string_view> values;
  if (parts.has_values) values = SplitRow(row);
  Filling filling = FillingOf(parts, values, index, slot);
  std::vector<std::string>& argv = body.steps.emplace_back().commands.emplace_back().argv;
  if (parts.how == How::kList) {
    auto line = ParseListLine(row);
    if (!line) return std::unexpected(std::move(line.error()));
    argv = CommandArgv(line->command, parts.shell);
    if (!parts.shell.empty()) {
      if (auto status = CheckArgv(argv); !status) return std::unexpected(status.error());
    }
    for (Check& check : line->checks) {
      if (check.when == CheckWhen::kOut) body.output_checks.push_back(std::move(check));
    }
  } else {
    argv = parts.how == How::kText ? CommandArgv(ShellTextOf(parts, filling), parts.shell)
                                   : WordsOf(parts, filling);
    if (auto status = CheckArgv(argv); !status) return std::unexpected(status.error());
  }
  body.stdin_file = FileName(parts.stdin_file, filling);
  if (parts.has_input) {
    if (auto status = GiveInput(parts, row, index, body); !status) {
      return std::unexpected(status.error());
    }
  }
  body.stdout_file = FileName(parts.stdout_file, filling);
  body.stderr_file = FileName(parts.stderr_file, filling);
  auto puts = FileNames(parts.puts, filling, "--put");
  if (!puts) return std::unexpected(std::move(puts.error()));
  for (std::string& name : *puts) body.puts.push_back({.name = std::move(name), .from = {}});
  auto gets = FileNames(parts.gets, filling, "--get");
  if (!gets) return std::unexpected(std::move(gets.error()));
  body.gets = std::move(*gets);
  return body;
}

std::string CommandText(const CompiledJob& job, std::string_view row, TaskIndex index,
                        uint16_t slot) {
  const Parts& parts = job.parts();
  if (parts.how == How::kList) {
    auto line = ParseListLine(row);
    return line ? std::move(line->command) : std::string(row);
  }
  if (parts.how == How::kParasol) {
    auto read = ReadParasolRow(row);
    return read ? ParasolCommand(read->text) : std::string(row);
  }
  std::vector<std::string_view> values;
  if (parts.has_values) values = SplitRow(row);
  Filling filling = FillingOf(parts, values, index, slot);
  if (parts.from_text) return ShellTextOf(parts, filling);
  std::string text;
  for (const std::string& word : WordsOf(parts, filling)) {
    if (!text.empty()) text += ' ';
    text += ShellQuote(word);
  }
  return text;
}

std::string ValuesText(const CompiledJob& job, std::string_view row) {
  if (job.parts().has_input) return InputText(row);
  if (!job.parts().has_values) return {};
  std::string text(row);
  std::ranges::replace(text, '\0', ' ');
  return text;
}

}  // namespace spate::format
