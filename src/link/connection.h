// Connection: whole frames both ways over a stream, signs of life, and the end of those who do not
// keep to the protocol. What is in the frames is the owner's business.
//
// Thread: the loop's. Functions of Events are called by the loop, never before a call of the
// connection has returned; each of them may destroy it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes32.h"
#include "base/result.h"
#include "base/time.h"
#include "link/share.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "transport/tcp/stream.h"
#include "transport/tcp/tls.h"
#include "wire/frame.h"
#include "wire/greeting.h"

namespace spate::link {

class FrameTypes {
 public:
  constexpr FrameTypes(std::initializer_list<wire::FrameType> types) {
    for (wire::FrameType type : types) bits_ |= 1u << static_cast<unsigned>(type);
  }
  constexpr bool Has(wire::FrameType type) const {
    return (bits_ >> static_cast<unsigned>(type) & 1) != 0;
  }

 private:
  uint32_t bits_ = 0;
};
// Frames that, after the Welcome, may come to a hub from a peer of this role, and to that peer.
FrameTypes TypesToHub(wire::Role role);
FrameTypes TypesFromHub(wire::Role role);

struct ConnectionLimits {
  Duration heartbeat = Duration::Seconds(5);  // says something at least so often
  Duration silent = Duration::Seconds(15);    // nothing came for so long: the owner is told
  Duration cut = Duration::Seconds(60);       // the same: the connection ends
  transport::StreamLimits stream;
};

// Counts over all connections of a hub so far.
struct Counts {
  uint64_t accepted = 0;
  uint64_t refused = 0;   // by the gate, or for their version
  uint64_t breaches = 0;  // broke the protocol, before or after they were accepted
  uint64_t late = 0;      // did not greet in time
  uint64_t evicted = 0;   // silent ones who gave their place to others
  uint64_t silent = 0;    // accepted, and cut off after a long silence
};

struct Ended {
  enum class Why : uint8_t {
    kAsked,     // closed or refused here
    kByPeer,    // it said goodbye
    kLost,      // cut off, by the network or by the peer's death
    kRefused,   // by the peer, who says why
    kBreach,    // the peer broke the protocol
    kSilent,    // nothing came for ConnectionLimits::cut
    kOverrun,   // the peer takes nothing, and the queue is full
    kBroken,    // the peer does not speak TLS as it should
    kWrongPin,  // another hub than the one we were told
    kLate,      // the TLS handshake was not done in time
  };
  Why why = Why::kAsked;
  std::string text;                                     // for people
  std::optional<wire::Refusal> refusal = std::nullopt;  // with kRefused
  Duration quiet = {};                                  // with kSilent: nothing came for so long
};

class Connection {
 public:
  struct Events {
    std::function<void()> opened;                                  // once, before the others
    std::function<void(wire::FrameType, std::string_view)> frame;  // ends with the call
    std::function<void()> writable;                                // the window opened again
    std::function<void(bool)> silent;                              // is silent; is heard again
    std::function<void(const Ended&)> closed;                      // once, and nothing after it
  };
  // `fd` is connected and does not block. Without `tls` in clear. Until Accept only `expected` may
  // come, in short frames. `counts` may be null.
  Connection(os::RealLoop& loop, os::Fd fd, std::shared_ptr<transport::Tls> tls,
             FrameTypes expected, const ConnectionLimits& limits = {},
             std::shared_ptr<Counts> counts = nullptr);
  // Cuts it off at once; no function is called any more.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Once, and once more by the next owner after Accept.
  void Start(Events events);
  // The peer is who it should be. From now on `expected`, heartbeats and a refusal may come, and
  // heartbeats go. Nothing is given out, the end neither, until the next Start. With `silence` it
  // ends when nothing came for so long, and says something three times as often.
  void Accept(FrameTypes expected, Duration silence = {});

  // Queues a frame, and says whether the window is still open. The message is at most kMaxMessage
  // bytes long. Nothing is done after Close, or when the connection has ended.
  static constexpr size_t kMaxMessage = wire::kMaxFrame - 1;
  bool Send(wire::FrameType type, std::string_view message);
  // The same of a whole frame (wire::AppendFrame), which is not copied.
  bool SendFrame(std::string frame);
  // Sends what is queued, and ends; what comes meanwhile is dropped. Refuse says why, before.
  void Close();
  void Refuse(const wire::Refusal& refusal);
  // The peer broke the protocol: refuses it with kBreach, and counts it.
  void Breach(std::string_view what);

  // The share of this process that its user may take, with all connections together. Once.
  void SetShare(std::shared_ptr<Share> share);

  // True: gives out nothing more until false. The peer's silence does not count meanwhile. TCP
  // gives up a peer that has something to say and cannot for a minute, if it lets no reader wait.
  void PauseReading(bool paused);
  void LetReaderWait() { stream_->LetReaderWait(); }  // within `frame`
  os::RealLoop& loop() const { return loop_; }

  // Exports a key of the TLS connection (transport::Stream); kUnavailable in clear.
  Result<Bytes32> ExportKey(std::string_view label) const;
  size_t queued() const { return stream_ ? stream_->queued() : 0; }
  // Nothing was sent for half the time after which the peer cuts it off: our loop stood still.
  bool MayBeCut() const { return accepted_ && loop_.Now() - sent_ >= Duration{limits_.cut.ns / 2}; }

 private:
  template <typename... Args>
  void Call(std::function<void(Args...)> Events::* event, std::type_identity_t<Args>... args);
  void Post(void (Connection::*function)());

  void OnBytes(std::string_view bytes);
  void Deliver();
  void OnFrame(const wire::Frame& frame);
  void ReadOn();
  void Yield();
  void FindRoom();
  void Tick();
  void Arm(Instant now);
  void End(Ended ended);
  void TellEnded();

  os::RealLoop& loop_;
  const std::shared_ptr<transport::Tls> tls_;
  ConnectionLimits limits_;
  const std::shared_ptr<Counts> counts_;
  std::shared_ptr<const Events> events_;       // null: no owner at the moment
  std::unique_ptr<transport::Stream> stream_;  // null: ended
  wire::FrameReader reader_;
  FrameTypes expected_;
  bool accepted_ = false;
  bool paused_ = false;
  bool closing_ = false;  // nothing that comes is looked at any more
  bool silent_ = false;
  std::shared_ptr<Share> share_;       // null: it may take what it wants
  bool awaits_room_ = false;           // of its share, for what it sends
  std::unique_ptr<Share::Room> room_;  // of the long frame that comes
  Instant room_since_;
  std::unique_ptr<Share::Room> kept_room_;  // of the frame at which its owner paused
  bool yielded_ = false;        // the rest of what has come is given out in the next turn
  bool starved_ = false;        // a long frame waits for room
  std::optional<Ended> ended_;  // what to tell when the stream has closed, or the owner comes

  // Signs of life, since Accept.
  os::TimerId timer_ = 0;
  Instant due_;    // when the timer was to fire
  Instant sent_;   // when we last said something
  Instant heard_;  // when the peer did
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::link
