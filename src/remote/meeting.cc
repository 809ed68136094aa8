#include "remote/meeting.h"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "base/units.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/handover.h"
#include "os/joined_process.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/socket.h"
#include "os/spawn_child.h"
#include "remote/client.h"
#include "remote/pmi.h"

namespace spate::remote {
namespace {

// Parts of a gang do not start at the same moment.
constexpr Duration kPatience = Duration::Seconds(60);
constexpr size_t kLineMost = 4096;

// No node has such a name.
PartKeys KeysOfMeeting(const Ticket& ticket) { return KeysOfPart(ticket.secret, "\npmi"); }
std::string WordOf(const Ticket& ticket) { return ToHex(KeysOfMeeting(ticket).key) + "\n"; }

// As nodes write SPATE_HOSTS: "NODE slots=N".
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

Status Prepare(int fd, uint32_t rank, uint32_t ranks) {
  TRY(os::KeepOverExec(fd));
  TRY(os::SetNonBlocking(fd, false));
  os::SetOfProcess("PMI_FD", fmt::format("{}", fd));
  os::SetOfProcess("PMI_RANK", fmt::format("{}", rank));
  os::SetOfProcess("PMI_SIZE", fmt::format("{}", ranks));
  return {};
}

// Time that is left of kPatience.
class Patience {
 public:
  Duration left() const { return Duration{until_ - os::MonotonicNanos()}; }

 private:
  const int64_t until_ = os::MonotonicNanos() + kPatience.ns;
};

Result<std::string> ReadLine(int fd) {
  std::string line;
  const Patience patience;
  while (!line.ends_with('\n') && line.size() < kLineMost) {
    if (!os::WaitReadable(fd, patience.left()))
      return Fail(ErrorKind::kUnavailable, "the first process does not answer");
    char byte = 0;
    auto got = TRY(os::ReadSome(fd, &byte, 1, "the first process"));
    if (got == 0) return Fail(ErrorKind::kUnavailable, "the first process has ended");
    line += byte;
  }
  return line;
}

std::string HelloOf(uint64_t rank) { return fmt::format("rank {}\n", rank); }

// It is the gang's first process, and no other program that has taken its name.
Status CheckWord(const Ticket& ticket, int fd) {
  auto word = TRY(ReadLine(fd));
  if (word == WordOf(ticket)) return {};
  return Fail(ErrorKind::kPermission, "somebody else is in the place of the gang's first process");
}

// A connection to the first process, which is on this node.
Result<os::Fd> Join(const Ticket& ticket, uint64_t rank) {
  auto pair = TRY(os::MakeSocketPair());
  TRY(os::WriteAll(pair.a.get(), HelloOf(rank), "the first process"));
  const std::string inbox = InboxName(KeysOfMeeting(ticket).id);
  const Patience patience;
  for (;;) {
    Status given = os::HandOver(inbox, pair.b.get());
    if (given) break;
    const bool may_come =
        given.error().kind == ErrorKind::kNotFound || given.error().kind == ErrorKind::kBusy;
    if (!may_come || patience.left().ns <= 0) {
      return Within("the gang's first process", std::move(given.error()));
    }
    os::WaitReadable(-1, Duration::Millis(20));
  }
  pair.b.Reset();
  TRY(CheckWord(ticket, pair.a.get()));
  return std::move(pair.a);
}

// ---- The first process -------------------------------------------------------------------------

class Meeting {
 public:
  using Aborted = std::function<void(int code, const std::string& why)>;
  Meeting(os::RealLoop& loop, os::HandoverInbox inbox, std::string word, PmiSpace space,
          Aborted aborted)
      : loop_(loop),
        inbox_(std::move(inbox)),
        word_(std::move(word)),
        space_(std::move(space)),
        aborted_(std::move(aborted)) {
    loop_.WatchRead(inbox_.fd(), [this] { TakeSome(); });
  }
  ~Meeting() {
    loop_.Unwatch(inbox_.fd());
    for (const Member& member : members_) loop_.Unwatch(member.fd.get());
  }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  void Add(os::Fd fd) {
    if (!os::SetNonBlocking(fd.get(), true)) return;
    auto at = members_.emplace(members_.end(), Member{std::move(fd)});
    loop_.WatchRead(at->fd.get(), [this, at] { Read(at); });
  }
  // Called once, when all have left.
  void WhenEmpty(std::function<void()> fn) {
    when_empty_ = std::move(fn);
    TellIfEmpty();
  }

 private:
  struct Member {
    os::Fd fd;
    std::optional<uint32_t> rank = std::nullopt;
    std::string in = {}, out = {};
  };
  using At = std::list<Member>::iterator;

  void TakeSome() {
    for (;;) {
      auto fd = inbox_.Take();
      if (!fd || !*fd) return;
      Add(std::move(**fd));
    }
  }

  void Read(At at) {
    char bytes[4096];
    const os::IoStep step = os::Receive(at->fd.get(), bytes, sizeof bytes);
    if (step.kind == os::IoStep::Kind::kWouldBlock) return;
    if (step.kind != os::IoStep::Kind::kDone) return Drop(at);
    at->in.append(bytes, step.bytes);
    for (size_t end; (end = at->in.find('\n')) != std::string::npos;) {
      const std::string line = at->in.substr(0, end);
      at->in.erase(0, end + 1);
      if (!at->rank) {
        if (!Greet(at, line)) return Drop(at);
      } else {
        Carry(space_.Take(*at->rank, line));
      }
    }
    if (at->in.size() > kLineMost) Drop(at);
  }

  bool Greet(At at, std::string_view line) {
    constexpr std::string_view kRank = "rank ";
    if (!line.starts_with(kRank)) return false;
    auto rank = ParseCount(line.substr(kRank.size()));
    if (!rank || *rank >= space_.ranks()) return false;
    const auto number = static_cast<uint32_t>(*rank);
    if (by_rank_.contains(number)) return false;
    at->rank = number;
    by_rank_[number] = at;
    Write(at, word_);
    return true;
  }

  void Carry(PmiSpace::Step step) {
    for (PmiSpace::Line& reply : step.replies) {
      if (auto to = by_rank_.find(reply.rank); to != by_rank_.end()) Write(to->second, reply.text);
    }
    if (step.abort) aborted_(*step.abort, step.why);
  }

  void Write(At at, std::string_view bytes) {
    at->out += bytes;
    Flush(at);
  }
  // One that is gone is found by reading.
  void Flush(At at) {
    const os::IoStep step = os::SendSome(at->fd.get(), at->out);
    if (step.kind == os::IoStep::Kind::kDone) at->out.erase(0, step.bytes);
    if (at->out.empty() || step.kind == os::IoStep::Kind::kError) {
      return loop_.UnwatchWrite(at->fd.get());
    }
    loop_.WatchWrite(at->fd.get(), [this, at] { Flush(at); });
  }

  void Drop(At at) {
    loop_.Unwatch(at->fd.get());
    const auto rank = at->rank;
    members_.erase(at);
    if (rank) {
      by_rank_.erase(*rank);
      Carry(space_.Left(*rank));
    }
    TellIfEmpty();
  }
  void TellIfEmpty() {
    if (when_empty_ && members_.empty()) loop_.Post(std::exchange(when_empty_, nullptr));
  }

  os::RealLoop& loop_;
  os::HandoverInbox inbox_;
  const std::string word_;
  PmiSpace space_;
  const Aborted aborted_;
  std::list<Member> members_;
  std::map<uint32_t, At> by_rank_;
  std::function<void()> when_empty_;
};

// Exit code or signal of the command, as this process' own.
int EndAs(int status) {
  if (int signo = os::SignalOf(status); signo != 0) os::DieOfSignal(signo);
  return os::ExitStatusOf(status);
}

// One process of the gang.
struct Self {
  Ticket ticket;
  uint32_t rank = 0;
  std::vector<uint32_t> per_node;
  uint32_t ranks() const { return std::accumulate(per_node.begin(), per_node.end(), uint32_t{0}); }
};

Result<int> MeetFirst(os::RealLoop& loop, const Self& self, const std::vector<std::string>& argv) {
  auto inbox = TRY(os::HandoverInbox::Open(InboxName(KeysOfMeeting(self.ticket).id)));
  std::optional<int> aborted;
  Meeting meeting(loop, std::move(inbox), WordOf(self.ticket), PmiSpace(self.per_node),
                  [&](int code, const std::string& why) {
                    fmt::print(stderr, "spate: {}\n", why);
                    aborted = code;
                    loop.Stop();
                  });
  auto pair = TRY(os::MakeSocketPair());
  TRY(os::WriteAll(pair.a.get(), HelloOf(0), "the first process"));
  meeting.Add(std::move(pair.b));
  Result<int> status = 0;
  std::unique_ptr<os::JoinedProcess> command;
  auto start = [&]() -> Status {
    TRY(CheckWord(self.ticket, pair.a.get()));
    TRY(Prepare(pair.a.get(), self.rank, self.ranks()));
    command = TRY(os::JoinedProcess::Start(loop, argv, [&](int ended) {
      status = ended;
      if (ended != 0) return loop.Stop();
      // Others may be at their ends still.
      meeting.WhenEmpty([&] { loop.Stop(); });
    }));
    pair.a.Reset();
    return {};
  };
  // The word for itself, which is nothing to the command.
  loop.WatchRead(pair.a.get(), [&] {
    loop.Unwatch(pair.a.get());
    if (Status started = start(); !started) {
      status = std::unexpected(std::move(started.error()));
      loop.Stop();
    }
  });
  loop.Run();
  if (aborted) return *aborted;
  return status ? Result<int>(EndAs(*status)) : status;
}

// On the first process' node.
Result<int> MeetBeside(os::RealLoop& loop, const Self& self, const std::vector<std::string>& argv) {
  auto connection = TRY(Join(self.ticket, self.rank));
  TRY(Prepare(connection.get(), self.rank, self.ranks()));
  int status = 0;
  auto command = TRY(os::JoinedProcess::Start(loop, argv, [&](int ended) {
    status = ended;
    loop.Stop();
  }));
  connection.Reset();
  loop.Run();
  return EndAs(status);
}

// The other side of this socket is closed.
bool HasLeft(int fd) {
  char byte = 0;
  if (!os::WaitReadable(fd, Duration())) return false;
  auto got = os::ReadSome(fd, &byte, 1, "the process");
  return got && *got == 0;
}

Result<int> MeetFromElsewhere(os::RealLoop& loop, const Self& self,
                              const std::vector<std::string>& argv) {
  auto pair = TRY(os::MakeSocketPair());
  Result<int> status = 0;
  std::unique_ptr<os::JoinedProcess> command;
  Client::Options options{
      .node = self.ticket.hosts.front().node,
      .command = fmt::format("exec \"${}\" {} {}", kServerProgram, kComeArgument, self.rank),
      .in = pair.b.get(),
      .out = pair.b.get()};
  options.patience = kPatience;
  Client client(loop, self.ticket, std::move(options), [&](Result<int> ended) {
    // The command goes on, and needs the others no more. When all have left, the first process
    // ends, and its node's part with it, which may not come to say so.
    if ((ended && *ended == 0) || HasLeft(pair.b.get())) return;
    status = ended ? Fail(ErrorKind::kUnavailable, "the gang's first process has ended")
                   : std::unexpected(std::move(ended.error()));
    loop.Stop();
  });
  TRY(Prepare(pair.a.get(), self.rank, self.ranks()));
  command = TRY(os::JoinedProcess::Start(loop, argv, [&](int ended) {
    status = ended;
    loop.Stop();
  }));
  pair.a.Reset();
  loop.Run();
  return status ? Result<int>(EndAs(*status)) : status;
}

}  // namespace

void LeaveSignalsToCommand(os::RealLoop& loop) {
  for (int signo : {os::kSignalTerm, os::kSignalInt, os::kSignalHup, os::kSignalQuit, kSignalUser1,
                    kSignalUser2}) {
    loop.OnSignal(signo, [] {});
  }
}

Result<int> Meet(const Ticket& ticket, const std::vector<std::string>& argv) {
  const std::string text = os::Environment::OfProcess().GetOr("SPATE_RANK", "");
  auto rank = TRY(ParseCount(text));
  Self self{.ticket = ticket, .rank = static_cast<uint32_t>(rank)};
  self.per_node = TRY(ProcessesByNode());
  auto loop = TRY(os::RealLoop::Create());
  os::IgnoreSignal(os::kSignalPipe);
  LeaveSignalsToCommand(*loop);
  if (self.rank == 0) return MeetFirst(*loop, self, argv);
  const bool beside = ticket.self == ticket.hosts.front().node;
  return beside ? MeetBeside(*loop, self, argv) : MeetFromElsewhere(*loop, self, argv);
}

Result<int> Come(const Ticket& ticket, std::string_view rank) {
  auto number = TRY(ParseCount(rank));
  auto connection = TRY(Join(ticket, number));
  auto loop = TRY(os::RealLoop::Create());
  os::IgnoreSignal(os::kSignalPipe);
  // Questions and answers are short, and one waits for the other.
  auto carry = [&](int from, int to) {
    loop->WatchRead(from, [&loop, from, to] {
      char bytes[4096];
      auto got = os::ReadSome(from, bytes, sizeof bytes, "a process of the gang");
      const bool on = got && *got > 0 && os::WriteAll(to, {bytes, *got}, "a process of the gang");
      if (!on) loop->Stop();
    });
  };
  carry(0, connection.get());
  carry(connection.get(), 1);
  loop->Run();
  loop->Unwatch(0);
  loop->Unwatch(connection.get());
  return 0;
}

}  // namespace spate::remote
