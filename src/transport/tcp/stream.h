// Stream: a connection that carries bytes both ways over a socket, in TLS 1.3 or in clear.
//
// Thread: the loop's. Functions of StreamEvents are called by the loop, never before a call of
// Start, Send or Close has returned; each of them may destroy the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes32.h"
#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "os/socket.h"
#include "transport/tcp/tls.h"

struct ssl_st;

namespace spate::transport {

struct StreamLimits {
  Duration handshake = Duration::Seconds(10);  // from Start to `opened`
  Duration goodbye = Duration::Seconds(5);     // from Close to `closed`
  // Bytes that wait to be sent: from the first on senders should wait for `writable`; with the
  // second the connection is given up, as its peer takes nothing. A frame must fit in between.
  size_t window = 256 * 1024;
  size_t queue = 64 * 1024 * 1024;
  // TLS: records under one key. AES-GCM is good for 2^24.5 (RFC 8446, 5.5).
  uint64_t records_of_a_key = uint64_t{1} << 23;
};

struct Closed {
  enum class Why : uint8_t {
    kAsked,     // Close was called here
    kByPeer,    // it said goodbye (in clear: its end came)
    kLost,      // cut off, by the network or by the peer's death
    kBroken,    // the peer broke TLS, or does not speak it
    kWrongPin,  // the hub has another key than the one we were told
    kLate,      // the handshake was not done in time
    kOverrun,   // the peer takes nothing, and the queue is full
  };
  Why why;
  std::string text;  // for people: "the connection was cut: Connection reset by peer"
};

struct StreamEvents {
  std::function<void()> opened;                 // once, before all others but `closed`
  std::function<void(std::string_view)> bytes;  // as they come; the view ends with the call
  std::function<void()> writable;               // the window opened again
  std::function<void(const Closed&)> closed;    // once, and nothing after it
};

class Stream {
 public:
  // `fd` is connected and does not block. `tls` must outlive the stream.
  Stream(os::RealLoop& loop, os::Fd fd, Tls& tls, const StreamLimits& limits = {});
  // In clear. For UNIX sockets; TCP only where the user asked for it in so many words.
  enum class Clear : uint8_t { kUnixOnly, kTcpToo };
  Stream(os::RealLoop& loop, os::Fd fd, Clear allowed, const StreamLimits& limits = {});
  // Cuts the connection off at once, without goodbye; no function is called any more.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Once.
  void Start(StreamEvents events);

  // Queues bytes (before `opened` too), and says whether the window is still open; those that came
  // are sent in any case. All that is sent in one turn of the loop leaves together. After Close, or
  // when the connection has ended: false, and nothing is done. Long ones are not copied.
  bool Send(std::string bytes);
  // Sends what is queued, says goodbye and waits for the peer to have read it; what comes meanwhile
  // is dropped. Before `opened` the connection just ends.
  void Close();

  // True: takes nothing more from the peer, until false. A TCP peer that has something to say and
  // cannot for a minute gives the connection up, if it lets no reader wait. Close reads on.
  void PauseReading(bool paused);
  void LetReaderWait() { os::LetReaderWait(fd_.get()); }

  size_t queued() const { return queued_; }

  // 32 bytes that both ends of this one connection know and nobody else (RFC 8446, 7.5). From
  // `opened` to `closed`; kUnavailable in clear.
  Result<Bytes32> ExportKey(std::string_view label) const;

 private:
  friend struct StreamBio;
  enum class State : uint8_t {
    kHandshake,  // until `opened`
    kOpen,
    kClosing,   // Close was called: sends what is queued
    kDraining,  // said goodbye: waits for the peer's end
    kClosed,    // the socket is gone; `closed` is posted or was called
  };
  // How an attempt to move bytes went. kOver: the connection ended in it.
  struct Step {
    enum class Kind : uint8_t { kDone, kAgainLater, kOver } kind;
    size_t bytes = 0;
  };
  // Outlives the stream while one of its functions runs.
  struct Shared {
    StreamEvents events;
    bool gone = false;
  };
  struct SslFree {
    void operator()(ssl_st* ssl) const;
  };

  template <typename... Args>
  bool Call(std::function<void(Args...)> StreamEvents::* event,
            std::type_identity_t<Args>... args);  // false: the stream is gone
  void Post(void (Stream::*function)());

  void Begin();
  void Turn(bool readable);
  void ReadOn();
  void TurnToRead();
  bool Handshake();
  bool Read();
  void Flush();
  void FlushSoon();
  void Sent(size_t bytes);
  size_t part() const;
  void SayGoodbye();
  void AwaitUntil(Duration patience);
  void WantWrite(bool wanted);

  Step ReadStep(char* to, size_t size);
  Step WriteStep(std::string_view bytes);
  bool ChangeKeyIfDue();
  Step PlainStep(const os::IoStep& step);
  Step TlsStep(int result, size_t bytes);
  Closed TlsFailure(int ssl_error);
  void End(Closed::Why why, std::string text);
  void End(Closed closed);
  void TellClosed();

  os::RealLoop& loop_;
  os::Fd fd_;
  Tls* const tls_;  // null: in clear
  const StreamLimits limits_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::unique_ptr<ssl_st, SslFree> ssl_;
  os::TimerId timer_ = 0;  // of the handshake, later of the goodbye

  std::list<std::string> queue_;  // none is empty
  size_t queued_ = 0;             // bytes of queue_ that are not on their way
  size_t sent_ = 0;               // bytes of the first that are
  bool more_ = false;             // follows what is written now
  uint64_t records_ = 0;          // of this key
  bool in_record_ = false;        // one is not yet sent whole
  uint32_t peer_messages_ = 0;    // of the handshake protocol, after the handshake

  // Bytes that may still be read in this turn; bounds all work that a peer can cause in one.
  size_t budget_ = 0;
  int socket_error_ = 0;  // errno of the last failure
  bool socket_ended_ = false;

  State state_ = State::kHandshake;
  bool paused_ = false;
  bool window_open_ = true;
  bool flush_posted_ = false;
  bool want_write_ = false;
  Closed closed_{Closed::Why::kAsked, ""};
};

}  // namespace spate::transport
