#include "doors/mw/overseer/keeper.h"

#include <cstring>
#include <utility>

#include "cli/exit_code.h"
#include "cli/report.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/spawn_child.h"
#include "os/terminal.h"

namespace spate::mw {
namespace {

constexpr const char* kKeepArgument = "__keep_slave";
constexpr Duration kEndPatience = Duration::Seconds(10);

Result<int> Keep(std::vector<std::string> argv) {
  // What a slave leaves behind when it is killed comes to us.
  if (auto made = os::BecomeSubreaper(); !made) return std::unexpected(std::move(made.error()));
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(std::move(loop.error()));
  auto none = os::OpenRead("/dev/null");
  if (!none) return std::unexpected(std::move(none.error()));
  std::optional<int> status;
  os::Pid slave = 0;
  (*loop)->OnSignal(os::kSignalChild, [&] {
    int how = 0;
    if (slave == 0 || status || !os::HasExited(slave, &how)) return;
    status = how;
    (*loop)->Stop();
  });
  for (int signo : {os::kSignalTerm, os::kSignalInt, os::kSignalHup}) {
    (*loop)->OnSignal(signo, [&] { (*loop)->Stop(); });
  }
  os::Spawn spawn{.argv = std::move(argv),
                  .environment = os::Environment::OfProcess().entries(),
                  .in = none->get()};
  auto started = os::SpawnChild(spawn);
  if (!started) return std::unexpected(std::move(started.error()));
  slave = *started;
  // Nothing is ever written to the leash: it is readable when it has ended.
  (*loop)->WatchRead(os::kStdin, [&] { (*loop)->Stop(); });
  (*loop)->Run();
  (void)os::EndAllChildren(kEndPatience);
  return status ? os::ExitStatusOf(*status) : 128 + os::kSignalKill;
}

}  // namespace

Result<Kept> StartKept(const std::vector<std::string>& argv) {
  auto own = os::OwnProgram();
  if (!own) return std::unexpected(std::move(own.error()));
  auto leash = os::MakePipe();
  if (!leash) return std::unexpected(std::move(leash.error()));
  auto output = os::MakePipe();
  if (!output) return std::unexpected(std::move(output.error()));
  if (auto set = os::SetNonBlocking(output->read.get(), true); !set) {
    return std::unexpected(std::move(set.error()));
  }
  os::Spawn spawn{.argv = {*own, kKeepArgument}};
  spawn.argv.insert(spawn.argv.end(), argv.begin(), argv.end());
  spawn.environment = os::Environment::OfProcess().entries();
  spawn.in = leash->read.get();
  spawn.out = spawn.err = output->write.get();
  spawn.session = true;  // a Ctrl-C is for the overseer, which decides
  auto keeper = os::SpawnChild(spawn);
  if (!keeper) return std::unexpected(std::move(keeper.error()));
  return Kept{*keeper, std::move(leash->write), std::move(output->read)};
}

std::optional<int> KeeperEntry(int argc, char** argv) {
  if (argc < 3 || std::strcmp(argv[1], kKeepArgument) != 0) return std::nullopt;
  os::IgnoreSignal(os::kSignalPipe);
  auto code = Keep({argv + 2, argv + argc});
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::mw
