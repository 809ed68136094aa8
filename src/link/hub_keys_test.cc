#include "link/hub_keys.h"

#include <gtest/gtest.h>

#include "os/temp_dir.h"

namespace spate::link {
namespace {

const NewAccess kWanted = {{{.host = "head", .port = 18150}}, "ann", "*"};

TEST(FirstAccess, StaysWhatItIs) {
  os::TempDir dir;
  access::Access node;
  {
    auto keys = HubKeys::Open(dir.path());
    ASSERT_TRUE(keys) << keys.error().message;
    EXPECT_FALSE(keys->Has(kNodeAccess));
    auto key = keys->LoadOrMakeKey().value();
    auto first = keys->LoadOrMake(key, kWanted);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->admin.role, access::Role::kAdmin);
    EXPECT_EQ(first->admin.user, "ann");
    EXPECT_EQ(first->node.role, access::Role::kNode);
    EXPECT_EQ(first->node.user, "*");
    EXPECT_EQ(first->node.pin, key.pin());
    EXPECT_EQ(first->node.hubs, kWanted.hubs);
    EXPECT_NE(first->node.serial, first->admin.serial);
    EXPECT_NE(first->node.secret, first->admin.secret);
    node = first->node;
    // Another process at the same moment.
    EXPECT_EQ(HubKeys::Open(dir.path()).error().kind, ErrorKind::kBusy);
  }
  auto keys = HubKeys::Open(dir.path()).value();
  EXPECT_TRUE(keys.Has(kNodeAccess));
  auto again =
      keys.LoadOrMake(keys.LoadOrMakeKey().value(), {{{.host = "x", .port = 1}}, "b", "b"});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->node, node);
}

TEST(FirstAccess, OfAnotherKeyIsAnError) {
  os::TempDir dir;
  auto keys = HubKeys::Open(dir.path()).value();
  ASSERT_TRUE(keys.LoadOrMake(keys.LoadOrMakeKey().value(), kWanted));
  auto other = keys.LoadOrMake(transport::Identity::Make().value(), kWanted);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(other.error().message.find("remove it"), std::string::npos);
}

}  // namespace
}  // namespace spate::link
