#include "doors/mw/overseer/keeper.h"

#include <cstring>
#include <utility>

#include "cli/exit_code.h"
#include "cli/report.h"
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
  // Children that a killed slave leaves behind become ours.
  TRY(os::BecomeSubreaper());
  auto loop = TRY(os::RealLoop::Create());
  auto none = TRY(os::OpenRead("/dev/null"));
  std::optional<int> status;
  os::Pid slave = 0;
  loop->OnSignal(os::kSignalChild, [&] {
    int how = 0;
    if (slave == 0 || status || !os::HasExited(slave, &how)) return;
    status = how;
    loop->Stop();
  });
  for (int signo : {os::kSignalTerm, os::kSignalInt, os::kSignalHup}) {
    loop->OnSignal(signo, [&] { loop->Stop(); });
  }
  slave = TRY(os::SpawnChild({.argv = std::move(argv), .in = none.get()}));
  // Nothing is ever written to the leash: it is readable when it has ended.
  loop->WatchRead(os::kStdin, [&] { loop->Stop(); });
  loop->Run();
  (void)os::EndAllChildren(kEndPatience);
  return status ? os::ExitStatusOf(*status) : 128 + os::kSignalKill;
}

}  // namespace

Result<Kept> StartKept(const std::vector<std::string>& argv) {
  auto own = TRY(os::OwnProgram());
  auto leash = TRY(os::MakePipe());
  auto output = TRY(os::MakePipe());
  TRY(os::SetNonBlocking(output.read.get(), true));
  os::Spawn spawn{.argv = {own, kKeepArgument}};
  spawn.argv.insert(spawn.argv.end(), argv.begin(), argv.end());
  spawn.in = leash.read.get();
  spawn.out = spawn.err = output.write.get();
  spawn.session = true;  // a Ctrl-C is for the overseer, which decides
  auto keeper = TRY(os::SpawnChild(spawn));
  return Kept{keeper, std::move(leash.write), std::move(output.read)};
}

std::optional<int> KeeperEntry(int argc, char** argv) {
  if (argc < 3 || std::strcmp(argv[1], kKeepArgument) != 0) return std::nullopt;
  os::IgnoreSignal(os::kSignalPipe);
  auto code = Keep({argv + 2, argv + argc});
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::mw
