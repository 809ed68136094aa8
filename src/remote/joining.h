// How the processes of a gang reach its first one: shared by the ways in which they meet
// (meeting.h, pmix_meeting.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/fd.h"
#include "remote/ticket.h"

namespace spate::remote {

// Parts of a gang do not start at the same moment.
inline constexpr Duration kMeetingPatience = Duration::Seconds(60);

// Time that is left of kMeetingPatience.
class MeetingPatience {
 public:
  Duration left() const { return Duration{until_ - os::MonotonicNanos()}; }

 private:
  const int64_t until_ = os::MonotonicNanos() + kMeetingPatience.ns;
};

// One process of the gang.
struct Self {
  Ticket ticket;
  uint32_t rank = 0;
  std::vector<uint32_t> per_node;
  uint32_t ranks() const;
};
// By SPATE_RANK and SPATE_HOSTS.
Result<Self> FindSelf(const Ticket& ticket);

// A place where members of the gang come together, in the process that has its inbox.
struct MeetingPoint {
  std::string inbox;  // of HandoverInbox
  std::string word;   // what nobody else knows, with its newline
  std::string who;    // for messages
};
MeetingPoint FirstProcess(const Ticket& ticket);
// The place where processes of the ticket's own node find the first one of that node.
MeetingPoint FirstOfNode(const Ticket& ticket);
// A name that only the gang knows: 64 hexadecimal digits.
std::string SecretName(const Ticket& ticket);

// A connection to whoever has the inbox, on this node, as this number: it has proved who it is.
Result<os::Fd> Join(const MeetingPoint& point, uint64_t number);

// Starts a command as if it were a part of this process (os::Child::Pipes::kNone).
Result<std::unique_ptr<os::Child>> StartJoined(os::RealLoop& loop, os::Spawn spawn,
                                               std::function<void(int wait_status)> ended);

// Exit code or signal of the command, as this process' own.
int EndAs(int wait_status);

}  // namespace spate::remote
