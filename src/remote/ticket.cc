#include "remote/ticket.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "access/proof.h"
#include "base/units.h"
#include "os/file.h"

namespace spate::remote {
namespace {

constexpr std::string_view kFirstLine = "spate-remote 1";
constexpr size_t kTicketMost = 16 << 20;

std::string_view NextUntil(std::string_view& text, char end) {
  std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

// An address by number, or a part of one.
bool IsNumber(std::string_view name) {
  return name.find(':') != std::string_view::npos ||
         name.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool IsCut(std::string_view part, std::string_view whole) {
  return whole.size() > part.size() && whole.starts_with(part) && whole[part.size()] == '.';
}

// True if a lobby may be there: another party names the address.
bool MayBeLobby(const os::Address& address) {
  return !address.is_unix() && address.port != 0 && address.host != "*" && address.host != "::" &&
         address.host != "0.0.0.0";
}

// One line; false: it is none of a ticket's.
bool DecodeLine(std::string_view line, std::optional<Bytes32>& secret, Ticket& ticket) {
  const std::string_view word = NextUntil(line, ' ');
  if (word == "secret") {
    secret = Bytes32FromHex(line);
    return secret.has_value();
  }
  if (word == "self") {
    ticket.self = line;
    return !line.empty();
  }
  if (word != "host") return true;  // of a later version
  TicketHost host{.node = std::string(NextUntil(line, ' ')), .at = {}};
  auto lobbies = ParseLobbies(line);
  if (host.node.empty() || !lobbies) return false;
  host.at = std::move(*lobbies);
  ticket.hosts.push_back(std::move(host));
  return true;
}

}  // namespace

const TicketHost* Ticket::Find(std::string_view node) const {
  auto at = std::ranges::find(hosts, node, &TicketHost::node);
  return at != hosts.end() ? &*at : nullptr;
}

const TicketHost* Ticket::FindLike(std::string_view host) const {
  if (const TicketHost* found = Find(host)) return found;
  if (host.empty() || IsNumber(host)) return nullptr;
  const TicketHost* like = nullptr;
  for (const TicketHost& each : hosts) {
    if (IsNumber(each.node) || (!IsCut(host, each.node) && !IsCut(each.node, host))) continue;
    if (like != nullptr) return nullptr;
    like = &each;
  }
  return like;
}

std::string FormatTicket(const Ticket& ticket) {
  std::string text =
      fmt::format("{}\nsecret {}\nself {}\n", kFirstLine, ToHex(ticket.secret), ticket.self);
  for (const TicketHost& host : ticket.hosts) {
    text += "host " + host.node;
    for (size_t i = 0; i < host.at.size(); ++i) {
      text += (i == 0 ? " " : ",") + os::FormatAddress(host.at[i]);
    }
    text += '\n';
  }
  return text;
}

Result<Ticket> ParseTicket(std::string_view text, std::string_view name) {
  auto wrong = [&](size_t line) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("{}:{}: invalid line in the ticket file of spate remote; {} must point "
                            "to the unmodified file from the node",
                            name, line, kTicketVariable));
  };
  if (NextUntil(text, '\n') != kFirstLine) return wrong(1);
  Ticket ticket;
  std::optional<Bytes32> secret;
  for (size_t line = 2; !text.empty(); ++line) {
    if (!DecodeLine(NextUntil(text, '\n'), secret, ticket)) return wrong(line);
  }
  if (!secret || ticket.Find(ticket.self) == nullptr) return wrong(2);
  ticket.secret = *secret;
  return ticket;
}

Result<Ticket> LoadTicket(const std::string& path) {
  auto text = TRY(os::ReadPrivateFile(path, kTicketMost));
  return ParseTicket(text, EscapeForScreen(path));
}

Result<std::vector<os::Address>> ParseLobbies(std::string_view text) {
  std::vector<os::Address> lobbies;
  while (!text.empty()) {
    auto address = TRY(os::ParseAddress(NextUntil(text, ',')));
    if (!MayBeLobby(address)) {
      return Fail(ErrorKind::kInvalid, fmt::format("no lobby can be at '{}'",
                                                   EscapeForScreen(os::FormatAddress(address))));
    }
    lobbies.push_back(std::move(address));
  }
  return lobbies;
}

PartKeys KeysOfPart(const Bytes32& secret, std::string_view node) {
  std::string_view master(reinterpret_cast<const char*>(secret.data()), secret.size());
  return {access::DeriveSecret(master, fmt::format("spate remote id {}", node), 1),
          access::DeriveSecret(master, fmt::format("spate remote key {}", node), 1)};
}

std::string InboxName(const Bytes32& id) { return "spate-remote-" + ToHex(id); }

}  // namespace spate::remote
