#include "os/socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

SocketAddress At(std::string_view text) {
  return SocketAddress::Numeric(ParseAddress(text).value()).value().value();
}

bool Wait(int fd, short events) {
  pollfd p{.fd = fd, .events = events, .revents = 0};
  return poll(&p, 1, 20000) == 1;
}

int Option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  getsockopt(fd, level, name, &value, &size);
  return value;
}

// Both ends of a connection by way of a listener at `at`.
void Meet(const SocketAddress& at, Fd& client, Accepted& server) {
  auto listener = Listen(at);
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_FALSE(Accept(listener->get()).value().has_value());
  auto there = LocalAddress(listener->get()).value();
  auto fd = StartConnect(there);
  ASSERT_TRUE(fd) << fd.error().message;
  ASSERT_TRUE(Wait(fd->get(), POLLOUT) && Wait(listener->get(), POLLIN));
  ASSERT_TRUE(FinishConnect(fd->get(), there));
  auto accepted = Accept(listener->get());
  ASSERT_TRUE(accepted && *accepted);
  client = std::move(*fd);
  server = std::move(**accepted);
}

void ExchangeOn(int a, int b) {
  char buffer[16];
  EXPECT_EQ(Receive(b, buffer, sizeof(buffer)).kind, IoStep::Kind::kWouldBlock);
  EXPECT_EQ(SendSome(a, "hello").bytes, 5u);
  ASSERT_TRUE(Wait(b, POLLIN));
  EXPECT_EQ(Receive(b, buffer, sizeof(buffer)).bytes, 5u);
  ShutdownWrite(a);
  ASSERT_TRUE(Wait(b, POLLIN));
  EXPECT_EQ(Receive(b, buffer, sizeof(buffer)).kind, IoStep::Kind::kEnd);
  EXPECT_EQ(SendSome(a, "x").kind, IoStep::Kind::kError);  // and no SIGPIPE
}

TEST(Socket, Tcp) {
  for (const char* at : {"127.0.0.1:0", "[::1]:0", "*:0"}) {
    if (at[0] == '[' && !Listen(At(at))) continue;  // no IPv6 here
    Fd client;
    Accepted server;
    ASSERT_NO_FATAL_FAILURE(Meet(At(at), client, server)) << at;
    for (int fd : {client.get(), server.fd.get()}) {
      EXPECT_EQ(Option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
      EXPECT_EQ(Option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
      EXPECT_EQ(Option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 60000);
    }
    EXPECT_EQ(server.peer.Text(), LocalAddress(client.get()).value().Text());
    EXPECT_FALSE(PeerOf(server.fd.get()));
    ExchangeOn(client.get(), server.fd.get());
  }
}

TEST(Socket, UnixTellsWhoItIs) {
  TempDir dir;
  Fd client;
  Accepted server;
  ASSERT_NO_FATAL_FAILURE(Meet(At("unix:" + dir.Path("s")), client, server));
  EXPECT_EQ(PeerOf(server.fd.get()).value().user, geteuid());
  EXPECT_EQ(PeerOf(server.fd.get()).value().group, getegid());
  EXPECT_EQ(PeerOf(server.fd.get()).value().pid, getpid());
  ExchangeOn(client.get(), server.fd.get());
}

TEST(Socket, UnixFileHasThePermissionsAsked) {
  TempDir dir;
  for (uint32_t permissions : {0600u, 0666u}) {
    std::string path = dir.Path(std::to_string(permissions));
    ASSERT_TRUE(Listen(At("unix:" + path), 1, permissions));
    EXPECT_EQ(Stat(path).value().permissions, permissions);
  }
}

TEST(Socket, UnixTakesTheFileOfADeadOwnerOnly) {
  TempDir dir;
  auto at = At("unix:" + dir.Path("s"));
  {
    auto first = Listen(at);
    ASSERT_TRUE(first);
    auto second = Listen(at);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
  }
  EXPECT_TRUE(Exists(dir.Path("s")));
  EXPECT_TRUE(Listen(at));
  // No socket: never removed.
  std::string file = dir.Write("file", "precious");
  EXPECT_FALSE(Listen(At("unix:" + file)));
  EXPECT_EQ(ReadFile(file, 100).value(), "precious");
}

TEST(Socket, ErrorsSayWhatToDo) {
  auto listener = Listen(At("127.0.0.1:0"));
  ASSERT_TRUE(listener);
  auto at = LocalAddress(listener->get()).value();
  auto second = Listen(at);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
  EXPECT_NE(second.error().message.find("another program listens there"), std::string::npos);

  listener->Reset();
  auto fd = StartConnect(at);
  Status status;
  if (fd) {
    ASSERT_TRUE(Wait(fd->get(), POLLOUT));
    status = FinishConnect(fd->get(), at);
  } else {
    status = std::unexpected(fd.error());
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(status.error().message.find("nothing listens there"), std::string::npos);
}

TEST(Socket, OutOfDescriptorsIsTold) {
  auto listener = Listen(At("127.0.0.1:0"));
  ASSERT_TRUE(listener);
  auto at = LocalAddress(listener->get()).value();
  auto client = StartConnect(at);
  ASSERT_TRUE(client);
  ASSERT_TRUE(Wait(listener->get(), POLLIN));
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  auto refused = Accept(listener->get());
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  EXPECT_TRUE(Accept(listener->get()).value().has_value());  // it waited
}

TEST(Socket, TheLastDescriptorsAreForThoseWhoAreIn) {
  auto listener = Listen(At("127.0.0.1:0"));
  ASSERT_TRUE(listener);
  auto client = StartConnect(LocalAddress(listener->get()).value());
  ASSERT_TRUE(Wait(listener->get(), POLLIN));
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<Fd> taken;
  while (taken.empty() || static_cast<size_t>(taken.back().get()) < MostDescriptors() * 7 / 8) {
    taken.push_back(OpenRead("/dev/null").value());
  }
  auto refused = Accept(listener->get());
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  taken.clear();
  EXPECT_TRUE(Accept(listener->get()).value().has_value());
}

TEST(PrivateFile, IsOursAloneOrRefused) {
  TempDir dir;
  std::string path = dir.Write("secret", "s");
  for (mode_t mode : {0600, 0400, 0700}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(ReadPrivateFile(path, 10).value(), "s");
  }
  for (mode_t mode : {0640, 0604, 0610, 0602, 0644}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    auto read = ReadPrivateFile(path, 10);
    ASSERT_FALSE(read) << mode;
    EXPECT_EQ(read.error().kind, ErrorKind::kPermission);
    EXPECT_NE(read.error().message.find("chmod 600 " + path), std::string::npos);
  }
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_FALSE(ReadPrivateFile(dir.path(), 10));
  ASSERT_EQ(mkfifo(dir.Path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(ReadPrivateFile(dir.Path("pipe"), 10));
  EXPECT_EQ(ReadPrivateFile(dir.Path("none"), 10).error().kind, ErrorKind::kNotFound);
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(ReadPrivateFile(path, 10).error().kind, ErrorKind::kPermission);
}

}  // namespace
}  // namespace spate::os
