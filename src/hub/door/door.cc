#include "hub/door/door.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/access_file.h"
#include "hub/door/ports.h"
#include "os/file.h"

namespace spate::hub {
namespace {

// A part of all connections is kept for administrators and nodes that serve all, and nobody else
// has more than a quarter.
constexpr size_t kKeptPart = 8;
constexpr size_t kUsersPart = 4;
constexpr Duration kTroubleEvery = Duration::Seconds(60);

Guest GuestOf(const link::Guest& guest) {
  return {.greeting = guest.greeting,
          .peer = guest.peer,
          .local_user = guest.local ? std::optional(guest.local->user) : std::nullopt,
          .user = guest.user,
          .proves = [&guest](const Bytes32& secret) { return guest.Proves(secret); }};
}

bool ServesAll(const Caller& caller, wire::Role role) {
  return role == wire::Role::kNode && caller.user == access::kEveryUser;
}

}  // namespace

Result<std::unique_ptr<Door>> Door::Open(os::RealLoop& loop, Service& service,
                                         const transport::Identity* identity, Options options) {
  std::unique_ptr<Door> door(new Door(loop, service, std::move(options)));
  TRY(door->Listen(identity));
  door->FindReach();
  return door;
}

Status Door::Listen(const transport::Identity* identity) {
  std::vector<link::EntranceAddress> addresses;
  if (options_.socket) {
    os::Address socket;
    local_ = TRY(link::LocalSocket::Make(os::JoinPath(options_.dir, "socket"),
                                         (options_.permissions & 0077) != 0));
    socket.path = local_->path();
    addresses.push_back({.address = socket, .permissions = options_.permissions});
  }
  for (const os::Address& address : options_.listen) {
    addresses.push_back(
        {.address = address, .permissions = 0666, .spare_port = options_.spare_port});
  }
  link::Entrance::Events events;
  events.arrived = [this](link::Visitor visitor) { Arrived(std::move(visitor)); };
  // Such as a want of descriptors, at each try.
  events.trouble = [this](const Error& error) {
    if (trouble_told_ != Instant() && loop_.Now() - trouble_told_ < kTroubleEvery) return;
    trouble_told_ = loop_.Now();
    options_.log(error.message);
  };
  events.of_other_protocol = [this](const link::Guest& guest, const wire::Refusal& why) {
    OfOtherProtocol(guest, why);
  };
  link::EntranceLimits limits;
  limits.silence = options_.suspect_after;
  limits.lost_after = options_.lost_after;
  limits.strangers = options_.strangers;
  auto entrance =
      TRY(identity == nullptr
              ? link::Entrance::OpenLocal(loop_, std::move(addresses), options_.product, *this,
                                          std::move(events), limits)
              : link::Entrance::Open(loop_, std::move(addresses), *identity, options_.product,
                                     *this, std::move(events), limits));
  entrance_ = std::move(entrance);
  return {};
}

void Door::FindReach() {
  for (const os::SocketAddress& at : entrance_->addresses()) {
    if (at.is_unix()) continue;
    auto address = os::ParseAddress(at.Text());
    if (!address) continue;
    // A hub that listens everywhere is reached by the machine's name.
    if (address->host == "0.0.0.0" || address->host == "::" || address->host == "*") {
      address->host = options_.host;
    }
    bool known = std::ranges::find(reached_at_, *address) != reached_at_.end();
    if (!known) reached_at_.push_back(std::move(*address));
  }
}

void Door::TellAbout(HubFacts& facts) const {
  facts.host = options_.host;
  if (!entrance_) return;
  const link::Counts& counts = entrance_->counts();
  facts.strangers = entrance_->strangers();
  facts.accepted = counts.accepted;
  facts.refused = counts.refused;
  facts.breaches = counts.breaches;
  for (const os::SocketAddress& address : entrance_->addresses()) {
    facts.addresses.push_back(address.Text());
  }
}

// ---- The gate ----------------------------------------------------------------------------------

std::expected<link::Admission, wire::Refusal> Door::Admit(const link::Guest& guest) {
  auto admission = Judge(guest);
  if (!admission) Refused(guest, admission.error());
  return admission;
}

void Door::Refused(const link::Guest& guest, const wire::Refusal& why) {
  refusals_.Add(loop_.Now(), guest.peer, guest.local ? guest.user : "", why.reason, options_.log);
}

// A node that proves itself is alive, whatever it speaks.
void Door::OfOtherProtocol(const link::Guest& guest, const wire::Refusal& why) {
  if (options_.peers && !guest.local && !options_.peers->HasText(guest.peer)) return;
  auto caller = service_.Who(GuestOf(guest));
  if (!caller) return;
  Refused(guest, why);
  if (guest.greeting.role == wire::Role::kNode) service_.NodeKnocked(guest.greeting, *caller);
}

std::expected<link::Admission, wire::Refusal> Door::Judge(const link::Guest& guest) {
  if (options_.peers && !guest.local && !options_.peers->HasText(guest.peer)) {
    return std::unexpected(
        wire::Refusal{wire::RefusalCode::kOther, "it accepts no peers from this network"});
  }
  Guest known = GuestOf(guest);
  if (options_.judge) known.greeting = TRY(options_.judge(guest));
  auto caller = TRY(service_.Who(known));
  const wire::Role role = guest.greeting.role;
  TRY(CheckPlaces(caller, role));
  link::Admission admission{service_.self().epoch, NodeId()};
  if (role != wire::Role::kNode) return admission;
  auto node = TRY(service_.AdmitNode(known.greeting, caller));
  admission.node = node;
  return admission;
}

std::expected<void, wire::Refusal> Door::CheckPlaces(const Caller& caller, wire::Role role) const {
  const size_t all = options_.connections;
  const size_t taken = service_.clients() + service_.nodes().connected();
  const bool trusted = caller.is_admin || caller.is_owner || ServesAll(caller, role);
  auto refuse = [](std::string why) {
    return std::unexpected(wire::Refusal{wire::RefusalCode::kBusy, std::move(why)});
  };
  if (taken >= (trusted ? all : all - all / kKeptPart)) {
    return refuse(
        fmt::format("it has {} connections, the limit of its open files; the user who runs it can "
                    "raise the limit (ulimit -n)",
                    taken));
  }
  if (trusted) return {};
  auto share = shares_.find(caller.user);
  auto theirs = share == shares_.end() ? nullptr : share->second.lock();
  if (!theirs || theirs->members() < std::max<size_t>(all / kUsersPart, 1)) return {};
  return refuse(
      fmt::format("user {} has {} connections to it, a quarter of all, and no user has "
                  "more",
                  caller.user, theirs->members()));
}

// Each node that serves all users has its own share; so have nodes that their owner looks after.
std::shared_ptr<link::Share> Door::ShareOf(const Caller& caller, wire::Role role) {
  const bool is_owners = role == wire::Role::kNode && options_.joined;
  if (is_owners || ServesAll(caller, role)) return std::make_shared<link::Share>(loop_);
  std::erase_if(shares_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<link::Share>& known = shares_[caller.user];
  auto share = known.lock();
  if (!share) known = share = std::make_shared<link::Share>(loop_);
  return share;
}

// ---- Those who came in -------------------------------------------------------------------------

void Door::Arrived(link::Visitor visitor) {
  auto caller = service_.Who(GuestOf(visitor.guest));
  if (!caller) return;  // revoked in between
  visitor.connection->SetShare(ShareOf(*caller, visitor.guest.greeting.role));
  if (visitor.guest.greeting.role == wire::Role::kNode) {
    return NodeArrived(std::move(visitor), *caller);
  }
  service_.ClientArrived(std::move(*caller),
                         std::make_unique<LinkPort>(std::move(visitor.connection)));
}

void Door::NodeArrived(link::Visitor visitor, const Caller& caller) {
  NodeId id = visitor.admission.node;
  link::ChannelEvents events;
  // The channel may outlive the door, as the service has it.
  events.closed = [service = &service_, id, gone = options_.gone](const link::Ended& ended) {
    service->NodeGone(id, ended.text, ended.quiet);
    if (gone) gone(id, ended);
  };
  events.wants = [service = &service_, id](const AttemptRef& ref) {
    return service->hub().engine().Holds(id, ref);
  };
  events.waits = [service = &service_, id](bool waits) { service->NodeWaits(id, waits); };
  std::string spool = os::JoinPath(options_.dir, fmt::format("spool/node-{}-", id.value));
  auto channel = std::make_unique<link::NodeChannelTcp>(
      std::move(visitor.connection), std::move(spool), std::move(events), options_.output_memory);
  std::unique_ptr<NodePort> port = std::make_unique<LinkNodePort>(std::move(channel));
  if (options_.joined) port = options_.joined(id, visitor.guest.peer, std::move(port));
  service_.NodeArrived(id,
                       {std::move(port), visitor.guest.peer, visitor.guest.greeting.product,
                        visitor.guest.greeting.features},
                       caller);
}

}  // namespace spate::hub
