#include "doors/parasol/row/parasol_row.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "doors/parasol/row/parasol_dialect.h"
#include "doors/parasol/row/parasol_id.h"
#include "format/expand.h"

namespace spate::parasol {
namespace {

using Words = std::vector<std::string>;

std::string RowOf(std::string_view text, std::string_view in = "", std::string_view out = "") {
  std::string row;
  AppendParasolRow({.job = 7, .submitted = 99, .folder = "/f", .in = in, .out = out, .text = text},
                   &row);
  return row;
}

Words WordsOf(std::string_view text) {
  auto body = ParasolBody(RowOf(text), JobId(2), 5);
  return body ? body->steps.at(0).commands.at(0).argv : Words{body.error().message};
}

TEST(ParasolRow, WordsArePartedByBlanksAndByNothingElse) {
  EXPECT_EQ(WordsOf("  blat a.2bit\t\tb.fa  > out "),
            (Words{"blat", "a.2bit", "b.fa", ">", "out"}));
  EXPECT_EQ(WordsOf("echo \"a b\" 'c' *.x $HOME;ls\r"),
            (Words{"echo", "\"a", "b\"", "'c'", "*.x", "$HOME;ls"}));
}

TEST(ParasolRow, SeveralWordsStayAsTheyAre) {
  Words words = {"sh", "-c", "exit 7", ""};
  EXPECT_EQ(WordsOf(ParasolText(words)), words);
  EXPECT_EQ(ParasolCommand(ParasolText(words)), "sh -c exit 7 ");
  EXPECT_EQ(WordsOf(ParasolText({"one word"})), Words{"one word"});
}

TEST(ParasolRow, JobIdStandsForTheNumber) {
  EXPECT_EQ(WordsOf("a$JOB_ID/$JOB_IDx $JOB_I"), (Words{"a200000005/200000005x", "$JOB_I"}));
  auto body = ParasolBody(RowOf("x", "in.$JOB_ID", "out.$JOB_ID"), JobId(2), 5);
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(body->stdin_file, "in.200000005");
  EXPECT_EQ(body->stdout_file, "out.200000005");
  EXPECT_EQ(body->environment, Words{"JOB_ID=200000005"});
  EXPECT_EQ(body->cwd, "/f");
  EXPECT_EQ(ParasolBody(RowOf("x"), JobId(2), 5)->stdout_file, "/dev/null");
}

TEST(ParasolRow, IdsComeApartAgain) {
  EXPECT_EQ(ParasolId(JobId(2), 5), 200'000'005u);
  auto parts = PartsOfParasolId(ParasolId(JobId(4'000'000'000), 99'999'999));
  EXPECT_EQ(parts.job, JobId(4'000'000'000));
  EXPECT_EQ(parts.task, 99'999'999u);
  EXPECT_EQ(PartsOfParasolId(20503).job, JobId());
}

TEST(ParasolRow, WhatIsNoRowIsAnError) {
  for (std::string_view row :
       {std::string_view(""), std::string_view("7"), std::string_view("7 8"),
        std::string_view("7 8\0/f\0\0", 8), std::string_view("x 8\0\0\0\0a", 8)}) {
    EXPECT_FALSE(ReadParasolRow(row).has_value()) << row;
  }
  EXPECT_EQ(ParasolBody(RowOf(" \t "), JobId(2), 5).error().message, "there is no command");
}

RC_GTEST_PROP(ParasolRow, IsReadAsItWasWritten, (uint64_t job, int64_t when, std::string text)) {
  std::string row;
  AppendParasolRow(
      {.job = job, .submitted = when, .folder = "/f", .in = "", .out = "o", .text = text}, &row);
  auto read = ReadParasolRow(row);
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->job == job);
  RC_ASSERT(read->submitted == when);
  RC_ASSERT(read->text == text);
  RC_ASSERT(read->out == "o");
}

TEST(ParasolRow, IsARowKind) {
  JobSettings settings;
  settings.row_kind = RowKind::kParasol;
  EXPECT_EQ(format::CompileJob(settings, JobId(2)).error().kind, ErrorKind::kInvalid);
  format::Dialects dialects;
  AddDialect(dialects);
  auto job = dialects.Compile(settings, JobId(2));
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(format::CommandText(*job, RowOf("a  b"), 5, 1), "a  b");
  auto body = format::Expand(*job, RowOf("a  b"), 5, 1);
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(body->steps.at(0).commands.at(0).argv, (Words{"a", "b"}));
}

}  // namespace
}  // namespace spate::parasol
