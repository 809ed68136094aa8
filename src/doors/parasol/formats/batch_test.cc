#include "doors/parasol/formats/batch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace spate::parasol {
namespace {

// A line that Parasol wrote.
constexpr std::string_view kLine =
    R"("out.sh bad o2",0,0,1,{{"out","line","o2",},},1,{{"20503","localhost",0,1795166888,)"
    R"(1795166888,1795166888,0,1,0,0,0,0,0,1,0,0,0,"TMP/para20503.err",},},)"
    R"("out.sh bad {check out line o2}",)"
    "\n";

ParasolJob Job() {
  ParasolSubmission submission{.id = "20503",
                               .host = "localhost",
                               .submitted = 1795166888,
                               .started = 1795166888,
                               .ended = 1795166888,
                               .got_status = true,
                               .crashed = true,
                               .err_file = "TMP/para20503.err"};
  return {.command = "out.sh bad o2",
          .checks = {{CheckWhen::kOut, CheckKind::kLine, "o2"}},
          .submissions = {submission},
          .spec = "out.sh bad {check out line o2}"};
}

std::string Written(const ParasolJob& job) { return WriteBatch(std::span(&job, 1)); }

TEST(ParasolBatchTest, TheLineOfParasol) {
  EXPECT_EQ(Written(Job()), kLine);
  auto read = ReadBatch(kLine, "batch");
  EXPECT_TRUE(read.damage.empty());
  ASSERT_EQ(read.jobs.size(), 1u);
  EXPECT_EQ(read.jobs[0], Job());
  EXPECT_EQ(Written({.command = "a", .cpus = 0.5, .ram = 4ull << 30, .spec = "b"}),
            "\"a\",0.5,4294967296,0,{},0,{},\"b\",\n");
}

// Each number in its place.
TEST(ParasolBatchTest, FieldsOfASubmission) {
  ParasolSubmission submission{"7",   "h",   1.25, 2,    3,     4,    256,   true, true,
                               false, false, 3,    true, false, true, false, true, "e"};
  EXPECT_EQ(Written({.command = "a", .submissions = {submission, {}}, .spec = "a"}),
            "\"a\",0,0,0,{},2,{{\"7\",\"h\",1.25,2,3,4,256,1,1,0,0,3,1,0,1,0,1,\"e\",},"
            "{\"\",\"\",0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,\"\",},},\"a\",\n");
}

TEST(ParasolBatchTest, WhatIsWrittenIsRead) {
  for (std::string text : {R"(sh -c "a b")", R"(")", R"("")", R"(a""b)", R"(a",0,0)", R"(",")",
                           R"(a\"b\)", "{}", "a,b", "\x01\xff"}) {
    ParasolJob job = Job();
    job.command = job.spec = job.checks[0].file = job.submissions[0].err_file = text;
    auto read = ReadBatch(Written(job), "batch");
    ASSERT_EQ(read.jobs.size(), 1u) << text << read.damage[0];
    EXPECT_EQ(read.jobs[0], job) << text;
  }
}

TEST(ParasolBatchTest, AnyJobIsReadBack) {
  auto text = [] {
    return *rc::gen::map(rc::gen::string<std::string>(), [](std::string made) {
      std::erase_if(made, [](char c) { return c == '\n'; });
      return made;
    });
  };
  EXPECT_TRUE(rc::check("a job is what was written", [&] {
    ParasolJob job{.command = text(), .spec = text()};
    job.cpus = *rc::gen::inRange(0, 1000) / 8.0;
    job.ram = *rc::gen::arbitrary<uint64_t>();
    job.checks.resize(*rc::gen::inRange(0, 3));
    for (Check& check : job.checks) {
      check = {CheckWhen::kOut, static_cast<CheckKind>(*rc::gen::inRange(0, 4)), text()};
    }
    job.submissions.resize(*rc::gen::inRange(0, 3));
    for (ParasolSubmission& submission : job.submissions) {
      submission.id = text();
      submission.err_file = text();
      submission.submitted = *rc::gen::arbitrary<int64_t>();
      submission.status = *rc::gen::arbitrary<int32_t>();
      submission.slow = *rc::gen::arbitrary<bool>();
    }
    auto read = ReadBatch(Written(job), "batch");
    RC_ASSERT(read.jobs.size() == 1u);
    RC_ASSERT(read.jobs[0] == job);
  }));
}

TEST(ParasolBatchTest, DamageNamesTheLineAndTheRestIsRead) {
  struct Case {
    std::string_view line, what;
  };
  for (const Case& c : std::vector<Case>{
           {R"("sh "a"",0,0,0,{},0,{},"b",)", "no comma after a string at byte 6"},
           {R"("a)", "no closing double quote at byte 2"},
           {R"("a")", "no comma after a string at byte 4"},
           {R"(a,0)", "no '\"' at byte 1"},
           {R"("a",x,0,0,{},0,{},"b",)", "no number at byte 5"},
           {R"("a",0,-1,0,{},0,{},"b",)", "no number at byte 7"},
           {R"("a",0,0,1,{},0,{},"b",)", "a list of 0 that says 1 at byte 14"},
           {R"("a",0,0,1,{{"on","line","f",},},0,{},"b",)", "a check that is not known at byte 29"},
           {R"("a",0,0,0,{},1,{{"7","h",},},"b",)", "no number at byte 26"},
           {R"("a",0,0,0,{},0,{},"b",,)", "more than a job at byte 23"},
           {R"("a",0,0,0,{},0,{})", "no comma after a list at byte 18"}}) {
    std::string text = "# jobs\n\n" + std::string(c.line) + "\r\n" + std::string(kLine);
    auto read = ReadBatch(text, "d/batch");
    EXPECT_EQ(read.jobs.size(), 1u);
    ASSERT_EQ(read.damage.size(), 1u) << c.line;
    EXPECT_EQ(read.damage[0], "line 3 of d/batch is not a valid job (" + std::string(c.what) +
                                  "): fix it, or make the batch again with para create");
  }
}

// Blanks between the fields and a missing last newline do no harm.
TEST(ParasolBatchTest, EditedByHand) {
  auto read = ReadBatch(R"( "a" , 0.25, 7,0,{ } , 0,{},"b", )", "batch");
  ASSERT_EQ(read.jobs.size(), 1u);
  EXPECT_EQ(read.jobs[0], (ParasolJob{.command = "a", .cpus = 0.25, .ram = 7, .spec = "b"}));
}

TEST(ParasolBatchTest, InPieces) {
  std::string line(kLine);
  BatchReader reader("batch", 6 * line.size());
  reader.Add("# jobs\n" + line + line);
  reader.Add("bad\n" + line);
  reader.Add("");
  reader.Add(line.substr(0, line.size() - 1));
  auto read = reader.Take();
  EXPECT_EQ(read.jobs.size(), 4u);
  EXPECT_GE(read.jobs.capacity(), 5u);
  ASSERT_EQ(read.damage.size(), 1u);
  EXPECT_TRUE(read.damage[0].starts_with("line 4 of batch")) << read.damage[0];
}

// 100,000 lines take well under a second; a quadratic reader would not end.
TEST(ParasolBatchTest, ManyJobs) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) AppendBatchLine(Job(), &text);
  auto read = ReadBatch(text, "batch");
  EXPECT_EQ(read.jobs.size(), 100'000u);
  EXPECT_EQ(WriteBatch(read.jobs), text);
}

}  // namespace
}  // namespace spate::parasol
