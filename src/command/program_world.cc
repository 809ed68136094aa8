#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cli/conclude.h"
#include "cli/main.h"
#include "cli/options/shared.h"
#include "cli/world.h"
#include "client/hub_call.h"
#include "command/all_commands.h"
#include "command/history_call.h"
#include "command/hub_screen.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "present/advice.h"
#include "present/json/error_line.h"
#include "present/table/text_width.h"
#include "run/run_asker.h"
#include "run/whose_jobs.h"
#include "submit/hub_submit.h"

namespace spate::cli::command {
namespace {

// With standard error closed there is nobody to report to.
void WriteErr(std::string_view bytes) { (void)os::WriteAll(os::kStderr, bytes, "standard error"); }

// A pause for commands that are in no loop.
std::function<void(Duration)> PauseByItself() {
  auto pauses = std::make_shared<std::unique_ptr<os::RealLoop>>();
  return [pauses](Duration time) {
    if (!*pauses) {
      auto made = os::RealLoop::Create();
      if (!made) return;
      *pauses = std::move(*made);
    }
    os::RealLoop& loop = **pauses;
    loop.At(loop.Now() + time, [&loop] { loop.Stop(); });
    loop.Run();
  };
}

Result<HistoryEnvironment> EnvironmentHere(const Invocation& invocation) {
  auto found = TRY(client::Surroundings::Find());
  auto here = std::make_shared<const client::Surroundings>(std::move(found));
  HistoryEnvironment environment;
  environment.state_dir = [here](const std::string& typed) {
    return client::StateDirOf(typed, *here);
  };
  environment.masters = [here](const std::string& state_dir) {
    return client::MastersHere(state_dir, *here);
  };
  auto runs = std::make_shared<std::unique_ptr<run::RunAsker>>();
  environment.here = [here, runs, &words = invocation.words](
                         const std::string& state_dir) -> Result<client::Asker*> {
    *runs = std::make_unique<run::RunAsker>(*here, state_dir, run::RunsOption(words, *here));
    return runs->get();
  };
  environment.write_out = OutOf(invocation);
  environment.write_err = WriteErr;
  environment.now = os::WallNow;
  if (run::HubIsConfigured(*here)) environment.title = "this machine";
  environment.pause = PauseByItself();
  environment.cwd = here->cwd;
  os::TerminalFacts terminal = os::LookAtTerminal(os::kStdout, here->environment);
  environment.terminal = terminal.is_terminal;
  environment.colour = terminal.may_colour;
  environment.width = os::PrintWidth(os::kStdout, here->environment).value_or(present::kWholeWidth);
  return environment;
}

// Calls `ask` with the hub that the words mean. `hung`: it is there, and does not answer.
template <typename Ask>
Result<int> WithHub(const Invocation& invocation, bool& hung, Ask ask) {
  auto setting = submit::FindSetting(invocation.words);
  if (!setting) {
    return std::unexpected(submit::WithLocalHint(setting.error(), invocation.words));
  }
  client::HubCall call(*setting->loop, setting->target);
  if (!invocation.words.Has(opt::kQuiet)) call.OnSlow(submit::TellSlowHub);
  if (auto connected = call.Connect(); !connected) {
    hung = call.hung();
    return std::unexpected(submit::WithLocalHint(connected.error(), invocation.words));
  }
  return ask(call, *setting);
}

Result<HubScreen> ScreenFor(const Invocation& invocation, client::Asker& asker,
                            const os::Environment& environment) {
  auto form = TRY(OutputFormOf(invocation.words));
  HubScreen screen{asker, invocation.words, form};
  screen.width = os::PrintWidth(os::kStdout, environment).value_or(present::kWholeWidth);
  screen.colour = os::LookAtTerminal(os::kStdout, environment).may_colour;
  const auto out = os::StatFd(os::kStdout, "standard output");
  screen.readable_by_others =
      out && out->kind == os::FileKind::kFile && (out->permissions & 077) != 0;
  screen.write_out = OutOf(invocation);
  screen.write_err = WriteErr;
  return screen;
}

class ProgramWorld final : public World {
 public:
  bool MeansHub(const Words& words) override { return run::SpeaksOfHub(words); }
  bool OrdersGoToHub(const Words& words) override { return run::OrdersGoToHub(words); }
  int LookHere(const Invocation& invocation, HistoryBody body) override;
  int LookIntoHub(const Invocation& invocation, HistoryBody body) override;
  int AskHub(const Invocation& invocation, HubBody body) override;
  int AskRuns(const Invocation& invocation, HubBody body) override;
};

int ProgramWorld::LookHere(const Invocation& invocation, HistoryBody body) {
  auto environment = EnvironmentHere(invocation);
  if (!environment) return Conclude(invocation, std::unexpected(environment.error()));
  return CallHistory(*environment, invocation, body);
}

int ProgramWorld::LookIntoHub(const Invocation& invocation, HistoryBody body) {
  bool hung = false;
  const auto asked =
      WithHub(invocation, hung,
              [&](client::HubCall& call, const client::HubSetting& setting) -> Result<int> {
                auto environment = TRY(EnvironmentHere(invocation));
                environment.hub = &call;
                environment.reach = setting.reach;
                environment.pause = [&call](Duration time) { call.Pause(time); };
                return CallHistory(environment, invocation, body);
              });
  return Conclude(invocation, asked, hung);
}

int ProgramWorld::AskHub(const Invocation& invocation, HubBody body) {
  bool hung = false;
  const auto asked =
      WithHub(invocation, hung,
              [&](client::HubCall& call, const client::HubSetting& setting) -> Result<int> {
                auto screen = TRY(ScreenFor(invocation, call, setting.here.environment));
                screen.reach = setting.reach;
                screen.folder = setting.target.folder;
                screen.pause = [&call](Duration time) { call.Pause(time); };
                call.TellUnknown();
                auto code = body(screen);
                if (code) return code;
                const bool known = code.error().kind != ErrorKind::kUnknown;
                if (known && call.interrupted()) os::DieOfSignal(os::kSignalInt);
                return std::unexpected(present::Reached(code.error(), setting.reach));
              });
  return Conclude(invocation, asked, hung);
}

int ProgramWorld::AskRuns(const Invocation& invocation, HubBody body) {
  auto ask = [&]() -> Result<int> {
    auto here = TRY(client::Surroundings::Find());
    const std::string whose = run::RunsOption(invocation.words, here);
    std::string state =
        client::StateDirOf(std::string(invocation.words.Last(opt::kState).value_or("")), here);
    run::RunAsker runs(here, std::move(state), whose);
    auto screen = TRY(ScreenFor(invocation, runs, here.environment));
    screen.reach = whose;
    screen.pause = PauseByItself();
    return body(screen);
  };
  return Conclude(invocation, ask());
}

}  // namespace

std::unique_ptr<World> MakeProgramWorld() { return std::make_unique<ProgramWorld>(); }

}  // namespace spate::cli::command
