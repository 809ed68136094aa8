#include "hub/gang_members.h"

#include <gtest/gtest.h>

#include <set>

namespace spate::hub {
namespace {

std::shared_ptr<const GangPart> PartOfTwo() {
  auto part = std::make_shared<GangPart>();
  part->hosts = {{"n1", 2, ""}, {"n2", 1, ""}};
  return part;
}

TEST(GangMembers, PartsAreToldWhereTheOthersAre) {
  GangMembers members;
  members.Joined(NodeId(2), "n2", "10.0.0.9:7");
  members.Joined(NodeId(2), "n2", "10.0.0.2:7");
  members.Joined(NodeId(1), "n1", "10.0.0.1:7");
  members.Left(NodeId(1));
  members.Left(NodeId(3));
  auto told = members.Introduce({JobId(1), 0, Attempt(1)}, PartOfTwo());
  EXPECT_EQ(told->hosts[0].remote, "");
  EXPECT_EQ(told->hosts[1].remote, "10.0.0.2:7");
  EXPECT_EQ(told->hosts[1].procs, 1u);
  EXPECT_EQ(told->secret, "");
  EXPECT_EQ(members.Introduce({JobId(1), 0, Attempt(1)}, nullptr), nullptr);
}

TEST(GangMembers, EachAttemptHasASecretOfItsOwn) {
  GangMembers members;
  members.SetKey("the hub's");
  std::set<std::string> secrets;
  for (AttemptRef ref : {AttemptRef{JobId(1), 0, Attempt(1)}, AttemptRef{JobId(1), 0, Attempt(2)},
                         AttemptRef{JobId(1), 1, Attempt(1)}, AttemptRef{JobId(2), 0, Attempt(1)},
                         AttemptRef{JobId(11), 1, Attempt(1)}}) {
    auto told = members.Introduce(ref, PartOfTwo());
    EXPECT_EQ(told->secret.size(), 32u);
    EXPECT_EQ(told->secret, members.Introduce(ref, PartOfTwo())->secret);
    secrets.insert(told->secret);
  }
  EXPECT_EQ(secrets.size(), 5u);
  GangMembers other;
  other.SetKey("another's");
  EXPECT_FALSE(secrets.contains(other.Introduce({JobId(1), 0, Attempt(1)}, PartOfTwo())->secret));
}

}  // namespace
}  // namespace spate::hub
