#include "run/history.h"

#include <memory>
#include <utility>

#include "cli/history/environment.h"
#include "cli/job/job_handler.h"
#include "cli/report.h"
#include "cli/state/state_handler.h"
#include "cli/table/text_width.h"
#include "cli/task/task_handler.h"
#include "history/journal_asker.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/terminal.h"
#include "run/job_text.h"
#include "run/local_job.h"

namespace spate::run {
namespace {

// As LocalJob::Open makes them, without what is given now.
Result<JobSettings> SettingsOfRow(const store::JobRow& row, uint32_t cores) {
  auto options = cli::ParseRun(row.argv, {});
  if (!options) return std::unexpected(std::move(options.error()));
  JobSettings settings = cli::SettingsOf(*options, row.cwd, cores);
  if (auto read = TakeRowSettings(row.settings, settings); !read) {
    return std::unexpected(std::move(read.error()));
  }
  return settings;
}

Result<cli::HistoryEnvironment> EnvironmentHere() {
  auto found = Surroundings::Find();
  if (!found) return std::unexpected(std::move(found.error()));
  auto here = std::make_shared<const Surroundings>(std::move(*found));
  cli::HistoryEnvironment environment;
  environment.state_dir = [here](const std::string& typed) { return StateDirOf(typed, *here); };
  auto runs = std::make_shared<std::unique_ptr<history::JournalAsker>>();
  environment.here = [here, runs](const std::string& state_dir) -> Result<client::Asker*> {
    *runs = std::make_unique<history::JournalAsker>(RunsIn(state_dir, here->machine.facts().cores));
    return runs->get();
  };
  environment.write_out = [](std::string_view bytes) {
    return os::WriteAll(os::kStdout, bytes, "standard output");
  };
  // Where standard error is closed there is nobody to tell.
  environment.write_err = [](std::string_view bytes) {
    (void)os::WriteAll(os::kStderr, bytes, "standard error");
  };
  environment.now = [clock = os::Clock()] { return clock.Now(); };
  if (HubIsConfigured(*here)) environment.title = "this machine";
  environment.cwd = here->cwd;
  os::TerminalFacts terminal = os::LookAtTerminal(os::kStdout, here->environment);
  environment.terminal = terminal.is_terminal;
  environment.colour = terminal.may_colour;
  environment.width = os::PrintWidth(os::kStdout, here->environment).value_or(cli::kWholeWidth);
  return environment;
}

cli::Handler Here(cli::Handler (*make)(cli::HistoryEnvironment)) {
  return [make](const cli::Invocation& invocation) {
    auto environment = EnvironmentHere();
    if (!environment) return cli::ReportError(environment.error());
    return make(std::move(*environment))(invocation);
  };
}

cli::Handler JobsHere(cli::HistoryEnvironment environment) {
  return [environment](const cli::Invocation& invocation) {
    bool forgets = invocation.words.command == cli::Command::kJobForget;
    auto make = forgets ? cli::MakeStateHandler : cli::MakeJobHandler;
    return make(environment)(invocation);
  };
}

}  // namespace

history::Source RunsIn(const std::string& state_dir, uint32_t cores) {
  history::Source source{store::JobPlace(state_dir)};
  source.settings = [cores](const store::JobRow& row) { return SettingsOfRow(row, cores); };
  source.now = [clock = os::Clock()] { return clock.Now(); };
  return source;
}

void WireHistory(cli::Wiring& wiring) {
  wiring.job = Here(JobsHere);
  wiring.task = Here(cli::MakeTaskHandler);
  wiring.state = Here(cli::MakeStateHandler);
}

bool IsOfHistory(cli::Command command) {
  using cli::Command;
  switch (command) {
    case Command::kJobList:
    case Command::kJobInfo:
    case Command::kJobTasks:
    case Command::kJobGraph:
    case Command::kJobCat:
    case Command::kJobTail:
    case Command::kReport:
    case Command::kTaskInfo:
    case Command::kTaskExplain:
      return true;
    default:
      return false;
  }
}

int AskHistory(client::Asker& hub, const std::string& reach, const cli::Invocation& invocation) {
  auto environment = EnvironmentHere();
  if (!environment) return cli::ReportError(environment.error());
  environment->hub = &hub;
  environment->reach = reach;
  cli::Command command = invocation.words.command;
  bool of_tasks = command == cli::Command::kTaskInfo || command == cli::Command::kTaskExplain;
  auto make = of_tasks ? cli::MakeTaskHandler : cli::MakeJobHandler;
  return make(std::move(*environment))(invocation);
}

}  // namespace spate::run
