#include "doors/parasol/programs/programs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "base/check.h"
#include "doors/parasol/programs/gensub2.h"
#include "doors/parasol/programs/para.h"
#include "doors/parasol/programs/para_test_job.h"
#include "doors/parasol/programs/parasol.h"
#include "doors/parasol/programs/site_programs.h"
#include "format/lines.h"
#include "format/shell_words.h"
#include "os/file.h"

namespace spate::parasol {
namespace {

constexpr std::array kPrograms = {kGensub2,     kPara,          kParaHub,        kParaHubStop,
                                  kParaNode,    kParaNodeStart, kParaNodeStatus, kParaNodeStop,
                                  kParaTestJob, kParasol};

}  // namespace

std::span<const ParasolProgram> ParasolPrograms() { return kPrograms; }

const ParasolProgram* FindParasolProgram(std::string_view name) {
  auto found = std::ranges::find(kPrograms, name, &ParasolProgram::name);
  return found == kPrograms.end() ? nullptr : &*found;
}

bool UsageNames(const ParasolProgram& program, std::string_view command) {
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

std::vector<std::string> UsageOptions(const ParasolProgram& program) {
  std::vector<std::string> options;
  std::string_view usage = program.usage;
  while (auto line = format::TakeLine(&usage)) {
    if (!line->starts_with("   -")) continue;
    for (const std::string& word : format::SplitBlanks(*line)) {
      if (!word.starts_with('-')) break;
      options.push_back(word.substr(0, std::min(word.find('='), word.size() - 1) + 1));
    }
  }
  return options;
}

std::optional<int> ParasolEntry(int argc, char** argv,
                                ParasolRun (*run_of)(std::string_view name)) {
  std::vector<std::string> args(argv, argv + argc);
  size_t taken = 1;
  const ParasolProgram* program =
      args.empty() ? nullptr : FindParasolProgram(os::BaseName(args[0]));
  if (program == nullptr && args.size() > 1) {
    program = FindParasolProgram(args[1]);
    taken = 2;
  }
  if (program == nullptr) return std::nullopt;
  ParasolRun run = program->run != nullptr ? program->run : run_of(program->name);
  CHECK(run != nullptr);
  auto code = run(std::span(args).subspan(taken));
  if (code) return *code;
  std::string message = std::move(code.error().message);
  if (!message.ends_with('\n')) message += '\n';  // a usage does
  std::fwrite(message.data(), 1, message.size(), stderr);
  return kParasolExitError;
}

}  // namespace spate::parasol
