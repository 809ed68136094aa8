#include "view/output_writer.h"

#include <gtest/gtest.h>

#include "view/testing_view.h"

namespace spate::cli {
namespace {

using engine::Verdict;

class OutputWriterTest : public testing::Test {
 protected:
  void Make(OutputWriter::Options options) {
    options.spill_folder = folder_.path();
    writer_ = std::make_unique<OutputWriter>(screen_, options, TestTexts().values);
  }
  void End(TaskIndex index, const TaskOutputPtr& output, Verdict verdict = Verdict::kSucceeded,
           uint16_t attempt = 1) {
    AttemptEnd end = EndOf(index, attempt);
    writer_->OnEnded({.end = end, .verdict = verdict, .output = output, .now = kTestStart});
  }
  void Live(TaskIndex index, int stream, std::string_view bytes, uint16_t attempt = 1) {
    writer_->OnLive({JobId(12), index, Attempt(attempt)}, stream, bytes);
  }
  TestFolder folder_;
  FakeScreen screen_;
  std::unique_ptr<OutputWriter> writer_;
};

TEST_F(OutputWriterTest, GroupsByTask) {
  Make({});
  End(1, Wrote("b\n", "eb\n"));
  End(0, Wrote("a", ""));
  End(2, nullptr);
  EXPECT_EQ(screen_.out, "b\na");
  EXPECT_EQ(screen_.err, "eb\n");
}

TEST_F(OutputWriterTest, OnlyTheLastTryIsShown) {
  Make({});
  End(0, Wrote("first\n"), Verdict::kRetry);
  End(0, Wrote("second\n"), Verdict::kFailed, 2);
  EXPECT_EQ(screen_.out, "second\n");
}

TEST_F(OutputWriterTest, KeepsTheOrder) {
  Make({.keep_order = true});
  End(2, Wrote("c\n"));
  End(1, nullptr);
  EXPECT_EQ(screen_.out, "");
  End(0, Wrote("a\n"));
  EXPECT_EQ(screen_.out, "a\nc\n");
  End(4, Wrote("e\n"));
  EXPECT_EQ(screen_.out, "a\nc\n");
  writer_->OnFinish();  // task 3 never came
  EXPECT_EQ(screen_.out, "a\nc\ne\n");
}

TEST_F(OutputWriterTest, OrderGoesOnAfterAResume) {
  Make({.keep_order = true});
  writer_->OnStart({{0, 2}, {3, 1}});
  End(4, Wrote("e\n"));
  End(2, Wrote("c\n"));
  EXPECT_EQ(screen_.out, "c\ne\n");
}

TEST_F(OutputWriterTest, HeldOutputBeyondTheBoundLiesInAFile) {
  Make({.keep_order = true, .held_memory = 10});
  End(1, Wrote("12345678\n", "e1\n"));  // in the file: with its errors beyond the bound
  End(2, Wrote("x\n"));                 // in memory
  End(3, Wrote("abcdefghijk\n", "e3\n"));
  EXPECT_EQ(folder_.CountFiles(), 1u);
  EXPECT_EQ(screen_.out, "");
  End(0, Wrote("a\n"));
  EXPECT_EQ(screen_.out, "a\n12345678\nx\nabcdefghijk\n");
  EXPECT_EQ(screen_.err, "e1\ne3\n");
  EXPECT_EQ(screen_.files_written, 4);
  EXPECT_EQ(folder_.CountFiles(), 0u);  // gone with what it held
}

TEST_F(OutputWriterTest, HeldOutputInAFileIsTaggedToo) {
  Make({.keep_order = true, .tag = true, .held_memory = 1});
  End(1, Wrote("b1\nb2\n"));
  End(0, nullptr);
  EXPECT_EQ(screen_.out, "v2 w\tb1\nv2 w\tb2\n");
}

TEST_F(OutputWriterTest, LongOutputIsNeverLoaded) {
  const std::string line(300'000, 'x');
  std::string path = folder_.Put("spool", line + "\n");
  Make({});
  auto output = std::make_shared<TaskOutput>();
  output->out = Spooled(path, 300'001);
  End(0, output);
  EXPECT_EQ(screen_.out.size(), 300'001u);
  EXPECT_EQ(screen_.files_written, 1);
}

TEST_F(OutputWriterTest, TagsEachLine) {
  Make({.tag = true});
  End(0, Wrote("a\n\nb", "e\n"));
  EXPECT_EQ(screen_.out, "v1 w\ta\nv1 w\t\nv1 w\tb");
  EXPECT_EQ(screen_.err, "v1 w\te\n");
}

TEST_F(OutputWriterTest, TagsLongOutputAcrossPieces) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i) + "\n";
  ASSERT_GT(text.size(), 256u * 1024);
  Make({.tag = true});
  auto output = std::make_shared<TaskOutput>();
  output->out = Spooled(folder_.Put("spool", text), text.size());
  End(0, output);
  bool mid_line = false;
  EXPECT_EQ(screen_.out, Tagged(text, "v1 w\t", &mid_line));
  EXPECT_EQ(folder_.CountFiles(), 1u);  // the spool; the tagged copy is gone
}

TEST_F(OutputWriterTest, LineByLine) {
  Make({.line_buffer = true});
  Live(0, 1, "a1\na");
  Live(1, 1, "b1\n");
  Live(0, 2, "err\n");
  EXPECT_EQ(screen_.out, "a1\nb1\n");
  EXPECT_EQ(screen_.err, "err\n");
  Live(0, 1, "2\nrest");
  EXPECT_EQ(screen_.out, "a1\nb1\na2\n");
  End(0, Wrote("a1\na2\nrest", "err\n"));
  EXPECT_EQ(screen_.out, "a1\nb1\na2\nrest");
  // Bytes that did not come live are shown at the end.
  End(1, Wrote("b1\nb2\n"));
  EXPECT_EQ(screen_.out, "a1\nb1\na2\nrestb2\n");
  EXPECT_EQ(screen_.err, "err\n");
}

TEST_F(OutputWriterTest, LineByLineWithTags) {
  Make({.tag = true, .line_buffer = true});
  Live(0, 1, "a");
  Live(0, 1, "b\nc");
  EXPECT_EQ(screen_.out, "v1 w\tab\n");
  End(0, Wrote("ab\nc"));
  EXPECT_EQ(screen_.out, "v1 w\tab\nv1 w\tc");
}

TEST_F(OutputWriterTest, AVeryLongLineComesInParts) {
  Make({.tag = true, .line_buffer = true});
  std::string half(40'000, 'x');
  Live(0, 1, half);
  EXPECT_EQ(screen_.out, "");
  Live(0, 1, half);
  EXPECT_EQ(screen_.out, "v1 w\t" + half + half);
  Live(0, 1, "end\nnext\n");
  EXPECT_EQ(screen_.out, "v1 w\t" + half + half + "end\nv1 w\tnext\n");
}

TEST_F(OutputWriterTest, LineByLineInOrderShowsTheHeadLive) {
  Make({.keep_order = true, .line_buffer = true});
  Live(1, 1, "b1\n");
  Live(0, 1, "a1\n");
  EXPECT_EQ(screen_.out, "a1\n");
  End(0, Wrote("a1\n"));
  Live(1, 1, "b2\n");  // began before it was the head: comes whole at its end
  EXPECT_EQ(screen_.out, "a1\n");
  End(1, Wrote("b1\nb2\n"));
  Live(2, 1, "c1\n");
  EXPECT_EQ(screen_.out, "a1\nb1\nb2\nc1\n");
}

TEST_F(OutputWriterTest, ATriedAttemptLeavesNoOpenLine) {
  Make({.line_buffer = true});
  Live(0, 1, "one\ntw");
  End(0, Wrote("one\ntw"), Verdict::kRetry);
  Live(0, 1, "again\n", 2);
  End(0, Wrote("again\n"), Verdict::kSucceeded, 2);
  EXPECT_EQ(screen_.out, "one\ntwagain\n");
}

TEST(LastLinesTest, TakesTheEnd) {
  EXPECT_EQ(LastLines(Inline("a\nb\nc\n"), 2, 80), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(LastLines(Inline("a"), 5, 80), (std::vector<std::string>{"a"}));
  EXPECT_EQ(LastLines(Inline(""), 5, 80), (std::vector<std::string>{}));
  EXPECT_EQ(LastLines(Inline("\x1b[31mred\r\n\n"), 5, 80),
            (std::vector<std::string>{"\\x1b[31mred"}));
  EXPECT_EQ(LastLines(Inline("abcdefgh\n"), 5, 6), (std::vector<std::string>{"abc..."}));
  EXPECT_EQ(LastLines(Spooled("/nonexistent/spool", 5), 5, 80).size(), 1u);
}

}  // namespace
}  // namespace spate::cli
