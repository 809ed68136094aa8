// Entrance: from a socket that was accepted to a visitor.
//
// A stranger is in its entry's list, holds one of the listener's places, and has a deadline. It
// leaves the list by one of four ways: admitted (its connection moves on), refused (when the
// goodbye is said), late or evicted (cut off), or by itself.
#include "link/entrance.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/proof.h"
#include "base/check.h"
#include "base/units.h"
#include "os/file.h"
#include "wire/codec.h"

namespace spate::link {
namespace {

constexpr Duration kLookUpAgain = Duration::Millis(200);
constexpr Duration kLookUpFor = Duration::Seconds(5);
constexpr size_t kUsersPart = 4;
constexpr size_t kUsersLeast = 8;

}  // namespace

using wire::FrameType;
using wire::RefusalCode;

bool Guest::Proves(const Bytes32& secret) const {
  Bytes32 nonce, proof;
  if (!connection_key || greeting.serial == 0) return false;
  if (greeting.nonce.size() != nonce.size() || greeting.proof.size() != proof.size()) return false;
  std::ranges::copy(greeting.nonce, nonce.begin());
  std::ranges::copy(greeting.proof, proof.begin());
  return access::ProofHolds(secret,
                            {.connection_key = *connection_key,
                             .nonce = nonce,
                             .serial = greeting.serial,
                             .role = greeting.role},
                            proof);
}

Result<std::unique_ptr<Entrance>> Entrance::Open(os::RealLoop& loop,
                                                 std::vector<EntranceAddress> addresses,
                                                 const transport::Identity& identity,
                                                 std::string product, Gate& gate, Events events,
                                                 const EntranceLimits& limits) {
  auto tls = TRY(transport::Tls::ForHub(identity));
  std::unique_ptr<Entrance> entrance(
      new Entrance(loop, std::move(tls), std::move(product), gate, std::move(events), limits));
  for (const EntranceAddress& at : addresses) TRY(entrance->Listen(at));
  return entrance;
}

Result<std::unique_ptr<Entrance>> Entrance::OpenLocal(os::RealLoop& loop,
                                                      std::vector<EntranceAddress> addresses,
                                                      std::string product, Gate& gate,
                                                      Events events, const EntranceLimits& limits) {
  CHECK(std::ranges::all_of(addresses, [](const auto& at) { return !at.address.path.empty(); }));
  std::unique_ptr<Entrance> entrance(
      new Entrance(loop, nullptr, std::move(product), gate, std::move(events), limits));
  for (const EntranceAddress& at : addresses) TRY(entrance->Listen(at));
  return entrance;
}

Entrance::Entrance(os::RealLoop& loop, std::shared_ptr<transport::Tls> tls, std::string product,
                   Gate& gate, Events events, const EntranceLimits& limits)
    : loop_(loop),
      tls_(std::move(tls)),
      product_(std::move(product)),
      gate_(gate),
      events_(std::move(events)),
      limits_(limits) {}

Entrance::~Entrance() {
  for (Entry& entry : entries_) {
    loop_.Cancel(entry.eviction);
    entry.listener.reset();
    while (!entry.strangers.empty()) Remove(entry, entry.strangers.begin());
    if (entry.address.is_unix()) (void)os::RemoveFile(entry.address.path());
  }
}

Status Entrance::Listen(const EntranceAddress& at) {
  auto numbers = TRY(os::ResolveBlocking(at.address));
  for (const os::SocketAddress& number : numbers) {
    if (Status status = ListenAt(number, at); !status) return status;
  }
  return {};
}

Status Entrance::ListenAt(const os::SocketAddress& number, const EntranceAddress& at) {
  if (at.clear && !number.IsThisMachine()) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("cannot listen on {} without TLS, because others could read the traffic; use "
                    "an address of this machine only, such as 127.0.0.1, or keep TLS on",
                    number.Text()));
  }
  auto fd = os::Listen(number, 1024, at.permissions);
  if (!fd && at.spare_port && at.address.port != 0 && fd.error().kind == ErrorKind::kBusy) {
    EntranceAddress any = at;
    any.address.port = 0;
    return Listen(any);
  }
  if (!fd) return std::unexpected(std::move(fd.error()));
  auto address = TRY(os::LocalAddress(fd->get()));
  Entry& entry = entries_.emplace_back();
  entry.address = address;
  entry.in_clear = at.clear || number.is_unix();
  entry.listener = std::make_unique<transport::Listener>(
      loop_, std::move(*fd),
      transport::Listener::Events{
          .arrived = [this, &entry](transport::Arrival a) { Arrived(entry, std::move(a)); },
          .trouble = events_.trouble},
      transport::ListenerLimits{.places = limits_.strangers});
  return {};
}

std::vector<os::SocketAddress> Entrance::addresses() const {
  std::vector<os::SocketAddress> addresses;
  for (const Entry& entry : entries_) {
    if (entry.listener) addresses.push_back(entry.address);
  }
  return addresses;
}

// For other machines: the first of these addresses.
std::string Entrance::ListensAt() const {
  for (const Entry& entry : entries_) {
    if (!entry.listener || entry.address.IsThisMachine()) continue;
    auto address = os::ParseAddress(entry.address.Text());
    if (address) return address->host;
  }
  return "";
}

size_t Entrance::strangers() const {
  size_t count = 0;
  for (const Entry& entry : entries_) count += entry.strangers.size();
  return count;
}

// ------------------------------------------------------------------------------------- strangers

void Entrance::Receive(transport::Arrival arrival) {
  CHECK(tls_ != nullptr);
  if (received_ == nullptr) received_ = &entries_.emplace_back();
  Arrived(*received_, std::move(arrival));
}

void Entrance::Arrived(Entry& entry, transport::Arrival arrival) {
  Strangers::iterator at = entry.strangers.emplace(entry.strangers.end());
  at->came = loop_.Now();
  at->place = std::move(arrival.place);
  at->guest.peer = arrival.peer.Text();
  at->deadline = loop_.At(at->came + limits_.greeting, [this, &entry, at] {
    ++counts_->late;
    Remove(entry, at);
  });
  const int fd = arrival.fd.get();
  auto user = os::PeerOf(fd);
  at->connection =
      std::make_unique<Connection>(loop_, std::move(arrival.fd), entry.in_clear ? nullptr : tls_,
                                   FrameTypes{FrameType::kGreeting}, limits_.connection, counts_);
  if (user) {
    at->guest.local = *user;
    at->silent_fd = fd;
    MakeRoomOf(entry, user->user);
    loop_.WatchRead(fd, [this, &entry, at] { FirstWord(entry, at); });
  } else {
    StartConnection(entry, at);
  }
  if (entry.strangers.size() >= limits_.strangers) MakeRoom(entry);
}

Duration Entrance::LookUpPatience() const { return std::min(kLookUpFor, limits_.greeting / 2); }

// The name is looked up after the first byte, so that silent peers cost no thread.
void Entrance::FirstWord(Entry& entry, Strangers::iterator at) {
  char first = 0;
  const os::IoStep step = os::Peek(at->silent_fd, &first, 1);
  if (step.kind == os::IoStep::Kind::kWouldBlock) return;
  if (step.kind != os::IoStep::Kind::kDone) return Remove(entry, at);
  loop_.Unwatch(std::exchange(at->silent_fd, -1));
  LookUp(entry, at, loop_.Now() + LookUpPatience());
}

// A user whom the machine does not know has a number. One who cannot be looked up, as descriptors
// are short or the name service hangs, is not to be taken for such a one.
void Entrance::LookUp(Entry& entry, Strangers::iterator at, Instant last) {
  auto unknown = [this, &entry, at](std::string why) {
    at->guest.unknown = std::move(why);
    StartConnection(entry, at);
  };
  auto done = [this, &entry, at, last, unknown](Result<os::Account> account) {
    loop_.Cancel(at->again);
    if (account) at->guest.user = std::move(account->name);
    if (account || account.error().kind == ErrorKind::kNotFound) return StartConnection(entry, at);
    if (loop_.Now() >= last) return unknown(std::move(account.error().message));
    at->again =
        loop_.At(loop_.Now() + kLookUpAgain, [this, &entry, at, last] { LookUp(entry, at, last); });
  };
  at->account = std::make_unique<os::Aside<os::Account>>(
      loop_, [user = at->guest.local->user] { return os::AccountById(user); }, std::move(done));
  at->again = loop_.At(last, [this, at, unknown] {
    at->account.reset();
    unknown(
        fmt::format("its user database has not answered for {}", FormatDuration(LookUpPatience())));
  });
}

void Entrance::StartConnection(Entry& entry, Strangers::iterator at) {
  at->connection->Start(
      {.opened = [this, at] { Opened(*at); },
       .frame = [this, &entry, at](FrameType, std::string_view m) { Greeted(entry, at, m); },
       .writable = nullptr,
       .silent = nullptr,
       .closed = [this, &entry, at](const Ended&) { Remove(entry, at); }});
}

void Entrance::Opened(Stranger& stranger) {
  if (auto key = stranger.connection->ExportKey(access::kExportLabel)) {
    stranger.guest.connection_key = *key;
  }
}

void Entrance::MakeRoom(Entry& entry) {
  loop_.Cancel(entry.eviction);
  while (entry.strangers.size() >= limits_.strangers) {
    Instant when = entry.strangers.front().came + limits_.patience;
    if (when > loop_.Now()) {
      entry.eviction = loop_.At(when, [this, &entry] { MakeRoom(entry); });
      return;
    }
    ++counts_->evicted;
    Remove(entry, entry.strangers.begin());
  }
}

void Entrance::MakeRoomOf(Entry& entry, uint32_t user) {
  auto is_theirs = [user](const Stranger& each) {
    return each.guest.local && each.guest.local->user == user;
  };
  const auto theirs = static_cast<size_t>(std::ranges::count_if(entry.strangers, is_theirs));
  if (theirs <= std::max(limits_.strangers / kUsersPart, kUsersLeast)) return;
  ++counts_->evicted;
  Remove(entry, std::ranges::find_if(entry.strangers, is_theirs));
}

void Entrance::Remove(Entry& entry, Strangers::iterator at) {
  if (at->silent_fd >= 0) loop_.Unwatch(at->silent_fd);
  loop_.Cancel(at->deadline);
  loop_.Cancel(at->again);
  entry.strangers.erase(at);
}

// ------------------------------------------------------------------------------------- greetings

void Entrance::Greeted(Entry& entry, Strangers::iterator at, std::string_view message) {
  loop_.Cancel(at->deadline);
  auto greeting = wire::DecodeGreeting(message);
  if (!greeting) return at->connection->Breach(greeting.error().message);
  at->guest.greeting = std::move(*greeting);
  auto admission = Judge(at->guest);
  if (!admission) {
    ++counts_->refused;
    return at->connection->Refuse(admission.error());
  }
  ++counts_->accepted;
  const wire::Greeting& from = at->guest.greeting;
  std::string welcome;
  wire::Append(welcome,
               wire::Welcome{.product = product_,
                             .protocol = *wire::CommonProtocol(from.protocol, from.oldest_protocol),
                             .epoch = admission->epoch,
                             .node = admission->node,
                             .silence_ms = static_cast<uint32_t>(limits_.silence.millis()),
                             .listens_at = ListensAt(),
                             .lost_after_ms = static_cast<uint64_t>(limits_.lost_after.millis())});
  (void)at->connection->Send(FrameType::kWelcome, welcome);
  at->connection->Accept(TypesToHub(from.role), limits_.silence);
  Visitor visitor{std::move(at->connection), std::move(at->guest), *admission};
  Remove(entry, at);
  auto arrived = events_.arrived;  // it may destroy the entrance
  arrived(std::move(visitor));
}

std::expected<Admission, wire::Refusal> Entrance::Judge(const Guest& guest) {
  const wire::Greeting& from = guest.greeting;
  auto refuse = [](RefusalCode code, std::string reason) {
    return std::unexpected(wire::Refusal{code, std::move(reason)});
  };
  if (!wire::CommonProtocol(from.protocol, from.oldest_protocol)) {
    auto refusal =
        refuse(RefusalCode::kVersion,
               fmt::format("it is spate {} and speaks protocols {} to {}, you are spate {} "
                           "and speak {} to {}; use the same release on both sides{}",
                           product_, wire::kOldestProtocol, wire::kProtocol, from.product,
                           from.oldest_protocol, from.protocol,
                           from.protocol < wire::kOldestProtocol
                               ? ": upgrade yours, and restart what still runs of it"
                               : ""));
    if (events_.of_other_protocol) events_.of_other_protocol(guest, refusal.error());
    return refusal;
  }
  if (!guest.unknown.empty()) {
    return refuse(
        RefusalCode::kBusy,
        fmt::format("the hub cannot look up your user name: {}; try again later", guest.unknown));
  }
  if (guest.connection_key && from.serial == 0) {
    return refuse(RefusalCode::kCredential, "a credential is needed: use an access file");
  }
  if (!guest.connection_key && from.serial != 0) {
    return refuse(RefusalCode::kCredential, "without TLS no credential can be proved");
  }
  return gate_.Admit(guest);
}

}  // namespace spate::link
