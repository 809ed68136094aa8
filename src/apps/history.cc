#include "apps/history.h"

#include "apps/doors.h"

#include <memory>

#include "apps/job_text.h"
#include "apps/local_job.h"
#include "cli/exit_code.h"
#include "cli/history/environment.h"
#include "cli/job/job_handler.h"
#include "cli/job/job_verbs.h"
#include "cli/report.h"
#include "cli/state/state_handler.h"
#include "cli/table/text_width.h"
#include "cli/task/task_handler.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/terminal.h"
#include "wire/client_codec.h"

namespace spate::apps {
namespace {

// As LocalJob::Open makes them, without what is given now.
Result<JobSettings> SettingsOfRow(const store::JobRow& row, uint32_t cores) {
  auto options = cli::ParseRun(row.argv, {});
  if (!options) return std::unexpected(std::move(options.error()));
  JobSettings settings = cli::SettingsOf(*options, row.cwd, cores);
  if (auto read = DecodeJobText(row.settings, settings); !read) {
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
  environment.settings = [here](const store::JobRow& row) {
    return SettingsOfRow(row, here->machine.facts().cores);
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

}  // namespace

void WireHistory(cli::Wiring& wiring) {
  wiring.job = Here(cli::MakeJobHandler);
  wiring.task = Here(cli::MakeTaskHandler);
  wiring.state = Here(cli::MakeStateHandler);
}

namespace {

Result<cli::HistoryEnvironment> EnvironmentOf(HubQuestion& question) {
  auto environment = EnvironmentHere();
  if (!environment) {
    question.write_err("spate: " + environment.error().message + "\n");
    return environment;
  }
  const wire::Command& asked = question.asked;
  auto here = Surroundings::Find();
  if (here) environment->title = "hub " + here->machine.facts().host_name;
  environment->hub_dir = std::move(question.hub_dir);
  environment->settings = [](const store::JobRow& row) {
    return wire::DecodeSettings(row.settings);
  };
  environment->dialects = AllDialects();
  environment->viewer = std::move(question.viewer);
  environment->reach = asked.reach;
  for (const wire::Command::Note& note : asked.notes) {
    environment->waits[note.job.value] = note.why;
  }
  environment->write_out = std::move(question.write_out);
  environment->write_err = std::move(question.write_err);
  environment->terminal = environment->colour = asked.terminal;
  environment->width = asked.width;
  return environment;
}

}  // namespace

int HubFailures(HubQuestion question, const std::string& job) {
  auto environment = EnvironmentOf(question);
  if (!environment) return cli::ExitCodeOf(environment.error().kind);
  cli::Invocation invocation;
  invocation.words.command = cli::Command::kJobTasks;
  invocation.words.words = {job};
  return cli::CallHistory(*environment, invocation, cli::JobFailures);
}

int HubHistory(HubQuestion question, const cli::Invocation& invocation) {
  auto environment = EnvironmentOf(question);
  if (!environment) return cli::ExitCodeOf(environment.error().kind);
  switch (invocation.words.command) {
    case cli::Command::kTaskInfo:
    case cli::Command::kTaskExplain:
      return cli::MakeTaskHandler(std::move(*environment))(invocation);
    default:
      return cli::MakeJobHandler(std::move(*environment))(invocation);
  }
}

}  // namespace spate::apps
