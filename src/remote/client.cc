#include "remote/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "os/handover.h"
#include "os/socket.h"
#include "remote/lobby.h"

namespace spate::remote {
namespace {

// Time to connect to one address: others may be right.
constexpr Duration kConnect = Duration::Seconds(2);
constexpr Duration kFirstPause = Duration::Millis(20);
constexpr Duration kLastPause = Duration::Millis(500);
constexpr size_t kOutputMost = 1 << 20;  // that nobody takes here, before the command must wait
constexpr Duration kWritten = Duration::Millis(2);  // so often it looks whether all is
constexpr int kBrokenPipe = 141;

// Advice for a node that could not be reached.
Remedy WhatToDo(const TicketHost& host, bool is_self) {
  if (is_self) return Remedy("Its part has ended");
  if (host.at.empty()) {
    return Remedy(
        "It takes no commands from other nodes: it was started with --gang-port none, or could not "
        "listen (its log tells). Start it with --gang-port N");
  }
  auto is_loopback = [](const os::Address& each) {
    auto number = os::SocketAddress::Numeric(each);
    return number && *number && (*number)->IsThisMachine();
  };
  if (std::ranges::all_of(host.at, is_loopback)) {
    return Remedy(
        "Its part has ended, or it is on another machine: it is beside its hub, which listens for "
        "its own machine only, and so does the node ({})",
        Advice("hub start", "--listen"));
  }
  return Remedy(
      "Its part has ended, or a firewall is in between: nodes of a gang must reach each other by "
      "TCP, at the address by which each reaches its hub ({} sets the port)",
      Advice("node start", "--gang-port", "N"));
}

}  // namespace

Client::Client(os::RealLoop& loop, const Ticket& ticket, Options options, Done done)
    : loop_(loop),
      options_(std::move(options)),
      host_(*ticket.Find(options_.node)),
      keys_(KeysOfPart(ticket.secret, options_.node)),
      is_self_(options_.node == ticket.self),
      is_here_(is_self_ || host_.at.empty()),
      done_(std::move(done)),
      until_(loop.Now() + options_.patience),
      out_(loop, options_.out, {.name = "standard output", .limit = kOutputMost}),
      err_(loop, options_.err, {.name = "standard error", .limit = kOutputMost}),
      input_over_(options_.in < 0) {
  out_.OnRoom([this] { FoundRoom(out_); });
  err_.OnRoom([this] { FoundRoom(err_); });
  // A pipe to the command itself would end it in the same way.
  out_.OnError([this](Error error, bool reader_gone) {
    Finish(reader_gone ? Result<int>(kBrokenPipe) : std::unexpected(std::move(error)));
  });
  loop_.Post([this, alive = alive_] {
    if (*alive) Try();
  });
}

Client::~Client() {
  *alive_ = false;
  loop_.Cancel(timer_);
  loop_.Cancel(beat_);
  if (reads_) loop_.Unwatch(options_.in);
}

// --------------------------------------------------------------------------------- to the server

void Client::Try() {
  dialer_.reset();
  auto tls = transport::Tls::ForSharedSecret(transport::Tls::End::kCaller, keys_.key);
  if (!tls) return Finish(std::unexpected(std::move(tls.error())));
  stream_.reset();
  tls_ = std::move(*tls);
  if (is_here_) return Hand();
  Dial(host_.at[tries_ % host_.at.size()]);
}

// One address after the other, and all again: at one of another machine, another lobby may listen.
void Client::Dial(const os::Address& address) {
  dialer_ = std::make_unique<transport::Dialer>(
      loop_, std::vector{address},
      [this](Result<transport::Dialer::Reached> reached) {
        if (!reached) return TryLater(std::move(reached.error().message));
        const std::string knock = KnockAt(keys_.id);
        // A fresh connection has room for it.
        auto step = os::SendSome(reached->fd.get(), knock);
        if (step.bytes != knock.size()) return TryLater("the connection was cut");
        Begin(std::move(reached->fd));
      },
      kConnect);
}

void Client::Hand() {
  auto pair = os::MakeSocketPair();
  if (!pair) return Finish(std::unexpected(std::move(pair.error())));
  Status given = os::HandOver(InboxName(keys_.id), pair->b.get());
  if (!given) return TryLater(std::move(given.error().message));
  Begin(std::move(pair->a));
}

void Client::Begin(os::Fd fd) {
  os::LetReaderWait(fd.get());
  if (auto set = os::SetNonBlocking(fd.get(), true); !set) {
    return Finish(std::unexpected(std::move(set.error())));
  }
  stream_ = std::make_unique<transport::Stream>(
      loop_, std::move(fd), *tls_, transport::StreamLimits{.handshake = options_.handshake});
  stream_->Start({.opened = [this] { Opened(); },
                  .bytes = [this](std::string_view bytes) { OnBytes(bytes); },
                  .writable =
                      [this] {
                        writable_ = true;
                        WatchInput();
                        if (ports_) ports_->Pause(false);
                      },
                  .closed = [this](const transport::Closed& closed) { Closed(closed); }});
}

// Number of places where the server may be found.
size_t Client::Places() const { return is_here_ ? 1 : host_.at.size(); }

void Client::TryLater(std::string why) {
  ++tries_;
  if (tries_ % Places() == 0) wrong_ = 0;
  if (loop_.Now() >= until_) {
    return Finish(Fail(ErrorKind::kUnavailable,
                       fmt::format("node {} {} cannot be reached: {}\n",
                                   EscapeForScreen(host_.node), options_.place, why),
                       WhatToDo(host_, is_self_)));
  }
  const size_t round = tries_ / Places();
  const Duration pause{std::min(kFirstPause.ns << std::min<size_t>(round, 8), kLastPause.ns)};
  timer_ = loop_.At(loop_.Now() + pause, [this] { Try(); });
}

void Client::Closed(const transport::Closed& closed) {
  const std::string node = EscapeForScreen(host_.node);
  using Why = transport::Closed::Why;
  if (opened_) {
    return Finish(Fail(ErrorKind::kIo,
                       fmt::format("the command on node {} was lost: {}", node, closed.text)));
  }
  // Nobody is there, or not yet, or somebody who is busy; somebody else may be at one of our
  // addresses, as they are the same on many machines, but not at all of them.
  const bool is_wrong = closed.why == Why::kBroken || closed.why == Why::kWrongPin;
  if (!is_wrong || ++wrong_ < Places()) return TryLater(closed.text);
  Finish(Fail(ErrorKind::kPermission, fmt::format("what listens at node {} is not {}: {}", node,
                                                  options_.place, closed.text)));
}

void Client::Opened() {
  opened_ = true;
  if (!options_.words) {
    Send(FrameType::kStart, options_.command);
  } else {
    if (options_.words->window) {
      auto raw = os::KeyTerminal::Enter(options_.in, os::KeyTerminal::Output::kRaw);
      if (!raw) return Finish(std::unexpected(std::move(raw.error())));
      raw_.emplace(std::move(*raw));
    }
    Send(FrameType::kStartWords, BodyOf(*options_.words));
  }
  heard_ = loop_.Now();
  if (options_.silence.ns > 0) Beat();
  if (input_over_) Send(FrameType::kInputEnd, {});
  WatchInput();
  if (options_.opened) options_.opened();
}

// ---------------------------------------------------------------------------------------- streams

void Client::Send(FrameType type, std::string_view body) {
  if (!stream_) return;
  std::string bytes;
  AppendFrame(bytes, type, body);
  writable_ = stream_->Send(bytes);
  if (!writable_ && ports_) ports_->Pause(true);
}

void Client::Beat() {
  constexpr int kBeats = 6;
  beat_ = loop_.At(loop_.Now() + options_.silence / kBeats, [this] {
    const Duration silent = loop_.Now() - heard_;
    if (silent > options_.silence) {
      return Finish(Fail(ErrorKind::kIo,
                         fmt::format("the command on node {} was lost: nothing was heard of it for "
                                     "{:.0f} s",
                                     EscapeForScreen(host_.node), silent.seconds())));
    }
    Send(FrameType::kAlive, {});
    Beat();
  });
}

void Client::Resize() {
  if (raw_) Send(FrameType::kWindow, BodyOf(os::WindowOf(options_.in)));
}

Status Client::Forward(os::Fd fd, uint16_t port) {
  if (!opened_ || !stream_)
    return Fail(ErrorKind::kUnavailable, "there is no connection to the task");
  if (!ports_) {
    ports_ = std::make_unique<Ports>(
        loop_, /*connects=*/false,
        [this](FrameType type, std::string_view body) { Send(type, body); });
  }
  return ports_->Open(std::move(fd), port);
}

bool Client::Signal(int signo) {
  if (!opened_ || !stream_) return false;
  Send(FrameType::kSignal, std::string(1, static_cast<char>(signo)));
  return true;
}

void Client::WatchInput() {
  const bool reads = opened_ && !input_over_ && writable_ && under_way_ < kInputWindow;
  if (reads == std::exchange(reads_, reads)) return;
  if (reads) {
    loop_.WatchRead(options_.in, [this] { OnInput(); });
  } else {
    loop_.Unwatch(options_.in);
  }
}

void Client::OnInput() {
  std::array<char, kBodyMost> buffer;
  const size_t most = std::min(buffer.size(), kInputWindow - under_way_);
  auto got = os::ReadSome(options_.in, buffer.data(), most, "standard input");
  if (!got && got.error().kind == ErrorKind::kBusy) return;
  if (!got || *got == 0) {
    input_over_ = true;
    Send(FrameType::kInputEnd, {});
  } else {
    std::string_view bytes(buffer.data(), *got);
    std::string typed;
    if (raw_) {
      typed = keys_typed_.Pass(bytes);
      bytes = typed;
    }
    under_way_ += bytes.size();
    if (!bytes.empty()) Send(FrameType::kInput, bytes);
    if (keys_typed_.leaves()) {
      return Finish(Fail(ErrorKind::kIo, "left the task by the keys Enter ~ ."));
    }
  }
  WatchInput();
}

void Client::OnBytes(std::string_view bytes) {
  heard_ = loop_.Now();
  reader_.Append(bytes);
  while (stream_) {
    auto frame = reader_.Next();
    if (frame && !*frame) return;
    if (frame && OnFrame(**frame)) continue;
    // It is of our gang, so nobody else has said this.
    const std::string what = frame ? fmt::format("a frame of type {} that may not come now",
                                                 static_cast<int>((*frame)->type))
                                   : frame.error().message;
    return Finish(Fail(ErrorKind::kCorrupt,
                       fmt::format("node {} sent {}; its Spate is of another version, as a rule: "
                                   "start that node with the version of this one",
                                   EscapeForScreen(host_.node), what)));
  }
}

bool Client::OnFrame(const Frame& frame) {
  switch (frame.type) {
    case FrameType::kOutput:
      Print(out_, frame.body);
      return true;
    case FrameType::kErrors:
      Print(err_, frame.body);
      return true;
    case FrameType::kInputGone: {
      auto gone = NumberOf(frame.body);
      if (!gone || *gone > under_way_) return false;
      under_way_ -= *gone;
      WatchInput();
      return true;
    }
    case FrameType::kExited: {
      if (frame.body.size() != 2) return false;
      constexpr int kShellSignal = 128;
      int signo = static_cast<uint8_t>(frame.body[1]);
      Exited(signo != 0 ? kShellSignal + signo : static_cast<uint8_t>(frame.body[0]));
      return true;
    }
    case FrameType::kFailed:
      Finish(Fail(ErrorKind::kUnavailable,
                  fmt::format("on node {}: {}", host_.node, EscapeForScreen(frame.body))));
      return true;
    case FrameType::kAlive:
      return true;
    case FrameType::kPortBytes:
    case FrameType::kPortEnd:
    case FrameType::kPortGone:
    case FrameType::kPortClosed:
      return ports_ && ports_->OnFrame(frame);
    case FrameType::kPortOpen:
    case FrameType::kStart:
    case FrameType::kStartWords:
    case FrameType::kWindow:
    case FrameType::kInput:
    case FrameType::kInputEnd:
    case FrameType::kSignal:
      return false;
  }
  return false;
}

void Client::Print(os::OutputThread& to, std::string_view bytes) {
  if (to.Write(std::string(bytes))) return;
  full_.insert(&to);
  stream_->PauseReading(true);
}

void Client::FoundRoom(os::OutputThread& of) {
  full_.erase(&of);
  if (full_.empty() && stream_) stream_->PauseReading(false);
}

// The connection goes first, so that the server need not wait for those who read here.
void Client::Exited(int code) {
  Leave();
  if (out_.Backlog() + err_.Backlog() == 0) return Finish(code);
  timer_ = loop_.At(loop_.Now() + kWritten, [this, code] { Exited(code); });
}

// Nothing takes input any more, so none is read: it is for whoever reads it next.
void Client::Leave() {
  stream_.reset();
  ports_.reset();
  input_over_ = true;
  WatchInput();
  loop_.Cancel(beat_);
}

void Client::Finish(Result<int> result) {
  Leave();
  raw_.reset();
  dialer_.reset();
  loop_.Cancel(timer_);
  if (!done_) return;
  loop_.Post([done = std::exchange(done_, nullptr), result = std::move(result)] { done(result); });
}

}  // namespace spate::remote
