#include "os/tcp_traffic.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "os/fd.h"

namespace spate::os {
namespace {

// Two ends of a connection over loopback.
struct Pair {
  Fd client, server;

  Pair() {
    Fd door(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(door.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(door.get(), 1), 0);
    EXPECT_EQ(getsockname(door.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    client = Fd(socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    server = Fd(accept(door.get(), nullptr, nullptr));
  }
};

// The sum over this process' connections.
uint64_t Own(const std::unordered_map<uint64_t, uint64_t>& all) {
  uint64_t sum = 0;
  for (uint64_t inode : SocketsOf(getpid(), 1000)) {
    if (auto at = all.find(inode); at != all.end()) sum += at->second;
  }
  return sum;
}

TEST(TcpTrafficTest, CountsWhatAConnectionCarries) {
  const Pair pair;
  auto before = TcpTraffic();
  if (!before) GTEST_SKIP() << before.error().message;
  const std::string bytes(100'000, 'x');
  ASSERT_EQ(write(pair.client.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  std::string got(bytes.size(), '\0');
  ASSERT_EQ(recv(pair.server.get(), got.data(), got.size(), MSG_WAITALL),
            static_cast<ssize_t>(got.size()));
  auto after = TcpTraffic();
  ASSERT_TRUE(after);
  // Received at one end for sure, and acknowledged at the other end a moment later.
  EXPECT_GE(Own(*after) - Own(*before), bytes.size());
  EXPECT_LE(Own(*after) - Own(*before), 2 * bytes.size() + 1000);
}

TEST(TcpTrafficTest, SocketsAreBoundedAndOthersHaveNone) {
  const Pair pair;
  EXPECT_GE(SocketsOf(getpid(), 1000).size(), 2u);
  EXPECT_TRUE(SocketsOf(getpid(), 0).empty());
  EXPECT_TRUE(SocketsOf(0x7ffffffe, 1000).empty());
}

TEST(TcpTrafficTest, BytesMovedAreThoseOfSystemCalls) {
  auto before = BytesMovedBy(getpid());
  ASSERT_TRUE(before);
  const Fd null(open("/dev/zero", O_RDONLY));
  std::string bytes(1 << 20, 'x');
  ASSERT_EQ(read(null.get(), bytes.data(), bytes.size()), 1 << 20);
  auto after = BytesMovedBy(getpid());
  ASSERT_TRUE(after);
  EXPECT_GE(*after - *before, 1u << 20);
  EXPECT_FALSE(BytesMovedBy(0x7ffffffe));
}

}  // namespace
}  // namespace spate::os
