#include "command/spate/visiting.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/bytes32.h"
#include "base/units.h"
#include "client/asker.h"
#include "os/environment.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "remote/visit.h"

namespace spate::cli {
namespace {

// Keeps a visit open that has no command of its own.
const std::vector<std::string> kNoCommand = {"tail", "-f", "/dev/null"};

}  // namespace

Result<EnterTask::Answer> QueryWay(HistoryCall& call, TasksOfJob task, uint32_t rank) {
  return client::QueryOne(*TRY(call.Whom()), EnterTask{std::move(task), rank});
}

remote::Client::Options VisitOptions(const EnterTask::Answer& way, remote::StartWords words) {
  return {.node = way.node,
          .command = {},
          .words = std::move(words),
          .place = fmt::format("with task {}.{}", way.job.value, way.task),
          .silence = remote::kVisitSilence,
          .patience = Duration::Seconds(10)};
}

Visit::Visit(os::RealLoop& loop, const EnterTask::Answer& way, remote::Client::Options options,
             remote::Client::Done done)
    : ticket_(
          remote::VisitTicket(Bytes32FromHex(way.secret).value_or(Bytes32{}), way.node,
                              remote::ParseLobbies(way.at).value_or(std::vector<os::Address>()))),
      client_(loop, ticket_, std::move(options), std::move(done)) {}

void PassSignals(os::RealLoop& loop, const std::function<bool(int)>& pass) {
  for (int signo : {os::kSignalHup, os::kSignalInt, os::kSignalQuit, os::kSignalTerm}) {
    loop.OnSignal(signo, [&pass, signo, asked = false]() mutable {
      if (std::exchange(asked, true) || !pass(signo)) os::DieOfSignal(signo);
    });
  }
}

bool IsAtTerminal() {
  const auto here = os::Environment::OfProcess();
  return os::LookAtTerminal(os::kStdin, here).is_terminal &&
         os::LookAtTerminal(os::kStdout, here).is_terminal;
}

Result<int> VisitTask(HistoryCall& call, const VisitWish& wish) {
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  std::unique_ptr<Visit> visit;
  auto report = [&](const Error& error) { call.Report(error); };
  remote::ForwardedPorts ports(
      *loop,
      [&](os::Fd fd, uint16_t port) {
        const Status taken = visit->client().Forward(std::move(fd), port);
        if (!taken) report(taken.error());
      },
      report);
  std::vector<std::string> places;
  for (const remote::PortWish& port : wish.ports) {
    places.push_back(fmt::format("{} to port {}", TRY(ports.Open(port)), port.there));
  }
  const auto way = TRY(QueryWay(call, wish.task, wish.rank));
  const bool no_command = wish.words.empty();
  remote::StartWords words{
      .words = no_command ? kNoCommand : wish.words, .window = std::nullopt, .term = {}};
  if (wish.terminal) {
    words.window = os::WindowOf(os::kStdin);
    words.term = os::Environment::OfProcess().GetOr("TERM", "");
  }
  Result<int> code = 0;
  auto options = VisitOptions(way, std::move(words));
  if (no_command) options.in = -1;
  options.opened = [&] {
    for (const std::string& place : places) {
      call.Report(fmt::format("forwarding {} on node {}", EscapeForScreen(place), way.node));
    }
  };
  visit = std::make_unique<Visit>(*loop, way, std::move(options), [&](Result<int> ended) {
    code = std::move(ended);
    loop->Stop();
  });
  const std::function<bool(int)> pass = [&](int signo) { return visit->client().Signal(signo); };
  PassSignals(*loop, pass);
  if (wish.terminal) loop->OnSignal(os::kSignalWindow, [&] { visit->client().Resize(); });
  loop->Run();
  if (code) return *code;
  call.Report(code.error());
  return kVisitFailure;
}

}  // namespace spate::cli
