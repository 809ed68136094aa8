#include "cli/compat/programs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "cli/compat/gensub2.h"
#include "cli/compat/para_test_job.h"
#include "os/file.h"

namespace spate::cli {
namespace {

constexpr std::array kPrograms = {kGensub2, kParaTestJob};

}  // namespace

std::span<const ParasolProgram> ParasolPrograms() { return kPrograms; }

const ParasolProgram* FindParasolProgram(std::string_view name) {
  auto found = std::ranges::find(kPrograms, name, &ParasolProgram::name);
  return found == kPrograms.end() ? nullptr : &*found;
}

std::optional<int> ParasolEntry(int argc, char** argv) {
  std::vector<std::string> args(argv, argv + argc);
  size_t taken = 1;
  const ParasolProgram* program =
      args.empty() ? nullptr : FindParasolProgram(os::BaseName(args[0]));
  if (program == nullptr && args.size() > 1) {
    program = FindParasolProgram(args[1]);
    taken = 2;
  }
  if (program == nullptr) return std::nullopt;
  auto code = program->run(std::span(args).subspan(taken));
  if (code) return *code;
  std::string message = std::move(code.error().message);
  if (!message.ends_with('\n')) message += '\n';  // a usage does
  std::fwrite(message.data(), 1, message.size(), stderr);
  return kParasolExitError;
}

}  // namespace spate::cli
