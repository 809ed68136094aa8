#include "remote/ports.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/socket.h"
#include "transport/tcp/testing_peer.h"

namespace spate::remote {
namespace {

std::string Open(uint32_t id, uint16_t port) {
  return NumberBody(id) + static_cast<char>(port) + static_cast<char>(port >> 8);
}

class PortsTest : public transport::LoopTest {
 protected:
  Ports::Sender Sends() {
    return [this](FrameType type, std::string_view body) { sent_.emplace_back(type, body); };
  }
  bool Hears(Ports& ports, FrameType type, const std::string& body) {
    return ports.OnFrame({type, body});
  }
  std::vector<std::pair<FrameType, std::string>> sent_;
};

TEST_F(PortsTest, OnlyAServerConnects) {
  Ports client(*loop_, /*connects=*/false, Sends());
  EXPECT_FALSE(Hears(client, FrameType::kPortOpen, Open(1, 80)));
  Ports server(*loop_, /*connects=*/true, Sends());
  EXPECT_TRUE(Hears(server, FrameType::kPortOpen, Open(1, 1)));
  EXPECT_EQ(server.size(), 1u);
}

TEST_F(PortsTest, FramesThatCannotBeAreRefused) {
  Ports server(*loop_, /*connects=*/true, Sends());
  EXPECT_FALSE(Hears(server, FrameType::kPortOpen, Open(1, 0)));
  EXPECT_FALSE(Hears(server, FrameType::kPortOpen, "abc"));
  EXPECT_FALSE(Hears(server, FrameType::kPortOpen, NumberBody(2)));
  EXPECT_TRUE(Hears(server, FrameType::kPortOpen, Open(7, 1)));
  EXPECT_FALSE(Hears(server, FrameType::kPortOpen, Open(7, 1)));
  EXPECT_FALSE(Hears(server, FrameType::kPortOpen, Open(6, 1)));
  EXPECT_FALSE(Hears(server, FrameType::kPortGone, NumberBody(7) + NumberBody(1)));
  EXPECT_FALSE(Hears(server, FrameType::kPortGone, NumberBody(7)));
  // A channel that is over, or never was, is of no interest.
  EXPECT_TRUE(Hears(server, FrameType::kPortBytes, NumberBody(3) + "late"));
  EXPECT_TRUE(Hears(server, FrameType::kPortClosed, NumberBody(7)));
  EXPECT_EQ(server.size(), 0u);
}

TEST_F(PortsTest, NoMoreThanTheWindowWaits) {
  Ports server(*loop_, /*connects=*/true, Sends());
  ASSERT_TRUE(Hears(server, FrameType::kPortOpen, Open(1, 1)));
  const std::string piece(kInputWindow / 8, 'x');
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(Hears(server, FrameType::kPortBytes, NumberBody(1) + piece));
  }
  EXPECT_FALSE(Hears(server, FrameType::kPortBytes, NumberBody(1) + "x"));
  EXPECT_TRUE(Hears(server, FrameType::kPortEnd, NumberBody(1)));
  EXPECT_FALSE(Hears(server, FrameType::kPortEnd, NumberBody(1)));
}

TEST_F(PortsTest, ManyAreBounded) {
  Ports server(*loop_, /*connects=*/true, Sends());
  for (uint32_t id = 1; id <= Ports::kMost; ++id) {
    ASSERT_TRUE(Hears(server, FrameType::kPortOpen, Open(id, 1)));
  }
  EXPECT_TRUE(sent_.empty());
  EXPECT_TRUE(Hears(server, FrameType::kPortOpen, Open(Ports::kMost + 1, 1)));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_.front().first, FrameType::kPortClosed);
  EXPECT_EQ(server.size(), Ports::kMost);
}

}  // namespace
}  // namespace spate::remote
