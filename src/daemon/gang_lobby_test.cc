#include "daemon/gang_lobby.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "os/temp_dir.h"
#include "remote/ticket.h"

namespace spate::daemon {
namespace {

os::SocketAddress Number(std::string_view text) {
  return os::SocketAddress::Numeric(os::ParseAddress(text).value()).value().value();
}

class GangLobbyTest : public ::testing::Test {
 protected:
  std::unique_ptr<GangLobby> Open() {
    auto lobby = GangLobby::Open(*loop_, dir_.path(), [this](std::string text) { log_ += text; });
    EXPECT_TRUE(lobby) << lobby.error().message;
    return lobby ? std::move(*lobby) : nullptr;
  }

  os::TempDir dir_;
  std::unique_ptr<os::RealLoop> loop_ = std::move(os::RealLoop::Create().value());
  std::string log_;
};

TEST_F(GangLobbyTest, TheNextProcessOfTheNodeKeepsThePort) {
  const os::SocketAddress self = Number("10.1.2.3:44");
  std::string first = Open()->Remote(self);
  EXPECT_TRUE(first.starts_with("10.1.2.3:")) << first;
  auto lobby = Open();
  EXPECT_EQ(lobby->Remote(self), first);
  // Somebody else has it now.
  EXPECT_NE(Open()->Remote(self), first);
  EXPECT_EQ(log_, "");
}

TEST_F(GangLobbyTest, ANoteThatMakesNoSenseIsLeftAlone) {
  dir_.Write("gang-port", "a port");
  EXPECT_NE(Open(), nullptr);
}

TEST_F(GangLobbyTest, BesideItsHubItNamesAllItsAddresses) {
  auto lobby = Open();
  for (const char* self : {"127.0.0.1:5", "[::1]:5", "unix:/tmp/hub"}) {
    auto addresses = remote::ParseLobbies(lobby->Remote(Number(self)));
    ASSERT_TRUE(addresses) << addresses.error().message;
    EXPECT_EQ(addresses->back().host, "127.0.0.1");
    EXPECT_LE(addresses->size(), 8u);
    for (const os::Address& each : *addresses) EXPECT_EQ(each.port, addresses->back().port);
  }
}

}  // namespace
}  // namespace spate::daemon
