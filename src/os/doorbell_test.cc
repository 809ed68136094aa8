#include "os/doorbell.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace spate::os {
namespace {

bool HasRung(const Doorbell& bell) {
  pollfd poll_fd{.fd = bell.fd(), .events = POLLIN, .revents = 0};
  return poll(&poll_fd, 1, 0) == 1;
}

TEST(Doorbell, IsHeardUntilItIsCleared) {
  auto one = Doorbell::Make();
  auto other = Doorbell::Make();
  ASSERT_TRUE(one && other);
  EXPECT_FALSE(HasRung(*one));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(other->Ring(one->name())) << i;
  EXPECT_TRUE(HasRung(*one));
  EXPECT_FALSE(HasRung(*other));
  EXPECT_GE(one->Clear(), 1);
  EXPECT_FALSE(HasRung(*one));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(other->Ring(one->name()));
  EXPECT_EQ(one->Clear(), 3);
  EXPECT_EQ(one->Clear(), 0);
}

TEST(Doorbell, NobodyIsThereAfterItsEnd) {
  auto one = Doorbell::Make();
  ASSERT_TRUE(one);
  std::string name;
  {
    auto other = Doorbell::Make();
    ASSERT_TRUE(other);
    name = other->name();
    EXPECT_TRUE(one->Ring(name));
  }
  EXPECT_FALSE(one->Ring(name));
}

}  // namespace
}  // namespace spate::os
