#include "os/handover.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
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
  EXPECT_FALSE(*inbox->Receive());
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(HandOver(Unused("a"), pipe->write.get()));
  auto taken = inbox->Receive();
  ASSERT_TRUE(taken && *taken);
  EXPECT_NE(fcntl((*taken)->get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_TRUE(WriteAll((*taken)->get(), "hello", "a pipe"));
  char text[8];
  EXPECT_EQ(ReadNow(pipe->read.get(), text, sizeof(text)).value(), 5u);
  EXPECT_FALSE(*inbox->Receive());
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
  ASSERT_TRUE(*inbox->Receive());
  EXPECT_TRUE(HandOver(Unused("c"), 0));
}

constexpr uid_t kUser = 65531, kStranger = 65532;

// The result of `test` with an inbox of kUser, in a process that may become any user; false also
// when there is no inbox.
bool WithInboxOfAUser(const std::string& name, bool (*test)(HandoverInbox&, const std::string&)) {
  pid_t child = fork();
  if (child == 0) {
    bool fine = setresuid(0, kUser, 0) == 0;
    auto inbox = HandoverInbox::Open(name);
    _exit(fine && inbox && test(*inbox, name) ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

// How many of `count` there was room for.
int SendAs(uid_t user, const std::string& name, int count) {
  pid_t sender = fork();
  if (sender == 0) {
    (void)setresuid(0, 0, 0);
    if (setresuid(user, user, user) != 0) _exit(0);
    int sent = 0;
    while (sent < count && HandOver(name, 0)) ++sent;
    _exit(sent);
  }
  int status = 0;
  waitpid(sender, &status, 0);
  return WEXITSTATUS(status);
}

bool Takes(HandoverInbox& inbox) {
  auto taken = inbox.Receive();
  return taken && taken->has_value();
}

bool IsReadable(const HandoverInbox& inbox) {
  pollfd poll_of{.fd = inbox.fd(), .events = POLLIN, .revents = 0};
  return poll(&poll_of, 1, 0) == 1;
}

// Sends as another user, which only root can try.
TEST(Handover, WhatAnotherUserSendsIsDropped) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  // The inbox is of a user, and takes from root and itself.
  EXPECT_TRUE(WithInboxOfAUser(Unused("d"), [](HandoverInbox& inbox, const std::string& name) {
    return SendAs(kStranger, name, 1) == 1 && !Takes(inbox) && SendAs(kUser, name, 1) == 1 &&
           Takes(inbox) && SendAs(0, name, 1) == 1 && Takes(inbox);
  }));
}

TEST(Handover, OneTakeGoesPastSomeStrangersAndNotPastAny) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  EXPECT_TRUE(WithInboxOfAUser(Unused("f"), [](HandoverInbox& inbox, const std::string& name) {
    return SendAs(kStranger, name, 5) == 5 && SendAs(kUser, name, 1) == 1 && Takes(inbox) &&
           !IsReadable(inbox);
  }));
  // An inbox has room for 11 where the system was not told otherwise.
  EXPECT_TRUE(WithInboxOfAUser(Unused("g"), [](HandoverInbox& inbox, const std::string& name) {
    return SendAs(kStranger, name, 10) == 10 && SendAs(kUser, name, 1) == 1 && !Takes(inbox) &&
           IsReadable(inbox) && Takes(inbox) && !IsReadable(inbox);
  }));
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
  EXPECT_FALSE(*inbox->Receive());
  ASSERT_TRUE(HandOver(name, 0));
  EXPECT_TRUE(*inbox->Receive());
}

}  // namespace
}  // namespace spate::os
