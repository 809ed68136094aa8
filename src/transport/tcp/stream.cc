// Stream: OpenSSL without threads of its own, driven by the loop.
//
// - OpenSSL reads and writes the socket through a BIO of ours (StreamBio). It takes from the socket
//   what budget_ allows in one turn, then says "later": however a peer splits or repeats its
//   records, one turn reads kTurnParts at most. The loop's watch is level-triggered, so it comes
//   back for the rest; what OpenSSL holds itself is used up by then.
// - Turn: handshake, then reading, then sending, as far as each gets. Events are called at its
//   ends, and whoever calls one asks whether the stream is still there.
// - Send only queues; Flush, posted once a turn, makes records of up to 16 KB of it, in clear
//   writes of up to 64 KB.
// - End: the one way out. The socket is closed at once, `closed` is posted.
// - After Close we read until the peer's end comes: a socket closed with unread bytes would be
//   reset, and the peer might lose our last words.
#include "transport/tcp/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "os/error.h"
#include "os/exhausted.h"
#include "os/send_part.h"
#include "os/socket.h"
#include "transport/tcp/tls_parts.h"

namespace spate::transport {

using Why = Closed::Why;

namespace {

constexpr size_t kRecord = 16 * 1024;  // the most that TLS puts into one
constexpr size_t kPart = 4 * kRecord;  // in clear: read or written at once
constexpr size_t kTurnParts = 4;       // in one turn
// Key updates, of which a peer of ours sends one for each 2^23 records.
constexpr uint32_t kPeerMessagesMax = 1000;

}  // namespace

// ----------------------------------------------------------------------- OpenSSL's way to a socket

struct StreamBio {
  static Stream& StreamOf(BIO* bio) { return *static_cast<Stream*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* to, int size) {
    Stream& stream = StreamOf(bio);
    BIO_clear_retry_flags(bio);
    size_t wanted = std::min(static_cast<size_t>(size), stream.budget_);
    os::IoStep step{.kind = os::IoStep::Kind::kWouldBlock};
    if (wanted > 0) step = os::Receive(stream.fd_.get(), to, wanted);
    stream.budget_ -= step.bytes;
    return Tell(bio, stream, step, BIO_FLAGS_READ);
  }

  static int Write(BIO* bio, const char* bytes, int size) {
    Stream& stream = StreamOf(bio);
    BIO_clear_retry_flags(bio);
    const std::string_view record(bytes, static_cast<size_t>(size));
    auto step = stream.more_ ? os::SendPart(stream.fd_.get(), record)
                             : os::SendSome(stream.fd_.get(), record);
    return Tell(bio, stream, step, BIO_FLAGS_WRITE);
  }

  static int Tell(BIO* bio, Stream& stream, const os::IoStep& step, int direction) {
    switch (step.kind) {
      case os::IoStep::Kind::kDone:
        return static_cast<int>(step.bytes);
      case os::IoStep::Kind::kWouldBlock:
        BIO_set_flags(bio, direction | BIO_FLAGS_SHOULD_RETRY);
        return -1;
      case os::IoStep::Kind::kEnd:
        stream.socket_ended_ = true;
        return 0;
      case os::IoStep::Kind::kError:
        stream.socket_error_ = step.error;
        return -1;
    }
    return -1;
  }

  static long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  // For every record and message. A handshake message on an open stream makes us derive keys, so
  // there must not be many.
  static void OnMessage(int is_write, int, int type, const void*, size_t, SSL*, void* arg) {
    auto& stream = *static_cast<Stream*>(arg);
    if (is_write != 0 || type != SSL3_RT_HANDSHAKE) return;
    if (stream.state_ == Stream::State::kHandshake) return;
    if (++stream.peer_messages_ > kPeerMessagesMax) stream.budget_ = 0;
  }
};

BioMethodPtr MakeStreamBioMethod() {
  BioMethodPtr method(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "spate stream"));
  if (!method) return method;
  BIO_meth_set_read(method.get(), StreamBio::Read);
  BIO_meth_set_write(method.get(), StreamBio::Write);
  BIO_meth_set_ctrl(method.get(), StreamBio::Control);
  return method;
}

void Stream::SslFree::operator()(ssl_st* ssl) const { SSL_free(ssl); }

// ------------------------------------------------------------------------------------------- life

Stream::Stream(os::RealLoop& loop, os::Fd fd, Tls& tls, const StreamLimits& limits)
    : loop_(loop), fd_(std::move(fd)), tls_(&tls), limits_(limits) {
  ssl_.reset(SSL_new(tls.parts_->context.get()));
  if (ssl_ == nullptr) os::EndExhausted(os::kOutOfMemory);
  BIO* bio = BIO_new(tls.parts_->socket.get());
  if (bio == nullptr) os::EndExhausted(os::kOutOfMemory);
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_msg_callback(ssl_.get(), StreamBio::OnMessage);
  SSL_set_msg_callback_arg(ssl_.get(), this);
  tls.parts_->is_hub ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
}

Stream::Stream(os::RealLoop& loop, os::Fd fd, Clear allowed, const StreamLimits& limits)
    : loop_(loop), fd_(std::move(fd)), tls_(nullptr), limits_(limits) {
  auto address = os::LocalAddress(fd_.get());
  CHECK(allowed == Clear::kTcpToo || (address && address->is_unix()));
}

Stream::~Stream() {
  shared_->gone = true;
  loop_.Cancel(timer_);
  if (fd_) loop_.Unwatch(fd_.get());
}

void Stream::Start(StreamEvents events) {
  shared_->events = std::move(events);
  Post(&Stream::Begin);
}

void Stream::Begin() {
  if (state_ != State::kHandshake) return;  // closed meanwhile
  loop_.WatchRead(fd_.get(), [this] { Turn(true); });
  if (tls_ != nullptr) {
    AwaitUntil(limits_.handshake);
    return Turn(false);
  }
  state_ = State::kOpen;
  if (paused_) loop_.UnwatchRead(fd_.get());
  if (Call(&StreamEvents::opened)) Flush();
}

void Stream::Close() {
  switch (state_) {
    case State::kHandshake:
      return End(Why::kAsked, "closed before it was open");
    case State::kOpen:
      state_ = State::kClosing;
      if (paused_) ReadOn();
      AwaitUntil(limits_.goodbye);
      return FlushSoon();
    case State::kClosing:
    case State::kDraining:
    case State::kClosed:
      return;
  }
}

void Stream::PauseReading(bool paused) {
  if (paused == std::exchange(paused_, paused) || state_ != State::kOpen) return;
  paused ? loop_.UnwatchRead(fd_.get()) : ReadOn();
}

// OpenSSL may hold bytes that the socket will not announce again.
void Stream::ReadOn() {
  loop_.WatchRead(fd_.get(), [this] { Turn(true); });
  Post(&Stream::TurnToRead);
}

void Stream::TurnToRead() {
  if (state_ != State::kHandshake && state_ != State::kClosed) Turn(true);
}

void Stream::SayGoodbye() {
  ERR_clear_error();
  if (ssl_ && SSL_shutdown(ssl_.get()) < 0 &&
      SSL_get_error(ssl_.get(), -1) == SSL_ERROR_WANT_WRITE) {
    return WantWrite(true);
  }
  ERR_clear_error();
  os::ShutdownWrite(fd_.get());
  state_ = State::kDraining;
}

void Stream::AwaitUntil(Duration patience) {
  loop_.Cancel(timer_);
  timer_ = loop_.At(loop_.Now() + patience, [this] {
    switch (state_) {
      case State::kHandshake:
        return End(Why::kLate, "the other side did not finish the TLS handshake in time");
      case State::kClosing:
        return End(Why::kLost, "the other side did not take our last bytes in time");
      case State::kOpen:
      case State::kDraining:
      case State::kClosed:
        return End(Why::kAsked, "closed");
    }
  });
}

void Stream::End(Why why, std::string text) { End(Closed{why, std::move(text)}); }

void Stream::End(Closed closed) {
  if (state_ == State::kClosed) return;
  // All is said; how the peer leaves does not matter.
  closed_ = state_ == State::kDraining ? Closed{Why::kAsked, "closed"} : std::move(closed);
  if (tls_ != nullptr) {
    tls_->counts_.broken += closed_.why == Why::kBroken ? 1 : 0;
    tls_->counts_.wrong_pin += closed_.why == Why::kWrongPin ? 1 : 0;
    tls_->counts_.late += closed_.why == Why::kLate ? 1 : 0;
  }
  state_ = State::kClosed;
  loop_.Cancel(timer_);
  loop_.Unwatch(fd_.get());
  fd_.Reset();
  ssl_.reset();
  queue_.clear();
  queued_ = sent_ = 0;
  Post(&Stream::TellClosed);
}

void Stream::TellClosed() { (void)Call(&StreamEvents::closed, closed_); }

template <typename... Args>
bool Stream::Call(std::function<void(Args...)> StreamEvents::* event,
                  std::type_identity_t<Args>... args) {
  std::shared_ptr<Shared> shared = shared_;
  if (const auto& function = shared->events.*event) function(args...);
  return !shared->gone;
}

void Stream::Post(void (Stream::*function)()) {
  loop_.Post([this, shared = shared_, function] {
    if (!shared->gone) (this->*function)();
  });
}

// ---------------------------------------------------------------------------------------- moving

size_t Stream::part() const { return ssl_ ? kRecord : kPart; }

void Stream::Turn(bool readable) {
  bool fresh = state_ == State::kHandshake;
  budget_ = kTurnParts * part();
  if (fresh && !Handshake()) return;
  // After the handshake OpenSSL may hold bytes that the socket will not announce again.
  if ((readable || fresh) && !Read()) return;
  if (!readable || fresh) Flush();
}

// True when it is done, and the stream still there.
bool Stream::Handshake() {
  ERR_clear_error();
  int result = SSL_do_handshake(ssl_.get());
  if (result != 1) {
    Step step = TlsStep(result, 0);
    if (step.kind == Step::Kind::kAgainLater) WantWrite(SSL_want_write(ssl_.get()));
    return false;
  }
  loop_.Cancel(timer_);
  ++tls_->counts_.opened;
  state_ = State::kOpen;
  if (paused_) loop_.UnwatchRead(fd_.get());
  return Call(&StreamEvents::opened) && state_ != State::kClosed;
}

// True when there is nothing more to read now, and the stream still there.
bool Stream::Read() {
  char buffer[kPart];
  while (state_ != State::kClosed) {
    if (paused_ && state_ == State::kOpen) return true;
    Step step = ReadStep(buffer, part());
    if (step.kind != Step::Kind::kDone) return step.kind == Step::Kind::kAgainLater;
    if (state_ != State::kOpen) continue;
    if (!Call(&StreamEvents::bytes, std::string_view(buffer, step.bytes))) return false;
  }
  return false;
}

Stream::Step Stream::ReadStep(char* to, size_t size) {
  if (ssl_) {
    ERR_clear_error();
    size_t bytes = 0;
    int result = SSL_read_ex(ssl_.get(), to, size, &bytes);
    if (peer_messages_ <= kPeerMessagesMax) return TlsStep(result, bytes);
    End(Why::kBroken, "the other side broke TLS: too many handshake messages");
    return {Step::Kind::kOver};
  }
  if (budget_ == 0) return {Step::Kind::kAgainLater};
  os::IoStep step = os::Receive(fd_.get(), to, std::min(size, budget_));
  budget_ -= step.bytes;
  return PlainStep(step);
}

Stream::Step Stream::WriteStep(std::string_view bytes) {
  if (!ssl_) return PlainStep(os::SendSome(fd_.get(), bytes));
  ERR_clear_error();
  size_t written = 0;
  int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
  in_record_ = result != 1;
  records_ += result == 1 ? 1 : 0;
  return TlsStep(result, written);
}

// False: not now, and no record may begin before it. OpenSSL reads nothing while its message waits
// for room, so it is made where there is some: two ends with full queues would wait for each other.
bool Stream::ChangeKeyIfDue() {
  if (!ssl_ || in_record_ || records_ < limits_.records_of_a_key) return true;
  if (!os::HasRoom(fd_.get())) return false;
  ERR_clear_error();
  records_ = 0;
  if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return true;
  return TlsStep(SSL_do_handshake(ssl_.get()), 0).kind == Step::Kind::kDone;
}

bool Stream::Send(std::string bytes) {
  if (state_ != State::kHandshake && state_ != State::kOpen) return false;
  queued_ += bytes.size();
  // Short ones leave in one record with what is before them.
  if (!queue_.empty() && queue_.back().size() + bytes.size() <= kPart) {
    queue_.back() += bytes;
  } else if (!bytes.empty()) {
    queue_.push_back(std::move(bytes));
  }
  if (queued() > limits_.queue) {
    End(Why::kOverrun, fmt::format("the other side took nothing of the last {} bytes", queued()));
    return false;
  }
  window_open_ = window_open_ && queued() < limits_.window;
  FlushSoon();
  return window_open_;
}

void Stream::FlushSoon() {
  if (flush_posted_ || want_write_ || state_ == State::kHandshake) return;
  flush_posted_ = true;
  Post(&Stream::Flush);
}

void Stream::Flush() {
  flush_posted_ = false;
  if (state_ != State::kOpen && state_ != State::kClosing) return;
  for (size_t left = kTurnParts * part(); queued() > 0 && left > 0;) {
    if (!ChangeKeyIfDue()) break;
    // Tried again after kAgainLater with the same bytes in front, as OpenSSL wants it.
    const std::string_view next = std::string_view(queue_.front()).substr(sent_, part());
    // Records of one turn leave in as few packets as they can.
    more_ = next.size() < std::min(queued(), left);
    Step step = WriteStep(next);
    if (step.kind == Step::Kind::kOver) return;
    if (step.kind == Step::Kind::kAgainLater) break;
    Sent(step.bytes);
    left -= std::min(left, step.bytes);
  }
  if (state_ == State::kClosed) return;
  more_ = false;
  WantWrite(queued() > 0);
  if (state_ == State::kClosing) {
    if (queued() == 0) SayGoodbye();
  } else if (!window_open_ && queued() <= limits_.window / 2) {
    window_open_ = true;
    (void)Call(&StreamEvents::writable);
  }
}

void Stream::Sent(size_t bytes) {
  queued_ -= bytes;
  sent_ += bytes;
  if (sent_ < queue_.front().size()) return;
  queue_.pop_front();
  sent_ = 0;
}

void Stream::WantWrite(bool wanted) {
  if (wanted == want_write_) return;
  want_write_ = wanted;
  if (wanted) {
    loop_.WatchWrite(fd_.get(), [this] { Turn(false); });
  } else {
    loop_.UnwatchWrite(fd_.get());
  }
}

// --------------------------------------------------------------------------------------- failures

Stream::Step Stream::PlainStep(const os::IoStep& step) {
  switch (step.kind) {
    case os::IoStep::Kind::kDone:
      return {Step::Kind::kDone, step.bytes};
    case os::IoStep::Kind::kWouldBlock:
      return {Step::Kind::kAgainLater};
    case os::IoStep::Kind::kEnd:
      End(Why::kByPeer, "the other side closed the connection");
      return {Step::Kind::kOver};
    case os::IoStep::Kind::kError:
      End(Why::kLost, fmt::format("the connection was cut: {}", os::TextOfErrno(step.error)));
      return {Step::Kind::kOver};
  }
  return {Step::Kind::kOver};
}

Stream::Step Stream::TlsStep(int result, size_t bytes) {
  if (result == 1) return {Step::Kind::kDone, bytes};
  int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return {Step::Kind::kAgainLater};
  }
  End(TlsFailure(error));
  return {Step::Kind::kOver};
}

Closed Stream::TlsFailure(int ssl_error) {
  unsigned long code = ERR_peek_error();
  std::string reason = DrainOpensslError();
  if (ssl_error == SSL_ERROR_ZERO_RETURN) {
    return {Why::kByPeer, "the other side closed the connection"};
  }
  if (socket_error_ != 0) {
    return {Why::kLost, fmt::format("the connection was cut: {}", os::TextOfErrno(socket_error_))};
  }
  if (socket_ended_) {
    return {Why::kLost,
            "the connection ended without a goodbye; the other side, or its machine, "
            "may have died"};
  }
  if (SSL_get_verify_result(ssl_.get()) == X509_V_ERR_APPLICATION_VERIFICATION) {
    return {Why::kWrongPin,
            "the hub has another key than the access file says; if it was set up "
            "anew, get a new access file, else somebody stands between"};
  }
  switch (ERR_GET_REASON(code)) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
      return {Why::kBroken, "the other side's TLS is older than 1.3"};
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return {Why::kBroken, "the other side does not speak TLS"};
    default:
      return {Why::kBroken, "the other side broke TLS: " + reason};
  }
}

Result<Bytes32> Stream::ExportKey(std::string_view label) const {
  Bytes32 key;
  if (!ssl_ || state_ == State::kHandshake ||
      SSL_export_keying_material(ssl_.get(), key.data(), key.size(), label.data(), label.size(),
                                 nullptr, 0, 0) != 1) {
    return Fail(ErrorKind::kUnavailable, "only an open TLS connection has a key of its own");
  }
  return key;
}

}  // namespace spate::transport
