// Ticket: what a member of a gang must know to start commands on the gang's other nodes. It is a
// file that only the task's user can read; SPATE_REMOTE names it (docs/formats/remote.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes32.h"
#include "base/result.h"
#include "os/address.h"

namespace spate::remote {

inline constexpr const char* kTicketVariable = "SPATE_REMOTE";

struct TicketHost {
  std::string node;             // its name
  std::vector<os::Address> at;  // of its lobby (lobby.h), in the order to try; none: only from here
  friend bool operator==(const TicketHost&, const TicketHost&) = default;
};

struct Ticket {
  Bytes32 secret{};               // of this gang, in this attempt
  std::string self;               // the node whose part has this ticket
  std::vector<TicketHost> hosts;  // of all parts
  friend bool operator==(const Ticket&, const Ticket&) = default;

  const TicketHost* Find(std::string_view node) const;
  // Finds a node as launchers may call it: by the whole name; else the one node of which `host` is
  // the name up to a dot, or which is that of `host`. Numbers of networks are whole names only.
  const TicketHost* FindLike(std::string_view host) const;
};

std::string FormatTicket(const Ticket& ticket);
// `name` is for messages. kCorrupt.
Result<Ticket> ParseTicket(std::string_view text, std::string_view name);
// Loads a ticket from the file, which must be private (os::ReadPrivateFile).
Result<Ticket> LoadTicket(const std::string& path);

// The addresses of a node's lobby as they travel: joined by commas. An empty text: none. kInvalid
// for what no other machine can connect to.
Result<std::vector<os::Address>> ParseLobbies(std::string_view text);

// Keys derived from the secret for the part on one node. Neither reveals the other: `id` is sent in
// clear to find the part, `key` is shared by both ends of a connection.
struct PartKeys {
  Bytes32 id;
  Bytes32 key;
};
PartKeys KeysOfPart(const Bytes32& secret, std::string_view node);
// The name at which its server takes connections (os/handover.h).
std::string InboxName(const Bytes32& id);

}  // namespace spate::remote
