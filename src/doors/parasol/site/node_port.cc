#include "doors/parasol/site/node_port.h"

#include <fmt/format.h>

#include <utility>

#include "wire/client_codec.h"
#include "wire/field_bytes.h"

namespace spate::parasol {
namespace {

constexpr size_t kStrangersMost = 64;
constexpr size_t kPeersMost = 64;

std::unexpected<wire::Refusal> Refuse(wire::RefusalCode code, std::string reason) {
  return std::unexpected(wire::Refusal{code, std::move(reason)});
}

}  // namespace

Result<std::unique_ptr<NodePort>> NodePort::Open(os::RealLoop& loop, const transport::Identity& key,
                                                 Options options, Events events) {
  std::vector<link::EntranceAddress> addresses;
  for (const os::Address& address : options.listen) addresses.push_back({.address = address});
  std::unique_ptr<NodePort> port(new NodePort(loop, std::move(options), std::move(events)));
  link::Entrance::Events of_entrance;
  of_entrance.arrived = [port = port.get()](link::Visitor visitor) {
    port->Arrived(std::move(visitor));
  };
  of_entrance.trouble = [port = port.get()](const Error& error) {
    port->events_.log(error.message);
  };
  link::EntranceLimits limits;
  limits.strangers = kStrangersMost;
  auto entrance = TRY(link::Entrance::Open(loop, std::move(addresses), key, SPATE_VERSION, *port,
                                           std::move(of_entrance), limits));
  port->entrance_ = std::move(entrance);
  return port;
}

NodePort::~NodePort() { loop_.Cancel(timer_); }

std::expected<link::Admission, wire::Refusal> NodePort::Admit(const link::Guest& guest) {
  auto refuse = [&](wire::RefusalCode code, std::string reason) {
    events_.log(fmt::format("refused {} at the node's port: {}", guest.peer, reason));
    return Refuse(code, std::move(reason));
  };
  if (options_.peers && !options_.peers->HasText(guest.peer)) {
    return refuse(wire::RefusalCode::kOther, "it takes questions only from its hub's host");
  }
  if (guest.greeting.role != wire::Role::kAdmin || !guest.Proves(options_.access.secret) ||
      guest.greeting.serial != options_.access.serial) {
    return refuse(wire::RefusalCode::kCredential, "this is not the access to its port");
  }
  if (connections_.size() >= kPeersMost) {
    return refuse(wire::RefusalCode::kBusy, "it has as many connections as it takes");
  }
  return link::Admission{Epoch(1), NodeId()};  // both are for nodes of a hub
}

void NodePort::Arrived(link::Visitor visitor) {
  uint64_t id = ++last_;
  auto& connection = connections_[id];
  connection = std::move(visitor.connection);
  connection->Start(
      {.opened = nullptr,
       .frame = [this, id](wire::FrameType, std::string_view bytes) { OnRequest(id, bytes); },
       .writable = nullptr,
       .silent = nullptr,
       .closed = [this, id](const link::Ended&) { Closed(id); }});
}

void NodePort::Send(link::Connection& connection, uint32_t request, const wire::Reply& reply) {
  std::string bytes = wire::IdBytes(request);
  wire::Append(bytes, reply);
  connection.Send(wire::FrameType::kReply, bytes);
}

void NodePort::OnRequest(uint64_t id, std::string_view bytes) {
  link::Connection& connection = *connections_.at(id);
  auto numbered = wire::SplitId(bytes);
  if (!numbered) return connection.Breach("a request without an id");
  const uint32_t number = numbered->id;
  auto request = wire::DecodeRequest(numbered->message);
  if (request && std::holds_alternative<wire::DropRequest>(*request)) return;  // it was answered
  const auto* query = request ? std::get_if<wire::Query>(&*request) : nullptr;
  if (query != nullptr && std::holds_alternative<wire::LookAtNode>(query->question)) {
    Send(connection, number, wire::QueryAnswer{wire::BytesOf(events_.report())});
    return Send(connection, number, wire::QueryDone());
  }
  if (query == nullptr || !std::holds_alternative<wire::StopNode>(query->question)) {
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

void NodePort::Closed(uint64_t id) {
  connections_.erase(id);
  if (stopping_ != id) return;
  stopping_ = 0;
  auto stop = events_.stop;
  stop();
}

}  // namespace spate::parasol
