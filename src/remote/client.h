// Client: one command in a part of a gang, or in a task, with this process' standard streams.
//
// It reaches the part's server by the lobby of its node, or directly where the part is on this
// machine, and goes on trying for a while: parts of a gang do not start at the same moment.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "os/terminal.h"
#include "remote/escape_keys.h"
#include "remote/frames.h"
#include "remote/ports.h"
#include "remote/ticket.h"
#include "transport/tcp/dialer.h"
#include "transport/tcp/stream.h"
#include "transport/tcp/tls.h"

namespace spate::remote {

class Client {
 public:
  struct Options {
    std::string node;     // one of the ticket's hosts
    std::string command;  // for its shell
    // In place of it. With a window `in` is a terminal, which is raw until the end; the keys
    // Enter ~ . leave.
    std::optional<StartWords> words = std::nullopt;
    std::string place = "of this gang";  // for messages, after the node's name
    Duration silence = {};  // longest pause between signs of life of the server; 0: any
    std::function<void()> opened = nullptr;  // called once, when the command was started
    int in = 0;                              // -1: no input
    int out = 1, err = 2;
    Duration patience = Duration::Seconds(30);   // until the part's server is there
    Duration handshake = Duration::Seconds(10);  // of one connection
  };
  // `done` is called once, by the loop, with the command's exit code (128 and the signal's number
  // where one ended it); an error: the command did not run, or nobody knows how it ended. It may
  // destroy the client. Descriptors are the caller's.
  using Done = std::function<void(Result<int>)>;
  Client(os::RealLoop& loop, const Ticket& ticket, Options options, Done done);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // To the command. False: it does not run yet.
  bool Signal(int signo);
  // The terminal has another size now.
  void Resize();
  // Forwards the connection to that port of the server's machine. kUnavailable: the
  // command does not run; kBusy: Ports::kMost are forwarded already.
  Status Forward(os::Fd fd, uint16_t port);

 private:
  void Try();
  void Dial(const os::Address& address);
  void Hand();
  void Begin(os::Fd fd);
  void Opened();
  void Closed(const transport::Closed& closed);
  void TryLater(std::string why);
  size_t Places() const;
  void OnBytes(std::string_view bytes);
  bool OnFrame(const Frame& frame);  // false: not a frame that may come now
  void Print(os::OutputThread& to, std::string_view bytes);
  void FoundRoom(os::OutputThread& of);
  void WatchInput();
  void OnInput();
  void Send(FrameType type, std::string_view body);
  void Exited(int code);
  void Beat();
  void Leave();
  void Finish(Result<int> result);

  os::RealLoop& loop_;
  const Options options_;
  const TicketHost host_;
  const PartKeys keys_;
  const bool is_self_;
  const bool is_here_;
  Done done_;
  const Instant until_;
  size_t tries_ = 0;
  size_t wrong_ = 0;  // places of this round where somebody else is
  os::TimerId timer_ = 0;
  std::unique_ptr<transport::Tls> tls_;
  std::unique_ptr<transport::Dialer> dialer_;
  std::unique_ptr<transport::Stream> stream_;
  os::OutputThread out_, err_;
  std::set<const os::OutputThread*> full_;  // of these two
  FrameReader reader_;
  std::unique_ptr<Ports> ports_;  // null: none was forwarded
  std::optional<os::KeyTerminal> raw_;
  EscapeKeys keys_typed_;
  os::TimerId beat_ = 0;
  Instant heard_;
  bool opened_ = false;
  bool reads_ = false;  // the input is watched
  bool input_over_ = false;
  bool writable_ = true;  // the stream's window is open
  size_t under_way_ = 0;  // bytes of input
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::remote
