// The texts were recorded from a private Slurm 22.05.8 (tests/slurm), except where a comment says
// that they are from the sources of newer versions or from its lists of errors.
#include "pool/slurm/slurm.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pool/testing.h"

namespace spate::pool {
namespace {

using End = Outcome::End;
using Kind = SubmitFailure::Kind;
using Words = std::vector<std::string>;

PilotSpec Spec() {
  PilotSpec spec = PlainSpec();
  spec.output_file = "/home/ann/pool/out%1";
  spec.folder = "/home/ann/work";
  return spec;
}

TEST(SlurmTest, Submit) {
  auto driver = MakeSlurm({});
  PilotSpec spec = Spec();
  spec.options = {"-p", "short", "--comment=a b"};
  spec.time_limit = Duration::Seconds(3601);
  spec.nodes = 2;
  auto call = driver->Submit(spec);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->argv,
            (Words{"sbatch", "--parsable", "--job-name=spate-a-1", "--output=/home/ann/pool/out%%1",
                   "--nodes=2", "--time=61", "-p", "short", "--comment=a b"}));
  EXPECT_FALSE(call->file);
  EXPECT_TRUE(call->input.starts_with("#!/bin/sh\n"));
  EXPECT_TRUE(call->input.contains("  exec spate node start\n")) << call->input;
  EXPECT_TRUE(call->environment.empty());  // it would be the pilot's, too

  auto test = driver->Test(spec);
  ASSERT_TRUE(test);
  EXPECT_EQ(test->argv[1], "--test-only");
  EXPECT_EQ(test->input, call->input);
}

// Before the user's own options, which count where both say something.
TEST(SlurmTest, AvoidsHosts) {
  PilotSpec spec = Spec();
  spec.options = {"-p", "short"};
  spec.avoid = {"n1", "n2.example.org"};
  auto call = MakeSlurm({})->Submit(spec);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->argv,
            (Words{"sbatch", "--parsable", "--job-name=spate-a-1", "--output=/home/ann/pool/out%%1",
                   "--nodes=1", "--exclude=n1,n2.example.org", "-p", "short"}));
  // The host that a failed pilot names is Slurm's name of it.
  EXPECT_TRUE(call->input.contains("\nspate_host=${SLURMD_NODENAME:-$spate_host}\n"));
}

TEST(SlurmTest, Tools) {
  Tools tools{.submit = "/opt/s/sbatch",
              .query = "/opt/s q/squeue",
              .cancel = "/opt/s/scancel",
              .select = "",
              .user = "",
              .everywhere = {"-M", "far"}};
  auto driver = MakeSlurm(tools);
  auto call = driver->Submit(Spec());
  ASSERT_TRUE(call);
  EXPECT_EQ(call->argv[0], "/opt/s/sbatch");
  EXPECT_TRUE(call->input.contains("'/opt/s q/squeue' --noheader"));
  EXPECT_EQ(driver->Query({}).argv[0], "/opt/s q/squeue");
  EXPECT_EQ(driver->Cancel(Words{"1", "-u", "", "2"}).argv,
            (Words{"/opt/s/scancel", "-M", "far", "1", "2"}));
}

TEST(SlurmTest, OptionsThatWouldBreakThePool) {
  auto driver = MakeSlurm({});
  for (const char* word : {"-Jx", "-J", "--job-name=x", "--array=1-5", "-a", "--output=x", "-o",
                           "--wait", "--wrap=ls", "--", ":", "--test-only"}) {
    PilotSpec spec = Spec();
    spec.options = {word};
    auto call = driver->Submit(spec);
    ASSERT_FALSE(call) << word;
    EXPECT_EQ(call.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(call.error().message.contains(word)) << call.error().message;
    EXPECT_FALSE(driver->Test(spec));
  }
  for (const char* word : {"-p", "--account=a", "--exclusive", "-C", "--wait-all-nodes=1"}) {
    PilotSpec spec = Spec();
    spec.options = {word};
    EXPECT_TRUE(driver->Submit(spec)) << word;
  }
  PilotSpec far = Spec();
  far.shared_files = false;
  EXPECT_FALSE(driver->Submit(far));
}

TEST(SlurmTest, Ids) {
  ExpectIds(*MakeSlurm({}),
            {{"1\n", "1"},
             {"Submitted batch job 3\n", "3"},
             {"123;far\n", "123"},
             {"Welcome to the site!\n\n 17 \n", "17"},
             {"17", "17"},
             {"Submitted batch job 3 on cluster far\n", "3"}},
            "sbatch: some news\n");
  auto none = MakeSlurm({})->ReadSubmit({End::kExited, 0, "Welcome!\n", ""});
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().perhaps_there);
}

TEST(SlurmTest, Failures) {
  const std::string kFailed = "sbatch: error: Batch job submission failed: ";
  const std::string kPolicy =
      kFailed +
      "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n";
  ExpectFailures(
      *MakeSlurm({}),
      {
          {"sbatch: error: invalid partition specified: nosuch\n" + kFailed +
               "Invalid partition name specified\n",
           Kind::kRefused},
          {"sbatch: unrecognized option '--nosuch'\nTry \"sbatch --help\" for more information\n",
           Kind::kRefused, false, End::kExited, 255},
          {"sbatch: error: Invalid --time specification\n", Kind::kRefused, false, End::kExited,
           255},
          {"sbatch: error: Memory specification can not be satisfied\n" + kFailed +
               "Requested node configuration is not available\n",
           Kind::kRefused},
          {kFailed + "Invalid feature specification\n", Kind::kRefused},
          {kFailed + "Required partition not available (inactive or drain)\n", Kind::kUnavailable},
          {kFailed + "Unable to contact slurm controller (connect failure)\n", Kind::kUnavailable},
          {"sbatch: error: Munge encode failed: Failed to access \"/run/munge/sock\": No such "
           "file or directory (Did you start munged?)\n" +
               kFailed + "Protocol authentication error\n",
           Kind::kUnavailable},
          // sbatch waits for as long as MaxJobCount is reached.
          {"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n",
           Kind::kLimit, true, End::kTimedOut},
          // The same of sbatch --test-only, which does not wait.
          {"allocation failure: Resource temporarily unavailable\n", Kind::kLimit},
          {"", Kind::kUnavailable, true, End::kTimedOut},
          {"No such file or directory", Kind::kUnavailable, false, End::kNotStarted},
          // From slurm_errno.c and the texts that sbatch of 21.08 and newer puts before them.
          {"sbatch: error: QOSMaxSubmitJobPerUserLimit\n" + kPolicy, Kind::kLimit},
          {"sbatch: error: AssocMaxSubmitJobLimit\n" + kPolicy, Kind::kLimit},
          {kPolicy, Kind::kLimit},
          {"sbatch: error: QOSMaxWallDurationPerJobLimit\n" + kPolicy, Kind::kRefused},
          {"sbatch: error: QOSMaxNodePerJobLimit\n" + kPolicy, Kind::kRefused},
          {kFailed + "Invalid account or account/partition combination specified\n",
           Kind::kRefused},
          {kFailed + "Socket timed out on send/recv operation\n", Kind::kUnavailable, true},
      },
      "", "sbatch ");
}

TEST(SlurmTest, Query) {
  auto driver = MakeSlurm({});
  EXPECT_EQ(driver->Query({"spate-a-", {}}).argv,
            (Words{"squeue", "--noheader", "--me", "--states=all", "--format=%i|%T|%r|%j"}));
  std::string out =
      "1|CANCELLED|None|spate-a-1\n"
      "2|PENDING|PartitionNodeLimit|spate-a-2\n"
      "9_[1-3]|PENDING|JobHeldUser|spate-a-arr\n"
      "3|PENDING|JobHeldUser|spate-a-3\n"
      "10|COMPLETED|None|spate-a-10\n"
      "5|FAILED|BadConstraints|sbatch\n"
      "16|FAILED|JobLaunchFailure|spate-a-16\n"
      "12|PENDING|BeginTime|spate-a-12\n"
      "15|PENDING|PartitionTimeLimit|x\n"
      "13|RUNNING|None|spate-a-13\n"
      "20|PENDING|JobHeldUser|sp a|ce\n"
      // From the list of states in squeue(1) of 25.05.
      "CLUSTER: far\n"
      "21|COMPLETING|None|spate-a-21\n"
      "22|CONFIGURING|None|spate-a-22\n"
      "23|PENDING|Priority|spate-a-23\n"
      "24|REQUEUE_HOLD|None|spate-a-24\n"
      "25|NEW_STATE|None|spate-a-25\n"
      "26|OUT_OF_MEMORY|OutOfMemory|spate-a-26\n"
      "27|RUNNING|None|other\n"
      "28|COMPLETED|None|spate-a-2";  // cut off
  auto pilots = driver->ReadQuery({"spate-a-", {"27", "99"}}, {End::kExited, 0, out, ""});
  ASSERT_TRUE(pilots);
  struct Want {
    std::string id;
    PilotState state;
    std::string reason;
  };
  const std::vector<Want> want = {{"1", PilotState::kEnded, "CANCELLED"},
                                  {"2", PilotState::kHeld, "PartitionNodeLimit"},
                                  {"3", PilotState::kHeld, "JobHeldUser"},
                                  {"10", PilotState::kEnded, "COMPLETED"},
                                  {"16", PilotState::kEnded, "FAILED (JobLaunchFailure)"},
                                  {"12", PilotState::kQueued, "BeginTime"},
                                  {"13", PilotState::kRunning, ""},
                                  {"21", PilotState::kRunning, "COMPLETING"},
                                  {"22", PilotState::kQueued, "CONFIGURING"},
                                  {"23", PilotState::kQueued, "Priority"},
                                  {"24", PilotState::kHeld, "REQUEUE_HOLD"},
                                  {"25", PilotState::kUnknown, "NEW_STATE"},
                                  {"26", PilotState::kEnded, "OUT_OF_MEMORY (OutOfMemory)"},
                                  {"27", PilotState::kRunning, ""}};
  ASSERT_EQ(pilots->size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ((*pilots)[k].id, want[k].id);
    EXPECT_EQ((*pilots)[k].state, want[k].state) << want[k].id;
    EXPECT_EQ((*pilots)[k].reason, want[k].reason) << want[k].id;
  }
}

TEST(SlurmTest, AFailedQuerySaysNothing) {
  for (const char* err :
       {"slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
        "slurm_load_jobs error: Invalid job id specified\n",
        "slurm_load_jobs error: Protocol authentication error\n",
        "squeue: fatal: Could not establish a configuration source\n"}) {
    auto pilots = MakeSlurm({})->ReadQuery({"spate-a-", {"1"}},
                                           {End::kExited, 1, "1|COMPLETED|None|spate-a-1\n", err});
    ASSERT_FALSE(pilots);
    EXPECT_EQ(pilots.error().kind, ErrorKind::kUnavailable);
  }
}

}  // namespace
}  // namespace spate::pool
