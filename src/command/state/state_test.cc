
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "command/testing_history.h"
#include "os/file.h"
#include "store/sqlite/database.h"
#include "store/sqlite/testing_hub.h"

namespace spate::cli::command {
namespace {

using Argv = std::vector<std::string>;

class StateCommands : public testing::Test {
 protected:
  HistoryWorld::Ran Check(Argv argv) { return world_.Run("state check", std::move(argv)); }
  void Damage(uint32_t number, const char* sql) {
    std::string path = world_.state() + "/jobs/" + std::to_string(number) + "/job.db";
    auto db = store::Database::Open(path, store::DbMode::kWrite);
    ASSERT_TRUE(db);
    ASSERT_TRUE(db->Run(sql)) << sql;
  }
  HistoryWorld world_;
};

TEST_F(StateCommands, SoundJobs) {
  EXPECT_EQ(Check({}).code, 0);
  WriteSix(*world_.AddJob(SixTasks()));
  WriteSix(*world_.AddJob(SixTasks()));
  auto ran = Check({});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out,
            "job 1: undamaged (6 tasks, 6 attempts, 29 B of output)\n"
            "job 2: undamaged (6 tasks, 6 attempts, 29 B of output)\n");
  EXPECT_EQ(ran.err, "spate: 2 jobs: no damage was found\n");
  EXPECT_EQ(Check({"2", "-q"}).out, "");
  EXPECT_EQ(Check({"3"}).code, kExitUsage);
}

TEST_F(StateCommands, DamageIsNamedWithWhatToDo) {
  WriteSix(*world_.AddJob(SixTasks()));
  WriteSix(*world_.AddJob(SixTasks()));
  WriteSix(*world_.AddJob(SixTasks()));
  Damage(2, "UPDATE attempt SET wall_us = wall_us + 1 WHERE idx = 0");
  world_.temp().Write("state/jobs/3/job.db", "no database, but it is long enough to be seen");
  auto ran = Check({});
  EXPECT_EQ(ran.code, kExitTasksFailed);
  EXPECT_TRUE(ran.out.starts_with("job 1: undamaged")) << ran.out;
  EXPECT_NE(ran.out.find("job 2: DAMAGED\n  problems   "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("  to run     cd /data/work && spate run -j 2 list.txt\n"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("  to remove  spate job forget 3\n"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.err, "spate: 3 jobs: 2 damaged\n");
  ran = Check({"-q"});
  EXPECT_EQ(ran.out, "2\n3\n");
  EXPECT_EQ(ran.code, kExitTasksFailed);
  EXPECT_EQ(Check({"1"}).code, 0);
}

TEST_F(StateCommands, Json) {
  WriteSix(*world_.AddJob(SixTasks()));
  Damage(1, "DELETE FROM rows");
  auto ran = Check({"--output", "json"});
  EXPECT_EQ(ran.code, kExitTasksFailed);
  auto json = nlohmann::ordered_json::parse(ran.out, nullptr, false);
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += (keys.empty() ? "" : " ") + key;
  EXPECT_EQ(keys,
            "type v job path sound problems more_problems tasks attempts log_records output_bytes "
            "bytes");
  EXPECT_EQ(json["sound"], false);
  EXPECT_EQ(json["problems"].size(), 1u);
}

TEST_F(StateCommands, AHubsJournalIsExaminedAndSaved) {
  store::HubWorld hub;
  hub.Submit(5);
  hub.Submit(5);
  hub.Close();
  std::string state = os::DirName(hub.path());
  auto ran = Check({"--state", state});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "hub: undamaged (2 jobs, 10 tasks, 0 attempts)\n");
  {
    auto db = store::Database::Open(hub.path() + "/hub.db", store::DbMode::kWrite);
    ASSERT_TRUE(db->Run("UPDATE job SET cwd = '/else' WHERE id = 2"));
  }
  ran = Check({"--state", state, "hub"});
  EXPECT_EQ(ran.code, kExitTasksFailed);
  EXPECT_TRUE(ran.out.starts_with("hub: DAMAGED\n")) << ran.out;
  EXPECT_NE(ran.out.find("job 2 "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("spate state salvage --state "), std::string::npos) << ran.out;
  auto salvage = [&] { return world_.Run("state salvage", {"--state", state}); };
  ran = salvage();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "job 2: 5 tasks: the ends of 0 kept, 0 cancelled, 5 not done (spate job release --hub "
            "--state " +
                state + " 2)\n");
  EXPECT_NE(ran.err.find("1 job without damage stays as it was"), std::string::npos) << ran.err;
  EXPECT_EQ(Check({"--state", state}).code, 0);
  EXPECT_EQ(salvage().err, "spate: the hub's journal is undamaged; nothing was changed\n");
}

}  // namespace
}  // namespace spate::cli::command
