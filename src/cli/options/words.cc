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

namespace spate::cli {
namespace {

using std::string_view_literals::operator""sv;

bool IsOptionWord(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// "-j,-P,--jobs,--max-procs"
std::string CliNames(const OptionDef& def) {
  std::string names;
  for (char letter : def.letters) names += fmt::format("-{},", letter);
  for (size_t at = 0; at < def.names.size();) {
    size_t end = std::min(def.names.find(',', at), def.names.size());
    names += fmt::format("--{},", def.names.substr(at, end - at));
    at = end + 1;
  }
  names.pop_back();
  return names;
}

std::vector<std::string_view> LongNames(Command command) {
  std::vector<std::string_view> names;
  for (const OptionDef& def : Options()) {
    if (def.commands & Bit(command)) names.push_back(def.name());
  }
  return names;
}

// The definition that "--jobs", "--jobs=3", "-j" or "-kj" (its last letter) names, or null.
const OptionDef* DefinitionOf(Command command, std::string_view word) {
  bool is_long = word.starts_with("--");
  std::string_view name = word.substr(2, word.find('=') - std::min<size_t>(2, word.size()));
  for (const OptionDef& def : Options()) {
    if (!(def.commands & Bit(command))) continue;
    if (!is_long && def.letters.find(word.back()) != std::string_view::npos) return &def;
    std::string names = fmt::format(",{},", def.names);
    if (is_long && names.find(fmt::format(",{},", name)) != std::string::npos) return &def;
  }
  return nullptr;
}

std::unexpected<Error> Usage(Command command, std::string_view message) {
  return Fail(ErrorKind::kInvalid,
              fmt::format("{}\nSee: spate {} --help", message, Definition(command).name));
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
  std::string near;
  std::vector<std::string_view> names = LongNames(command);
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
  for (const OptionDef& def : Options()) {
    if (!(def.commands & Bit(command))) continue;
    CLI::Option* option = def.argument.empty() ? app.add_flag(CliNames(def))
                                               : app.add_option(CliNames(def))->expected(1);
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
  for (auto it = options.rbegin(); it != options.rend(); ++it) {
    if (it->opt == opt) return it->value;
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
