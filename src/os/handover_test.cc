#include "os/handover.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace spate::os {
namespace {

std::string Unused(const char* what) {
  return "spate-handover-test-" + std::to_string(getpid()) + what;
}

TEST(Handover, WhatIsSentIsTheSameOpenFile) {
  auto inbox = HandoverInbox::Open(Unused("a"));
  ASSERT_TRUE(inbox) << inbox.error().message;
  EXPECT_FALSE(*inbox->Take());
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(HandOver(Unused("a"), pipe->write.get()));
  auto taken = inbox->Take();
  ASSERT_TRUE(taken && *taken);
  EXPECT_NE(fcntl((*taken)->get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_TRUE(WriteAll((*taken)->get(), "hello", "a pipe"));
  char text[8];
  EXPECT_EQ(ReadNow(pipe->read.get(), text, sizeof(text)).value(), 5u);
  EXPECT_FALSE(*inbox->Take());
}

TEST(Handover, ANameIsOfOneAtATime) {
  {
    auto inbox = HandoverInbox::Open(Unused("b"));
    ASSERT_TRUE(inbox);
    auto other = HandoverInbox::Open(Unused("b"));
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind, ErrorKind::kBusy);
  }
  Status gone = HandOver(Unused("b"), 0);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(HandoverInbox::Open(Unused("b")));
}

TEST(Handover, AFullInboxIsBusyUntilSomethingIsTaken) {
  auto inbox = HandoverInbox::Open(Unused("c"));
  ASSERT_TRUE(inbox);
  Status sent;
  int count = 0;
  for (; count < 100'000 && sent; ++count) sent = HandOver(Unused("c"), 0);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kBusy);
  ASSERT_TRUE(*inbox->Take());
  EXPECT_TRUE(HandOver(Unused("c"), 0));
}

// Sends as another user, which only root can try.
TEST(Handover, WhatAnotherUserSendsIsDropped) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  // The inbox is of a user, and takes from root and itself.
  const std::string name = Unused("d");
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool fine = setresuid(0, 65531, 0) == 0;
    auto inbox = HandoverInbox::Open(name);
    auto send_as = [&](uid_t user) {
      pid_t sender = fork();
      if (sender == 0) {
        (void)setresuid(0, 0, 0);
        bool sent = setresuid(user, user, user) == 0 && HandOver(name, 0);
        _exit(sent ? 0 : 1);
      }
      int status = 0;
      waitpid(sender, &status, 0);
      fine = fine && status == 0;
      auto taken = inbox->Take();
      return taken && taken->has_value();
    };
    fine = fine && inbox && !send_as(65532) && send_as(65531) && send_as(0);
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Handover, DatagramsWithoutADescriptorAreDropped) {
  auto inbox = HandoverInbox::Open(Unused("e"));
  ASSERT_TRUE(inbox);
  Fd sender(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::string name = Unused("e");
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(sendto(sender.get(), "xyz", 3, 0, reinterpret_cast<sockaddr*>(&address), size), 3);
  EXPECT_FALSE(*inbox->Take());
  ASSERT_TRUE(HandOver(name, 0));
  EXPECT_TRUE(*inbox->Take());
}

}  // namespace
}  // namespace spate::os
