#include "os/account.h"

#include <gtest/gtest.h>

namespace spate::os {
namespace {

TEST(Account, LinesAreRead) {
  auto account = ParseAccount("ada:x:1001:100:Ada,,:/home/ada:/bin/bash");
  ASSERT_TRUE(account);
  EXPECT_EQ(account->name, "ada");
  EXPECT_EQ(account->user, 1001u);
  EXPECT_EQ(account->group, 100u);
  EXPECT_EQ(account->home, "/home/ada");
  EXPECT_EQ(account->shell, "/bin/bash");
  for (const char* wrong : {"", "ada", "ada:x:y:1:::", ":x:1:1:::", "ada:x:1:1::"}) {
    EXPECT_FALSE(ParseAccount(wrong)) << wrong;
  }
}

TEST(Account, RootIsKnownByNameAndNumber) {
  EXPECT_EQ(AccountById(0).value().name, "root");
  EXPECT_EQ(AccountByName("root").value().user, 0u);
}

TEST(Account, ADatabaseThatDoesNotAnswerIsGivenUp) {
  EXPECT_EQ(OutputWithin({"/bin/echo", "ada"}, Duration::Seconds(100)).value(), "ada\n");
  for (const char* hangs : {"exec sleep 1000", "echo half; exec sleep 1000"}) {
    auto text = OutputWithin({"/bin/sh", "-c", hangs}, Duration::Millis(50));
    ASSERT_FALSE(text) << hangs;
    EXPECT_EQ(text.error().kind, ErrorKind::kUnavailable);
    EXPECT_EQ(text.error().message, "/bin/sh has not answered within 0.05 s");
  }
  EXPECT_EQ(OutputWithin({"/no/getent"}, Duration::Seconds(1)).error().kind, ErrorKind::kNotFound);
}

TEST(Account, AnUnknownOneIsNotFound) {
  for (const auto& account : {AccountByName("no-such-user"), AccountById(3'999'999'999)}) {
    ASSERT_FALSE(account);
    EXPECT_EQ(account.error().kind, ErrorKind::kNotFound);
  }
  // It is a name, not an option of anybody.
  EXPECT_FALSE(AccountByName("--help"));
}

}  // namespace
}  // namespace spate::os
