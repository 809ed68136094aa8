// Common parts of the tests of this folder: a gang of two nodes in one process, and a client with
// pipes for its streams.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "access/proof.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/signals.h"
#include "remote/client.h"
#include "remote/lobby.h"
#include "remote/server.h"
#include "remote/ticket.h"
#include "transport/tcp/testing_peer.h"

namespace spate::remote {

// A client, and what came of it.
struct Member {
  os::Pipe in, out, err;
  std::string output, errors;
  std::optional<Result<int>> result;
  std::unique_ptr<Client> client;
};

class RemoteTest : public transport::LoopTest {
 protected:
  RemoteTest() {
    os::IgnoreSignal(os::kSignalPipe);
    ticket_.secret = access::MakeRandom().value();
    ticket_.self = "n1";
    ticket_.hosts = {{"n1", {}}, {"n2", {}}};
  }

  Ticket TicketOf(const std::string& node) const {
    Ticket ticket = ticket_;
    ticket.self = node;
    return ticket;
  }
  std::unique_ptr<Server> Serve(const Ticket& ticket, const ServerLimits& limits = {}) {
    auto server = Server::Open(*loop_, ticket,
                               {{"/bin/sh", "-c"}, os::Environment::OfProcess().entries()}, limits);
    EXPECT_TRUE(server) << server.error().message;
    return server ? std::move(*server) : nullptr;
  }
  void OpenLobby(const LobbyLimits& limits = {}) {
    auto any = os::SocketAddress::Numeric(os::ParseAddress("127.0.0.1:0").value()).value().value();
    auto lobby = Lobby::Open(*loop_, any, [](const Error&) {}, limits);
    ASSERT_TRUE(lobby) << lobby.error().message;
    lobby_ = std::move(*lobby);
    ticket_.hosts[1].at = {os::ParseAddress(lobby_->address().Text()).value()};
  }

  std::unique_ptr<Member> Call(const std::string& command, const std::string& node = "n2",
                               Duration patience = Duration::Seconds(30)) {
    auto caller = std::make_unique<Member>();
    caller->in = os::MakePipe().value();
    caller->out = os::MakePipe().value();
    caller->err = os::MakePipe().value();
    Client::Options options{.node = node, .command = command};
    options.in = caller->in.read.get();
    options.out = caller->out.write.get();
    options.err = caller->err.write.get();
    options.patience = patience;
    options.handshake = handshake_;
    Member* at = caller.get();
    caller->client = std::make_unique<Client>(*loop_, ticket_, std::move(options),
                                              [at](Result<int> ended) { at->result = ended; });
    return caller;
  }
  std::unique_ptr<Member> CallWords(StartWords words, Duration silence = {}) {
    auto caller = std::make_unique<Member>();
    caller->in = os::MakePipe().value();
    caller->out = os::MakePipe().value();
    caller->err = os::MakePipe().value();
    Client::Options options{.node = "n2", .command = {}, .words = std::move(words)};
    options.silence = silence;
    options.in = caller->in.read.get();
    options.out = caller->out.write.get();
    options.err = caller->err.write.get();
    options.patience = Duration::Millis(100);
    Member* at = caller.get();
    caller->client = std::make_unique<Client>(*loop_, ticket_, std::move(options),
                                              [at](Result<int> ended) { at->result = ended; });
    return caller;
  }
  static void Drain(os::Fd& fd, std::string& to) {
    char buffer[1 << 16];
    while (os::WaitReadable(fd.get(), {})) {
      auto got = os::ReadSome(fd.get(), buffer, sizeof(buffer), "a pipe");
      if (!got || *got == 0) return;
      to.append(buffer, *got);
    }
  }
  // Reads what the client prints, meanwhile and at its end.
  void Await(Member& caller) {
    loop_->WatchRead(caller.out.read.get(), [&] { Drain(caller.out.read, caller.output); });
    loop_->WatchRead(caller.err.read.get(), [&] { Drain(caller.err.read, caller.errors); });
    RunUntil([&] { return caller.result.has_value(); });
    loop_->Unwatch(caller.out.read.get());
    loop_->Unwatch(caller.err.read.get());
    Drain(caller.out.read, caller.output);
    Drain(caller.err.read, caller.errors);
  }
  void AwaitOutput(Member& caller, const std::string& text) {
    loop_->WatchRead(caller.out.read.get(), [&] { Drain(caller.out.read, caller.output); });
    RunUntil([&] { return caller.output == text || caller.result; });
    loop_->Unwatch(caller.out.read.get());
    EXPECT_EQ(caller.output, text);
  }

  Ticket ticket_;
  Duration handshake_ = Duration::Seconds(20);
  std::unique_ptr<Lobby> lobby_;
};

}  // namespace spate::remote
