#include "pool/parts.h"

#include <gtest/gtest.h>

namespace spate::pool {
namespace {

TEST(PartsTest, JoinsWords) {
  EXPECT_EQ(Joined({}, ","), "");
  EXPECT_EQ(Joined(std::vector<std::string>{"a"}, ","), "a");
  EXPECT_EQ(Joined(std::vector<std::string>{"a", "", "b"}, ", "), "a, , b");
}

PilotSpec Good() {
  PilotSpec spec;
  spec.tag = "spate-a-1";
  spec.output_file = "/home/ann/out";
  spec.command = {"spate", "node", "start"};
  return spec;
}

TEST(PartsTest, Tags) {
  struct Case {
    std::string tag;
    bool valid;
  };
  for (const Case& c : std::vector<Case>{{"a", true},
                                         {"spate-a_1", true},
                                         {std::string(60, 'a'), true},
                                         {std::string(61, 'a'), false},
                                         {"", false},
                                         {"1a", false},
                                         {"-a", false},
                                         {"a b", false},
                                         {"a|b", false},
                                         {"a\n", false},
                                         {"ä", false}}) {
    EXPECT_EQ(ValidTag(c.tag), c.valid) << c.tag;
  }
}

TEST(PartsTest, Specs) {
  struct Case {
    const char* what;
    void (*change)(PilotSpec&);
  };
  EXPECT_TRUE(CheckSpec(Good()));
  const Case kCases[] = {
      {"tag", [](PilotSpec& s) { s.tag = "a b"; }},
      {"nodes", [](PilotSpec& s) { s.nodes = 0; }},
      {"command", [](PilotSpec& s) { s.command.clear(); }},
      {"empty program", [](PilotSpec& s) { s.command = {""}; }},
      {"output", [](PilotSpec& s) { s.output_file = "out"; }},
      {"newline in output", [](PilotSpec& s) { s.output_file = "/a\nb"; }},
      {"folder", [](PilotSpec& s) { s.folder = "a"; }},
      {"script", [](PilotSpec& s) { s.script_file = "a"; }},
      {"limit", [](PilotSpec& s) { s.time_limit = Duration{0}; }},
      {"NUL", [](PilotSpec& s) { s.command.push_back(std::string(1, '\0')); }},
      {"NUL in prologue", [](PilotSpec& s) { s.prologue = std::string(1, '\0'); }},
  };
  for (const Case& c : kCases) {
    PilotSpec spec = Good();
    c.change(spec);
    EXPECT_FALSE(CheckSpec(spec)) << c.what;
  }
}

TEST(PartsTest, ResourceOptions) {
  struct Case {
    std::vector<std::string> words;
    std::optional<std::string> value;
  };
  for (const Case& c : std::vector<Case>{{{}, std::nullopt},
                                         {{"-l"}, std::nullopt},
                                         {{"-l", "h_rt=5"}, "5"},
                                         {{"-lh_rt=5"}, "5"},
                                         {{"-l", "mem=1G,h_rt=1:00:00,x=2"}, "1:00:00"},
                                         {{"-l", "h_rt=1", "-l", "h_rt=2"}, "2"},
                                         {{"-l", "h_rtx=1"}, std::nullopt},
                                         {{"h_rt=1"}, std::nullopt}}) {
    EXPECT_EQ(ResourceOption(c.words, "h_rt"), c.value);
  }
}

TEST(PartsTest, Limits) {
  struct Case {
    std::string_view text;
    std::optional<int64_t> seconds;
  };
  for (const Case& c : std::vector<Case>{{"90", 5400},
                                         {"0:59", 59},
                                         {"30:00", 1800},
                                         {"1:00:00", 3600},
                                         {"1-02:03:04", 93784},
                                         {"1-2", 93600},
                                         {"365-00:00:00", 31536000},
                                         {"", std::nullopt},
                                         {"1h", std::nullopt},
                                         {"INVALID", std::nullopt},
                                         {"1:2:3:4", std::nullopt},
                                         {"-1", std::nullopt},
                                         {"9999999999", std::nullopt},
                                         {"99999999:00:00", std::nullopt},
                                         {"1111-99999999:0", std::nullopt}}) {
    auto limit = ParseLimit(c.text, Duration::Seconds(60));
    EXPECT_EQ(limit.has_value(), c.seconds.has_value()) << c.text;
    if (limit && c.seconds) EXPECT_EQ(limit->ns, Duration::Seconds(*c.seconds).ns) << c.text;
  }
  EXPECT_EQ(WholeSeconds(Duration::Millis(1)), "1");
  EXPECT_EQ(WholeSeconds(Duration::Millis(60001)), "61");
}

TEST(PartsTest, Describes) {
  using End = Outcome::End;
  EXPECT_EQ(Describe("sbatch", {End::kExited, 1, "", "error: a\n\n  b \n"}),
            "sbatch failed (exit code 1): error: a; b");
  EXPECT_EQ(Describe("qdel", {End::kExited, 1, "denied\n", ""}),
            "qdel failed (exit code 1): denied");
  EXPECT_EQ(Describe("sbatch", {End::kTimedOut, 0, "", ""}), "sbatch did not answer in time");
  EXPECT_EQ(Describe("sbatch", {End::kNotStarted, 0, "", "sbatch: no such file"}),
            "sbatch could not be started: sbatch: no such file");
  EXPECT_EQ(Describe("q", {End::kExited, 1, "", "\x1b[31m\xff"}),
            "q failed (exit code 1): \\x1b[31m\\xff");
  EXPECT_LT(Describe("q", {End::kExited, 1, "", std::string(1 << 20, 'x')}).size(), 900U);
}

TEST(PartsTest, Outcomes) {
  CommandLine call{.argv = {"sbatch"}, .input = "", .file = {}, .environment = {}};
  EXPECT_TRUE(CheckOutcome(call, {}));
  auto refused = CheckOutcome(call, {Outcome::End::kExited, 1, "", "wrong"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  auto silent = CheckOutcome(call, {Outcome::End::kTimedOut, 0, "", ""});
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().kind, ErrorKind::kUnavailable);
}

// Nobody knows if it had submitted before.
TEST(PartsTest, AKilledSubmitMayHaveDoneItsWork) {
  for (int code : {130, 137, 141, 143}) {
    auto id = ReadId("sbatch", {Outcome::End::kExited, code, "", ""}, std::nullopt, {});
    ASSERT_FALSE(id);
    EXPECT_TRUE(id.error().perhaps_there) << code;
    EXPECT_EQ(id.error().kind, SubmitFailure::Kind::kUnavailable) << code;
  }
  auto refused = ReadId("sbatch", {Outcome::End::kExited, 1, "", "no"}, std::nullopt, {});
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().perhaps_there);
}

TEST(PartsTest, TheLastWordOnAnIdCounts) {
  PilotQuery query{.prefix = "p-", .ids = {"3"}};
  Listing listing(query);
  listing.Add({"1", "p-1", PilotState::kQueued, ""});
  listing.Add({"2", "q-1", PilotState::kQueued, ""});
  listing.Add({"3", "", PilotState::kQueued, ""});
  listing.Add({"4", "p-1 x", PilotState::kQueued, ""});
  listing.Add({"1", "", PilotState::kEnded, "x"});  // the id alone does not make it ours...
  listing.Add({"1", "p-1", PilotState::kRunning, ""});
  auto pilots = listing.Take();
  ASSERT_EQ(pilots.size(), 2U);
  EXPECT_EQ(pilots[0].id, "1");
  EXPECT_EQ(pilots[0].state, PilotState::kRunning);
  EXPECT_EQ(pilots[1].id, "3");
}

TEST(PartsTest, RefusedOptionsAreNamedAsTheyAreRead) {
  constexpr RefusedOption kRefused[] = {{"-f", "it stays"},
                                        {"--output", "it is set"},
                                        {"-sync", "it stays", false},
                                        {"--", "no", false}};
  struct {
    Words words;
    const char* why;  // empty: none is refused
  } const kCases[] = {
      {{"-f"}, "option -f cannot be given to a pool: it stays"},
      {{"-frob"},
       "option -frob, which is read as -f followed by 'rob', cannot be given to a pool: it stays"},
      {{"--output=x"}, "option --output=x cannot be given to a pool: it is set"},
      {{"--out", "x"},
       "option --out, which is read as --output, cannot be given to a pool: it is set"},
      {{"--outp=x"},
       "option --outp=x, which is read as --output, cannot be given to a pool: it is set"},
      {{"--outputs=x"}, ""},
      {{"-syncs"}, ""},
      {{"--nice"}, ""},
      {{"--"}, "option -- cannot be given to a pool: no"},
  };
  for (const auto& [words, why] : kCases) {
    auto fine = CheckOptions(words, kRefused);
    EXPECT_EQ(fine ? "" : fine.error().message, why) << words[0];
  }
}

}  // namespace
}  // namespace spate::pool
