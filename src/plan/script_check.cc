#include "plan/script_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "format/script_line.h"
#include "format/shell_kind.h"

namespace spate::cli {
namespace {

constexpr size_t kShownMost = 40;  // bytes of a command

// Files that are no lists, by the end of their name or by the whole, and what reads them.
struct ProgramName {
  std::string_view name;
  std::string_view reader;  // empty: the file is data
};
constexpr ProgramName kProgramNames[] = {{".py", "python3"},
                                         {".R", "Rscript"},
                                         {".r", "Rscript"},
                                         {".pl", "perl"},
                                         {".nf", "nextflow run"},
                                         {".smk", "snakemake -s"},
                                         {"Snakefile", "snakemake -s"},
                                         {"Makefile", "make -f"},
                                         {"makefile", "make -f"},
                                         {".json", ""},
                                         {".yml", ""},
                                         {".yaml", ""}};

// Lists that a program has packed, and what unpacks them.
constexpr ProgramName kPacked[] = {
    {".gz", "zcat"}, {".xz", "xzcat"}, {".zst", "zstdcat"}, {".bz2", "bzcat"}};

// Obeyed with each command that reads lists, and with its options.
std::string AnywayText(std::string_view shown) {
  return fmt::format("to run its lines as tasks anyway, write - < {} instead of its name", shown);
}

}  // namespace

Status CheckListName(const RunOptions& options, const std::string& file) {
  const std::string_view base = std::string_view(file).substr(file.rfind('/') + 1);
  const std::string shown = EscapeForScreen(ShellQuote(file));
  auto ends = [base](const ProgramName& each) { return base.ends_with(each.name); };
  if (auto packed = std::ranges::find_if(kPacked, ends); packed != std::ranges::end(kPacked)) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: the list is compressed; to run it: {} {} | spate {} {}-\nnothing "
                            "was started",
                            EscapeForScreen(file), packed->reader, shown, options.verb,
                            base.contains(".dag.") ? "--format dag " : ""));
  }
  if (options.resume || options.sources.format != ListFormat::kBySuffix) return {};
  auto known = std::ranges::find_if(kProgramNames, [base](const ProgramName& each) {
    return each.name.starts_with('.') ? base.ends_with(each.name) : base == each.name;
  });
  if (known == std::ranges::end(kProgramNames)) return {};
  std::string instead = AnywayText(shown);
  if (!known->reader.empty()) {
    instead = fmt::format("to run the program: spate {} -- {} {}; {}", options.verb, known->reader,
                          shown, instead);
  } else if (known->name == ".json") {
    instead = fmt::format("to use its objects as values: spate {} --json-lines {} -- COMMAND; {}",
                          options.verb, shown, instead);
  }
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("{}: by its name this is {}, not a list; each line would run as a "
                  "separate task, all at once; {}\nnothing was started",
                  EscapeForScreen(file), known->reader.empty() ? "data" : "a program", instead));
}

std::string WhyScript(const RunOptions& options, const std::string& file,
                      std::string_view command) {
  if (options.resume || file == "-" || !format::IsScriptLine(command)) return {};
  const std::string& shell = options.settings.shell;
  if (format::KindOfShell(shell) == format::ShellKind::kOther) return {};
  const std::string shown = EscapeForScreen(ShellQuote(file));
  return fmt::format(
      "'{}{}' is a line of a script, not a task: each line of a list runs in a shell of its own; "
      "to run the script: spate {} -- {} {}; {}",
      EscapeForScreen(command.substr(0, kShownMost)), command.size() > kShownMost ? "..." : "",
      options.verb, shell.empty() ? "bash" : shell, shown, AnywayText(shown));
}

}  // namespace spate::cli
