#include "remote/joining.h"

#include <fmt/format.h>

#include <cstdlib>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/units.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/handover.h"
#include "os/process.h"
#include "os/signals.h"

namespace spate::remote {
namespace {

constexpr size_t kWordMost = 4096;

// No node has a name with a newline in front.
MeetingPoint PointOf(const Ticket& ticket, const std::string& name, std::string who) {
  const PartKeys keys = KeysOfPart(ticket.secret, name);
  return {InboxName(keys.id), ToHex(keys.key) + "\n", std::move(who)};
}

// Reads SPATE_HOSTS as nodes write it: "NODE slots=N".
Result<std::vector<uint32_t>> ProcessesByNode() {
  const std::string path = os::Environment::OfProcess().GetOr("SPATE_HOSTS", "");
  std::istringstream text(TRY(os::ReadFile(path, 16 << 20)));
  std::vector<uint32_t> counts;
  for (std::string line; std::getline(text, line);) {
    const size_t at = line.rfind(" slots=");
    if (at == std::string::npos) continue;
    counts.push_back(static_cast<uint32_t>(std::strtoul(line.c_str() + at + 7, nullptr, 10)));
  }
  return counts;
}

Result<std::string> ReadLine(int fd, const std::string& who) {
  std::string line;
  const MeetingPatience patience;
  while (!line.ends_with('\n') && line.size() < kWordMost) {
    if (!os::WaitReadable(fd, patience.left()))
      return Fail(ErrorKind::kUnavailable, who + " does not answer");
    char byte = 0;
    auto got = TRY(os::ReadSome(fd, &byte, 1, who));
    if (got == 0) return Fail(ErrorKind::kUnavailable, who + " has ended");
    line += byte;
  }
  return line;
}

}  // namespace

uint32_t Self::ranks() const {
  return std::accumulate(per_node.begin(), per_node.end(), uint32_t{0});
}

Result<Self> FindSelf(const Ticket& ticket) {
  const std::string text = os::Environment::OfProcess().GetOr("SPATE_RANK", "");
  auto rank = TRY(ParseCount(text));
  Self self{.ticket = ticket, .rank = static_cast<uint32_t>(rank)};
  self.per_node = TRY(ProcessesByNode());
  return self;
}

MeetingPoint FirstProcess(const Ticket& ticket) {
  return PointOf(ticket, "\npmi", "the gang's first process");
}
MeetingPoint FirstOfNode(const Ticket& ticket) {
  return PointOf(ticket, "\npmix\n" + ticket.self, "the gang's first process on this node");
}
std::string SecretName(const Ticket& ticket) {
  return ToHex(KeysOfPart(ticket.secret, "\npmix").id);
}

Result<os::Fd> Join(const MeetingPoint& point, uint64_t number) {
  auto pair = TRY(os::MakeSocketPair());
  TRY(os::WriteAll(pair.a.get(), fmt::format("rank {}\n", number), point.who));
  const MeetingPatience patience;
  for (;;) {
    Status given = os::HandOver(point.inbox, pair.b.get());
    if (given) break;
    const bool may_come =
        given.error().kind == ErrorKind::kNotFound || given.error().kind == ErrorKind::kBusy;
    if (!may_come || patience.left().ns <= 0) return Within(point.who, std::move(given.error()));
    os::WaitReadable(-1, Duration::Millis(20));
  }
  pair.b.Reset();
  // It is a process of the gang, and no other program that has taken its name.
  auto word = TRY(ReadLine(pair.a.get(), point.who));
  if (word == point.word) return std::move(pair.a);
  return Fail(ErrorKind::kPermission, "somebody else is in the place of " + point.who);
}

Result<std::unique_ptr<os::Child>> StartJoined(os::RealLoop& loop, os::Spawn spawn,
                                               std::function<void(int wait_status)> ended) {
  return os::Child::Start(loop, {.spawn = std::move(spawn), .pipes = os::Child::Pipes::kNone},
                          {.ended = std::move(ended)});
}

int EndAs(int wait_status) {
  if (int signo = os::SignalOf(wait_status); signo != 0) os::DieOfSignal(signo);
  return os::ExitStatusOf(wait_status);
}

}  // namespace spate::remote
