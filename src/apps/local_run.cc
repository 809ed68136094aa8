// What a run is: new, resumed, or a retry; see local_run.h.
#include "apps/local_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "apps/local_job.h"
#include "base/prng.h"
#include "base/units.h"
#include "cli/options/list_files.h"
#include "cli/report.h"
#include "format/expand.h"
#include "os/file.h"
#include "shepherd/output_check.h"

namespace spate::apps {
namespace {

using cli::RunOptions;

cli::LoadContext LoadContextOf(const JobSettings& settings, uint32_t slots, bool run_checks) {
  cli::LoadContext context;
  context.why_check_fails = [cwd = settings.cwd](CheckKind kind, const char* file) {
    return shepherd::WhyCheckFails(kind, os::JoinPath(cwd, file).c_str());
  };
  context.slots = slots;
  context.run_input_checks = run_checks;
  return context;
}

// The order of starting; empty: as given.
std::vector<TaskIndex> OrderOf(const RunOptions& options, uint32_t count) {
  std::vector<TaskIndex> order;
  if (options.order != cli::TaskOrder::kShuffle) return order;
  order.resize(count);
  std::iota(order.begin(), order.end(), 0);
  Prng prng(static_cast<uint64_t>(os::Clock().Now().ns));
  for (uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[prng.Below(i)]);
  return order;
}

int DryRun(const cli::TaskList& tasks, const JobSettings& settings) {
  auto compiled = format::CompileJob(settings, JobId(1));
  if (!compiled) return cli::ReportError(compiled.error());
  TaskIndex index = 0;
  std::string text;
  Status status;
  tasks.rows([&](std::string_view row) {
    text += format::CommandText(*compiled, row, index++, 1) + '\n';
    if (text.size() < 65536 || !status) return;
    status = os::WriteAll(1, std::exchange(text, {}), "standard output");
  });
  if (status) status = os::WriteAll(1, text, "standard output");
  return status ? cli::kExitSuccess : cli::ReportError(status.error());
}

Result<int> RunNew(const Surroundings& here, const RunOptions& options,
                   const std::vector<std::string>& argv) {
  if (auto status = cli::CheckSources(options); !status) return std::unexpected(status.error());
  std::string path = here.environment.GetOr("PATH", "");
  if (auto status = cli::CheckListFiles(options.sources.files, path); !status) {
    return std::unexpected(status.error());
  }
  JobSettings settings = cli::SettingsOf(options, here.cwd, here.machine.facts().cores);
  if (auto info = os::Stat(settings.cwd); !info) {
    return Fail(ErrorKind::kInvalid, "--cwd: " + info.error().message);
  }
  Offer offer = OfferOf(options, here);
  auto tasks = cli::LoadTaskList(options, LoadContextOf(settings, offer.slots, !options.dry_run),
                                 settings);
  if (!tasks) return std::unexpected(tasks.error());
  if (options.dry_run) return DryRun(*tasks, settings);
  if (auto status = CheckNeeds(*tasks, offer); !status) return std::unexpected(status.error());
  if (tasks->count == 0) {
    fmt::print(stderr, "spate: 0 tasks: nothing to do\n");
    return cli::kExitSuccess;
  }
  auto job = LocalJob::Create(here, StateDirOf(options.state_dir, here), options, argv);
  if (!job) return std::unexpected(job.error());
  (*job)->SetTasks(*tasks, std::move(settings), OrderOf(options, tasks->count));
  *tasks = {};  // the text is in the store now
  return (*job)->Run(/*resumed=*/false);
}

Result<int> RunAny(const cli::Invocation& invocation) {
  auto here = Surroundings::Find();
  if (!here) return std::unexpected(here.error());
  auto options = cli::ParseRun({}, invocation.argv, invocation.words.command);
  if (!options) return std::unexpected(options.error());
  return RunNew(*here, *options, invocation.argv);
}

}  // namespace

int RunLocally(const cli::Invocation& invocation) {
  auto code = RunAny(invocation);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::apps
