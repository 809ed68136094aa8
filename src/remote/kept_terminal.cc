#include "remote/kept_terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "access/proof.h"
#include "base/bytes32.h"
#include "os/child.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/handover.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/socket.h"
#include "os/terminal.h"
#include "remote/frames.h"
#include "remote/ticket.h"

namespace spate::remote {
namespace {

constexpr int kTerminalFailure = 255;
constexpr Duration kFirstVisitor = Duration::Seconds(60);
constexpr Duration kShellGrace = Duration::Seconds(2);
// The task ends so long after the visitor's program, which passes the exit code of the shell on; or
// so long after the shell, if that program hangs.
constexpr Duration kExitRelayed = Duration::Seconds(1);
constexpr Duration kExitHangs = Duration::Seconds(30);
constexpr Duration kTerminalPatience = Duration::Seconds(5);
constexpr Duration kTerminalStarts = Duration::Seconds(30);  // on a machine that is overloaded
constexpr size_t kReplayed = 16 << 10;  // the newest output, for the next visitor
constexpr size_t kVisitorMost = 256 << 10;

Result<PartKeys> KeysHere() {
  const auto here = os::Environment::OfProcess();
  const auto secret = Bytes32FromHex(here.GetOr(kTerminalSecret, ""));
  if (secret) return KeysOfPart(*secret, "terminal");
  return Fail(ErrorKind::kInvalid, "this works inside a task of spate shell only");
}

std::string_view ProofOf(const PartKeys& keys) {
  return {reinterpret_cast<const char*>(keys.key.data()), keys.key.size()};
}

int ReportFailure(const Error& error) {
  fmt::print(stderr, "spate shell: {}\n", error.message);
  return kTerminalFailure;
}

// ---- The task ----------------------------------------------------------------------------------

class KeptTerminal {
 public:
  KeptTerminal(os::RealLoop& loop, os::HandoverInbox inbox, const PartKeys& keys, bool keep)
      : loop_(loop), inbox_(std::move(inbox)), keys_(keys), keep_(keep) {
    loop_.WatchRead(inbox_.fd(), [this] { Welcome(); });
    timer_ = loop_.At(loop_.Now() + kFirstVisitor, [this] {
      code_ = ReportFailure({ErrorKind::kUnavailable, "nobody came to this shell within a minute"});
      loop_.Stop();
    });
  }
  ~KeptTerminal() {
    loop_.Unwatch(inbox_.fd());
    Leave();
  }
  KeptTerminal(const KeptTerminal&) = delete;
  KeptTerminal& operator=(const KeptTerminal&) = delete;
  int code() const { return code_; }

 private:
  void Welcome();
  void Leave();
  void Lost();
  void OnBytes();
  bool OnFrame(const Frame& frame);
  bool Start(const StartWords& as);
  void Send(FrameType type, std::string_view body);
  void Flush();
  void OnOutput(std::string_view bytes);
  void OnEnded(int wait_status);
  void StopIn(Duration time);

  os::RealLoop& loop_;
  os::HandoverInbox inbox_;
  const PartKeys keys_;
  const bool keep_;
  os::TimerId timer_ = 0;
  std::unique_ptr<os::Child> shell_;
  bool started_ = false;
  os::Fd visitor_;
  FrameReader reader_;
  std::string out_;     // for the visitor
  std::string newest_;  // of the shell's output
  size_t input_ = 0;    // bytes that the shell has not taken
  int code_ = kTerminalFailure;
};

// The newest visitor has the terminal.
void KeptTerminal::Welcome() {
  auto fd = inbox_.Receive();
  if (!fd || !*fd || !os::SetNonBlocking((*fd)->get(), true)) return;
  if (started_ && !shell_) return;  // it has ended, and so does the task
  Send(FrameType::kFailed, "the shell was opened elsewhere");
  Leave();
  loop_.Cancel(timer_);
  visitor_ = std::move(**fd);
  reader_ = FrameReader();
  out_ = ProofOf(keys_);
  if (started_) Send(FrameType::kOutput, newest_);
  Flush();
  loop_.WatchRead(visitor_.get(), [this] { OnBytes(); });
}

void KeptTerminal::Leave() {
  if (visitor_) loop_.Unwatch(visitor_.get());
  visitor_.Reset();
  out_.clear();
  if (shell_) shell_->Pause(false);
}

void KeptTerminal::Lost() {
  Leave();
  const bool is_over = started_ && !shell_;
  if (is_over) return StopIn(kExitRelayed);
  if (keep_ && started_) return;
  if (shell_) return shell_->Abandon(kShellGrace);
  loop_.Stop();
}

void KeptTerminal::OnBytes() {
  std::array<char, kBodyMost> buffer;
  const os::IoStep step = os::Receive(visitor_.get(), buffer.data(), buffer.size());
  if (step.kind == os::IoStep::Kind::kWouldBlock) return;
  if (step.kind != os::IoStep::Kind::kDone) return Lost();
  reader_.Append({buffer.data(), step.bytes});
  while (visitor_) {
    auto frame = reader_.Next();
    if (frame && !*frame) return;
    if (!frame || !OnFrame(**frame)) return Lost();
  }
}

bool KeptTerminal::OnFrame(const Frame& frame) {
  if (frame.type == FrameType::kStartWords) {
    auto as = StartWordsOf(frame.body);
    if (!as || !as->window) return false;
    if (!started_) return Start(*as);
    // Programs that fill the screen draw it again when its size changes.
    if (shell_)
      shell_->Resize(
          {.rows = static_cast<uint16_t>(as->window->rows + 1), .columns = as->window->columns});
    if (shell_) shell_->Resize(*as->window);
    return true;
  }
  if (!started_) return false;
  if (frame.type == FrameType::kWindow) {
    const auto window = WindowOf(frame.body);
    if (window && shell_) shell_->Resize(*window);
    return window.has_value();
  }
  if (frame.type != FrameType::kInput) return false;
  if (!shell_) return true;
  input_ += frame.body.size();
  shell_->Write(frame.body);
  if (input_ > kInputWindow) loop_.UnwatchRead(visitor_.get());
  return true;
}

bool KeptTerminal::Start(const StartWords& as) {
  auto environment = os::Environment::OfProcess();
  environment.Unset(kTerminalSecret);
  if (!as.term.empty()) environment.Set("TERM", as.term);
  const std::string shell = environment.GetOr("SHELL", "/bin/sh");
  const bool fit = shell.starts_with('/') && os::MayAccess(shell, "x");
  auto started =
      os::Child::Start(loop_,
                       {.spawn = {.argv = {fit ? shell : "/bin/sh"},
                                  .environment = environment.entries(),
                                  .session = true},
                        .pipes = os::Child::Pipes::kTerminal,
                        .input = std::nullopt,
                        .window = *as.window,
                        .ends_at_exit = true},
                       {.output = [this](int, std::string_view bytes) { OnOutput(bytes); },
                        .input_gone =
                            [this](size_t bytes) {
                              input_ -= bytes;
                              if (visitor_ && input_ <= kInputWindow) {
                                loop_.WatchRead(visitor_.get(), [this] { OnBytes(); });
                              }
                            },
                        .ended = [this](int status) { OnEnded(status); }});
  if (!started) {
    Send(FrameType::kFailed, started.error().message.substr(0, kBodyMost));
    return false;
  }
  shell_ = std::move(*started);
  started_ = true;
  return true;
}

void KeptTerminal::Send(FrameType type, std::string_view body) {
  if (!visitor_) return;
  AppendFrame(out_, type, body);
  Flush();
}

void KeptTerminal::Flush() {
  size_t sent = 0;
  while (sent < out_.size()) {
    const os::IoStep step = os::SendSome(visitor_.get(), std::string_view(out_).substr(sent));
    if (step.kind != os::IoStep::Kind::kDone) break;  // one that is gone is found by reading
    sent += step.bytes;
  }
  out_.erase(0, sent);
  if (shell_) shell_->Pause(out_.size() > kVisitorMost);
  if (out_.empty()) return loop_.UnwatchWrite(visitor_.get());
  loop_.WatchWrite(visitor_.get(), [this] { Flush(); });
}

void KeptTerminal::OnOutput(std::string_view bytes) {
  newest_ += bytes;
  if (newest_.size() > 2 * kReplayed) newest_.erase(0, newest_.size() - kReplayed);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kBodyMost))) {
    Send(FrameType::kOutput, bytes.substr(0, kBodyMost));
  }
}

void KeptTerminal::OnEnded(int wait_status) {
  shell_.reset();
  code_ = os::ExitStatusOf(wait_status);
  Send(FrameType::kExited, std::string{static_cast<char>(code_), '\0'});
  StopIn(visitor_ ? kExitHangs : Duration());
}

void KeptTerminal::StopIn(Duration time) {
  loop_.Cancel(timer_);
  timer_ = loop_.At(loop_.Now() + time, [this] { loop_.Stop(); });
}

Result<int> Keep(bool keep) {
  const PartKeys keys = TRY(KeysHere());
  TRY(os::BecomeSubreaper());
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  auto inbox = TRY(os::HandoverInbox::Open(InboxName(keys.id)));
  KeptTerminal terminal(*loop, std::move(inbox), keys, keep);
  loop->Run();
  return terminal.code();
}

// ---- The visitor -------------------------------------------------------------------------------

// The terminal's program may still be starting.
Result<os::Fd> Connect(os::RealLoop& loop, const PartKeys& keys) {
  auto pair = TRY(os::MakeSocketPair());
  const Instant until = loop.Now() + kTerminalStarts;
  for (;;) {
    const Status given = os::HandOver(InboxName(keys.id), pair.b.get());
    if (given) return std::move(pair.a);
    if (loop.Now() > until) return std::unexpected(given.error());
    loop.At(loop.Now() + Duration::Millis(20), [&] { loop.Stop(); });
    loop.Run();
  }
}

class Attachment {
 public:
  Attachment(os::RealLoop& loop, os::Fd fd, const PartKeys& keys)
      : loop_(loop), fd_(std::move(fd)), proof_(ProofOf(keys)) {}
  Result<int> Run();

 private:
  void OnBytes();
  bool OnFrame(const Frame& frame);
  void Send(FrameType type, std::string_view body);
  void End(Result<int> result) {
    result_ = std::move(result);
    loop_.Stop();
  }

  os::RealLoop& loop_;
  const os::Fd fd_;    // blocks: what it carries is typed
  std::string proof_;  // what is still awaited of it
  FrameReader reader_;
  Result<int> result_ = kTerminalFailure;
};

Result<int> Attachment::Run() {
  auto raw = TRY(os::KeyTerminal::Enter(os::kStdin, os::KeyTerminal::Output::kRaw));
  loop_.WatchRead(fd_.get(), [this] { OnBytes(); });
  loop_.Run();
  loop_.Unwatch(fd_.get());
  loop_.Unwatch(os::kStdin);
  return result_;
}

// Nothing typed leaves before the other end has proved that it is the task.
void Attachment::OnBytes() {
  std::array<char, kBodyMost> buffer;
  auto got = os::ReadSome(fd_.get(), buffer.data(), buffer.size(), "the task's terminal");
  if (!got || *got == 0) return End(Fail(ErrorKind::kIo, "the task's terminal is gone"));
  std::string_view bytes(buffer.data(), *got);
  if (!proof_.empty()) {
    const size_t some = std::min(proof_.size(), bytes.size());
    if (proof_.substr(0, some) != bytes.substr(0, some)) {
      return End(
          Fail(ErrorKind::kPermission, "what has the name of this task's terminal is not it"));
    }
    proof_.erase(0, some);
    bytes.remove_prefix(some);
    if (!proof_.empty()) return;
    const auto here = os::Environment::OfProcess();
    Send(FrameType::kStartWords,
         BodyOf(StartWords{{"-"}, os::WindowOf(os::kStdin), here.GetOr("TERM", "")}));
    loop_.OnSignal(os::kSignalWindow,
                   [this] { Send(FrameType::kWindow, BodyOf(os::WindowOf(os::kStdin))); });
    loop_.WatchRead(os::kStdin, [this] {
      std::array<char, 4096> typed;
      auto some_typed = os::ReadSome(os::kStdin, typed.data(), typed.size(), "the terminal");
      if (!some_typed || *some_typed == 0) return End(kTerminalFailure);
      Send(FrameType::kInput, {typed.data(), *some_typed});
    });
  }
  reader_.Append(bytes);
  for (;;) {
    auto frame = reader_.Next();
    if (frame && !*frame) return;
    if (!frame || !OnFrame(**frame)) return;
  }
}

// False: nothing more is to be heard.
bool Attachment::OnFrame(const Frame& frame) {
  if (frame.type == FrameType::kOutput) {
    const bool written = os::WriteAll(os::kStdout, frame.body, "the terminal").has_value();
    if (!written) End(kTerminalFailure);
    return written;
  }
  if (frame.type == FrameType::kExited && frame.body.size() == 2) {
    End(static_cast<uint8_t>(frame.body[0]));
  } else if (frame.type == FrameType::kFailed) {
    End(Fail(ErrorKind::kUnavailable, std::string(frame.body)));
  } else {
    End(Fail(ErrorKind::kCorrupt, "the task's terminal sent what cannot be"));
  }
  return false;
}

void Attachment::Send(FrameType type, std::string_view body) {
  std::string bytes;
  AppendFrame(bytes, type, body);
  if (!os::WriteAll(fd_.get(), bytes, "the task's terminal")) {
    End(Fail(ErrorKind::kIo, "the task's terminal is gone"));
  }
}

Result<int> Attach() {
  const PartKeys keys = TRY(KeysHere());
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  auto fd = TRY(Connect(*loop, keys));
  return Attachment(*loop, std::move(fd), keys).Run();
}

}  // namespace

Result<std::string> MakeTerminalSecret() { return ToHex(TRY(access::MakeRandom())); }

int KeepTerminal(bool outlives_visitors) {
  auto code = Keep(outlives_visitors);
  (void)os::EndAllChildren(kTerminalPatience);
  return code ? *code : ReportFailure(code.error());
}

int AttachToTerminal() {
  auto code = Attach();
  return code ? *code : ReportFailure(code.error());
}

}  // namespace spate::remote
