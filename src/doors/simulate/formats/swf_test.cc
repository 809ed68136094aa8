#include "doors/simulate/formats/swf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spate::format {
namespace {

constexpr std::string_view kHead =
    "; Computer: A machine\n; MaxNodes: 4\n; MaxProcs: 8 (two of each)\n";

// Fed in pieces of this size.
Result<SwfTrace> Read(std::string_view text, size_t piece = SIZE_MAX) {
  SwfReader reader;
  while (!text.empty()) {
    if (auto fed = reader.Feed(text.substr(0, piece)); !fed) return std::unexpected(fed.error());
    text.remove_prefix(std::min(piece, text.size()));
  }
  return reader.Finish();
}

// A job's line of the fields that count.
std::string Line(int64_t number, int64_t submit, int64_t run, int64_t allocated, int64_t requested,
                 int64_t estimate) {
  return fmt::format("{} {} -1 {} {} -1 -1 {} {} -1 1 3 1 -1 1 -1 -1 -1\n", number, submit, run,
                     allocated, requested, estimate);
}

TEST(Swf, HeaderAndJobs) {
  const std::string text =
      std::string(kHead) +
      ";MaxProcs: 99\n;\n\n  1  0 5 10   2 9.25 -1 4 20 -1 1 3 1 -1 1 -1 -1 -1\r\n"
      "2\t7 -1 10.9 -1 -1 -1 1 -1 -1 0 3 1 -1 1 -1 -1 -1";
  for (size_t piece : {size_t{1}, size_t{7}, SIZE_MAX}) {
    auto trace = Read(text, piece);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->header.max_procs, 8u);
    EXPECT_EQ(trace->header.max_nodes, 4u);
    EXPECT_EQ(trace->header.computer, "A machine");
    EXPECT_EQ(trace->broken_lines, 0u);
    ASSERT_EQ(trace->jobs.size(), 2u);
    const SwfJob& first = trace->jobs[0];
    EXPECT_EQ(first.number, 1);
    EXPECT_EQ(first.submit, 0);
    EXPECT_EQ(first.run, 10);
    EXPECT_EQ(first.allocated, 2);
    EXPECT_EQ(first.requested, 4);
    EXPECT_EQ(first.estimate, 20);
    EXPECT_EQ(trace->jobs[1].submit, 7);
    EXPECT_EQ(trace->jobs[1].run, 10);
  }
}

TEST(Swf, MayBeginWithAByteOrderMark) {
  for (const std::string& head : {std::string(kHead), std::string()}) {
    auto trace = Read("\xEF\xBB\xBF" + head + Line(1, 0, 10, 2, 4, 20), 1);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->broken_lines, 0u);
    EXPECT_EQ(trace->jobs.size(), 1u);
    EXPECT_EQ(trace->header.computer, head.empty() ? "" : "A machine");
  }
}

TEST(Swf, BrokenLinesAreNamed) {
  struct Case {
    std::string line;
    const char* why;
  };
  const Case cases[] = {
      {"1 2 3", "there are 3 fields, not 18"},
      {Line(1, 0, 1, 1, 1, 1).insert(0, "7 "), "there are 19 fields, not 18"},
      {"1 x 3", "field 2 is not a number, or is too large: x"},
      {"1 nan 3", "field 2 is not a number, or is too large: nan"},
      {"1 2 1e300", "field 3 is not a number, or is too large: 1e300"},
      {"1 99999999999 3", "field 2 is not a number, or is too large: 99999999999"},
      {"1 \x1b[2J 3", "field 2 is not a number, or is too large: \\x1b[2J"},
  };
  for (const Case& c : cases) {
    auto trace = Read(std::string(kHead) + Line(1, 0, 5, 1, 1, 5) + c.line + "\n");
    ASSERT_TRUE(trace);
    ASSERT_EQ(trace->broken.size(), 1u) << c.line;
    EXPECT_EQ(trace->broken[0].line, 5u);
    EXPECT_EQ(trace->broken[0].why, c.why);
    auto study = WorkloadOf(*trace, SwfFilter::kStudy);
    ASSERT_FALSE(study);
    EXPECT_EQ(study.error().message,
              fmt::format("line 5: {}\n"
                          "fix or remove the broken lines, or skip them with --filter loose",
                          c.why));
    auto loose = WorkloadOf(*trace, SwfFilter::kLoose);
    ASSERT_TRUE(loose);
    EXPECT_EQ(loose->jobs.size(), 1u);
  }
}

TEST(Swf, OddHeadersAreExplained) {
  struct Case {
    std::string head;
    std::optional<uint32_t> procs;
    std::vector<std::string> odd;
  };
  const std::string expected =
      "expected a whole number from 1 to 1,000,000,000, as in 'MaxProcs: 128'; not used";
  const Case cases[] = {
      {"; MaxProcs: 8\n; MaxProcs: 8\n; Note: MaxProcs may change\n", 8, {}},
      {"; MaxProcs: 128,000\n", 128000, {}},
      {"; MaxProcs: 8 (two of each)\n",
       8,
       {"line 1: 'MaxProcs: 8 (two of each)': expected a number alone; 8 is used"}},
      {";\n; MaxProcs: 12.5\n; MaxProcs: 9\n", 9, {"line 2: 'MaxProcs: 12.5': " + expected}},
      {"; MaxProcs: -1\n", std::nullopt, {"line 1: 'MaxProcs: -1': " + expected}},
      {"; MaxProcs: 1\x1b[2J\n", std::nullopt, {"line 1: 'MaxProcs: 1\\x1b[2J': " + expected}},
      {"; MaxProcs: 8\n;MaxProcs: 99\n",
       8,
       {"line 2: 'MaxProcs: 99': expected once, and line 1 has it; 8 from there is used"}},
      {"; maxprocs: 8\n; Max Procs = 8\n; MaxProc: 8\n",
       std::nullopt,
       {"line 1: 'maxprocs: 8': expected 'MaxProcs: N'; not used",
        "line 2: 'Max Procs = 8': expected 'MaxProcs: N'; not used",
        "line 3: 'MaxProc: 8': expected 'MaxProcs: N'; not used"}},
  };
  for (const Case& c : cases) {
    auto trace = Read(c.head + Line(1, 0, 5, 1, 1, 5));
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->header.max_procs, c.procs) << c.head;
    EXPECT_EQ(trace->header.odd, c.odd) << c.head;
  }
  std::string many;
  for (int i = 0; i < 100; ++i) many += "; MaxProcs: x\n";
  EXPECT_EQ(Read(many)->header.odd.size(), 5u);
}

TEST(Swf, ManyBrokenLinesAreCounted) {
  std::string text(kHead);
  for (int i = 0; i < 10; ++i) text += "what\n";
  auto trace = Read(text);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->broken_lines, 10u);
  auto study = WorkloadOf(*trace, SwfFilter::kStudy);
  ASSERT_FALSE(study);
  EXPECT_NE(study.error().message.find("and 7 more"), std::string::npos) << study.error().message;
}

TEST(Swf, Filters) {
  struct Case {
    std::string line;
    std::optional<SwfDrop> study, loose;
    uint32_t processors = 0;
    int64_t run = 0;
    int64_t estimate = 0;
  };
  using enum SwfDrop;
  const Case cases[] = {
      {Line(1, 0, 10, 2, 4, 20), {}, {}, 4, 10, 20},
      {Line(1, 0, 30, 2, -1, 20), {}, {}, 2, 20, 20},
      {Line(1, 0, 10, 8, 8, 20), {}, {}, 8, 10, 20},
      {Line(1, 0, 10, 9, 8, 20), kTooLarge, kTooLarge},
      {Line(1, 0, 10, -1, 9, 20), kTooLarge, kTooLarge},
      {Line(1, 0, 10, 0, -1, 20), kNoProcessors, kNoProcessors},
      {Line(1, 0, 0, 1, 1, 20), kNoRunTime, kNoRunTime},
      {Line(1, 0, -1, 1, 1, 20), kNoRunTime, kNoRunTime},
      {Line(1, -1, 10, 1, 1, 20), kNoSubmit, kNoSubmit},
      {Line(1, 0, 10, 1, 1, -1), kNoEstimate, {}, 1, 10, 10},
      {Line(1, 0, 10, 1, 1, 0), kNoEstimate, {}, 1, 10, 10},
  };
  for (const Case& c : cases) {
    auto trace = Read(std::string(kHead) + c.line + Line(9, 3, 1, 1, 1, 1));
    ASSERT_TRUE(trace);
    for (SwfFilter filter : {SwfFilter::kStudy, SwfFilter::kLoose}) {
      auto workload = WorkloadOf(*trace, filter);
      ASSERT_TRUE(workload);
      const auto& drop = filter == SwfFilter::kStudy ? c.study : c.loose;
      ASSERT_EQ(workload->jobs.size(), drop ? 1u : 2u) << c.line;
      EXPECT_EQ(workload->jobs.back().number, 9);
      if (drop) {
        EXPECT_EQ(workload->dropped[static_cast<size_t>(*drop)], 1u) << c.line;
      } else {
        EXPECT_EQ(workload->jobs[0].processors, c.processors) << c.line;
        EXPECT_EQ(workload->jobs[0].run, c.run) << c.line;
        EXPECT_EQ(workload->jobs[0].estimate, c.estimate) << c.line;
      }
    }
  }
}

TEST(Swf, WhatIsNoTraceIsRefused) {
  auto message = [](std::string_view text) {
    auto trace = Read(text, 1000);
    if (!trace) return trace.error().message;
    auto workload = WorkloadOf(*trace, SwfFilter::kLoose);
    return workload ? "" : workload.error().message;
  };
  const std::string job = Line(1, 0, 10, 1, 1, 10);
  EXPECT_EQ(message(job),
            "no header states the machine's number of processors; add a line `; MaxProcs: N`, or "
            "--procs N");
  EXPECT_EQ(message("; MaxNodes: 3\n; MaxProcs: many\n" + job),
            "no header states the machine's number of processors; add a line `; MaxProcs: N`, or "
            "--procs N "
            "(MaxNodes is 3, but nodes may have several)\n"
            "line 2: 'MaxProcs: many': expected a whole number from 1 to 1,000,000,000, as in "
            "'MaxProcs: 128'; not used");
  EXPECT_EQ(message("; MaxProcs: 0\n" + job).substr(0, 10), "no header ");
  for (const char* number : {"12.5", "128k", ",128", "128,", "1,28", "12,8000", "1,2345,678"}) {
    EXPECT_EQ(message("; MaxProcs: " + std::string(number) + "\n" + job).substr(0, 10),
              "no header ")
        << number;
  }
  EXPECT_EQ(Read("; MaxProcs: 128,000 (of two kinds)\n" + job, 1000)->header.max_procs, 128'000u);
  EXPECT_EQ(Read("; MaxProcs: 1,024\n" + job, 1000)->header.max_procs, 1024u);
  EXPECT_EQ(message("; MaxProcs: 4\n"), "the trace has no job that can run");
  EXPECT_EQ(message(""), message(job));
  EXPECT_EQ(
      message(job + std::string(kSwfLine + 1, 'x')),
      "line 2 has more than 65536 bytes: this is not a trace in the Standard Workload Format");
}

}  // namespace
}  // namespace spate::format
