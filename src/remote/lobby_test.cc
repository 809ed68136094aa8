#include "remote/lobby.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "os/handover.h"
#include "os/socket.h"
#include "remote/testing_remote.h"

namespace spate::remote {
namespace {

class LobbyTest : public RemoteTest {
 protected:
  os::Fd Connect() {
    auto fd = os::StartConnect(lobby_->address());
    EXPECT_TRUE(fd);
    return std::move(*fd);
  }
  // Expects the lobby to close on who says this.
  void ClosesOn(std::string_view bytes, bool and_ends) {
    os::Fd fd = Connect();
    RunUntil([&] { return os::SendSome(fd.get(), bytes).kind == os::IoStep::Kind::kDone; });
    if (and_ends) os::ShutdownWrite(fd.get());
    os::IoStep step;
    char byte;
    RunUntil([&] {
      step = os::Receive(fd.get(), &byte, 1);
      return step.kind != os::IoStep::Kind::kWouldBlock;
    });
    EXPECT_NE(step.kind, os::IoStep::Kind::kDone);
  }
};

TEST_F(LobbyTest, ClosesOnWhoDoesNotKnock) {
  OpenLobby();
  ClosesOn("GET / HTTP/1.0\r\n\r\n", false);
  ClosesOn("x", false);
  ClosesOn("spate remote 1", true);
  ClosesOn(std::string(kKnock) + "short", true);
  // A knock for nobody.
  ClosesOn(std::string(kKnock) + std::string(32, 'x'), false);
  EXPECT_TRUE(rc::check([&](const std::string& noise) { ClosesOn("\x01" + noise, true); }));
}

TEST_F(LobbyTest, WhoSaysNothingHasToGo) {
  OpenLobby({.strangers = 2, .patience = Duration::Millis(50)});
  os::Fd a = Connect(), b = Connect(), c = Connect();
  for (os::Fd* fd : {&a, &b, &c}) {
    char byte;
    RunUntil(
        [&] { return os::Receive(fd->get(), &byte, 1).kind != os::IoStep::Kind::kWouldBlock; });
  }
  auto server = Serve(TicketOf("n2"));
  auto caller = Call("echo hello");
  Await(*caller);
  EXPECT_EQ(caller->output, "hello\n");
}

TEST_F(LobbyTest, WhoComesTakesThePlaceOfTheOldest) {
  OpenLobby({.strangers = 2, .patience = Duration::Seconds(1000)});
  os::Fd a = Connect(), b = Connect(), c = Connect();
  char byte;
  RunUntil([&] { return os::Receive(a.get(), &byte, 1).kind != os::IoStep::Kind::kWouldBlock; });
  EXPECT_EQ(os::Receive(c.get(), &byte, 1).kind, os::IoStep::Kind::kWouldBlock);
  auto server = Serve(TicketOf("n2"));
  auto caller = Call("echo hello");
  Await(*caller);
  EXPECT_EQ(caller->output, "hello\n");
}

TEST_F(LobbyTest, WhoHasKnockedDoesNotGiveWayToTheSilent) {
  OpenLobby({.strangers = 3, .patience = Duration::Seconds(1000)});
  const Bytes32 id = KeysOfPart(ticket_.secret, "n2").id;
  auto inbox = os::HandoverInbox::Open(InboxName(id));
  ASSERT_TRUE(inbox);
  auto filler = os::MakePipe().value();
  size_t fillers = 0;
  while (os::HandOver(InboxName(id), filler.read.get())) ++fillers;
  os::Fd knocks = Connect();
  RunUntil([&] { return os::SendSome(knocks.get(), KnockAt(id)).kind == os::IoStep::Kind::kDone; });
  ClosesOn("x", false);  // so the knock was heard, too
  for (int i = 0; i < 8; ++i) {
    os::Fd silent = Connect(), next = Connect(), last = Connect();
    char byte;
    RunUntil(
        [&] { return os::Receive(silent.get(), &byte, 1).kind != os::IoStep::Kind::kWouldBlock; });
  }
  for (size_t i = 0; i < fillers; ++i) ASSERT_TRUE(*inbox->Receive());
  RunUntil([&] { return inbox->Receive().value().has_value(); });
}

}  // namespace
}  // namespace spate::remote
