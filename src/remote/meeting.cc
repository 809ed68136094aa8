#include "remote/meeting.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/units.h"
#include "os/child.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/handover.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/socket.h"
#include "remote/client.h"
#include "remote/gathering.h"
#include "remote/joining.h"
#include "remote/pmi.h"

namespace spate::remote {
namespace {

Status Prepare(int fd, uint32_t rank, uint32_t ranks) {
  TRY(os::KeepOverExec(fd));
  TRY(os::SetNonBlocking(fd, false));
  os::SetOfProcess("PMI_FD", fmt::format("{}", fd));
  os::SetOfProcess("PMI_RANK", fmt::format("{}", rank));
  os::SetOfProcess("PMI_SIZE", fmt::format("{}", ranks));
  return {};
}

Result<int> MeetFirst(os::RealLoop& loop, const Self& self, const std::vector<std::string>& argv) {
  const MeetingPoint point = FirstProcess(self.ticket);
  auto inbox = TRY(os::HandoverInbox::Open(point.inbox));
  std::optional<int> aborted;
  Gathering gathering(loop, std::move(inbox), point.word, PmiSpace(self.per_node),
                      [&](const PmiSpace::Step& step) {
                        fmt::print(stderr, "spate: {}\n", step.why);
                        aborted = step.abort;
                        loop.Stop();
                      });
  auto pair = TRY(os::MakeSocketPair());
  gathering.AddOwn(std::move(pair.b));
  TRY(Prepare(pair.a.get(), self.rank, self.ranks()));
  int status = 0;
  auto command = TRY(StartJoined(loop, {.argv = argv}, [&](int ended) {
    status = ended;
    if (ended != 0) return loop.Stop();
    // Others may be at their ends still.
    gathering.WhenEmpty([&] { loop.Stop(); });
  }));
  pair.a.Reset();
  loop.Run();
  return aborted ? *aborted : EndAs(status);
}

// On the first process' node.
Result<int> MeetBeside(os::RealLoop& loop, const Self& self, const std::vector<std::string>& argv) {
  auto connection = TRY(Join(FirstProcess(self.ticket), self.rank));
  TRY(Prepare(connection.get(), self.rank, self.ranks()));
  int status = 0;
  auto command = TRY(StartJoined(loop, {.argv = argv}, [&](int ended) {
    status = ended;
    loop.Stop();
  }));
  connection.Reset();
  loop.Run();
  return EndAs(status);
}

// The other side of this socket is closed.
bool HasLeft(int fd) {
  char byte = 0;
  if (!os::WaitReadable(fd, Duration())) return false;
  auto got = os::ReadSome(fd, &byte, 1, "the process");
  return got && *got == 0;
}

Result<int> MeetFromElsewhere(os::RealLoop& loop, const Self& self,
                              const std::vector<std::string>& argv) {
  auto pair = TRY(os::MakeSocketPair());
  Result<int> status = 0;
  std::unique_ptr<os::Child> command;
  Client::Options options{
      .node = self.ticket.hosts.front().node,
      .command = fmt::format("exec \"${}\" {} {}", kServerProgram, kComeArgument, self.rank),
      .in = pair.b.get(),
      .out = pair.b.get()};
  options.patience = kMeetingPatience;
  Client client(loop, self.ticket, std::move(options), [&](Result<int> ended) {
    // The command goes on, and needs the others no more. When all have left, the first process
    // ends, and its node's part with it, which may not come to say so.
    if ((ended && *ended == 0) || HasLeft(pair.b.get())) return;
    status = ended ? Fail(ErrorKind::kUnavailable, "the gang's first process has ended")
                   : std::unexpected(std::move(ended.error()));
    loop.Stop();
  });
  TRY(Prepare(pair.a.get(), self.rank, self.ranks()));
  command = TRY(StartJoined(loop, {.argv = argv}, [&](int ended) {
    status = ended;
    loop.Stop();
  }));
  pair.a.Reset();
  loop.Run();
  return status ? Result<int>(EndAs(*status)) : status;
}

}  // namespace

void LeaveSignalsToCommand(os::RealLoop& loop) {
  for (int signo : {os::kSignalTerm, os::kSignalInt, os::kSignalHup, os::kSignalQuit, kSignalUser1,
                    kSignalUser2}) {
    loop.OnSignal(signo, [] {});
  }
}

Result<int> Meet(const Ticket& ticket, const std::vector<std::string>& argv) {
  auto self = TRY(FindSelf(ticket));
  auto loop = TRY(os::RealLoop::Create());
  os::IgnoreSignal(os::kSignalPipe);
  LeaveSignalsToCommand(*loop);
  if (self.rank == 0) return MeetFirst(*loop, self, argv);
  const bool beside = ticket.self == ticket.hosts.front().node;
  return beside ? MeetBeside(*loop, self, argv) : MeetFromElsewhere(*loop, self, argv);
}

Result<int> Come(const Ticket& ticket, std::string_view rank) {
  auto number = TRY(ParseCount(rank));
  auto connection = TRY(Join(FirstProcess(ticket), number));
  auto loop = TRY(os::RealLoop::Create());
  os::IgnoreSignal(os::kSignalPipe);
  // Both ends go on reading while they write.
  auto carry = [&](int from, int to) {
    loop->WatchRead(from, [&loop, from, to] {
      char bytes[65536];
      auto got = os::ReadSome(from, bytes, sizeof bytes, "a process of the gang");
      const bool on = got && *got > 0 && os::WriteAll(to, {bytes, *got}, "a process of the gang");
      if (!on) loop->Stop();
    });
  };
  carry(0, connection.get());
  carry(connection.get(), 1);
  loop->Run();
  loop->Unwatch(0);
  loop->Unwatch(connection.get());
  return 0;
}

}  // namespace spate::remote
