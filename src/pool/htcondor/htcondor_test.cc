// No HTCondor was at hand. The texts follow version 25: condor_submit -terse, condor_q -af:tV, the
// numbers of JobStatus and the errors of condor_submit, as its manual and sources have them. They
// are to be compared with a real pool.
#include "pool/htcondor/htcondor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "os/temp_dir.h"
#include "pool/testing.h"

namespace spate::pool {
namespace {

using End = Outcome::End;
using Kind = SubmitFailure::Kind;
using Words = std::vector<std::string>;

PilotSpec Spec() {
  PilotSpec spec = PlainSpec();
  spec.output_file = "/home/ann/$pool/out";
  spec.script_file = "/home/ann/pool/script";
  spec.command = {"/opt/spate", "node", "start", "--access", "/home/ann/pool/access"};
  spec.files = {"/opt/spate", "/home/ann/pool/access"};
  spec.shared_files = false;
  return spec;
}

TEST(HtCondorTest, Submit) {
  PilotSpec spec = Spec();
  spec.time_limit = Duration::Seconds(3600);
  spec.options = {"request_cpus=4", "+ProjectName=\"x\"", "-name", "far", "-append", "rank = Mips"};
  auto call = MakeHtCondor({})->Submit(spec);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->argv, (Words{"condor_submit", "-terse", "-name", "far", "-"}));
  EXPECT_EQ(call->input,
            "universe = vanilla\n"
            "executable = /home/ann/pool/script\n"
            "transfer_executable = true\n"
            "should_transfer_files = YES\n"
            "when_to_transfer_output = ON_EXIT\n"
            "transfer_input_files = /opt/spate, /home/ann/pool/access\n"
            "transfer_output_files = \"\"\n"
            "output = /home/ann/$(DOLLAR)pool/out\n"
            "error = /home/ann/$(DOLLAR)pool/out\n"
            "notification = never\n"
            "batch_name = spate-a-1\n"
            "+SpatePilot = \"spate-a-1\"\n"
            "leave_in_queue = JobStatus == 4 && time() - EnteredCurrentStatus < 900\n"
            "allowed_job_duration = 3600\n"
            "request_cpus=4\n"
            "+ProjectName=\"x\"\n"
            "rank = Mips\n"
            "queue\n");
  ASSERT_TRUE(call->file);
  EXPECT_EQ(call->file->path, "/home/ann/pool/script");
  EXPECT_TRUE(
      call->file->text.contains("exec \"$SPATE_PILOT_FILES\"/spate node start --access "
                                "\"$SPATE_PILOT_FILES\"/access\n"))
      << call->file->text;
  spec.shared_files = true;
  call = MakeHtCondor({})->Submit(spec);
  ASSERT_TRUE(call);
  EXPECT_FALSE(call->input.contains("transfer_input_files"));
  EXPECT_TRUE(call->file->text.contains("exec /opt/spate node start"));
}

TEST(HtCondorTest, AvoidsHosts) {
  PilotSpec spec = Spec();
  spec.avoid = {"ep1.example.org", "ep2.example.org"};
  auto call = MakeHtCondor({})->Submit(spec);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_TRUE(call->input.contains(
      "\nrequirements = (TARGET.Machine != \"ep1.example.org\" && TARGET.Machine != "
      "\"ep2.example.org\") || time() - QDate > 600\nqueue\n"))
      << call->input;
  // The user's own requirements count.
  spec.options = {"requirements = HasX"};
  call = MakeHtCondor({})->Submit(spec);
  ASSERT_TRUE(call);
  EXPECT_TRUE(call->input.ends_with("\nrequirements = HasX\nqueue\n")) << call->input;
}

// A pilot that fails names the machine as the pool knows it.
TEST(HtCondorTest, NamesTheMachine) {
  os::TempDir dir;
  std::ofstream(dir.path() + "/ad")
      << "Cpus = 2\nMachine = \"ep1.example.org\"\nMachineCount = 1\n";
  PilotSpec spec = Spec();
  spec.shared_files = true;
  spec.command = {"sh", "-c", "exit 3"};
  auto call = MakeHtCondor({})->Submit(spec);
  ASSERT_TRUE(call && call->file);
  std::ofstream(dir.path() + "/script") << call->file->text;
  for (const char* ad : {"/ad", "/none"}) {
    const std::string run =
        "_CONDOR_MACHINE_AD=" + dir.path() + ad + " sh " + dir.path() + "/script 2>&1";
    FILE* pipe = popen(run.c_str(), "r");
    char text[200] = "";
    const size_t got = fread(text, 1, sizeof text - 1, pipe);
    pclose(pipe);
    const std::string wrote(text, got);
    EXPECT_TRUE(wrote.contains("the pilot ended with exit status 3 on host ")) << wrote;
    EXPECT_EQ(wrote.contains("on host ep1.example.org\n"), ad == std::string("/ad")) << wrote;
  }
}

TEST(HtCondorTest, Test) {
  PilotSpec spec = Spec();
  spec.options = {"-name", "far"};
  auto submit = MakeHtCondor({})->Submit(spec);
  auto test = MakeHtCondor({})->Test(spec);
  ASSERT_TRUE(submit && test);
  EXPECT_EQ(test->argv, (Words{"condor_submit", "-disable", "-dry-run", "/dev/null", "-terse",
                               "-name", "far", "-"}));
  // The script, which is not there yet, would be looked for.
  const std::string sends = "transfer_executable = true\n";
  const size_t at = submit->input.find(sends);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(test->input, submit->input.replace(at, sends.size(), "transfer_executable = false\n"));
  EXPECT_FALSE(test->file);
  spec.nodes = 2;
  EXPECT_FALSE(MakeHtCondor({})->Test(spec));
}

TEST(HtCondorTest, WhatItCannotHave) {
  struct Case {
    const char* what;
    void (*change)(PilotSpec&);
  };
  const Case kCases[] = {
      {"nodes", [](PilotSpec& s) { s.nodes = 2; }},
      {"no script file", [](PilotSpec& s) { s.script_file = ""; }},
      {"equal names", [](PilotSpec& s) { s.files.push_back("/x/spate"); }},
      {"comma", [](PilotSpec& s) { s.files.push_back("/x/a,b"); }},
      {"executable", [](PilotSpec& s) { s.options = {"Executable = /bin/ls"}; }},
      {"files", [](PilotSpec& s) { s.options = {"transfer_input_files=x"}; }},
      {"tag", [](PilotSpec& s) { s.options = {"+SpatePilot=\"x\""}; }},
      {"lines", [](PilotSpec& s) { s.options = {"rank = 1\nqueue 100"}; }},
      {"append", [](PilotSpec& s) { s.options = {"-a", "output=x"}; }},
      {"queue", [](PilotSpec& s) { s.options = {"-queue", "100"}; }},
      {"cut short", [](PilotSpec& s) { s.options = {"-q", "100"}; }},
      {"remote", [](PilotSpec& s) { s.options = {"-rem", "far"}; }},
      {"dry", [](PilotSpec& s) { s.options = {"--dry:full", "x"}; }},
      {"no number", [](PilotSpec& s) { s.options = {"request_cpus=abc"}; }},
      {"no number, in capitals", [](PilotSpec& s) { s.options = {"Request_GPUs = two"}; }},
      {"appended", [](PilotSpec& s) { s.options = {"-a", "request_memory=much"}; }},
      {"no value", [](PilotSpec& s) { s.options = {"request_disk="}; }},
      {"no cpu", [](PilotSpec& s) { s.options = {"request_cpus=0"}; }},
  };
  for (const Case& c : kCases) {
    PilotSpec spec = Spec();
    c.change(spec);
    EXPECT_FALSE(MakeHtCondor({})->Submit(spec)) << c.what;
  }
}

TEST(HtCondorTest, RequestsThatMayMatch) {
  for (const Words& options : {
           Words{"request_cpus=4", "request_memory=2GB", "request_disk = 1.5T", "request_gpus=0"},
           Words{"request_cpus=undefined"},
           Words{"+Wish=4", "request_cpus=Wish"},
           Words{"MY.Wish = 4", "request_cpus = Wish"},
           Words{"n=4", "request_cpus=$(n)"},
           Words{"request_memory=2 * 1024"},
           Words{"request_memory=ifthenelse(MemoryUsage =!= undefined, MemoryUsage, 1024)"},
       }) {
    PilotSpec spec = Spec();
    spec.options = options;
    auto call = MakeHtCondor({})->Submit(spec);
    EXPECT_TRUE(call) << call.error().message;
  }
}

TEST(HtCondorTest, ALineThatItDoesNotKnowIsNotTaken) {
  auto test = MakeHtCondor({})->Test(Spec());
  ASSERT_TRUE(test);
  Outcome outcome{.out = "1.0 - 1.0\n", .err = ""};
  EXPECT_TRUE(CheckOutcome(*test, outcome));
  outcome.err = "WARNING: the line 'request_cpu = 4' was unused by condor_submit. Is it a typo?\n";
  auto took = CheckOutcome(*test, outcome);
  ASSERT_FALSE(took);
  EXPECT_EQ(took.error().message,
            "WARNING: the line 'request_cpu = 4' was unused by condor_submit. Is it a typo?; "
            "correct the line; an attribute of your own is written +NAME=VALUE");
}

TEST(HtCondorTest, Ids) {
  ExpectIds(*MakeHtCondor({}), {{"12.0 - 12.0\n", "12.0"},
                                {"news\n12.0 - 12.0", "12.0"},
                                {"12.0 - 12.4\n", ""},
                                {"1 job(s) submitted to cluster 12.\n", ""},
                                {"", ""}});
}

TEST(HtCondorTest, Failures) {
  ExpectFailures(
      *MakeHtCondor({}),
      {
          {"ERROR: Failed to parse command file (line 14).\n", Kind::kRefused},
          {"ERROR: Executable file /home/ann/pool/script does not exist\n", Kind::kRefused},
          {"ERROR: Failed to create cluster\nNumber of submitted jobs would exceed "
           "MAX_JOBS_SUBMITTED\n",
           Kind::kLimit},
          {"ERROR: Number of submitted jobs would exceed MAX_JOBS_PER_OWNER\n", Kind::kLimit},
          {"ERROR: Failed to connect to local queue manager\nCEDAR:6001:Failed to connect to "
           "<127.0.0.1:9618>\n",
           Kind::kUnavailable},
          {"ERROR: Can't find address of local schedd\n", Kind::kUnavailable},
          {"ERROR: Failed to commit job submission into the queue.\n", Kind::kUnavailable, true},
      },
      "Submitting job(s)");
}

TEST(HtCondorTest, Query) {
  auto driver = MakeHtCondor({});
  EXPECT_EQ(driver->Query({"spate-a-", {}}).argv,
            (Words{"condor_q", "-constraint", "regexp(\"^spate-a-\", SpatePilot)", "-af:tV",
                   "ClusterId", "ProcId", "JobStatus", "SpatePilot", "HoldReason"}));
  std::string out =
      "12\t0\t1\t\"spate-a-1\"\tundefined\n"
      "\t13\t0\t2\t\"spate-a-2\"\tundefined\n"
      "14\t0\t5\t\"spate-a-3\"\t\"Error from slot1@h: it\\nsays \\\"no\\\"\"\n"
      "15\t0\t4\t\"spate-a-4\"\tundefined\n"
      "16\t0\t3\t\"spate-a-5\"\tundefined\n"
      "17\t0\t7\t\"spate-a-6\"\tundefined\n"
      "18\t0\t9\t\"spate-a-7\"\tundefined\n"
      "19\t0\t4\t\"other\"\tundefined\n"
      "20\t0\t4\t\"spate-a-8\"\tunde";
  struct Want {
    std::string id;
    PilotState state;
    std::string reason;
  };
  const std::vector<Want> want = {
      {"12.0", PilotState::kQueued, "HTCondor reports none; to ask: condor_q -better-analyze 12.0"},
      {"13.0", PilotState::kRunning, ""},
      {"14.0", PilotState::kHeld, "Error from slot1@h: it says \"no\""},
      {"15.0", PilotState::kEnded, ""},
      {"16.0", PilotState::kRunning, ""},
      {"17.0", PilotState::kRunning, ""},
      {"18.0", PilotState::kUnknown, ""},
  };
  auto pilots = driver->ReadQuery({"spate-a-", {"20.0"}}, {End::kExited, 0, out, ""});
  ASSERT_TRUE(pilots);
  ASSERT_EQ(pilots->size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ((*pilots)[k].id, want[k].id);
    EXPECT_EQ((*pilots)[k].state, want[k].state) << want[k].id;
    EXPECT_EQ((*pilots)[k].reason, want[k].reason) << want[k].id;
  }
  for (int code : {0, 1}) {
    EXPECT_FALSE(driver->ReadQuery(
        {"spate-a-", {}},
        {End::kExited, code, "", "-- Failed to fetch ads from: <127.0.0.1:9618> : h\n"}));
  }
}

TEST(HtCondorTest, Cancel) {
  EXPECT_EQ(MakeHtCondor({})->Cancel(Words{"12.0", "-all", "13.0"}).argv,
            (Words{"condor_rm", "12.0", "13.0"}));
}

}  // namespace
}  // namespace spate::pool
