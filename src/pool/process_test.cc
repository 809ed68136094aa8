// Answers of hosts, as texts. Their scripts are run by the tests of the drivers.
#include "pool/process.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "pool/testing.h"

namespace spate::pool {
namespace {

TEST(ProcessTest, Ids) {
  for (const char* id : {"1.2.0123abcd", "99999.123456789.ffffffff"}) {
    EXPECT_TRUE(IsProcessId(id)) << id;
  }
  for (const char* id :
       {"", "1", "1.2", "1.2.", "1.2.0123abc", "1.2.0123abcde", "1.2.0123ABCD", "-1.2.0123abcd",
        "1..0123abcd", ".2.0123abcd", "1.2.3.0123abcd", "1 .2.0123abcd", "$(id).2.0123abcd"}) {
    EXPECT_FALSE(IsProcessId(id)) << id;
  }
}

TEST(ProcessTest, Specs) {
  auto fine = [](const PilotSpec& spec) { return CheckProcessSpec("ssh", spec).has_value(); };
  EXPECT_TRUE(fine(PlainSpec()));
  PilotSpec spec = PlainSpec();
  spec.nodes = 2;
  EXPECT_FALSE(fine(spec));
  spec = PlainSpec();
  spec.options = {"-p", "2222"};
  EXPECT_FALSE(fine(spec));
  spec = PlainSpec();
  spec.output_file = "/tmp/";
  EXPECT_FALSE(fine(spec));
  struct Case {
    std::vector<std::string> files;
    bool fine;
  };
  for (const Case& c : std::vector<Case>{
           {{"/a/spate", "/b/access"}, true},
           {{"/a/x", "/b/x"}, false},
           {{"a"}, false},
           {{"/a/"}, false},
       }) {
    spec = PlainSpec();
    spec.files = c.files;
    EXPECT_TRUE(fine(spec));
    spec.shared_files = false;
    EXPECT_EQ(fine(spec), c.fine) << c.files[0];
  }
}

TEST(ProcessTest, Starts) {
  struct Case {
    std::string out, id;
  };
  for (const Case& c : std::vector<Case>{
           {"spate: started 5.6.0123abcd\n", "5.6.0123abcd"},
           {"Welcome!\nspate: started 5.6.0123abcd\n", "5.6.0123abcd"},
           {"spate: started 5.6.0123abcd", ""},  // may be cut off
           {"spate: started 5.6\n", ""},
           {"5.6.0123abcd\n", ""},
           {"", ""},
       }) {
    EXPECT_EQ(ReadStarted(c.out).value_or(""), c.id) << c.out;
  }
}

const std::string kListed =
    "5.6.0123abcd|p-1|running|\n"
    "7.8.0123abcd|p-2|ended|exit status 3\n"
    "\tspate: no\xff such hub\n"
    "\t\n"
    "\tbye\n"
    "9.10.0123abcd|p-3|unknown|\n"
    "11.12.0123abcd|q-1|running|\n"
    "\tno words of one that runs\n"
    "13.14.0123abcd||running|\n"
    "spate: these are all\n";

TEST(ProcessTest, Lists) {
  PilotQuery query{.prefix = "p-", .ids = {"13.14.0123abcd", "15.16.0123abcd"}};
  auto pilots = ReadListed("ssh far", query, {.out = kListed});
  ASSERT_TRUE(pilots) << pilots.error().message;
  struct Want {
    std::string id, tag;
    PilotState state;
    std::string reason;
  };
  const std::vector<Want> want = {
      {"5.6.0123abcd", "p-1", PilotState::kRunning, ""},
      {"7.8.0123abcd", "p-2", PilotState::kEnded,
       "exit status 3; spate: no" + EscapeForScreen("\xff") + " such hub; bye"},
      {"9.10.0123abcd", "p-3", PilotState::kUnknown, ""},
      {"13.14.0123abcd", "", PilotState::kRunning, ""},
  };
  ASSERT_EQ(pilots->size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ((*pilots)[k].id, want[k].id);
    EXPECT_EQ((*pilots)[k].tag, want[k].tag);
    EXPECT_EQ((*pilots)[k].state, want[k].state);
    EXPECT_EQ((*pilots)[k].reason, want[k].reason);
  }
}

TEST(ProcessTest, OnlyAWholeListIsOne) {
  PilotQuery query{.prefix = "p-"};
  for (size_t size = 0; size < kListed.size(); ++size) {
    auto some = ReadListed("ssh far", query, {.out = kListed.substr(0, size)});
    ASSERT_FALSE(some) << size;
    EXPECT_EQ(some.error().kind, ErrorKind::kUnavailable);
  }
  using End = Outcome::End;
  for (const Outcome& outcome : std::vector<Outcome>{
           {End::kExited, 255, kListed, "ssh: connect to host far port 22: No route to host"},
           {End::kExited, 1, kListed, ""},
           {End::kTimedOut, 0, kListed, ""},
           {End::kNotStarted, 0, kListed, ""},
           {End::kExited, 0, "This account is not available.\n", ""},
       }) {
    auto none = ReadListed("ssh far", query, outcome);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::kUnavailable);
    EXPECT_TRUE(none.error().message.starts_with("ssh far ")) << none.error().message;
  }
}

TEST(ProcessTest, Grants) {
  std::vector<std::string> entries = {
      "SPATE_PILOT=p-1",       "SPATE_PILOT_SYSTEM=ssh",         "SPATE_PILOT_ID=5.6.0123abcd",
      "SPATE_PILOT_CPUS=4",    "SPATE_PILOT_STARTED=1795450631", "SLURM_CPUS_ON_NODE=2",
      "SLURM_JOB_NUM_NODES=3",
  };
  Grant grant = GrantOfProcess("ssh", {os::Environment(entries), {}});
  EXPECT_EQ(grant.system, "ssh");
  EXPECT_EQ(grant.id, "5.6.0123abcd");
  EXPECT_EQ(grant.tag, "p-1");
  EXPECT_EQ(grant.ends, Instant::Never());
  EXPECT_FALSE(grant.cpus);
  EXPECT_FALSE(grant.memory);
  EXPECT_TRUE(grant.launches.empty());
  entries.emplace_back("SPATE_PILOT_SECONDS=60");
  grant = GrantOfProcess("ssh", {os::Environment(entries), {}});
  EXPECT_EQ(grant.ends, Instant{1795450691'000000000});
}

}  // namespace
}  // namespace spate::pool
