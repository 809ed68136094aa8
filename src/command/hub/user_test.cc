#include "command/testing_world.h"

namespace spate::cli::command {
namespace {

UserFacts Ann() {
  UserFacts user;
  user.user = "ann";
  user.jobs = 2;
  user.running = 3;
  user.queued = 4;
  user.rule.weight = 5;
  user.rule.max_queued = 1000;
  return user;
}

TEST(HubUser, ShowsWhatUsersHaveAndMayHave) {
  HubScene scene;
  scene.hub.Answers<wire::ListUsers>({Ann()});
  EXPECT_EQ(scene.Run("hub user", {"ann"}).out,
            "USER  JOBS  RUNNING  QUEUED  CPUS    USED  WEIGHT  MAX RUN  MAX QUEUED  OUTPUT\n"
            "ann      2        3       4     0  0.00 s       5      any        1000     any\n");
  EXPECT_EQ(scene.hub.Asked<wire::ListUsers>().at(0).user, "ann");
  EXPECT_TRUE(scene.Run("hub user", {"--json"}).out.starts_with("{\"type\":\"user\""));
}

TEST(HubUser, ANameThatTheHubDoesNotKnowIsNoEmptyTable) {
  HubScene scene;
  scene.hub.Answers<wire::ListUsers>({});
  auto named = scene.Run("hub user", {"nan"});
  ASSERT_FALSE(named.code);
  EXPECT_EQ(named.code.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(named.code.error().message.starts_with("nan has no unfinished jobs"));
  EXPECT_TRUE(scene.Run("hub user", {}).code) << "nobody is there yet";
}

TEST(HubUser, ShowsTheGroupAfterTheName) {
  HubScene scene;
  UserFacts ann = Ann();
  ann.rule.group = "@lab";
  scene.hub.Answers<wire::ListUsers>({ann});
  EXPECT_NE(scene.Run("hub user", {"ann"}).out.find("\nann @lab "), std::string::npos);
}

TEST(HubUser, OptionsSetWhatIsNamed) {
  HubScene scene;
  UserFacts ann = Ann();
  scene.hub.Answers<wire::SetUser>({{.rule = ann.rule}});
  auto ran = scene.Run("hub user", {"ann", "--weight", "5", "--max-queued", "1000"});
  EXPECT_EQ(ran.err, "spate: ann: weight 5, any running, 1000 queued, any of output at most\n");
  auto asked = scene.hub.Asked<wire::SetUser>().at(0);
  EXPECT_EQ(asked.change,
            UserChange().With<&UserRule::weight>(5u).With<&UserRule::max_queued>(1000u));
}

TEST(HubUser, RefusesWhatCannotBe) {
  HubScene scene;
  EXPECT_EQ(scene.Run("hub user", {"ann", "--weight", "0"}).code.error().message,
            "--weight: write 1 or more");
  EXPECT_TRUE(scene.Run("hub user", {"--max-queued", "3"})
                  .code.error()
                  .message.starts_with("the user is missing"));
  for (const char* name : {"lab", "@", ""}) {
    EXPECT_TRUE(scene.Run("hub user", {"ann", "--group", name})
                    .code.error()
                    .message.starts_with("--group: a group is written with '@'"))
        << name;
  }
  EXPECT_TRUE(scene.Run("hub user", {"@", "--weight", "2"})
                  .code.error()
                  .message.starts_with("the group's name is missing"));
  EXPECT_TRUE(scene.hub.Asked<wire::SetUser>().empty());
}

TEST(HubSet, ThePolicyOfGangs) {
  HubScene scene;
  scene.hub.Answers<wire::SetHub>({{.policy = GangPolicy::kEasy}});
  EXPECT_EQ(scene.Run("hub set", {"--policy", "easy"}).err,
            "spate: the hub's policy for gangs is now easy\n");
  EXPECT_EQ(scene.hub.Asked<wire::SetHub>().at(0).policy, GangPolicy::kEasy);
  EXPECT_TRUE(scene.Run("hub set", {}).code.error().message.starts_with("nothing to change"));
  EXPECT_FALSE(scene.Run("hub set", {"--policy", "best"}).code);
}

TEST(HubStop, SaysWhatNodesDo) {
  HubScene scene;
  scene.hub.Answers<wire::StopHub>({{}});
  EXPECT_EQ(scene.Run("hub stop", {}).err, "spate: hub stopping; nodes continue their tasks\n");
  EXPECT_EQ(scene.Run("hub stop", {"-q"}).err, "");
}

}  // namespace
}  // namespace spate::cli::command
