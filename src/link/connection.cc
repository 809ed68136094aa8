// Connection: frames over a stream.
//
// - Bytes go into the frame reader at once, and out of it by Deliver, frame by frame, until there
//   is none, the owner pauses, or the connection ends. Every function of the owner may do any of
//   these, or destroy the connection.
// - One timer (Tick) serves both directions of life: it fires when we should say something, or when
//   the peer should have.
// - The end: `ended_` is why, if that is not what the stream says. End is for those who get no last
//   word.
#include "link/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "wire/codec.h"

namespace spate::link {

using transport::Closed;
using wire::FrameType;
using Why = Ended::Why;

namespace {

Why WhyOf(Closed::Why why) {
  switch (why) {
    case Closed::Why::kAsked:
      return Why::kAsked;
    case Closed::Why::kByPeer:
      return Why::kByPeer;
    case Closed::Why::kLost:
      return Why::kLost;
    case Closed::Why::kBroken:
      return Why::kBroken;
    case Closed::Why::kWrongPin:
      return Why::kWrongPin;
    case Closed::Why::kLate:
      return Why::kLate;
    case Closed::Why::kOverrun:
      return Why::kOverrun;
  }
  return Why::kLost;
}

}  // namespace

FrameTypes TypesToHub(wire::Role role) {
  if (role == wire::Role::kNode) {
    return {FrameType::kHeartbeat, FrameType::kRefusal, FrameType::kToHub, FrameType::kOutputPiece};
  }
  return {FrameType::kHeartbeat, FrameType::kRefusal, FrameType::kRequest};
}

FrameTypes TypesFromHub(wire::Role role) {
  return {FrameType::kHeartbeat, FrameType::kRefusal,
          role == wire::Role::kNode ? FrameType::kToNode : FrameType::kReply};
}

Connection::Connection(os::RealLoop& loop, os::Fd fd, std::shared_ptr<transport::Tls> tls,
                       FrameTypes expected, const ConnectionLimits& limits,
                       std::shared_ptr<Counts> counts)
    : loop_(loop),
      tls_(std::move(tls)),
      limits_(limits),
      counts_(std::move(counts)),
      expected_(expected) {
  using transport::Stream;
  if (tls_) {
    stream_ = std::make_unique<Stream>(loop_, std::move(fd), *tls_, limits_.stream);
  } else {
    stream_ =
        std::make_unique<Stream>(loop_, std::move(fd), Stream::Clear::kTcpToo, limits_.stream);
  }
}

Connection::~Connection() {
  *alive_ = false;
  if (share_) share_->Leave(this);
  loop_.Cancel(timer_);
}

void Connection::Start(Events events) {
  events_ = std::make_shared<const Events>(std::move(events));
  if (accepted_) {
    PauseReading(false);
    return stream_ ? void() : Post(&Connection::TellEnded);
  }
  stream_->Start({.opened = [this] { Call(&Events::opened); },
                  .bytes = [this](std::string_view bytes) { OnBytes(bytes); },
                  .writable = [this] { Call(&Events::writable); },
                  .closed =
                      [this](const Closed& closed) {
                        End(ended_ ? *ended_ : Ended{WhyOf(closed.why), closed.text});
                      }});
}

void Connection::Accept(FrameTypes expected, Duration silence) {
  CHECK(!std::exchange(accepted_, true));
  expected_ = expected;
  if (silence > Duration{}) {
    limits_.silent = limits_.cut = silence;
    limits_.heartbeat = std::min(limits_.heartbeat, Duration{silence.ns / 3});
  }
  events_ = nullptr;
  reader_.Accept();
  PauseReading(true);
  sent_ = heard_ = loop_.Now();
  Arm(sent_);
}

template <typename... Args>
void Connection::Call(std::function<void(Args...)> Events::* event,
                      std::type_identity_t<Args>... args) {
  std::shared_ptr<const Events> events = events_;  // the call may put others in their place
  if (!events) return;
  if (const auto& function = (*events).*event) function(args...);
}

void Connection::Post(void (Connection::*function)()) {
  loop_.Post([this, alive = alive_, function] {
    if (*alive) (this->*function)();
  });
}

// --------------------------------------------------------------------------------------- sending

bool Connection::Send(FrameType type, std::string_view message) {
  if (!stream_ || closing_) return false;
  std::string frame;
  CHECK(wire::AppendFrame(frame, type, [&](std::string& out) { out += message; }));
  return SendFrame(std::move(frame));
}

bool Connection::SendFrame(std::string frame) {
  if (!stream_ || closing_) return false;
  sent_ = loop_.Now();
  const bool room = !share_ || share_->HasRoomFor(frame.size());
  const bool open = stream_->Send(std::move(frame));
  if (!open || room) return open;
  if (!std::exchange(awaits_room_, true)) {
    share_->AwaitRoom(alive_, [this] {
      awaits_room_ = false;
      Call(&Events::writable);
    });
  }
  return false;
}

void Connection::Close() {
  if (!stream_) return;
  closing_ = true;
  stream_->Close();
}

void Connection::Refuse(const wire::Refusal& refusal) {
  std::string message;
  wire::Append(message, refusal);
  (void)Send(FrameType::kRefusal, message);
  Close();
}

void Connection::Breach(std::string_view what) {
  if (!stream_ || closing_) return;
  if (counts_) ++counts_->breaches;
  ended_ = Ended{Why::kBreach, fmt::format("the other side broke the protocol: {}", what)};
  Refuse({wire::RefusalCode::kBreach, std::string(what)});
}

// ------------------------------------------------------------------------------------- receiving

void Connection::OnBytes(std::string_view bytes) {
  heard_ = loop_.Now();
  reader_.Feed(bytes);
  if (silent_) {
    silent_ = false;
    Arm(heard_);
    std::shared_ptr<bool> alive = alive_;
    Call(&Events::silent, false);
    if (!*alive) return;
  }
  Deliver();
}

void Connection::Deliver() {
  std::shared_ptr<bool> alive = alive_;
  while (*alive && stream_ && !closing_ && !paused_) {
    if (share_ && !share_->HasTime()) return Yield();
    auto frame = reader_.Next();
    if (!frame) return Breach(frame.error().message);
    if (!*frame) return FindRoom();
    // It has its room until it is taken.
    auto room = std::exchange(room_, nullptr);
    auto share = share_;
    Instant begun = loop_.Now();
    OnFrame(**frame);
    if (share) share->Spend(loop_.Now() - begun);
    // A paused owner gets it later.
    if (*alive && paused_) kept_room_ = std::move(room);
  }
}

// Others come first.
void Connection::Yield() {
  yielded_ = true;
  stream_->PauseReading(true);
  Post(&Connection::ReadOn);
}

// No more of a long frame is read than there is room for.
void Connection::FindRoom() {
  if (!share_ || !stream_ || closing_) return;
  size_t wanted = reader_.wanted();
  bool was_starved = std::exchange(starved_, false);
  if (wanted > share_->limits().short_frame && !room_) {
    room_ = share_->Acquire(wanted, alive_, [this] { FindRoom(); });
    room_since_ = loop_.Now();
    starved_ = room_ == nullptr;
  }
  if (starved_) return stream_->PauseReading(true);
  if (was_starved) Post(&Connection::ReadOn);
}

void Connection::SetShare(std::shared_ptr<Share> share) {
  CHECK(!share_);
  share_ = std::move(share);
  share_->Enter(this, [this] { return queued(); });
}

void Connection::OnFrame(const wire::Frame& frame) {
  if (!expected_.Has(frame.type)) {
    return Breach(
        fmt::format("a frame of type {} may not come here", static_cast<int>(frame.type)));
  }
  if (frame.type == FrameType::kHeartbeat) return;
  if (frame.type != FrameType::kRefusal) return Call(&Events::frame, frame.type, frame.message);
  auto refusal = wire::DecodeRefusal(frame.message);
  if (!refusal) return Breach(refusal.error().message);
  End({Why::kRefused, "the other side refused: " + refusal->reason, *refusal});
}

void Connection::PauseReading(bool paused) {
  if (!stream_ || paused == std::exchange(paused_, paused)) return;
  heard_ = loop_.Now();
  if (paused) return stream_->PauseReading(true);
  kept_room_.reset();
  Post(&Connection::ReadOn);
}

// First what the reader holds, then what else comes.
void Connection::ReadOn() {
  std::shared_ptr<bool> alive = alive_;
  yielded_ = false;
  Deliver();
  if (*alive && stream_ && !paused_ && !yielded_ && !starved_) stream_->PauseReading(false);
}

// ------------------------------------------------------------------------------------------ life

void Connection::Tick() {
  Instant now = loop_.Now();
  // Neither a peer that is not read nor one that waited for this process is to blame.
  if (paused_ || yielded_ || starved_ || now - due_ > limits_.heartbeat) heard_ = now;
  if (room_ && !paused_ && now - room_since_ > share_->limits().patience) {
    return Breach(fmt::format("a frame that is not whole after {:.0f} s",
                              share_->limits().patience.seconds()));
  }
  Duration quiet = now - heard_;
  if (quiet >= limits_.cut) {
    if (counts_) ++counts_->silent;
    return End({Why::kSilent,
                fmt::format("nothing came from the other side for {:.0f} s", quiet.seconds()),
                std::nullopt, quiet});
  }
  if (now - sent_ >= limits_.heartbeat) {
    // Bytes that still wait to be sent are a sign of life too.
    if (stream_->queued() == 0) (void)Send(FrameType::kHeartbeat, {});
    sent_ = now;
  }
  bool fell_silent = quiet >= limits_.silent && !std::exchange(silent_, quiet >= limits_.silent);
  Arm(now);
  if (fell_silent) Call(&Events::silent, true);
}

void Connection::Arm(Instant now) {
  loop_.Cancel(timer_);
  Instant next = heard_ + (silent_ ? limits_.cut : limits_.silent);
  due_ = std::max(now, std::min(next, sent_ + limits_.heartbeat));
  timer_ = loop_.At(due_, [this] { Tick(); });
}

void Connection::End(Ended ended) {
  ended_ = std::move(ended);
  stream_.reset();
  loop_.Cancel(timer_);
  Post(&Connection::TellEnded);
}

// Waits for an owner, if there is none.
void Connection::TellEnded() {
  if (!events_ || !ended_) return;
  Call(&Events::closed, *std::exchange(ended_, std::nullopt));
}

Result<Bytes32> Connection::ExportKey(std::string_view label) const {
  if (stream_) return stream_->ExportKey(label);
  return Fail(ErrorKind::kUnavailable, "the connection has ended");
}

}  // namespace spate::link
