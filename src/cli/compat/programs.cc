#include "cli/compat/programs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "base/check.h"
#include "cli/compat/gensub2.h"
#include "cli/compat/para.h"
#include "cli/compat/para_test_job.h"
#include "cli/compat/parasol.h"
#include "cli/compat/site_programs.h"
#include "os/file.h"

namespace spate::cli {
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

}  // namespace spate::cli
