// The first process of a node (PartServer) connects three sides and its command.
//
//   the gang's first process  <->  this process  <->  spate-pmix
//                                      ^
//                     other processes of the node
//
// Messages between the outer two pass through unread; those about the part alone stay here.
#include "remote/pmix_meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "os/child.h"
#include "os/command.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/handover.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/socket.h"
#include "remote/client.h"
#include "remote/entry.h"
#include "remote/gathering.h"
#include "remote/joining.h"
#include "remote/meeting.h"
#include "remote/pmix/messages.h"
#include "remote/pmix/space.h"

namespace spate::remote {
namespace {

// A process that has called MPI_Abort.
constexpr Duration kProcessEnds = Duration::Seconds(2);
// When the gang's first process ends badly, its node reports why; this one's report comes later.
constexpr Duration kFirstReports = Duration::Seconds(3);
constexpr Duration kCheckPatience = Duration::Seconds(10);
constexpr std::string_view kEnded = "ended\n";

Result<uint32_t> NumberIn(const char* variable) {
  auto number = ParseNumber(os::Environment::OfProcess().GetOr(variable, ""));
  if (number) return *number;
  return Fail(ErrorKind::kInvalid, fmt::format("{} is missing", variable));
}

// This process' environment without what another launcher of PMIx has left in it.
os::Environment Surroundings() {
  std::vector<std::string> entries = os::Environment::OfProcess().entries();
  std::erase_if(entries, [](const std::string& entry) {
    return entry.starts_with("PMIX_") && !entry.starts_with("PMIX_MCA_");
  });
  return os::Environment(std::move(entries));
}

// How the command is started, with the body of its `process` message.
os::Spawn CommandWith(const std::vector<std::string>& argv, std::string_view body) {
  os::Environment environment = Surroundings();
  while (!body.empty()) {
    const size_t end = std::min(body.find('\0'), body.size());
    const std::string_view entry = body.substr(0, end);
    body.remove_prefix(std::min(end + 1, body.size()));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment.Set(entry.substr(0, equals), entry.substr(equals + 1));
  }
  // Open MPI 4 takes a process that mpirun has not started for one that is alone, unless it knows
  // the batch system that did. As one of JSM, which it asks for nothing, it uses PMIx, leaves the
  // choice of processors to us, and prints its messages itself.
  environment.Set("JSM_JSRUN_PORT", "0");
  return {.argv = argv, .environment = environment.entries()};
}

// A connection of messages, or of bytes that pass through.
class Channel {
 public:
  using OnBytes = std::function<void(std::string_view)>;
  // `ended` comes once, when the other side has closed; it may not destroy this.
  Channel(os::RealLoop& loop, os::Fd fd, OnBytes bytes, std::function<void()> ended)
      : loop_(loop), fd_(std::move(fd)), bytes_(std::move(bytes)), ended_(std::move(ended)) {
    loop_.WatchRead(fd_.get(), [this] { (void)Read(); });
  }
  ~Channel() { loop_.Unwatch(fd_.get()); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void Send(std::string_view bytes) {
    out_ += bytes;
    if (!is_watched_) Flush();
  }
  // Nothing more will be sent.
  void Finish() {
    finished_ = true;
    if (!is_watched_) Flush();
  }
  // Everything that has arrived by now.
  void ReadAll() {
    while (Read()) {
    }
  }

 private:
  bool Read() {
    if (over_) return false;
    char bytes[65536];
    const os::IoStep step = os::Receive(fd_.get(), bytes, sizeof bytes);
    if (step.kind == os::IoStep::Kind::kWouldBlock) return false;
    if (step.kind == os::IoStep::Kind::kDone) {
      bytes_({bytes, step.bytes});
      return true;
    }
    over_ = true;
    loop_.UnwatchRead(fd_.get());
    ended_();
    return false;
  }
  void Flush() {
    while (sent_ < out_.size()) {
      const os::IoStep step = os::SendSome(fd_.get(), std::string_view(out_).substr(sent_));
      if (step.kind == os::IoStep::Kind::kWouldBlock) {
        if (!std::exchange(is_watched_, true)) loop_.WatchWrite(fd_.get(), [this] { Flush(); });
        return;
      }
      if (step.kind != os::IoStep::Kind::kDone) break;  // reading shows that it is gone
      sent_ += step.bytes;
    }
    out_.clear();
    sent_ = 0;
    if (std::exchange(is_watched_, false)) loop_.UnwatchWrite(fd_.get());
    if (finished_) os::ShutdownWrite(fd_.get());
  }

  os::RealLoop& loop_;
  os::Fd fd_;
  const OnBytes bytes_;
  const std::function<void()> ended_;
  std::string out_;
  size_t sent_ = 0;
  bool is_watched_ = false;  // for writing
  bool finished_ = false;
  bool over_ = false;
};

// The first process of a node: the node's server, and its own command.
class PartServer {
 public:
  PartServer(os::RealLoop& loop, const Self& self, uint32_t part,
             const std::vector<std::string>& argv)
      : loop_(loop), self_(self), part_(part), argv_(argv) {}

  Result<int> Run();

 private:
  struct Neighbour {
    os::Fd fd;
    uint32_t rank = 0;
    std::string in = {};
    bool greeted = false;
  };
  using At = std::list<Neighbour>::iterator;

  Status Connect();
  Status ConnectFirst(os::Fd ours, os::Fd theirs);
  Status StartServer();
  void FromServer(std::string_view bytes);
  void OnMessage(std::string_view bytes);
  Status StartCommand();
  void TakeNeighbours();
  void ReadNeighbour(At at);
  bool Greet(At at, std::string_view line);
  void Give(At at);
  void Ended(uint32_t rank);
  void Aborted(const PmixSpace::Step& step);
  void Leave();
  void Stop(Result<int> status);
  Result<int> End();

  bool IsHere(uint32_t rank) const {
    return rank >= self_.rank && rank - self_.rank < self_.per_node[part_];
  }

  os::RealLoop& loop_;
  const Self& self_;
  const uint32_t part_;
  const std::vector<std::string>& argv_;
  std::optional<Gathering<PmixSpace>> gathering_;  // of the gang's first process
  os::Fd clients_;                                 // of `client_`
  std::optional<Client> client_;                   // of the others
  std::optional<Channel> first_, server_;
  std::string from_server_;
  std::unique_ptr<os::Child> server_process_, command_;
  bool server_runs_ = false, server_ready_ = false;
  std::optional<os::HandoverInbox> inbox_;
  std::list<Neighbour> neighbours_;
  std::map<uint32_t, std::string> variables_;  // `process` messages, by rank
  std::set<uint32_t> ended_;                   // commands of this node that ended well
  bool leaving_ = false;
  std::optional<Result<int>> status_;  // of the command: of wait(2)
  std::optional<int> aborted_;
};

Status PartServer::ConnectFirst(os::Fd ours, os::Fd theirs) {
  if (part_ == 0) {
    const MeetingPoint point = FirstProcess(self_.ticket);
    auto inbox = TRY(os::HandoverInbox::Open(point.inbox));
    gathering_.emplace(loop_, std::move(inbox), point.word, PmixSpace(self_.per_node),
                       [this](const PmixSpace::Step& step) { Aborted(step); });
    gathering_->AddOwn(std::move(theirs));
  } else {
    clients_ = std::move(theirs);
    Client::Options options{
        .node = self_.ticket.hosts.front().node,
        .command = fmt::format("exec \"${}\" {} {}", kServerProgram, kComeArgument, part_),
        .in = clients_.get(),
        .out = clients_.get()};
    options.patience = kMeetingPatience;
    client_.emplace(loop_, self_.ticket, std::move(options), [this](Result<int> ended) {
      if (leaving_) return loop_.Stop();
      Error error{ErrorKind::kUnavailable, "the gang's first process has ended"};
      if (!ended) error = std::move(ended.error());
      loop_.At(loop_.Now() + kFirstReports,
               [this, error = std::move(error)] { Stop(std::unexpected(error)); });
    });
  }
  first_.emplace(
      loop_, std::move(ours),
      [this](std::string_view bytes) {
        if (server_) server_->Send(bytes);
      },
      [this] {
        if (leaving_) return;
        Stop(Fail(ErrorKind::kUnavailable, "the gang's first process has ended the connection"));
      });
  return {};
}

Status PartServer::StartServer() {
  auto pair = TRY(os::MakeSocketPair());
  TRY(os::SetNonBlocking(pair.a.get(), true));
  TRY(os::SetNonBlocking(pair.b.get(), false));
  const os::PeerCredentials own = TRY(os::PeerOf(pair.a.get()));
  os::Spawn spawn;
  spawn.argv = {TRY(FindPmixProgram())};
  spawn.environment = Surroundings().entries();
  spawn.in = spawn.out = pair.b.get();
  // Signals for the group are for the command to decide about.
  spawn.session = true;
  server_process_ = TRY(StartJoined(loop_, std::move(spawn), [this](int) {
    server_runs_ = false;
    if (!leaving_) Stop(Fail(ErrorKind::kUnavailable, fmt::format("{} has ended", kPmixProgram)));
    loop_.Stop();
  }));
  server_runs_ = true;
  server_.emplace(
      loop_, std::move(pair.a), [this](std::string_view bytes) { FromServer(bytes); }, [] {});
  std::string nodes;
  for (size_t i = 0; i < self_.per_node.size(); ++i) {
    nodes += fmt::format("{} {}\n", self_.ticket.hosts[i].node, self_.per_node[i]);
  }
  server_->Send(FormatPmix(
      fmt::format("begin {} {} {} {}", SecretName(self_.ticket), part_, own.user, own.group),
      nodes));
  return {};
}

void PartServer::FromServer(std::string_view bytes) {
  from_server_ += bytes;
  size_t begin = 0;
  for (;;) {
    const std::string_view rest = std::string_view(from_server_).substr(begin);
    auto size = SizeOfPmix(rest);
    if (!size) return Stop(std::unexpected(std::move(size.error())));
    if (*size == 0 || *size > rest.size()) break;
    OnMessage(rest.substr(0, *size));
    begin += *size;
  }
  from_server_.erase(0, begin);
}

void PartServer::OnMessage(std::string_view bytes) {
  if (server_ready_) return first_->Send(bytes);
  const PmixMessage message = ReadPmix(bytes);
  const std::string_view what = message.words.front();
  const auto rank = message.words.size() == 2 ? ParseNumber(message.words[1]) : std::nullopt;
  if (what == "process" && rank && IsHere(*rank)) {
    variables_[*rank] = bytes;
  } else if (what == "ready") {
    server_ready_ = true;
    for (auto at = neighbours_.begin(); at != neighbours_.end(); ++at) Give(at);
    if (Status started = StartCommand(); !started) {
      Stop(std::unexpected(std::move(started.error())));
    }
  } else {
    Stop(Fail(ErrorKind::kUnavailable,
              fmt::format("{}: {}", kPmixProgram, EscapeForScreen(message.body))));
  }
}

Status PartServer::StartCommand() {
  auto variables = variables_.find(self_.rank);
  if (variables == variables_.end()) {
    return Fail(ErrorKind::kUnavailable, fmt::format("{} gives no environment", kPmixProgram));
  }
  os::Spawn spawn = CommandWith(argv_, ReadPmix(variables->second).body);
  command_ = TRY(StartJoined(loop_, std::move(spawn), [this](int status) {
    status_ = status;
    if (status != 0) return loop_.Stop();
    Ended(self_.rank);
  }));
  return {};
}

// ---- Other processes of the node ---------------------------------------------------------------

void PartServer::TakeNeighbours() {
  for (;;) {
    auto fd = inbox_->Receive();
    if (!fd || !*fd) return;
    if (!os::SetNonBlocking((*fd)->get(), true)) continue;
    auto at = neighbours_.emplace(neighbours_.end(), Neighbour{std::move(**fd)});
    loop_.WatchRead(at->fd.get(), [this, at] { ReadNeighbour(at); });
  }
}

void PartServer::ReadNeighbour(At at) {
  char bytes[256];
  const os::IoStep step = os::Receive(at->fd.get(), bytes, sizeof bytes);
  if (step.kind == os::IoStep::Kind::kWouldBlock) return;
  bool stays = step.kind == os::IoStep::Kind::kDone;
  if (stays) at->in.append(bytes, step.bytes);
  for (size_t end; stays && (end = at->in.find('\n')) != std::string::npos;) {
    const std::string line = at->in.substr(0, end + 1);
    at->in.erase(0, end + 1);
    if (!at->greeted) {
      stays = Greet(at, line);
    } else {
      if (line == kEnded) Ended(at->rank);
      stays = false;
    }
  }
  if (stays && at->in.size() < sizeof bytes) return;
  loop_.Unwatch(at->fd.get());
  neighbours_.erase(at);
}

bool PartServer::Greet(At at, std::string_view line) {
  constexpr std::string_view kRank = "rank ";
  line.remove_suffix(1);
  if (!line.starts_with(kRank)) return false;
  const auto rank = ParseNumber(line.substr(kRank.size()));
  if (!rank || !IsHere(*rank) || *rank == self_.rank) return false;
  at->rank = *rank;
  at->greeted = true;
  // A socket that is new takes these few bytes at once, and the environment after them.
  const std::string word = FirstOfNode(self_.ticket).word;
  const os::IoStep sent = os::SendSome(at->fd.get(), word);
  if (sent.kind != os::IoStep::Kind::kDone || sent.bytes != word.size()) return false;
  if (server_ready_) Give(at);
  return true;
}

void PartServer::Give(At at) {
  auto variables = variables_.find(at->rank);
  if (!at->greeted || variables == variables_.end()) return;
  (void)os::SendSome(at->fd.get(), variables->second);
}

// ---- Ends --------------------------------------------------------------------------------------

// Its command has ended with exit code 0.
void PartServer::Ended(uint32_t rank) {
  // The last message about the process may still be in the server's connection.
  if (server_) server_->ReadAll();
  first_->Send(FormatPmix(fmt::format("ended {}", rank)));
  ended_.insert(rank);
  if (ended_.size() == self_.per_node[part_]) Leave();
}

void PartServer::Aborted(const PmixSpace::Step& step) {
  if (aborted_) return;
  fmt::print(stderr, "spate: {}\n", step.why);
  aborted_ = step.abort;
  if (!step.ends_itself) return loop_.Stop();
  // The gang ends by that process, and names it.
  loop_.At(loop_.Now() + kProcessEnds, [this] { loop_.Stop(); });
}

// All commands of this node have ended; those of other nodes may be at their ends still.
void PartServer::Leave() {
  leaving_ = true;
  first_->Finish();
  if (gathering_) gathering_->WhenEmpty([this] { loop_.Stop(); });
}

void PartServer::Stop(Result<int> status) {
  if (!status_ || (*status_ && **status_ == 0)) status_ = std::move(status);
  loop_.Stop();
}

Result<int> PartServer::End() {
  leaving_ = true;
  for (const Neighbour& each : neighbours_) loop_.Unwatch(each.fd.get());
  if (gathering_ && !aborted_ && !gathering_->space().used() && self_.ranks() > 1) {
    fmt::print(
        stderr,
        "spate: no process of this gang has used PMIx; if it is an MPI program, each has run "
        "alone\n");
  }
  // Nothing of ours stays behind. What others say meanwhile is for nobody.
  server_.reset();
  while (server_runs_) loop_.Run();
  if (aborted_ && !(status_ && *status_ && **status_ != 0)) return *aborted_;
  if (!status_) return Fail(ErrorKind::kUnavailable, "the command was not started");
  return *status_ ? Result<int>(EndAs(**status_)) : std::move(*status_);
}

Status PartServer::Connect() {
  inbox_ = TRY(os::HandoverInbox::Open(FirstOfNode(self_.ticket).inbox));
  loop_.WatchRead(inbox_->fd(), [this] { TakeNeighbours(); });
  TRY(StartServer());
  auto pair = TRY(os::MakeSocketPair());
  TRY(os::SetNonBlocking(pair.a.get(), true));
  return ConnectFirst(std::move(pair.a), std::move(pair.b));
}

Result<int> PartServer::Run() {
  if (Status connected = Connect(); connected) {
    loop_.Run();
  } else {
    status_ = std::unexpected(std::move(connected.error()));
  }
  if (inbox_) loop_.Unwatch(inbox_->fd());
  return End();
}

// ---- Another process of the node ---------------------------------------------------------------

Result<std::string> ReadVariables(int fd) {
  std::string bytes;
  const MeetingPatience patience;
  for (;;) {
    auto size = TRY(SizeOfPmix(bytes));
    if (size != 0 && bytes.size() >= size) return bytes;
    if (!os::WaitReadable(fd, patience.left())) {
      return Fail(ErrorKind::kUnavailable, "the server of PMIx on this node does not answer");
    }
    char more[4096];
    auto got = TRY(os::ReadSome(fd, more, sizeof more, "the node's first process"));
    if (got == 0) return Fail(ErrorKind::kUnavailable, "the node's first process has ended");
    bytes.append(more, got);
  }
}

Result<int> MeetNeighbour(os::RealLoop& loop, const Self& self,
                          const std::vector<std::string>& argv) {
  auto connection = TRY(Join(FirstOfNode(self.ticket), self.rank));
  auto variables = TRY(ReadVariables(connection.get()));
  os::Spawn spawn = CommandWith(argv, ReadPmix(variables).body);
  int status = 0;
  auto command = TRY(StartJoined(loop, std::move(spawn), [&](int ended) {
    status = ended;
    loop.Stop();
  }));
  loop.Run();
  // If the connection is gone, nobody needs this.
  if (status == 0) (void)os::SendSome(connection.get(), kEnded);
  return EndAs(status);
}

}  // namespace

Result<std::string> FindPmixProgram() {
  auto own = TRY(os::OwnProgram());
  const size_t slash = own.rfind('/');
  std::string path = own.substr(0, slash + 1) + kPmixProgram;
  if (os::MayAccess(path, "x")) return path;
  return Fail(ErrorKind::kNotFound, fmt::format("{} cannot be run", path));
}

Status CheckPmix() {
  os::Command::Options options;
  options.argv = {TRY(FindPmixProgram()), "--version"};
  options.environment = os::Environment::OfProcess();
  options.patience = kCheckPatience;
  auto loop = TRY(os::RealLoop::Create());
  os::Command::Ended outcome;
  auto command = TRY(os::Command::Start(*loop, std::move(options), [&](os::Command::Ended ended) {
    outcome = std::move(ended);
    loop->Stop();
  }));
  loop->Run();
  if (outcome.exit_code == 0 && !outcome.timed_out) return {};
  return Fail(ErrorKind::kUnavailable,
              fmt::format("{} does not run: {}", kPmixProgram, EscapeForScreen(outcome.err)));
}

Result<int> MeetByPmix(const Ticket& ticket, const std::vector<std::string>& argv) {
  auto self = TRY(FindSelf(ticket));
  const uint32_t part = TRY(NumberIn("SPATE_PART"));
  const uint32_t local = TRY(NumberIn("SPATE_LOCAL_RANK"));
  if (part >= self.per_node.size() || self.per_node.size() != ticket.hosts.size()) {
    return Fail(ErrorKind::kInvalid, "the gang's nodes are not those of its ticket");
  }
  auto loop = TRY(os::RealLoop::Create());
  os::IgnoreSignal(os::kSignalPipe);
  LeaveSignalsToCommand(*loop);
  if (local == 0) return PartServer(*loop, self, part, argv).Run();
  return MeetNeighbour(*loop, self, argv);
}

}  // namespace spate::remote
