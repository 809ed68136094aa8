// The parser: CLI11 takes a command line apart by the table; what it does not know becomes an
// error of ours. CLI11 is included nowhere else (it costs seconds to compile), and no exception
// of it leaves this file.
#include "cli/options/words.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/near.h"
#include "base/units.h"
#include "cli/options/foreign.h"
#include "cli/options/values.h"

namespace spate::cli {
namespace {

using std::string_view_literals::operator""sv;

bool IsOptionWord(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

std::vector<std::string> NamesOf(const OptionDef& def) {
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

using NamedOptions = std::map<std::string, const OptionDef*>;

// All long names that a command takes: those of the table, and each without its hyphens.
NamedOptions LongNames(Command command) {
  NamedOptions known;
  for (bool plain : {false, true}) {
    for (const OptionDef& def : Options()) {
      if (!(def.commands & Bit(command))) continue;
      for (const std::string& name : NamesOf(def)) {
        known.try_emplace(plain ? WithoutHyphens(name) : name, &def);
      }
    }
  }
  return known;
}

// "-j,-P,--jobs,--max-procs,--maxprocs"
std::string CliNames(const OptionDef& def, const NamedOptions& known) {
  std::string names;
  for (char letter : def.letters) names += fmt::format("-{},", letter);
  for (const auto& [name, option] : known) {
    if (option == &def) names += fmt::format("--{},", name);
  }
  names.pop_back();
  return names;
}

// The definition that "--jobs", "--jobs=3", "-j" or "-kj" (its last letter) names, or null.
const OptionDef* DefinitionOf(Command command, std::string_view word) {
  if (word.starts_with("--")) {
    NamedOptions known = LongNames(command);
    auto found = known.find(std::string(word.substr(2, word.find('=') - 2)));
    return found == known.end() ? nullptr : found->second;
  }
  for (const OptionDef& def : Options()) {
    bool here = def.commands & Bit(command);
    if (here && def.letters.find(word.back()) != std::string_view::npos) return &def;
  }
  return nullptr;
}

std::unexpected<Error> Usage(Command command, std::string_view message) {
  return Fail(ErrorKind::kInvalid,
              fmt::format("{}\nSee: spate {} --help", message, Definition(command).name));
}

// "spate submit" or "spate job cat and spate job tail": who takes an option that this command does
// not; empty when nobody does.
std::string WhoTakes(std::string_view name) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> takers;
  for (const CommandDef& def : Commands()) {
    if (!IsOtherName(def) && LongNames(def.id).contains(std::string(name))) {
      takers.push_back(fmt::format("spate {}", def.name));
    }
  }
  if (takers.size() > kNamed) takers = {takers.begin(), takers.begin() + kNamed};
  return fmt::format("{}", fmt::join(takers, " and "));
}

std::unexpected<Error> UnknownOption(Command command, std::string_view word) {
  std::string_view typed = word.substr(0, word.find('='));
  bool is_long = typed.starts_with("--");
  if (command == Command::kRun) {
    if (auto hint = ForeignHint(is_long ? typed.substr(2) : typed.substr(1, 1))) {
      std::string shown(is_long ? typed : typed.substr(0, 2));
      return Usage(command, fmt::format("{}: {}", shown, *hint));
    }
  }
  std::string takers = is_long ? WhoTakes(typed.substr(2)) : std::string();
  if (!takers.empty()) {
    return Usage(command, fmt::format("{}: an option of {}", EscapeForScreen(typed), takers));
  }
  std::string near;
  std::vector<std::string_view> names;
  for (const OptionDef& def : Options()) {
    if (def.commands & Bit(command)) names.push_back(def.name());
  }
  // One dash may be a long name with a dash too few ("-timeout").
  if (is_long || typed.size() > 2) {
    if (auto nearest = Nearest(typed.substr(is_long ? 2 : 1), names)) {
      near = fmt::format("; did you mean --{}?", *nearest);
    }
  }
  return Usage(command, fmt::format("{}: unknown option{}", EscapeForScreen(typed), near));
}

std::unexpected<Error> MissingValue(Command command, std::span<const std::string> argv) {
  if (!argv.empty()) {
    if (const OptionDef* def = DefinitionOf(command, argv.back())) {
      return Usage(command, fmt::format("--{} needs a value: --{} {}", def->name(), def->name(),
                                        def->argument));
    }
  }
  return Usage(command, "an option at the end needs a value");
}

void Declare(CLI::App& app, Command command, std::map<const CLI::Option*, const OptionDef*>& defs) {
  app.set_help_flag();
  app.allow_extras();
  NamedOptions known = LongNames(command);
  for (const OptionDef& def : Options()) {
    if (!(def.commands & Bit(command))) continue;
    CLI::Option* option = def.argument.empty() ? app.add_flag(CliNames(def, known))
                                               : app.add_option(CliNames(def, known))->expected(1);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
    defs[option] = &def;
  }
}

// A short form becomes what it is short for.
Result<TypedOption> Typed(Command command, const OptionDef& def, std::string value) {
  if (!def.argument.empty()) return TypedOption{def.id, std::move(value)};
  if (value != "true" && value != "false") {
    return Usage(command, fmt::format("--{} takes no value (but =false undoes it)", def.name()));
  }
  if (def.short_for_value.empty() || value == "false") return TypedOption{def.id, value};
  return TypedOption{def.short_for, std::string(def.short_for_value)};
}

Status CheckCount(const Words& words) {
  const CommandDef& def = Definition(words.command);
  std::string usage = fmt::format("write: spate {} {}", def.name, def.arguments);
  if (words.words.size() < def.words_min) {
    return Usage(words.command, fmt::format("spate {}: something is missing; {}", def.name, usage));
  }
  if (words.words.size() > def.words_max) {
    return Usage(words.command, fmt::format("'{}': one word too many; {}",
                                            EscapeForScreen(words.words[def.words_max]), usage));
  }
  if (words.has_rest && !def.takes_command) {
    return Usage(words.command, fmt::format("spate {} takes no command after --", def.name));
  }
  return {};
}

bool AsksForHelp(std::span<const std::string> argv, std::string_view name) {
  return std::find(argv.begin(), argv.end(), name) != argv.end();
}

}  // namespace

bool Words::Has(Opt opt) const {
  auto last = Last(opt);
  return last && (*last != "false" || !Definition(opt).argument.empty());
}

std::optional<std::string_view> Words::Last(Opt opt) const {
  std::vector<std::string_view> undone;  // by --quiet=false and its like, which come later
  for (auto it = options.rbegin(); it != options.rend(); ++it) {
    if (it->opt == opt && std::ranges::find(undone, it->value) == undone.end()) return it->value;
    const OptionDef& def = Definition(it->opt);
    bool undoes = it->value == "false" && !def.short_for_value.empty() && def.short_for == opt;
    if (undoes) undone.push_back(def.short_for_value);
  }
  return std::nullopt;
}

std::vector<std::string> Words::All(Opt opt) const {
  std::vector<std::string> values;
  for (const TypedOption& option : options) {
    if (option.opt == opt) values.push_back(option.value);
  }
  return values;
}

Result<Words> ParseWords(Command command, std::span<const std::string> argv) {
  Words words{.command = command};
  auto dashes = std::find(argv.begin(), argv.end(), "--"sv);
  if (dashes != argv.end()) {
    words.has_rest = true;
    words.rest.assign(dashes + 1, argv.end());
    argv = argv.first(static_cast<size_t>(dashes - argv.begin()));
  }
  for (auto [opt, name] :
       {std::pair{Opt::kHelpAll, "--help-all"sv}, {Opt::kHelp, "--help"sv}, {Opt::kHelp, "-h"sv}}) {
    if (!AsksForHelp(argv, name)) continue;
    words.options.push_back({opt, "true"});
    return words;
  }

  CLI::App app;
  std::map<const CLI::Option*, const OptionDef*> defs;
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
    const OptionDef& def = *defs.at(option);
    CHECK(taken[option] < option->results().size());
    auto typed = Typed(command, def, option->results()[taken[option]++]);
    if (!typed) return std::unexpected(typed.error());
    words.options.push_back(std::move(*typed));
  }
  for (std::string& word : app.remaining()) {
    if (IsOptionWord(word)) return UnknownOption(command, word);
    words.words.push_back(std::move(word));
  }
  if (auto ok = CheckCount(words); !ok) return std::unexpected(ok.error());
  return words;
}

namespace {

// What people type for a command when they think of another program.
struct CommandWord {
  std::string_view words;  // separated by blanks
  std::string_view commands;
};
constexpr CommandWord kCommandWords[] = {
    {"list ls jobs history", "spate job list"},
    {"ps squeue qstat status", "spate job list, or spate top"},
    {"cancel kill stop scancel qdel abort", "spate job cancel"},
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
    {"exec parallel xargs start", "spate run"},
    {"sbatch qsub queue", "spate submit"},
    {"check", "spate state check"},
};

std::string_view CommandMeant(std::string_view word) {
  for (const CommandWord& known : kCommandWords) {
    std::string words = fmt::format(" {} ", known.words);
    if (words.find(fmt::format(" {} ", word)) != std::string::npos) return known.commands;
  }
  return {};
}

}  // namespace

Result<FoundCommand> FindCommand(std::span<const std::string> argv) {
  CHECK(!argv.empty());
  const std::string& noun = argv.front();
  std::vector<std::string_view> firsts;
  std::vector<std::string_view> verbs;
  for (const CommandDef& def : Commands()) {
    size_t blank = def.name.find(' ');
    if (def.name == noun) return FoundCommand{def.id, 1};
    if (blank == std::string_view::npos) {
      firsts.push_back(def.name);
      continue;
    }
    firsts.push_back(def.name.substr(0, blank));
    if (firsts.back() != noun) continue;
    verbs.push_back(def.name.substr(blank + 1));
    if (argv.size() > 1 && verbs.back() == argv[1]) return FoundCommand{def.id, 2};
  }
  if (verbs.empty()) {
    if (std::string_view meant = CommandMeant(noun); !meant.empty()) {
      return Fail(ErrorKind::kInvalid, fmt::format("'{}' is not a command of spate; write: {}\n"
                                                   "See: spate --help",
                                                   noun, meant));
    }
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a command of spate{}\nTo run a list or a command: spate "
                            "run. See: spate --help",
                            EscapeForScreen(noun), DidYouMean(noun, firsts)));
  }
  std::string known = fmt::format("spate {} is followed by {}", noun, fmt::join(verbs, ", "));
  if (argv.size() < 2) return Fail(ErrorKind::kInvalid, known);
  return Fail(ErrorKind::kInvalid, fmt::format("'{}': {}{}", EscapeForScreen(argv[1]), known,
                                               DidYouMean(argv[1], verbs)));
}

}  // namespace spate::cli
