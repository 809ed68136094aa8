#include "link/connector.h"

#include <fmt/format.h>

#include <utility>

#include "access/proof.h"
#include "base/check.h"
#include "link/local_socket.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/socket.h"
#include "wire/codec.h"

namespace spate::link {

using wire::FrameType;
using wire::RefusalCode;

namespace {

// Help beside that which the hub states with its reason.
std::string_view AlsoHelps(RefusalCode code) {
  switch (code) {
    case RefusalCode::kCredential:
      return "; ask the hub's administrator for a new access file";
    case RefusalCode::kRole:
      return "; ask the hub's administrator for an access file of the right role";
    case RefusalCode::kName:
      return "; give this node another name";
    case RefusalCode::kBusy:
      return "; try again later";
    case RefusalCode::kBreach:
      return "; use the same release of Spate on both sides";
    case RefusalCode::kVersion:
      return "; end the older one (kill its process) and start it again from the newer release";
    case RefusalCode::kRemoved:
    case RefusalCode::kOther:
      return "";
  }
  return "";
}

bool IsLasting(RefusalCode code) {
  return code == RefusalCode::kVersion || code == RefusalCode::kCredential ||
         code == RefusalCode::kRole || code == RefusalCode::kRemoved;
}

std::string Text(const Bytes32& bytes) { return {bytes.begin(), bytes.end()}; }

bool IsStopped(os::Pid pid) {
  auto process = os::InfoOf(pid);
  return process && process->state == 'T';
}

}  // namespace

Target Target::Of(access::Access access) {
  std::vector<os::Address> hubs = access.hubs;
  return {.hubs = std::move(hubs), .access = std::move(access)};
}

Connector::Connector(os::RealLoop& loop, Target target, Self self, Done done,
                     const CallerLimits& limits)
    : loop_(loop),
      target_(std::move(target)),
      self_(std::move(self)),
      done_(std::move(done)),
      limits_(limits) {
  timer_ = loop_.At(loop_.Now(), [this] { Begin(); });
}

Connector::~Connector() { loop_.Cancel(timer_); }

void Connector::Begin() {
  if (target_.access) {
    const access::Access& access = *target_.access;
    Status valid = access::CheckExpiry(access, loop_.Wall());
    bool is_node = self_.role == wire::Role::kNode;
    if (valid && is_node != (access.role == access::Role::kNode)) {
      valid = Fail(ErrorKind::kInvalid,
                   fmt::format("the access file is for a {}, and this is a {}; ask who runs the "
                               "hub for one of the right role",
                               WordOf(access.role), is_node ? "node" : "client"));
    }
    if (!valid) return Finish(std::unexpected(Failure{valid.error(), true}));
    self_.role = access.role;
  }
  Next();
}

void Connector::Next() {
  if (next_ == target_.hubs.size()) {
    bool wrong_hub = wrong_pins_ > 0 && wrong_pins_ == target_.hubs.size();
    Error error{wrong_hub ? ErrorKind::kPermission : ErrorKind::kUnavailable,
                failures_.empty() ? "no address of a hub to try"
                                  : fmt::format("cannot reach {}: {}", target_.name, failures_)};
    return Finish(std::unexpected(Failure{std::move(error), wrong_hub, std::nullopt, hung_}));
  }
  dialer_ = std::make_unique<transport::Dialer>(
      loop_, std::vector{WhereItListens(target_.hubs[next_++])},
      [this](Result<transport::Dialer::Reached> reached) {
        dialer_.reset();
        reached ? Reached(std::move(*reached)) : Failed(reached.error().message);
      },
      limits_.connect);
}

void Connector::Reached(transport::Dialer::Reached reached) {
  hub_ = reached.address;
  here_ = os::LocalAddress(reached.fd.get()).value_or(os::SocketAddress());
  std::shared_ptr<transport::Tls> tls;
  if (hub_.is_unix()) {
    auto address = os::ParseAddress(hub_.Text());
    auto trusted = address ? os::CheckListener(reached.fd.get(), address->path)
                           : std::unexpected(address.error());
    if (!trusted) return Failed(fmt::format("{}: {}", hub_.Text(), trusted.error().message));
    // The system accepts connections also for one that a signal has stopped.
    auto peer = os::PeerOf(reached.fd.get());
    listener_ = peer ? peer->pid : 0;
    if (IsStopped(listener_)) return Stopped();
  }
  if (!hub_.is_unix() && target_.access) {
    auto made = transport::Tls::ForClient(target_.access->pin);
    if (!made) return Failed(made.error().message);
    tls = std::move(*made);
  } else if (!hub_.IsThisMachine()) {
    return Failed(
        fmt::format("{}: another machine is only spoken to by an access file", hub_.Text()));
  }
  timer_ = loop_.At(loop_.Now() + limits_.welcome, [this] {
    if (IsStopped(listener_)) return Stopped();
    hung_ = true;
    Failed(fmt::format("{}: no welcome came within {:.0f} s; is it {}, and does it still run?",
                       hub_.Text(), limits_.welcome.seconds(), target_.name));
  });
  connection_ = std::make_unique<Connection>(loop_, std::move(reached.fd), std::move(tls),
                                             FrameTypes{FrameType::kWelcome, FrameType::kRefusal},
                                             limits_.connection);
  connection_->Start({.opened = [this] { Greet(); },
                      .frame = [this](FrameType, std::string_view m) { Welcomed(m); },
                      .writable = nullptr,
                      .silent = nullptr,
                      .closed = [this](const Ended& ended) { Lost(ended); }});
}

void Connector::Greet() {
  wire::Greeting greeting{.product = self_.product, .role = self_.role};
  greeting.node_name = self_.node_name;
  greeting.instance = self_.instance;
  greeting.features = self_.features;
  if (auto key = connection_->ExportKey(access::kExportLabel)) {
    const access::Access& access = *target_.access;
    auto nonce = access::MakeRandom();
    if (!nonce) return Failed(nonce.error().message);
    greeting.serial = access.serial;
    greeting.nonce = Text(*nonce);
    greeting.proof = Text(access::MakeProof(
        access.secret,
        {.connection_key = *key, .nonce = *nonce, .serial = access.serial, .role = access.role}));
  }
  std::string message;
  wire::Append(message, greeting);
  (void)connection_->Send(FrameType::kGreeting, message);
}

void Connector::Welcomed(std::string_view message) {
  auto welcome = wire::DecodeWelcome(message);
  if (!welcome) return connection_->Breach(welcome.error().message);
  connection_->Accept(TypesFromHub(self_.role), Duration::Millis(welcome->silence_ms));
  // A hub whose disk is full reads nothing of what its nodes have to say.
  if (self_.role == wire::Role::kNode) connection_->LetReaderWait();
  Finish(Met{std::move(connection_), std::move(*welcome), hub_, here_});
}

void Connector::Lost(const Ended& ended) {
  if (!ended.refusal) {
    wrong_pins_ += ended.why == Ended::Why::kWrongPin ? 1 : 0;
    return Failed(fmt::format("{}: {}", hub_.Text(), ended.text));
  }
  RefusalCode code = ended.refusal->code;
  Error error{IsLasting(code) ? ErrorKind::kPermission : ErrorKind::kBusy,
              fmt::format("{} at {} refused: {}", target_.name, hub_.Text(), ended.refusal->reason),
              ended.refusal->remedy};
  error.remedy.text += AlsoHelps(code);
  Finish(std::unexpected(Failure{std::move(error), IsLasting(code), ended.refusal}));
}

void Connector::Stopped() {
  hung_ = true;
  Failed(fmt::format("its process {0} is stopped by a signal; to let it continue: kill -CONT {0}",
                     listener_));
}

// At this address. There may be others.
void Connector::Failed(std::string why) {
  loop_.Cancel(timer_);
  connection_.reset();
  if (!failures_.empty()) failures_ += '\n';
  failures_ += why;
  Next();
}

void Connector::Finish(std::expected<Met, Failure> result) {
  loop_.Cancel(timer_);
  Done done = std::move(done_);
  done(std::move(result));
}

}  // namespace spate::link
