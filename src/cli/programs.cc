#include "cli/programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/check.h"
#include "format/lines.h"
#include "format/shell_words.h"
#include "os/file.h"
#include "present/advice.h"

namespace spate::cli {
namespace {

const Programs& DoorOf(DoorPrograms doors, const Program& program) {
  for (const Programs& door : doors) {
    if (std::ranges::any_of(door.all, [&](const Program& one) { return &one == &program; })) {
      return door;
    }
  }
  return doors.front();
}

}  // namespace

const Program* FindProgram(DoorPrograms doors, std::string_view name) {
  for (const Programs& door : doors) {
    auto found = std::ranges::find(door.all, name, &Program::name);
    if (found != door.all.end()) return &*found;
  }
  return nullptr;
}

bool UsageNames(const Program& program, std::string_view command) {
  constexpr std::string_view kEnds = " ,\n";
  for (std::string_view before : {"\n   ", ", "}) {
    std::string text = std::string(before).append(command);
    for (size_t at = 0; (at = program.usage.find(text, at)) != std::string_view::npos;) {
      at += text.size();
      if (at < program.usage.size() && kEnds.contains(program.usage[at])) return true;
    }
  }
  return false;
}

std::vector<std::string> UsageOptions(const Program& program) {
  std::vector<std::string> options;
  std::string_view usage = program.usage;
  while (auto line = format::NextLine(&usage)) {
    if (!line->starts_with("   -")) continue;
    for (const std::string& word : format::SplitBlanks(*line)) {
      if (!word.starts_with('-')) break;
      options.push_back(word.substr(0, std::min(word.find('='), word.size() - 1) + 1));
    }
  }
  return options;
}

std::string NextWords(const std::vector<std::string>& names, std::string_view before) {
  std::set<std::string> known;
  std::string lines;
  for (const std::string& name : names) {
    if (!name.starts_with(before)) continue;
    std::string word = name.substr(before.size(), name.find(' ', before.size()) - before.size());
    if (known.insert(word).second) lines += word + "\n";
  }
  return lines;
}

std::string WordsAfter(const Program& program, std::span<const std::string> typed) {
  if (typed.back().starts_with('-')) {
    return fmt::format("{}\n", fmt::join(UsageOptions(program), "\n"));
  }
  std::vector<std::string> words;  // that are neither options nor their values
  for (size_t i = 0; i + 1 < typed.size(); ++i) {
    if (typed[i] == "=")
      ++i;
    else if (!typed[i].starts_with('-'))
      words.push_back(typed[i]);
  }
  bool value = typed.size() > 1 && typed[typed.size() - 2] == "=";
  std::string lines;
  if (program.commands != nullptr && words.size() < 2 && !value) {
    lines = NextWords(program.commands(), words.empty() ? "" : words.front() + " ");
  }
  return lines.empty() ? ":files\n" : lines;
}

std::optional<int> ProgramEntry(int argc, char** argv, DoorPrograms doors,
                                ProgramRun (*run_of)(std::string_view name)) {
  std::vector<std::string> args(argv, argv + argc);
  size_t taken = 1;
  const Program* program = args.empty() ? nullptr : FindProgram(doors, os::BaseName(args[0]));
  if (program == nullptr && args.size() > 1) {
    program = FindProgram(doors, args[1]);
    taken = 2;
  }
  if (program == nullptr) return std::nullopt;
  ProgramRun run = program->run != nullptr ? program->run : run_of(program->name);
  CHECK(run != nullptr);
  auto code = run(std::span(args).subspan(taken));
  if (code) return *code;
  std::string message = present::TextOf(code.error());
  if (!message.ends_with('\n')) message += '\n';  // a usage does
  std::fwrite(message.data(), 1, message.size(), stderr);
  return DoorOf(doors, *program).error_code;
}

}  // namespace spate::cli
