// The parser: CLI11 takes a command line apart by what the command takes; what it does not know
// becomes an error of ours. CLI11 is included nowhere else (it costs seconds to compile), and no
// exception of it leaves this file.
#include "cli/options/words.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/near.h"
#include "base/units.h"
#include "cli/options/job_words.h"
#include "cli/options/shared.h"
#include "cli/options/values.h"
#include "format/shell_words.h"

namespace spate::cli {
namespace {

using std::string_view_literals::operator""sv;

bool IsOptionWord(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

std::vector<std::string> NamesOf(const Option& def) {
  std::vector<std::string> names;
  for (std::string_view name : SplitCommas(def.names)) names.emplace_back(name);
  return names;
}

// "maxprocs": a long name as it is remembered.
std::string WithoutHyphens(std::string_view name) {
  std::string plain;
  for (char c : name) {
    if (c != '-' && c != '_') plain += c;
  }
  return plain;
}

using NamedOptions = std::map<std::string, const Option*>;

// All long names that a command takes: those of its options, and each without its hyphens.
NamedOptions LongNames(const Command& command) {
  NamedOptions known;
  for (bool plain : {false, true}) {
    for (const Option* def : OptionsOf(command)) {
      for (const std::string& name : NamesOf(*def)) {
        known.try_emplace(plain ? WithoutHyphens(name) : name, def);
      }
    }
  }
  return known;
}

// "-j,-P,--jobs,--max-procs,--maxprocs"
std::string CliNames(const Option& def, const NamedOptions& known) {
  std::string names;
  for (char letter : def.letters) names += fmt::format("-{},", letter);
  for (const auto& [name, option] : known) {
    if (option == &def) names += fmt::format("--{},", name);
  }
  names.pop_back();
  return names;
}

std::unexpected<Error> Usage(const Command& command, std::string_view message) {
  return Fail(ErrorKind::kInvalid, fmt::format("{}\nSee: spate {} --help", message, command.name));
}

// "spate submit" or "spate job cat and spate job tail": who takes an option that this command does
// not; empty when nobody does.
std::string WhoTakes(std::string_view name, CommandList all) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> takers;
  for (const Command* command : all) {
    if (!IsOtherName(*command) && LongNames(*command).contains(std::string(name))) {
      takers.push_back(fmt::format("spate {}", command->name));
    }
  }
  if (takers.size() > kNamed) takers = {takers.begin(), takers.begin() + kNamed};
  if (takers.size() < 2) return takers.empty() ? "" : takers.front();
  const std::string last = std::exchange(takers.back(), "");
  takers.pop_back();
  return fmt::format("{} and {}", fmt::join(takers, ", "), last);
}

// The parser leaves "-rob" of "-frob", where -f is an option; a single letter is shown alone.
std::string_view AsTyped(std::string_view left, std::span<const std::string> argv) {
  if (left.starts_with("--") || left.size() <= 2) return left;
  for (const std::string& word : argv) {
    if (word.starts_with('-') && !word.starts_with("--") && word.ends_with(left.substr(1))) {
      return word;
    }
  }
  return left;
}

// True if the command has all options that the hint names before it names another command, and
// none of them has an argument (--pool NAME) that only `submit` gives it.
bool TakesAll(const Command& command, std::string_view hint) {
  hint = hint.substr(0, hint.find("spate "));
  return std::ranges::all_of(format::SplitBlanks(hint), [&](std::string_view word) {
    word = word.substr(0, word.find_first_of(",;:)"));
    if (!word.starts_with("--") || word.size() == 2) return true;
    const Option* meant = FindOption(kSubmitWords, word);
    const Option* taken = FindOption(command, word);
    if (taken == nullptr || meant == nullptr) return taken != nullptr;
    return meant->argument == taken->argument ||
           !hint.contains(fmt::format("{} {}", word, meant->argument));
  });
}

std::unexpected<Error> UnknownOption(const Command& command, std::string_view word,
                                     CommandList all) {
  std::string_view typed = word.substr(0, word.find('='));
  bool is_long = typed.starts_with("--");
  std::vector<std::string_view> names;
  for (const Option* option : OptionsOf(command)) names.push_back(option->name());
  // One dash may be a long name with a dash too few ("-timeout").
  std::optional<std::string_view> nearest;
  if (is_long || typed.size() > 2) nearest = Nearest(typed.substr(is_long ? 2 : 1), names);
  if (command.hint != nullptr) {
    // Some programs have long names with one dash ("-hold_jid"), or a value behind a letter
    // ("-c4").
    const std::string_view letter = typed.substr(0, 2);
    const bool has_value = !is_long && !nearest && FindOption(command, letter) == nullptr;
    for (std::string_view shown : {typed, has_value ? letter : typed}) {
      if (auto hint = command.hint(shown)) {
        return Usage(command,
                     fmt::format("{}: {}{}", EscapeForScreen(shown),
                                 TakesAll(command, *hint) ? "" : "with spate submit: ", *hint));
      }
    }
  }
  std::string takers = is_long ? WhoTakes(typed.substr(2), all) : std::string();
  if (!takers.empty()) {
    return Usage(command, fmt::format("{}: an option of {}", EscapeForScreen(typed), takers));
  }
  const std::string near = nearest ? fmt::format("; did you mean --{}?", *nearest) : "";
  return Usage(command, fmt::format("{}: unknown option{}", EscapeForScreen(typed), near));
}

std::unexpected<Error> MissingValue(const Command& command, std::span<const std::string> argv) {
  if (!argv.empty()) {
    if (const Option* def = FindOption(command, argv.back())) {
      return Usage(command, fmt::format("--{} needs a value: --{} {}", def->name(), def->name(),
                                        def->argument));
    }
  }
  return Usage(command, "an option at the end needs a value");
}

void Declare(CLI::App& app, const Command& command,
             std::map<const CLI::Option*, const Option*>& defs) {
  app.set_help_flag();
  app.allow_extras();
  NamedOptions known = LongNames(command);
  for (const Option* def : OptionsOf(command)) {
    CLI::Option* option = def->argument.empty()
                              ? app.add_flag(CliNames(*def, known))
                              : app.add_option(CliNames(*def, known))->expected(1);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
    defs[option] = def;
  }
}

// A short form becomes what it is short for.
Result<TypedOption> Typed(const Command& command, const Option& def, std::string value) {
  const Option* meant =
      def.short_for.empty() ? &def : FindOption(command, fmt::format("--{}", def.short_for));
  if (!def.argument.empty()) return TypedOption{meant, std::move(value)};
  if (value != "true" && value != "false") {
    return Usage(command,
                 fmt::format("--{} takes no value (except =false, which undoes it)", def.name()));
  }
  if (def.short_for_value.empty() || value == "false") return TypedOption{&def, value};
  return TypedOption{meant, std::string(def.short_for_value)};
}

Status CheckCount(const Words& words) {
  const Command& def = *words.command;
  std::string usage = fmt::format("write: spate {} {}", def.name, def.arguments);
  if (words.words.size() < def.words_min) {
    return Usage(def, fmt::format("spate {}: an argument is missing; {}", def.name, usage));
  }
  if (words.words.size() > def.words_max) {
    return Usage(def, fmt::format("'{}': unexpected extra word; {}",
                                  EscapeForScreen(words.words[def.words_max]), usage));
  }
  if (words.has_rest && !def.takes_command) {
    return Usage(def, fmt::format("spate {} accepts no command after --", def.name));
  }
  return {};
}

// --cores is the number of cores at once to other tools, where --cpus is that of one task here.
void NoteCores(std::span<const std::string> argv, Words& words) {
  const Makes makes = words.command->makes;
  const bool is_new = makes == Makes::kRun || makes == Makes::kSubmission;
  const auto cores = words.Last(opt::kCpus);
  if (!is_new || !cores || words.Last(opt::kJobs) || words.Last(opt::kMaxRunning)) return;
  auto names_cores = [](std::string_view word) {
    return word.substr(0, word.find('=')) == "--cores";
  };
  if (std::ranges::none_of(argv, names_cores)) return;
  words.notes.push_back(fmt::format(
      "--cores {0} means --cpus {0}, the number of cores for each task; for the number of tasks at "
      "once, write {1} {0}",
      EscapeForScreen(*cores), makes == Makes::kRun ? "-j" : "--max-running"));
}

bool AsksForHelp(std::span<const std::string> argv, std::string_view name) {
  return std::find(argv.begin(), argv.end(), name) != argv.end();
}

}  // namespace

const Option* FindOption(const Command& command, std::string_view word) {
  if (word.starts_with("--")) {
    NamedOptions known = LongNames(command);
    auto found = known.find(std::string(word.substr(2, word.find('=') - 2)));
    return found == known.end() ? nullptr : found->second;
  }
  if (!word.starts_with('-')) return nullptr;
  for (const Option* def : OptionsOf(command)) {
    if (def->letters.find(word.back()) != std::string_view::npos) return def;
  }
  return nullptr;
}

bool Words::Has(const Option& opt) const {
  auto last = Last(opt);
  return last && (*last != "false" || !opt.argument.empty());
}

std::optional<std::string_view> Words::Last(const Option& opt) const {
  std::vector<std::string_view> undone;  // by --quiet=false and its like, which come later
  for (auto it = options.rbegin(); it != options.rend(); ++it) {
    if (it->opt == &opt && std::ranges::find(undone, it->value) == undone.end()) return it->value;
    const Option& def = *it->opt;
    bool undoes =
        it->value == "false" && !def.short_for_value.empty() && def.short_for == opt.name();
    if (undoes) undone.push_back(def.short_for_value);
  }
  return std::nullopt;
}

std::vector<std::string> Words::All(const Option& opt) const {
  std::vector<std::string> values;
  for (const TypedOption& option : options) {
    if (option.opt == &opt) values.push_back(option.value);
  }
  return values;
}

size_t FirstPlainWord(const Command& command, std::span<const std::string> argv, size_t at) {
  for (; at < argv.size() && IsOptionWord(argv[at]); ++at) {
    const Option* option = FindOption(command, argv[at]);
    const bool has_value = argv[at].find('=') != std::string::npos;
    if (option != nullptr && !option->argument.empty() && !has_value) ++at;
  }
  return std::min(at, argv.size());
}

Result<Words> ParseWords(const Command& command, std::span<const std::string> argv,
                         CommandList all) {
  Words words{.command = &command};
  auto dashes = std::find(argv.begin(), argv.end(), "--"sv);
  if (dashes != argv.end()) {
    words.has_rest = true;
    words.rest.assign(dashes + 1, argv.end());
    argv = argv.first(static_cast<size_t>(dashes - argv.begin()));
  }
  for (auto [help, name] : {std::pair{&opt::kHelpAll, "--help-all"sv},
                            {&opt::kHelp, "--help"sv},
                            {&opt::kHelp, "-h"sv}}) {
    if (!AsksForHelp(argv, name)) continue;
    words.options.push_back({help, "true"});
    return words;
  }

  CLI::App app;
  std::map<const CLI::Option*, const Option*> defs;
  try {
    Declare(app, command, defs);
    app.parse(std::vector<std::string>(argv.rbegin(), argv.rend()));
  } catch (const CLI::ArgumentMismatch& error) {
    return MissingValue(command, argv);
  } catch (const CLI::Error& error) {
    return Usage(command, error.what());
  }
  std::map<const CLI::Option*, size_t> taken;
  for (const CLI::Option* option : app.parse_order()) {
    const Option& def = *defs.at(option);
    CHECK(taken[option] < option->results().size());
    auto typed = TRY(Typed(command, def, option->results()[taken[option]++]));
    words.options.push_back(std::move(typed));
  }
  for (std::string& word : app.remaining()) {
    if (command.ignores != nullptr && IsOptionWord(word) && command.ignores(word)) {
      auto why = command.hint != nullptr ? command.hint(word) : std::nullopt;
      words.notes.push_back(fmt::format("{}: {}; ignored", word, why.value_or("not needed")));
      continue;
    }
    if (IsOptionWord(word)) return UnknownOption(command, AsTyped(word, argv), all);
    words.words.push_back(std::move(word));
  }
  NoteCores(argv, words);
  TRY(CheckCount(words));
  return words;
}

Status CheckGivenOnce(const Words& typed) {
  for (std::string_view name : {"--stdout", "--stderr", "--results", "--joblog"}) {
    const Option* option = FindOption(*typed.command, name);
    if (option == nullptr) continue;
    const std::vector<std::string> values = typed.All(*option);
    auto other = std::ranges::find_if(values, [&](auto& each) { return each != values.front(); });
    if (other == values.end()) continue;
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("{} is given twice, as '{}' and as '{}', but this output goes to one "
                    "place; leave one out",
                    DashedName(*option), EscapeForScreen(values.front()), EscapeForScreen(*other)));
  }
  const Option* keep_order = FindOption(*typed.command, "--keep-order");
  if (keep_order != nullptr && typed.Has(*keep_order) && typed.Last(opt::kOutput) == "json") {
    return Fail(ErrorKind::kInvalid,
                "--keep-order: --output json prints each task as soon as it has ended; leave out "
                "--keep-order, and sort the lines by the field 'task'");
  }
  return {};
}

namespace {

constexpr CommandWord kCommandWords[] = {
    {"list ls jobs history", "spate job list"},
    {"squeue qstat status queue condor_q", "spate job list, or spate top"},
    {"cancel scancel qdel abort", "spate job cancel"},
    {"kill", "spate job kill, or spate job cancel"},
    {"stop freeze", "spate job stop"},
    {"cont continue thaw", "spate job cont"},
    {"signal", "spate job signal"},
    {"wait", "spate job wait"},
    {"watch progress", "spate job progress"},
    {"info show describe", "spate job info"},
    {"tasks", "spate job tasks"},
    {"cat log logs output", "spate job cat"},
    {"tail", "spate job tail"},
    {"retry rerun", "spate job retry"},
    {"resume", "spate run --resume"},
    {"forget rm remove delete", "spate job forget"},
    {"hold pause suspend", "spate job hold"},
    {"release", "spate job release"},
    {"explain why", "spate task explain"},
    {"nodes sinfo", "spate node list"},
    {"pools alloc autoalloc", "spate pool list, or spate pool add"},
    {"parallel xargs start", "spate run"},
    {"env_parallel", "spate run --shell bash, after export -f of the shell's functions"},
    {"sbatch qsub", "spate submit"},
    {"server", "spate hub start"},
    {"worker workers", "spate node start, or spate node list"},
    {"check", "spate state check"},
    {"-v", "spate --version"},
    {"job:ls", "job list"},
    {"job:freeze job:suspend task:stop", "job stop"},
    {"job:thaw job:continue task:cont", "job cont"},
    {"task:kill", "job kill"},
    {"task:signal", "job signal"},
    {"job:show job:status", "job info"},
    {"job:rm", "job forget"},
    {"job:log job:logs", "job cat"},
    {"job:rerun task:retry", "job retry"},
    {"job:watch", "job progress"},
    {"job:explain", "task explain"},
    {"job:resume", "spate job release if it is held, or spate run --resume if a run was cut off"},
    {"task:ls", "job tasks"},
    {"task:show", "task info"},
    {"task:log", "task cat"},
    {"node:ls", "node list"},
    {"node:show", "node info"},
    {"pool:ls", "pool list"},
    {"pool:show", "pool info"},
    {"pool:rm", "pool remove"},
    {"hub:restart", "spate hub stop, then spate hub start"},
};

std::string_view CommandMeant(std::string_view word) {
  for (const CommandWord& known : kCommandWords) {
    std::string words = fmt::format(" {} ", known.words);
    if (words.find(fmt::format(" {} ", word)) != std::string::npos) return known.meant;
  }
  return {};
}

std::unexpected<Error> NoCommand(std::string_view typed, std::string_view meant) {
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("'{}' is not a spate command; write: {}\nSee: spate --help", typed, meant));
}

}  // namespace

std::span<const CommandWord> CommandWords() { return kCommandWords; }

Result<FoundCommand> FindCommand(std::span<const std::string> argv, CommandList commands) {
  CHECK(!argv.empty());
  const std::string& noun = argv.front();
  std::vector<std::string_view> firsts;
  std::vector<std::string_view> verbs;
  for (const Command* command : commands) {
    std::string_view name = command->name;
    size_t blank = name.find(' ');
    if (name == noun) return FoundCommand{&MeantBy(*command), 1};
    if (blank == std::string_view::npos) {
      firsts.push_back(name);
      continue;
    }
    firsts.push_back(name.substr(0, blank));
    if (firsts.back() != noun) continue;
    verbs.push_back(name.substr(blank + 1));
    if (argv.size() > 1 && verbs.back() == argv[1]) return FoundCommand{&MeantBy(*command), 2};
  }
  if (verbs.empty()) {
    if (std::string_view meant = CommandMeant(noun); !meant.empty()) {
      return NoCommand(noun, meant);
    }
    return Fail(ErrorKind::kInvalid, fmt::format("'{}' is not a spate command{}\nTo run a list or "
                                                 "a command: spate run. See: spate --help",
                                                 EscapeForScreen(noun), DidYouMean(noun, firsts)));
  }
  if (argv.size() > 1) {
    const std::string_view meant = CommandMeant(fmt::format("{}:{}", noun, argv[1]));
    const Command* named = FindNamed(commands, meant);
    if (named != nullptr) return FoundCommand{&MeantBy(*named), 2};
    if (meant.starts_with("spate ")) {
      return NoCommand(fmt::format("{} {}", noun, argv[1]), meant);
    }
  }
  std::string known = fmt::format("spate {} needs one of: {}", noun, fmt::join(verbs, ", "));
  if (argv.size() < 2) return Fail(ErrorKind::kInvalid, known);
  return Fail(ErrorKind::kInvalid, fmt::format("'{}': {}{}", EscapeForScreen(argv[1]), known,
                                               DidYouMean(argv[1], verbs)));
}

}  // namespace spate::cli
