// The server is a subreaper, so that all that a visit starts stays below it, away from the task's
// own processes, and ends with it.
#include "remote/visit.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/model/visit.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "remote/server.h"

namespace spate::remote {
namespace {

constexpr size_t kOrderMost = 1024;
// Processes that do not die hang in the kernel; nobody waits for them.
constexpr Duration kPatience = Duration::Seconds(5);
// The end of the task is told to the visitor, who has so long to take it.
constexpr Duration kLastWord = Duration::Millis(200);

// The order, which is written before this process is started.
Result<Ticket> ReadOrder() {
  std::string line(kOrderMost, '\0');
  line.resize(TRY(os::ReadSome(kVisitOrder, line.data(), line.size(), "the order of a visit")));
  constexpr size_t kDigits = kVisitSecret;
  auto secret = Bytes32FromHex(std::string_view(line).substr(0, kDigits));
  if (!secret || line.size() < kDigits + 2 || !line.ends_with('\n')) {
    return Fail(ErrorKind::kCorrupt, "not an order for a visit");
  }
  const std::string node = line.substr(kDigits + 1, line.size() - kDigits - 2);
  Ticket ticket = VisitTicket(*secret, node, {});
  ticket.self = node;
  return ticket;
}

Status Serve() {
  const Ticket ticket = TRY(ReadOrder());
  TRY(os::BecomeSubreaper());
  TRY(os::SetNonBlocking(kVisitOrder, true));
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  auto server = TRY(Server::Open(
      *loop, ticket, {.shell = {}, .environment = os::Environment::OfProcess().entries()},
      {.once = true, .session = {.start = kVisitPatience, .silence = kVisitSilence}}));
  auto stop = [&] { loop->Stop(); };
  server->WhenOver(stop);
  const os::TimerId nobody = loop->At(loop->Now() + kVisitPatience, [&] {
    if (!server->is_used()) loop->Stop();
  });
  loop->WatchRead(kVisitOrder, [&] {
    char byte = 0;
    auto got = os::ReadSome(kVisitOrder, &byte, 1, "the order of a visit");
    if (!got && got.error().kind == ErrorKind::kBusy) return;
    loop->Unwatch(kVisitOrder);
    server->Dismiss("the task has ended, and the visit with it", stop);
    loop->At(loop->Now() + kLastWord, stop);
  });
  loop->Run();
  loop->Cancel(nobody);
  return {};
}

}  // namespace

Ticket VisitTicket(const Bytes32& secret, const std::string& node, std::vector<os::Address> at) {
  return {.secret = secret, .self = {}, .hosts = {{node, std::move(at)}}};
}

int ServeVisit() {
  const Status served = Serve();
  (void)os::EndAllChildren(kPatience);
  if (!served) fmt::print(stderr, "spate: {}\n", served.error().message);
  return served ? 0 : 1;
}

}  // namespace spate::remote
