#include "node/port.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "os/file.h"
#include "os/interfaces.h"
#include "os/socket.h"
#include "os/temp_dir.h"
#include "remote/ticket.h"

namespace spate::node {
namespace {

os::SocketAddress Number(std::string_view text) {
  return os::SocketAddress::Numeric(os::ParseAddress(text).value()).value().value();
}

// True if somebody listens there.
bool IsHeard(const std::string& host, uint16_t port) {
  auto at = os::SocketAddress::Numeric({.host = host, .port = port, .path = {}}).value().value();
  auto fd = os::StartConnect(at);
  if (!fd) return false;
  pollfd wait{.fd = fd->get(), .events = POLLOUT, .revents = 0};
  EXPECT_EQ(poll(&wait, 1, 20'000), 1);
  return os::FinishConnect(fd->get(), at).has_value();
}

class PortTest : public ::testing::Test {
 protected:
  std::unique_ptr<Port> Open(uint16_t port = 0) {
    return std::move(Port::Open(*loop_, "1.0", {.folder = dir_.path(), .port = port},
                                {.report = nullptr,
                                 .stop = nullptr,
                                 .log = [this](const std::string& text) { log_ += text; }})
                         .value());
  }
  static os::Address Only(const std::string& remote) {
    auto addresses = remote::ParseLobbies(remote);
    EXPECT_TRUE(addresses && addresses->size() == 1) << remote;
    return addresses && !addresses->empty() ? addresses->front() : os::Address{};
  }
  uint16_t FreePort() {
    auto fd = os::Listen(Number("127.0.0.1:0")).value();
    return os::ParseAddress(os::LocalAddress(fd.get()).value().Text())->port;
  }

  os::TempDir dir_;
  std::unique_ptr<os::RealLoop> loop_ = std::move(os::RealLoop::Create().value());
  std::string log_;
};

TEST_F(PortTest, TheNextProcessOfTheNodeKeepsThePort) {
  const os::SocketAddress self = Number("127.0.0.1:44");
  const std::string first = Open()->ListenFor(self, "");
  const uint16_t port = Only(first).port;
  EXPECT_FALSE(IsHeard("127.0.0.1", port));
  auto node = Open();
  EXPECT_TRUE(IsHeard("127.0.0.1", port)) << "before its hub is there";
  EXPECT_EQ(node->ListenFor(self, ""), first);
  EXPECT_EQ(node->ListenFor(self, ""), first) << "its hub came again";
  // Somebody else has it now.
  EXPECT_NE(Open()->ListenFor(self, ""), first);
  EXPECT_EQ(log_, "");
}

TEST_F(PortTest, ANoteThatMakesNoSenseIsLeftAlone) {
  for (const char* note : {"a port", "unix:/tmp/s", "nowhere.example:70", "*:0", ""}) {
    dir_.Write("gang-port", note);
    EXPECT_NE(Open()->ListenFor(Number("127.0.0.1:44"), ""), "") << note;
  }
  EXPECT_EQ(log_, "");
}

TEST_F(PortTest, ItListensWhereItsHubSeesItOnly) {
  const std::vector<std::string> own = os::OwnAddresses();
  if (own.empty()) GTEST_SKIP() << "needs a network";
  auto node = Open();
  const auto self = os::SocketAddress::Numeric({.host = own[0], .port = 44, .path = {}});
  const os::Address at = Only(node->ListenFor(self.value().value(), ""));
  EXPECT_EQ(at.host, own[0]);
  EXPECT_TRUE(IsHeard(own[0], at.port));
  EXPECT_FALSE(IsHeard("127.0.0.1", at.port));
  // Its hub sees it elsewhere now.
  EXPECT_EQ(Only(node->ListenFor(Number("127.0.0.1:44"), "")).port, at.port);
  EXPECT_TRUE(IsHeard("127.0.0.1", at.port));
  EXPECT_FALSE(IsHeard(own[0], at.port));
  EXPECT_EQ(log_, "");
}

TEST_F(PortTest, BesideItsHubItListensWhereThatDoes) {
  const std::vector<std::string> own = os::OwnAddresses();
  for (const char* self : {"127.0.0.1:5", "[::1]:5", "unix:/tmp/hub"}) {
    // For this machine alone.
    auto node = Open();
    const os::Address at = Only(node->ListenFor(Number(self), ""));
    EXPECT_EQ(at.host, "127.0.0.1");
    for (const std::string& host : own) EXPECT_FALSE(IsHeard(host, at.port));
    node.reset();
    const uint16_t port = FreePort();
    node = Open(port);
    EXPECT_EQ(Only(node->ListenFor(Number(self), "")).port, port);
    // Everywhere.
    auto addresses = remote::ParseLobbies(node->ListenFor(Number(self), "0.0.0.0"));
    ASSERT_TRUE(addresses) << addresses.error().message;
    EXPECT_EQ(addresses->back().host, "127.0.0.1");
    EXPECT_LE(addresses->size(), 8u);
    for (const os::Address& each : *addresses) {
      EXPECT_EQ(each.port, port);
      EXPECT_TRUE(IsHeard(each.host, port)) << each.host;
    }
    if (own.empty()) continue;
    // At one address.
    EXPECT_EQ(Only(node->ListenFor(Number(self), own[0])).host, own[0]);
    EXPECT_TRUE(IsHeard(own[0], port));
    EXPECT_FALSE(IsHeard("127.0.0.1", port));
  }
  EXPECT_EQ(log_, "");
}

TEST_F(PortTest, ThePortThatWasGivenOrNone) {
  const auto self = Number("127.0.0.1:44");
  auto other = os::Listen(Number("*:0")).value();
  auto node = Open(os::ParseAddress(os::LocalAddress(other.get()).value().Text())->port);
  EXPECT_EQ(node->ListenFor(self, ""), "");
  EXPECT_NE(log_.find("spate remote does not work to this node"), std::string::npos) << log_;
  other.Reset();
  EXPECT_NE(node->ListenFor(self, ""), "") << "its hub came again";
}

}  // namespace
}  // namespace spate::node
