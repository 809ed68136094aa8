// The texts were recorded from a private Son of Grid Engine 8.1.9, with names and ids as here.
#include "pool/gridengine/gridengine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pool/testing.h"

namespace spate::pool {
namespace {

using End = Outcome::End;
using Kind = SubmitFailure::Kind;
using Words = std::vector<std::string>;

TEST(GridEngineTest, Submit) {
  auto driver = MakeGridEngine({});
  PilotSpec spec = PlainSpec();
  spec.options = {"-q", "short.q", "-l", "mem_free=1G,h_rt=0:10:00"};
  spec.time_limit = Duration::Seconds(60);
  auto call = driver->Submit(spec);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->argv, (Words{"qsub", "-terse", "-N", "spate-a-1", "-o", "/home/ann/pool/out",
                               "-j", "y", "-S", "/bin/sh", "-C", "", "-notify", "-l", "h_rt=60",
                               "-q", "short.q", "-l", "mem_free=1G,h_rt=0:10:00"}));
  EXPECT_TRUE(call->input.starts_with("#!/bin/sh\n"));
  // The batch job is not told its limit: the options' counts, as it does for qsub.
  EXPECT_TRUE(call->input.contains("SPATE_PILOT_SECONDS=600\n")) << call->input;
  auto test = driver->Test(spec);
  ASSERT_TRUE(test);
  EXPECT_EQ(test->argv.back(), "v");
}

TEST(GridEngineTest, AvoidsHosts) {
  auto driver = MakeGridEngine({});
  PilotSpec spec = PlainSpec();
  spec.options = {"-q", "short.q"};
  spec.avoid = {"n1", "n2"};
  auto call = driver->Submit(spec);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(Words(call->argv.begin() + 12, call->argv.end()),
            (Words{"-notify", "-l", "h=!(n1|n2)", "-w", "e", "-q", "short.q"}));
  EXPECT_TRUE(call->input.contains("\nspate_host=${HOSTNAME:-$spate_host}\n"));
  auto test = driver->Test(spec);
  ASSERT_TRUE(test);
  EXPECT_EQ(test->argv.back(), "v");
}

TEST(GridEngineTest, WhatItCannotHave) {
  auto driver = MakeGridEngine({});
  struct Case {
    void (*change)(PilotSpec&);
    std::string says;
  };
  for (const Case& c : std::vector<Case>{
           {[](PilotSpec& s) { s.options = {"-N", "x"}; }, "-N"},
           {[](PilotSpec& s) { s.options = {"-t", "1-5"}; }, "-t"},
           {[](PilotSpec& s) { s.options = {"-sync", "y"}; }, "-sync"},
           {[](PilotSpec& s) { s.nodes = 2; }, "-pe"},
           {[](PilotSpec& s) { s.shared_files = false; }, "shared"},
           {[](PilotSpec& s) { s.output_file = "/a:b"; }, "/a:b"},
           {[](PilotSpec& s) { s.tag = "1a"; }, "name"},
       }) {
    PilotSpec spec = PlainSpec();
    c.change(spec);
    auto call = driver->Submit(spec);
    ASSERT_FALSE(call) << c.says;
    EXPECT_TRUE(call.error().message.contains(c.says)) << call.error().message;
  }
  PilotSpec spec = PlainSpec();
  spec.nodes = 2;
  spec.options = {"-pe", "mpi", "8"};
  EXPECT_TRUE(driver->Submit(spec));
}

TEST(GridEngineTest, Ids) {
  ExpectIds(*MakeGridEngine({}), {
                                     {"15\n", "15"},
                                     {"Your job 2 (\"spate-a-2\") has been submitted\n", "2"},
                                     {"warning: quota soon used up\n15\n", "15"},
                                 });
  // An array, which is no pilot; a test that says nothing of an id.
  for (const char* out : {"12.1-3:1\n", "verification: found suitable queue(s)\n", ""}) {
    auto id = MakeGridEngine({})->ReadSubmit({End::kExited, 0, out, ""});
    ASSERT_FALSE(id) << out;
    EXPECT_TRUE(id.error().perhaps_there);
  }
}

TEST(GridEngineTest, Failures) {
  struct Case {
    int code;
    std::string err;
    Kind kind;
  };
  const std::string kExiting = "\nExiting.\n";
  for (const Case& c : std::vector<Case>{
           {1,
            "Unable to run job: Job was rejected because job requests unknown queue \"nosuch\"" +
                kExiting,
            Kind::kRefused},
           {1, "Unable to run job: unknown resource \"nosuch\"" + kExiting, Kind::kRefused},
           {2, "qsub: invalid option argument \"-nosuch\"\n", Kind::kRefused},
           {1,
            "Unable to run job: job rejected: the requested project \"proj\" does not exist" +
                kExiting,
            Kind::kRefused},
           {1,
            "Unable to run job: job rejected: the requested parallel environment \"nosuch\" does "
            "not exist" +
                kExiting,
            Kind::kRefused},
           {1, "Unable to run job: attribute \"h_rt\" is not a time value" + kExiting,
            Kind::kRefused},
           {25,
            "Unable to run job: job rejected: only 1 jobs are allowed per user (current job "
            "count: 1)" +
                kExiting,
            Kind::kLimit},
           {25, "Unable to run job: job rejected: only 1 jobs are allowed per cluster" + kExiting,
            Kind::kLimit},
           {1,
            "error: commlib error: got select error (Connection refused)\nUnable to run job: "
            "unable to send message to qmaster using port 21300 on host \"localhost\": got send "
            "error" +
                kExiting,
            Kind::kUnavailable},
           {1,
            "\nUnable to initialize environment because of error: unable to read qmaster name: "
            "qmaster hostname in \"/var/lib/gridengine/default/common/act_qmaster\" has zero "
            "length" +
                kExiting,
            Kind::kUnavailable},
       }) {
    auto id = MakeGridEngine({})->ReadSubmit({End::kExited, c.code, "", c.err});
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().kind, c.kind) << c.err;
    EXPECT_FALSE(id.error().perhaps_there) << c.err;
  }
}

std::string Entry(const std::string& list, int id, const std::string& name,
                  const std::string& state) {
  return "    <job_list state=\"" + list + "\">\n      <JB_job_number>" + std::to_string(id) +
         "</JB_job_number>\n      <JAT_prio>0.50000</JAT_prio>\n      <JB_name>" + name +
         "</JB_name>\n      <JB_owner>root</JB_owner>\n      <state>" + state +
         "</state>\n      <JAT_start_time>2026-11-23T16:22:35</JAT_start_time>\n"
         "      <queue_name>all.q@localhost</queue_name>\n      <slots>1</slots>\n"
         "    </job_list>\n";
}

const std::string kHead =
    "<?xml version='1.0'?>\n<job_info  xmlns:xsd=\"http://arc.liv.ac.uk/repos/darcs/sge/source/"
    "dist/util/resources/schemas/qstat/qstat.xsd\">\n  <queue_info>\n";
const std::string kMiddle = "  </queue_info>\n  <job_info>\n";
const std::string kFoot = "  </job_info>\n</job_info>\n";

TEST(GridEngineTest, Query) {
  Tools tools;
  tools.user = "ann";
  auto driver = MakeGridEngine(tools);
  EXPECT_EQ(driver->Query({"spate-", {}}).argv,
            (Words{"qstat", "-xml", "-s", "prsz", "-u", "ann"}));
  std::string out =
      kHead + Entry("running", 16, "spate-b-2", "r") + Entry("running", 19, "spate-b-5", "dr") +
      kMiddle + Entry("pending", 2, "spate-b-with-a-long-name-of-many", "hqw") +
      Entry("pending", 17, "spate-b-3", "Eqw") + Entry("pending", 20, "spate-b-6", "qw") +
      Entry("pending", 21, "other", "qw") + Entry("zombie", 15, "spate-b-1", "z") +
      Entry("running", 22, "spate-b-7", "Rr") + Entry("running", 23, "spate-b-8", "S") +
      Entry("running", 24, "spate-b-9", "?") + kFoot;
  struct Want {
    std::string id;
    PilotState state;
    std::string reason;
  };
  const std::vector<Want> want = {
      {"16", PilotState::kRunning, ""},   {"19", PilotState::kRunning, "dr"},
      {"2", PilotState::kHeld, "hqw"},    {"17", PilotState::kHeld, "Eqw"},
      {"20", PilotState::kQueued, ""},    {"15", PilotState::kEnded, "z"},
      {"22", PilotState::kRunning, "Rr"}, {"23", PilotState::kRunning, "S"},
      {"24", PilotState::kUnknown, "?"},
  };
  auto pilots = driver->ReadQuery({"spate-b-", {"99"}}, {End::kExited, 0, out, ""});
  ASSERT_TRUE(pilots);
  ASSERT_EQ(pilots->size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ((*pilots)[k].id, want[k].id);
    EXPECT_EQ((*pilots)[k].state, want[k].state) << want[k].id;
    EXPECT_EQ((*pilots)[k].reason, want[k].reason) << want[k].id;
  }
  // However much of it came: nothing is told that the whole does not tell.
  for (size_t size = 0; size < out.size(); ++size) {
    auto some = driver->ReadQuery({"spate-b-", {}}, {End::kExited, 0, out.substr(0, size), ""});
    ASSERT_TRUE(some);
    ASSERT_LE(some->size(), want.size());
    for (size_t k = 0; k < some->size(); ++k) ASSERT_EQ((*some)[k].state, want[k].state);
  }
}

TEST(GridEngineTest, AListThatAnotherBeginsInIsLeftOut) {
  std::string first = Entry("running", 16, "spate-b-2", "r");
  std::string cut = first.substr(0, first.find("      <state>"));
  std::string out = kHead + cut + Entry("zombie", 15, "spate-b-1", "z") + kMiddle + kFoot;
  auto pilots = MakeGridEngine({})->ReadQuery({"spate-b-", {}}, {End::kExited, 0, out, ""});
  ASSERT_TRUE(pilots);
  ASSERT_EQ(pilots->size(), 1U);
  EXPECT_EQ((*pilots)[0].id, "15");
}

TEST(GridEngineTest, NothingThere) {
  auto pilots = MakeGridEngine({})->ReadQuery({"spate-", {"1"}},
                                              {End::kExited, 0, kHead + kMiddle + kFoot, ""});
  ASSERT_TRUE(pilots);
  EXPECT_TRUE(pilots->empty());
  auto failed = MakeGridEngine({})->ReadQuery(
      {"spate-", {"1"}},
      {End::kExited, 1, "",
       "error: commlib error: got select error (Connection refused)\nerror: unable to send "
       "message to qmaster using port 21300 on host \"localhost\": got send error\n"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kUnavailable);
}

TEST(GridEngineTest, Cancel) {
  EXPECT_EQ(MakeGridEngine({})->Cancel(Words{"1", "-f", "2"}).argv, (Words{"qdel", "1", "2"}));
}

}  // namespace
}  // namespace spate::pool
