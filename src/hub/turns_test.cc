#include "hub/turns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::hub {
namespace {

class TurnsTest : public testing::Test {
 protected:
  uint64_t Enter(const std::string& user, bool is_admin = false) {
    uint64_t id = 0;
    turns_.Enter(user, is_admin, id, [this, user] { started_ += user + " "; });
    return id;
  }

  Turns turns_{{.all = 5, .of_a_user = 2, .kept = 1}};
  std::string started_;
};

TEST_F(TurnsTest, NobodyHasThemAll) {
  uint64_t first = Enter("a");
  Enter("a");
  uint64_t third = Enter("a");
  Enter("a");
  Enter("b");
  EXPECT_EQ(started_, "a a b ");
  EXPECT_TRUE(turns_.HasWaiting());
  turns_.Leave(third);  // it gave up
  turns_.Leave(first);
  EXPECT_EQ(started_, "a a b a ");
  EXPECT_FALSE(turns_.HasWaiting());
}

TEST_F(TurnsTest, OnePlaceIsAnAdministrators) {
  for (const char* user : {"a", "b", "c", "d", "e"}) Enter(user);
  EXPECT_EQ(started_, "a b c d ");
  uint64_t admin = Enter("root", true);
  EXPECT_EQ(started_, "a b c d root ");
  Enter("root", true);
  turns_.Leave(admin);
  EXPECT_EQ(started_, "a b c d root root ") << "e has no place, though it came first";
}

// A guest that leaves while it is started, and one whose start makes another leave.
TEST_F(TurnsTest, MayLeaveInTheirStart) {
  uint64_t first = Enter("a");
  Enter("a");
  uint64_t second = 0;
  turns_.Enter("a", false, second, [&] { turns_.Leave(second); });
  Enter("a");
  turns_.Leave(first);
  EXPECT_EQ(started_, "a a a ");
}

}  // namespace
}  // namespace spate::hub
