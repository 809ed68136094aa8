#include "command/testing_world.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::cli::command {
namespace {

using Argv = std::vector<std::string>;

TEST(HubAccess, AddPrintsTheFile) {
  HubScene scene;
  scene.hub.Answers<wire::AddAccess>({{.file = "the access file\n"}});
  auto ran =
      scene.Run("hub access", {"add", "--role", "node", "--user", "ada", "--expires", "90d"});
  EXPECT_EQ(ran.code, kExitSuccess);
  EXPECT_EQ(ran.out, "the access file\n");
  auto asked = scene.hub.Asked<wire::AddAccess>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].role, 1u);  // a node's
  EXPECT_EQ(asked[0].user, "ada");
  EXPECT_EQ(asked[0].lifetime, Duration::Seconds(90 * 86400));
}

TEST(HubAccess, AddWritesAFileOfItsOwn) {
  HubScene scene;
  os::TempDir temp;
  const std::string path = temp.Path("access");
  EXPECT_EQ(scene.Run("hub access", {"add", "--file", path}).code.error().kind,
            ErrorKind::kNotFound);
  EXPECT_FALSE(os::Exists(path)) << "the hub has refused";
  scene.hub.Answers<wire::AddAccess>({{.file = "the access file\n"}});
  auto ran = scene.Run("hub access", {"add", "--file", path});
  EXPECT_EQ(ran.code, kExitSuccess);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(os::ReadPrivateFile(path, 100), "the access file\n");
  const size_t asked = scene.hub.Asked<wire::AddAccess>().size();
  EXPECT_EQ(scene.Run("hub access", {"add", "--file", path}).code.error().kind, ErrorKind::kExists);
  EXPECT_EQ(scene.Run("hub access", {"list", "--file", path}).code.error().kind,
            ErrorKind::kInvalid);
  scene.readable_by_others = true;
  EXPECT_EQ(scene.Run("hub access", {"add"}).code.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(scene.hub.Asked<wire::AddAccess>().size(), asked) << "nothing was made";
  EXPECT_EQ(scene.Run("hub access", {"add", "--file", path + "2"}).code, kExitSuccess);
}

TEST(HubAccess, ListHasARowForEach) {
  HubScene scene;
  AccessFacts facts;
  facts.serial = 7;
  facts.role = "client";
  facts.user = "ann";
  facts.state = "good";
  scene.hub.Answers<wire::ListAccess>({facts});
  EXPECT_NE(scene.Run("hub access", {"list"}).out.find("client"), std::string::npos);
  EXPECT_TRUE(scene.Run("hub access", {"list", "--json"}).out.starts_with("{\"type\":\"access\""));
}

TEST(HubAccess, RevokeNamesSerials) {
  HubScene scene;
  scene.hub.Answers<wire::RevokeAccess>({{}});
  EXPECT_EQ(scene.Run("hub access", {"revoke", "3", "4"}).err, "spate: access 3, 4 revoked\n");
  EXPECT_EQ(scene.hub.Asked<wire::RevokeAccess>().at(0).serials, (std::vector<uint64_t>{3, 4}));
  EXPECT_EQ(scene.Run("hub access", {"revoke", "3"}).err, "spate: access 3 revoked\n");
}

TEST(HubAccess, RevokesAllOfAUser) {
  HubScene scene;
  AccessFacts ann, node, gone;
  ann = {.serial = 7, .role = "client", .user = "ann", .state = "good"};
  node = {.serial = 3, .role = "node", .user = "ann", .state = "good"};
  gone = {.serial = 2, .role = "client", .user = "ann", .state = "revoked"};
  AccessFacts other{.serial = 1, .role = "client", .user = "bob", .state = "good"};
  scene.hub.Answers<wire::ListAccess>({other, gone, node, ann});
  scene.hub.Answers<wire::RevokeAccess>({{}});
  EXPECT_EQ(scene.Run("hub access", {"revoke", "--user", "ann"}).err,
            "spate: access 3, 7 revoked\n");
  EXPECT_EQ(scene.Run("hub access", {"revoke", "--user", "ann", "--role", "client"}).err,
            "spate: access 7 revoked\n");
  EXPECT_EQ(scene.Run("hub access", {"revoke", "--user", "eve"}).code.error().kind,
            ErrorKind::kNotFound);
  EXPECT_EQ(scene.Run("hub access", {"revoke", "3", "--user", "ann"}).code.error().kind,
            ErrorKind::kInvalid);
}

TEST(HubAccess, WrongWordsAskNothing) {
  HubScene scene;
  for (const Argv& wrong : std::vector<Argv>{
           {"revoke"}, {"revoke", "x"}, {"list", "3"}, {"new"}, {"add", "--role", "king"}}) {
    auto ran = scene.Run("hub access", wrong);
    ASSERT_FALSE(ran.code);
    EXPECT_EQ(ran.code.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_TRUE(scene.hub.Asked<wire::RevokeAccess>().empty());
}

}  // namespace
}  // namespace spate::cli::command
