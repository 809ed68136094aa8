#include "node/port.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "os/file.h"
#include "os/interfaces.h"
#include "transport/tcp/identity.h"
#include "wire/client_codec.h"
#include "wire/field_bytes.h"

namespace spate::node {
namespace {

constexpr size_t kStrangersMost = 64;
constexpr size_t kPeersMost = 64;
// More would not fit into a Hello, and nobody tries so many.
constexpr size_t kAddressesMost = 8;
constexpr const char* kLoopback = "127.0.0.1";

os::Address ReadNote(const std::string& note) {
  constexpr size_t kMost = 512;
  auto text = os::ReadFile(note, kMost);
  if (!text) return {};
  auto address = os::ParseAddress(*text);
  return address && !address->is_unix() ? *address : os::Address();
}

std::string AddressesAt(const std::vector<std::string>& hosts, uint16_t port) {
  std::string text;
  for (const std::string& host : hosts) {
    if (!text.empty()) text += ',';
    text += os::FormatAddress({.host = host, .port = port, .path = {}});
  }
  return text;
}

bool IsEverywhere(const std::string& host) {
  return host.empty() || host == "*" || host == "0.0.0.0" || host == "::";
}

}  // namespace

Port::Port(os::RealLoop& loop, Options options, Events events)
    : loop_(loop),
      options_(std::move(options)),
      events_(std::move(events)),
      note_(os::JoinPath(options_.folder, "gang-port")),
      last_(options_.site ? os::Address{} : ReadNote(note_)) {}

Port::~Port() { loop_.Cancel(timer_); }

Result<std::unique_ptr<Port>> Port::Open(os::RealLoop& loop, std::string product, Options options,
                                         Events events) {
  std::unique_ptr<Port> port(new Port(loop, std::move(options), std::move(events)));
  if (port->options_.site) {
    TRY(port->OpenSite(std::move(product)));
    return port;
  }
  const os::Address& last = port->last_;
  const bool fits = port->options_.port == 0 || port->options_.port == last.port;
  // A failure is reported by ListenFor.
  if (fits && !last.host.empty() && last.port != 0) (void)port->ListenAtNumber(last);
  return port;
}

Status Port::OpenSite(std::string product) {
  const Site& site = *options_.site;
  auto key = TRY(transport::Identity::FromPem(site.key, "the node's key"));
  link::Entrance::Events events;
  events.arrived = [this](link::Visitor visitor) { Arrived(std::move(visitor)); };
  link::EntranceLimits limits;
  limits.strangers = kStrangersMost;
  entrance_ = TRY(
      link::Entrance::Open(loop_, {}, key, std::move(product), *this, std::move(events), limits));
  for (const os::Address& address : site.listen) {
    auto numbers = TRY(os::ResolveBlocking(address));
    for (const os::SocketAddress& number : numbers) TRY(ListenAt(number));
  }
  return {};
}

std::vector<os::SocketAddress> Port::addresses() const {
  std::vector<os::SocketAddress> addresses;
  for (const auto& lobby : lobbies_) addresses.push_back(lobby->address());
  return addresses;
}

// ---- Where it listens --------------------------------------------------------------------------

Status Port::ListenAt(const os::SocketAddress& at) {
  remote::Lobby::Other asks;
  if (entrance_) {
    asks = [this](transport::Arrival arrival) { entrance_->Receive(std::move(arrival)); };
  }
  auto trouble = [log = events_.log](const Error& error) {
    log("the node's port: " + error.message);
  };
  lobbies_.push_back(TRY(remote::Lobby::Open(loop_, at, trouble, {}, std::move(asks))));
  return {};
}

Status Port::ListenAtNumber(const os::Address& at) {
  auto address = TRY(os::SocketAddress::Numeric(at));
  if (!address) return Fail(ErrorKind::kInvalid, "'" + at.host + "' is not a numeric address");
  return ListenAt(*address);
}

Port::Reach Port::ReachFrom(const os::SocketAddress& self, const std::string& hub) {
  if (!self.IsThisMachine()) {
    auto address = os::ParseAddress(self.Text());
    if (!address) return {};
    return {address->host, {address->host}};
  }
  if (hub.empty()) return {kLoopback, {kLoopback}};
  if (!IsEverywhere(hub)) return {hub, {hub}};
  std::vector<std::string> hosts = os::OwnAddresses();
  hosts.resize(std::min(hosts.size(), kAddressesMost - 1));
  hosts.emplace_back(kLoopback);
  return {"*", std::move(hosts)};
}

Status Port::Listen(const std::string& host) {
  if (!lobbies_.empty() && last_.host == host) return {};
  lobbies_.clear();
  const uint16_t port = options_.port;
  Status listens =
      ListenAtNumber({.host = host, .port = port != 0 ? port : last_.port, .path = {}});
  if (!listens && port == 0 && last_.port != 0) {
    listens = ListenAtNumber({.host = host, .port = 0, .path = {}});
  }
  if (!listens) return listens;
  auto found = os::ParseAddress(lobbies_.front()->address().Text());
  os::Address now{.host = host, .port = found ? found->port : uint16_t{0}, .path = {}};
  if (std::exchange(last_, now) == now) return {};
  // Without the note the next process takes another port, and gangs that run do not know it.
  auto kept = os::WriteFileAtomically(note_, os::FormatAddress(now), 0600);
  if (!kept) events_.log(kept.error().message);
  return {};
}

std::string Port::RemoteOfSite(const os::SocketAddress& self, const std::string& hub) const {
  std::vector<std::string> hosts;
  uint16_t port = 0;
  for (const auto& lobby : lobbies_) {
    auto at = os::ParseAddress(lobby->address().Text());
    if (!at) continue;
    port = at->port;
    if (IsEverywhere(at->host)) return AddressesAt(ReachFrom(self, hub).hosts, port);
    if (hosts.size() < kAddressesMost) hosts.push_back(at->host);
  }
  return AddressesAt(hosts, port);
}

std::string Port::ListenFor(const os::SocketAddress& self, const std::string& hub) {
  if (options_.site) return RemoteOfSite(self, hub);
  const Reach reach = ReachFrom(self, hub);
  Status listens = reach.host.empty() ? Fail(ErrorKind::kInvalid, self.Text()) : Listen(reach.host);
  if (listens) return AddressesAt(reach.hosts, last_.port);
  events_.log("spate remote does not work to this node: " + listens.error().message);
  return "";
}

// ---- Questions ---------------------------------------------------------------------------------

std::expected<link::Admission, wire::Refusal> Port::Admit(const link::Guest& guest) {
  auto refuse = [&](wire::RefusalCode code, std::string reason) {
    events_.log(fmt::format("refused {} at the node's port: {}", guest.peer, reason));
    return std::unexpected(wire::Refusal{code, std::move(reason)});
  };
  const Site& site = *options_.site;
  if (site.peers && !site.peers->HasText(guest.peer)) {
    return refuse(wire::RefusalCode::kOther, "it accepts requests only from its hub's host");
  }
  if (guest.greeting.role != wire::Role::kAdmin || !guest.Proves(site.access.secret) ||
      guest.greeting.serial != site.access.serial) {
    return refuse(wire::RefusalCode::kCredential, "the credential is not valid for its port");
  }
  if (connections_.size() >= kPeersMost) {
    return refuse(wire::RefusalCode::kBusy, "its connection limit is reached");
  }
  return link::Admission{Epoch(1), NodeId()};  // both are for nodes of a hub
}

void Port::Arrived(link::Visitor visitor) {
  uint64_t id = ++newest_;
  auto& connection = connections_[id];
  connection = std::move(visitor.connection);
  connection->Start(
      {.opened = nullptr,
       .frame = [this, id](wire::FrameType, std::string_view bytes) { OnRequest(id, bytes); },
       .writable = nullptr,
       .silent = nullptr,
       .closed = [this, id](const link::Ended&) { Closed(id); }});
}

void Port::Send(link::Connection& connection, uint32_t request, const wire::Reply& reply) {
  std::string bytes = wire::IdBytes(request);
  wire::Append(bytes, reply);
  connection.Send(wire::FrameType::kReply, bytes);
}

void Port::OnRequest(uint64_t id, std::string_view bytes) {
  link::Connection& connection = *connections_.at(id);
  auto numbered = wire::SplitId(bytes);
  if (!numbered) return connection.Breach("a request without an id");
  const uint32_t number = numbered->id;
  auto request = wire::DecodeRequest(numbered->message);
  if (request && std::holds_alternative<wire::DropRequest>(*request)) return;  // it was answered
  const auto* query = request ? std::get_if<wire::Query>(&*request) : nullptr;
  if (query != nullptr && query->question.Is<wire::LookAtNode>()) {
    Send(connection, number, wire::QueryAnswer{wire::BytesOf(events_.report())});
    return Send(connection, number, wire::QueryDone());
  }
  if (query == nullptr || !query->question.Is<wire::StopNode>()) {
    return connection.Breach("a node's port takes questions to the node alone");
  }
  // The answer must be out before the process ends, and a peer that does not take it must not
  // keep it.
  constexpr Duration kPatience = Duration::Seconds(2);
  Send(connection, number, wire::QueryDone());
  connection.Close();
  stopping_ = id;
  timer_ = loop_.At(loop_.Now() + kPatience, [this, id] { Closed(id); });
}

void Port::Closed(uint64_t id) {
  connections_.erase(id);
  if (stopping_ != id) return;
  stopping_ = 0;
  auto stop = events_.stop;
  stop();
}

}  // namespace spate::node
