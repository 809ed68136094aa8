// The connection and the command end in either order. When the command does first, its end is said,
// and the other side closes when it has taken all; when the connection does, the command is
// abandoned. Input is kept up to kInputWindow, so the connection is always read: a signal or its
// end is never behind input that the command does not take. Output waits in the command's pipes
// while the window of the stream is shut.
#include "remote/session.h"

#include <algorithm>
#include <utility>

#include "os/process.h"
#include "os/socket.h"

namespace spate::remote {
namespace {

constexpr int kSignalMost = 64;
constexpr int kBeats = 6;  // of which one may arrive for the other end to count as there

}  // namespace

Session::Session(os::RealLoop& loop, os::Fd fd, transport::Tls& tls, const Setting& setting,
                 std::function<void()> over, const SessionLimits& limits)
    : loop_(loop), setting_(setting), limits_(limits), over_(std::move(over)) {
  os::LetReaderWait(fd.get());
  stream_ = std::make_unique<transport::Stream>(loop, std::move(fd), tls);
  stream_->Start({.opened =
                      [this] {
                        proven_ = !setting_.admit || setting_.admit();
                        if (!proven_) Abandon();
                      },
                  .bytes = [this](std::string_view bytes) { OnBytes(bytes); },
                  .writable =
                      [this] {
                        if (process_) process_->Pause(false);
                        if (ports_) ports_->Pause(false);
                      },
                  .closed =
                      [this](const transport::Closed&) {
                        stream_.reset();
                        Abandon();
                      }});
  timer_ = loop_.At(loop_.Now() + limits_.start, [this] {
    if (!started_) Abandon();
  });
  heard_ = loop_.Now();
  if (limits_.silence.ns > 0) Beat();
}

Session::~Session() {
  *alive_ = false;
  loop_.Cancel(timer_);
  loop_.Cancel(beat_);
}

// A suspended peer, or a pulled cable, looks like one who has nothing to say.
void Session::Beat() {
  beat_ = loop_.At(loop_.Now() + limits_.silence / kBeats, [this] {
    if (loop_.Now() - heard_ > limits_.silence) return Abandon();
    if (proven_) Send(FrameType::kAlive, {});
    Beat();
  });
}

void Session::Abandon() {
  stream_.reset();
  ports_.reset();
  if (process_) process_->Abandon(limits_.grace);
  EndIfDone();
}

void Session::Dismiss(std::string_view why) {
  Send(FrameType::kFailed, why.substr(0, kBodyMost));
  if (process_) process_->Abandon(limits_.grace);
}

void Session::EndIfDone() {
  if (stream_ || process_) return;
  loop_.Post([this, alive = alive_] {
    if (!*alive || !over_) return;
    auto over = std::exchange(over_, nullptr);  // it may destroy this
    over();
  });
}

void Session::OnBytes(std::string_view bytes) {
  heard_ = loop_.Now();
  reader_.Append(bytes);
  while (stream_) {
    auto frame = reader_.Next();
    if (frame && !*frame) return;
    if (!frame || !OnFrame(**frame)) return Abandon();
  }
}

bool Session::OnFrame(const Frame& frame) {
  if (frame.type == FrameType::kAlive) return true;
  const bool starts = frame.type == FrameType::kStart || frame.type == FrameType::kStartWords;
  if (started_ == starts) return false;
  if (IsOfPort(frame.type)) return OnPort(frame);
  switch (frame.type) {
    case FrameType::kStart:
      return StartText(frame.body);
    case FrameType::kStartWords:
      return StartWordsAt(frame.body);
    case FrameType::kWindow: {
      auto window = WindowOf(frame.body);
      if (window && process_) process_->Resize(*window);
      return window.has_value();
    }
    case FrameType::kInput:
      input_ += frame.body.size();
      if (input_ended_ || input_ > kInputWindow) return false;
      if (process_) process_->Write(frame.body);
      return true;
    case FrameType::kInputEnd:
      input_ended_ = true;
      if (process_) process_->CloseInput();
      return true;
    case FrameType::kSignal: {
      int signo = frame.body.size() == 1 ? static_cast<uint8_t>(frame.body[0]) : 0;
      if (signo < 1 || signo > kSignalMost) return false;
      if (process_) process_->Signal(signo);
      return true;
    }
    case FrameType::kAlive:
    case FrameType::kPortOpen:
    case FrameType::kPortBytes:
    case FrameType::kPortEnd:
    case FrameType::kPortGone:
    case FrameType::kPortClosed:
    case FrameType::kOutput:
    case FrameType::kErrors:
    case FrameType::kInputGone:
    case FrameType::kExited:
    case FrameType::kFailed:
      return false;
  }
  return false;
}

// Visitors alone have ports.
bool Session::OnPort(const Frame& frame) {
  if (!setting_.shell.empty()) return false;
  if (!ports_) {
    ports_ = std::make_unique<Ports>(
        loop_, /*connects=*/true,
        [this](FrameType type, std::string_view body) { Send(type, body); });
  }
  return ports_->OnFrame(frame);
}

bool Session::StartText(std::string_view text) {
  if (setting_.shell.empty()) return false;
  std::vector<std::string> argv = setting_.shell;
  argv.emplace_back(text);
  StartCommand(
      {.spawn = {.argv = std::move(argv), .environment = setting_.environment, .session = true},
       .pipes = os::Child::Pipes::kAll,
       .input = std::nullopt});
  return true;
}

bool Session::StartWordsAt(std::string_view body) {
  auto start = StartWordsOf(body);
  if (!start) return false;
  std::vector<std::string> environment = setting_.environment;
  if (start->window && !start->term.empty()) {
    std::erase_if(environment, [](const auto& each) { return each.starts_with("TERM="); });
    environment.push_back("TERM=" + start->term);
  }
  using Pipes = os::Child::Pipes;
  StartCommand({.spawn = {.argv = std::move(start->words),
                          .environment = std::move(environment),
                          .session = true},
                .pipes = start->window ? Pipes::kTerminal : Pipes::kAll,
                .input = std::nullopt,
                .window = start->window.value_or(os::WindowSize()),
                .ends_at_exit = start->window.has_value()});
  return true;
}

void Session::StartCommand(os::Child::Options options) {
  started_ = true;
  auto process = os::Child::Start(
      loop_, std::move(options),
      {.output = [this](int stream, std::string_view bytes) { OnOutput(stream, bytes); },
       .input_gone =
           [this](size_t bytes) {
             input_ -= bytes;
             Send(FrameType::kInputGone, NumberBody(static_cast<uint32_t>(bytes)));
           },
       .ended = [this](int status) { OnEnded(status); }});
  if (process) {
    process_ = std::move(*process);
    return;
  }
  Send(FrameType::kFailed, std::string_view(process.error().message).substr(0, kBodyMost));
}

void Session::Send(FrameType type, std::string_view body) {
  if (!stream_) return;
  std::string bytes;
  AppendFrame(bytes, type, body);
  if (stream_->Send(bytes)) return;
  if (process_) process_->Pause(true);
  if (ports_) ports_->Pause(true);
}

void Session::OnOutput(int stream, std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kBodyMost))) {
    Send(stream == 1 ? FrameType::kOutput : FrameType::kErrors, bytes.substr(0, kBodyMost));
  }
}

void Session::OnEnded(int wait_status) {
  process_.reset();
  int signo = os::SignalOf(wait_status);
  std::string body;
  body += static_cast<char>(signo == 0 ? os::ExitStatusOf(wait_status) : 0);
  body += static_cast<char>(signo);
  Send(FrameType::kExited, body);
  EndIfDone();
}

}  // namespace spate::remote
