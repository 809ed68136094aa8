#include "remote/lobby.h"

#include <algorithm>
#include <utility>

#include "os/handover.h"
#include "os/socket.h"
#include "remote/ticket.h"

namespace spate::remote {
namespace {

// One that has come and one whose place it takes: so the listener always has a place.
constexpr size_t kNewcomers = 2;
constexpr Duration kAgain = Duration::Millis(20);  // after the server's inbox was full

}  // namespace

std::string KnockAt(const Bytes32& id) {
  std::string knock;
  knock.reserve(kKnockBytes);
  knock += kKnock;
  for (uint8_t byte : id) knock += static_cast<char>(byte);
  return knock;
}

Result<std::unique_ptr<Lobby>> Lobby::Open(os::RealLoop& loop, const os::SocketAddress& at,
                                           Trouble trouble, const LobbyLimits& limits,
                                           Other other) {
  auto fd = TRY(os::Listen(at));
  auto address = TRY(os::LocalAddress(fd.get()));
  return std::unique_ptr<Lobby>(
      new Lobby(loop, std::move(fd), address, std::move(trouble), limits, std::move(other)));
}

Lobby::Lobby(os::RealLoop& loop, os::Fd fd, os::SocketAddress address, Trouble trouble,
             const LobbyLimits& limits, Other other)
    : loop_(loop), address_(address), limits_(limits), other_(std::move(other)) {
  listener_ = std::make_unique<transport::Listener>(
      loop, std::move(fd),
      transport::Listener::Events{
          [this](transport::Arrival arrival) { Arrived(std::move(arrival)); }, std::move(trouble)},
      transport::ListenerLimits{.places = limits.strangers + kNewcomers});
}

Lobby::~Lobby() {
  while (!strangers_.empty()) Remove(strangers_.begin());
}

// Else who says nothing would shut out all others. Members who lose their place come again.
void Lobby::MakeRoom() {
  if (strangers_.size() < limits_.strangers) return;
  auto is_silent = [](const Stranger& each) { return each.heard < each.knock.size(); };
  auto oldest = std::ranges::find_if(strangers_, is_silent);
  Remove(oldest != strangers_.end() ? oldest : strangers_.begin());
}

void Lobby::Arrived(transport::Arrival arrival) {
  MakeRoom();
  auto at = strangers_.emplace(strangers_.end());
  at->from = std::move(arrival);
  at->deadline = loop_.At(loop_.Now() + limits_.patience, [this, at] { Remove(at); });
  loop_.WatchRead(at->from.fd.get(), [this, at] { ReadKnock(at); });
}

// Then it is handed over, and the lobby's no more.
bool Lobby::IsOther(Strangers::iterator at) {
  char first = 0;
  if (!other_ || at->heard > 0) return false;
  if (os::Peek(at->from.fd.get(), &first, 1).kind != os::IoStep::Kind::kDone) return false;
  if (first == kKnock.front()) return false;
  loop_.Unwatch(at->from.fd.get());
  transport::Arrival arrival = std::move(at->from);
  loop_.Cancel(at->deadline);
  strangers_.erase(at);
  other_(std::move(arrival));
  return true;
}

// Takes not a byte more: what comes behind the knock is for the part's server.
void Lobby::ReadKnock(Strangers::iterator at) {
  if (IsOther(at)) return;
  os::IoStep step =
      os::Receive(at->from.fd.get(), at->knock.data() + at->heard, at->knock.size() - at->heard);
  if (step.kind == os::IoStep::Kind::kWouldBlock) return;
  if (step.kind != os::IoStep::Kind::kDone) return Remove(at);
  at->heard += step.bytes;
  const size_t said = std::min(at->heard, kKnock.size());
  std::string_view knock(at->knock.data(), said);
  if (knock != kKnock.substr(0, said)) return Remove(at);
  if (at->heard == at->knock.size()) Show(at);
}

// Shows the way to the part's server.
void Lobby::Show(Strangers::iterator at) {
  loop_.Unwatch(at->from.fd.get());
  Bytes32 id;
  std::copy(at->knock.begin() + kKnock.size(), at->knock.end(), id.begin());
  Status given = os::HandOver(InboxName(id), at->from.fd.get());
  if (given || given.error().kind != ErrorKind::kBusy) return Remove(at);
  at->again = loop_.At(loop_.Now() + kAgain, [this, at] { Show(at); });
}

void Lobby::Remove(Strangers::iterator at) {
  loop_.Unwatch(at->from.fd.get());
  loop_.Cancel(at->deadline);
  loop_.Cancel(at->again);
  strangers_.erase(at);
}

}  // namespace spate::remote
