// Changes of a hub's jobs: what is asked, and what is said of the answer.
#include "command/testing_world.h"

namespace spate::cli::command {
namespace {

using Of = wire::ChangeJobs::Change;

TEST(JobOrders, AskForWhatTheyAreCalled) {
  HubScene scene;
  scene.reach = " --hub";
  scene.hub.Answers<wire::ChangeJobs>({{.changed = {JobId(12)}, .ended = {JobId(13)}}});
  const std::tuple<const char*, Of, const char*> kCases[] = {
      {"job hold", Of::kHold, "job 12 held; to continue: spate job release --hub 12-13\n"},
      {"job release", Of::kRelease, "job 12 released\n"},
      {"job close", Of::kClose, "job 12 closed to new tasks\n"}};
  for (const auto& [command, change, said] : kCases) {
    EXPECT_EQ(scene.Run(command, {"12-13"}).err,
              "spate: job 13 has already ended\nspate: " + std::string(said));
    auto asked = scene.hub.Asked<wire::ChangeJobs>().back();
    EXPECT_EQ(asked.change, change) << command;
    ASSERT_EQ(asked.jobs.ranges.size(), 1u);
    EXPECT_EQ(asked.jobs.ranges[0].last, 13u);
  }
}

TEST(JobOrders, WhatIsNotAsOrderedIsNoSuccess) {
  HubScene scene;
  scene.hub.Answers<wire::ChangeJobs>({{.changed = {}, .ended = {}, .free = {JobId(7)}}});
  auto free = scene.Run("job release", {"7"});
  EXPECT_EQ(free.err, "spate: job 7 is not held\n");
  EXPECT_EQ(free.code, 3);
  scene.hub.Answers<wire::ChangeJobs>({{.changed = {JobId(7)}, .ended = {JobId(8)}}});
  for (const char* command : {"job hold", "job release", "job close"}) {
    EXPECT_EQ(scene.Run(command, {"7-8"}).code, 3) << command;
  }
  scene.hub.Answers<wire::Cancel>({{.jobs = {.changed = {}, .ended = {JobId(8)}}, .tasks = {}}});
  EXPECT_EQ(scene.Run("job cancel", {"8"}).code, 0);
}

TEST(JobOrders, SetChangesWhatIsNamed) {
  HubScene scene;
  scene.hub.Answers<wire::ChangeJobs>({{.changed = {JobId(1), JobId(2)}, .ended = {}}});
  EXPECT_EQ(scene.Run("job set", {"1", "2", "--weight", "3"}).err, "spate: 2 jobs changed\n");
  auto asked = scene.hub.Asked<wire::ChangeJobs>().back();
  EXPECT_EQ(asked.change, Of::kSet);
  EXPECT_EQ(asked.set.fields, JobChange().With<&JobTerms::weight>(3u).fields);
  EXPECT_EQ(asked.set.values.weight, 3u);
  EXPECT_FALSE(scene.Run("job set", {"1"}).code);
}

TEST(JobOrders, CancelTakesJobsAndTasks) {
  HubScene scene;
  scene.hub.Answers<wire::Cancel>(
      {{.jobs = {.changed = {JobId(4)}, .ended = {}}, .tasks = {{JobId(5), 2}, {JobId(6), 0}}}});
  EXPECT_EQ(scene.Run("job cancel", {"4", "5.1-2", "6.1"}).err,
            "spate: no selected task of job 6 is queued or running\n"
            "spate: job 4, 2 tasks of job 5 cancelled\n");
  auto asked = scene.hub.Asked<wire::Cancel>().at(0);
  EXPECT_EQ(asked.tasks.size(), 2u);
  EXPECT_EQ(asked.jobs.ranges.size(), 1u);
}

TEST(JobOrders, ForPrograms) {
  HubScene scene;
  scene.hub.Answers<wire::ChangeJobs>({{.changed = {JobId(12)}, .ended = {JobId(13)}}});
  EXPECT_EQ(scene.Run("job hold", {"12-13", "--json"}).out,
            "{\"type\":\"changed\",\"v\":2,\"job\":13,\"change\":\"none\",\"tasks\":null}\n"
            "{\"type\":\"changed\",\"v\":2,\"job\":12,\"change\":\"held\",\"tasks\":null}\n");
  scene.hub.Answers<wire::Cancel>({{.jobs = {}, .tasks = {{JobId(5), 2}, {JobId(6), 0}}}});
  auto ran = scene.Run("job cancel", {"5.1-2", "6.1", "--json"});
  EXPECT_EQ(ran.out,
            "{\"type\":\"changed\",\"v\":2,\"job\":5,\"change\":\"cancelled\",\"tasks\":2}\n"
            "{\"type\":\"changed\",\"v\":2,\"job\":6,\"change\":\"none\",\"tasks\":0}\n");
  EXPECT_EQ(ran.err, "");
}

TEST(JobOrders, AllUnfinishedJobsOfAUser) {
  HubScene scene;
  wire::JobsListed listed;
  for (uint32_t number : {3u, 4u, 9u}) {
    JobFacts job;
    job.job = JobId(number);
    job.user = number == 4 ? "bob" : "ann";
    listed.jobs.push_back(job);
  }
  scene.hub.Answers<wire::ListJobs>({listed});
  scene.hub.Answers<wire::ChangeJobs>({{.changed = {JobId(3), JobId(9)}, .ended = {}}});
  EXPECT_EQ(scene.Run("job hold", {"--user", "ann"}).err,
            "spate: 2 jobs held; to continue: spate job release --user ann\n");
  auto asked = scene.hub.Asked<wire::ChangeJobs>().back();
  ASSERT_EQ(asked.jobs.ranges.size(), 2u);
  EXPECT_EQ(asked.jobs.ranges[1].first, 9u);
  EXPECT_FALSE(scene.Run("job cancel", {"--user", "cid"}).code) << "has none";
  EXPECT_FALSE(scene.Run("job cancel", {"--user", "ann", "3"}).code) << "both";
  EXPECT_FALSE(scene.Run("job cancel", {}).code) << "neither";
}

TEST(JobOrders, ForgetByNumberOrAge) {
  HubScene scene;
  scene.reach = " --hub";
  scene.hub.Answers<wire::Forget>({{.jobs = {JobId(1)}, .more = true}});
  EXPECT_EQ(scene.Run("job forget", {"--older-than", "30d"}).err,
            "spate: job 1 forgotten; there are more: spate job forget --hub --older-than 30d\n");
  EXPECT_EQ(scene.hub.Asked<wire::Forget>().at(0).older_than, Duration::Seconds(30 * 86400));
  scene.hub.Answers<wire::Forget>({{.jobs = {JobId(1)}, .more = false}});
  EXPECT_EQ(scene.Run("job forget", {"1", "--dry-run"}).err, "spate: would be: job 1 forgotten\n");
  EXPECT_TRUE(scene.hub.Asked<wire::Forget>().at(1).dry_run);
  EXPECT_TRUE(scene.Run("job forget", {}).code.error().message.starts_with("no jobs named"));
}

TEST(JobRetry, SaysWhatRunsAgainAndWhoWaits) {
  HubScene scene;
  wire::Retry::Answer done;
  done.job = JobId(12);
  done.count = 3;
  done.waits_for = {JobId(9)};
  scene.hub.Answers<wire::Retry>({done});
  EXPECT_EQ(scene.Run("job retry", {"12", "--memory", "8G"}).err,
            "spate: job 12: 3 tasks run again as submitted (no list is read again); to wait for "
            "them: spate job wait 12\nspate: job 12 waits first for job 9 again\n");
  EXPECT_EQ(scene.hub.Asked<wire::Retry>().at(0).needs.values.memory, uint64_t{8} << 30);
  done.count = 0;
  done.waits_for = {};
  scene.hub.Answers<wire::Retry>({done});
  EXPECT_EQ(scene.Run("job retry", {"12"}).err,
            "spate: nothing to retry: no selected task of job 12 has failed\n");
  EXPECT_FALSE(scene.Run("job retry", {"12", "-j", "3"}).code) << "a hub's job keeps it";
}

}  // namespace
}  // namespace spate::cli::command
