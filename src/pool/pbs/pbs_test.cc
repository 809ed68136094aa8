// Not recorded. The texts follow the sources of OpenPBS 23.06: the messages of its
// lib/Liberr/pbs_messages.c, the long form of qstat and the exit codes as its commands have them,
// array ids as `52[7].pbs1`. Torque's messages are marked.
#include "pool/pbs/pbs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/units.h"
#include "os/temp_dir.h"
#include "pool/testing.h"

namespace spate::pool {
namespace {

using End = Outcome::End;
using Kind = SubmitFailure::Kind;
using Words = std::vector<std::string>;

TEST(PbsTest, Submit) {
  auto driver = MakePbs({});
  PilotSpec spec = PlainSpec();
  spec.options = {"-q", "short"};
  spec.time_limit = Duration::Seconds(3600);
  spec.nodes = 2;
  auto call = driver->Submit(spec);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->argv, (Words{"qsub", "-N", "spate-a-1", "-o", "/home/ann/pool/out", "-j", "oe",
                               "-S", "/bin/sh", "-C", "", "-l", "select=2", "-l", "place=scatter",
                               "-l", "walltime=3600", "-q", "short"}));
  EXPECT_TRUE(call->input.contains("SPATE_PILOT_SECONDS=3600\n"));
  // There is no dry run: a batch job that is held is submitted and deleted.
  auto test = driver->Test(spec);
  ASSERT_TRUE(test);
  EXPECT_EQ(Words(test->argv.begin() + 3, test->argv.begin() + 9),
            (Words{"sh", "qdel", "qsub", "-h", "-N", "spate-test"}));
  EXPECT_TRUE(test->input.contains("SPATE_PILOT=spate-test\n"));
  EXPECT_TRUE(test->input.contains("exec spate node start\n"));
  // Chunks of the user's are not ours to change.
  spec.options = {"-l", "select=2:ncpus=8", "-lwalltime=1:00"};
  call = driver->Submit(spec);
  ASSERT_TRUE(call);
  EXPECT_EQ(std::ranges::count(call->argv, "select=2"), 0);
  EXPECT_TRUE(call->input.contains("SPATE_PILOT_SECONDS=60\n"));
  spec.options = {"-lnodes=2:ppn=8"};
  call = driver->Submit(spec);
  ASSERT_TRUE(call);
  EXPECT_EQ(std::ranges::count(call->argv, "place=scatter"), 0);
  for (const Words& words : std::vector<Words>{{"-N", "x"},
                                               {"-Nx"},
                                               {"-J", "1-5"},
                                               {"-I"},
                                               {"-W", "block=true"},
                                               {"-o", "x"},
                                               {"--"}}) {
    spec.options = words;
    EXPECT_FALSE(driver->Submit(spec)) << words[0];
  }
}

TEST(PbsTest, Ids) {
  ExpectIds(*MakePbs({}), {{"52.pbs1\n", "52.pbs1"},
                           {"news of the site\n52.pbs1.site.org\n", "52.pbs1.site.org"},
                           {"52[].pbs1\n", ""},
                           {"52[7].pbs1\n", ""},
                           {"52\n", ""},
                           {"52.\n", ""},
                           {"", ""}});
}

TEST(PbsTest, Failures) {
  ExpectFailures(
      *MakePbs({}),
      {
          {"qsub: Unknown queue\n", Kind::kRefused},
          {"qsub: Illegal attribute or resource value Resource_List.walltime\n", Kind::kRefused},
          {"qsub: Unknown resource Resource_List.nosuch\n", Kind::kRefused},
          {"qsub: Unauthorized Request \n", Kind::kRefused},
          {"qsub: Invalid account\n", Kind::kRefused},
          {"qsub: Job violates queue and/or server resource limits\n", Kind::kRefused},
          {"qsub: would exceed queue short's per-user limit of jobs in 'Q' state\n", Kind::kLimit},
          {"qsub: would exceed complex's per-user limit\n", Kind::kLimit},
          {"qsub: Maximum number of jobs already in queue\n", Kind::kLimit},
          // Torque.
          {"qsub: submit error (Maximum number of jobs already in queue MSG=total number of "
           "current user's jobs exceeds the queue limit: user ann)\n",
           Kind::kLimit},
          {"qsub: Queue is not enabled\n", Kind::kUnavailable},
          {"Connection refused\nqsub: cannot connect to server pbs1 (errno=111)\n",
           Kind::kUnavailable},
          {"qsub: End of File\n", Kind::kUnavailable, true},
      });
}

TEST(PbsTest, Query) {
  Tools tools;
  tools.user = "ann";
  tools.query = "/opt/pbs/bin/qstat";
  CommandLine call = MakePbs(tools)->Query({"spate-", {"52.pbs1", "52[7].pbs1", "-x"}});
  ASSERT_EQ(call.argv.size(), 8U);
  EXPECT_EQ(call.argv[0], "/bin/sh");
  EXPECT_EQ(Words(call.argv.begin() + 4, call.argv.end()),
            (Words{"qselect", "/opt/pbs/bin/qstat", "ann", "52.pbs1"}));
}

// The script of a query, with commands that only say what they were given.
TEST(PbsTest, QueryAsTheShellRunsIt) {
  os::TempDir dir;
  auto command = [&dir](const std::string& name, const std::string& text) {
    std::string path = dir.Write(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  };
  struct Case {
    std::string select;
    std::vector<std::string> ids;
    std::string out;
    int code;
  };
  for (const Case& c : std::vector<Case>{
           {"echo 7.s; echo '8[].s'; echo $* >&2", {"5.s"}, "<-f><5.s><7.s><8[].s>", 153},
           {"true", {"5.s"}, "<-f><5.s>", 153},
           {"true", {}, "", 0},
           {"exit 9", {"5.s"}, "", 9},
       }) {
    Tools tools;
    tools.user = "a b";
    tools.select = command("select it", c.select);
    tools.query = command("stat it", "printf '<%s>' \"$@\"; exit 153");
    std::string line = "cd " + dir.path() + "; exec";
    for (const std::string& word : MakePbs(tools)->Query({"spate-", c.ids}).argv) {
      line += " " + ShellQuote(word);
    }
    FILE* pipe = popen((line + " 2>err").c_str(), "r");
    char text[1000] = {};
    EXPECT_EQ(fread(text, 1, sizeof text - 1, pipe), c.out.size());
    EXPECT_EQ(WEXITSTATUS(pclose(pipe)), c.code);
    EXPECT_EQ(text, c.out);
  }
}

const std::string kLong =
    "Job Id: 51.pbs1\n"
    "    Job_Name = spate-a-1\n"
    "    Job_Owner = ann@pbs1\n"
    "    job_state = R\n"
    "    queue = workq\n"
    "    Variable_List = PBS_O_HOME=/home/ann,PBS_O_LANG=C,PBS_O_LOGNAME=ann,\n"
    "\tPBS_O_PATH=/usr/bin,job_state = F,PBS_O_QUEUE=workq\n"
    "    comment = Job run at Mon Nov 23 at 16:22 on (pbs1:ncpus=1)\n"
    "\n"
    "Job Id: 52.pbs1\n"
    "    Job_Name = spate-a-2\n"
    "    job_state = Q\n"
    "    comment = Not Running: Insufficient amount of resource: ncpus (R: 8 A: 0\n"
    "\t T: 4)\n"
    "\n"
    "Job Id: 53[].pbs1\n"
    "    Job_Name = spate-a-3\n"
    "    job_state = B\n"
    "\n"
    "Job Id: 54.pbs1\n"
    "    Job_Name = other\n"
    "    job_state = R\n"
    "\n"
    "Job Id: 55.pbs1\n"
    "    Job_Name = spate-a-5\n"
    "    job_state = H\n"
    "\n"
    "Job Id: 56.pbs1\n"
    "    Job_Name = spate-a-6\n"
    "    job_state = F\n"
    "\n";

TEST(PbsTest, Listings) {
  std::string err =
      "qstat: Unknown Job Id 40.pbs1\n"
      "qstat: 41.pbs1 Job has finished, use -x or -H to obtain historical job information\n"
      "qstat: 42.pbs1 Job has fini";
  struct Want {
    std::string id;
    PilotState state;
    std::string reason;
  };
  const std::vector<Want> want = {
      {"51.pbs1", PilotState::kRunning, "Job run at Mon Nov 23 at 16:22 on (pbs1:ncpus=1)"},
      {"52.pbs1", PilotState::kQueued,
       "Not Running: Insufficient amount of resource: ncpus (R: 8 A: 0 T: 4)"},
      {"55.pbs1", PilotState::kHeld, "H"},
      {"56.pbs1", PilotState::kEnded, "F"},
      {"41.pbs1", PilotState::kEnded, ""},
  };
  PilotQuery query{"spate-a-", {"40.pbs1", "41.pbs1", "42.pbs1", "51.pbs1"}};
  for (int code : {35, 153}) {
    auto pilots = MakePbs({})->ReadQuery(query, {End::kExited, code, kLong, err});
    ASSERT_TRUE(pilots);
    ASSERT_EQ(pilots->size(), want.size());
    for (size_t k = 0; k < want.size(); ++k) {
      EXPECT_EQ((*pilots)[k].id, want[k].id);
      EXPECT_EQ((*pilots)[k].state, want[k].state) << want[k].id;
      EXPECT_EQ((*pilots)[k].reason, want[k].reason) << want[k].id;
    }
  }
  for (size_t size = 0; size < kLong.size(); ++size) {
    auto some = MakePbs({})->ReadQuery(query, {End::kExited, 0, kLong.substr(0, size), ""});
    ASSERT_TRUE(some);
    for (size_t k = 0; k < some->size(); ++k) ASSERT_EQ((*some)[k].state, want[k].state);
  }
}

TEST(PbsTest, AFailedQuerySaysNothing) {
  PilotQuery query{"spate-a-", {"51.pbs1"}};
  struct Case {
    int code;
    std::string err;
  };
  for (const Case& c : std::vector<Case>{
           {111, "Connection refused\nqselect: cannot connect to server pbs1 (errno=111)\n"},
           {2, "sh: 1: qselect: not found\n"},
           {153, "qstat: End of File\n"},
           {255, ""}}) {
    EXPECT_FALSE(MakePbs({})->ReadQuery(query, {End::kExited, c.code, kLong, c.err})) << c.err;
  }
  EXPECT_FALSE(MakePbs({})->ReadQuery(query, {End::kTimedOut, 0, kLong, ""}));
  auto empty = MakePbs({})->ReadQuery(query, {End::kExited, 0, "", ""});
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->empty());
}

TEST(PbsTest, Cancel) {
  EXPECT_EQ(MakePbs({})->Cancel(Words{"5.a", "all", "6.a"}).argv, (Words{"qdel", "5.a", "6.a"}));
}

}  // namespace
}  // namespace spate::pool
