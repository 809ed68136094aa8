#include "cli/main.h"

#include <gtest/gtest.h>

#include "cli/exit_code.h"

namespace spate::cli {
namespace {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
  std::string handler;  // which one was called
  Invocation invocation;
};

Ran RunMain(std::vector<std::string> argv) {
  argv.insert(argv.begin(), "spate");
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  Ran ran;
  auto note = [&](const char* name) {
    return [&ran, name](const Invocation& invocation) {
      ran.handler = name;
      ran.invocation = invocation;
      return 7;
    };
  };
  Wiring wiring{.run = note("run"), .job = note("job"), .task = note("task")};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  ran.code = Main(static_cast<int>(argv.size()), pointers.data(), wiring);
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

TEST(MainTest, NothingTypedIsHelpOnStderr) {
  Ran ran = RunMain({});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(ran.err.starts_with("spate runs a great many commands"));
}

TEST(MainTest, HelpAndVersionGoToStdout) {
  for (const auto& argv :
       std::vector<std::vector<std::string>>{{"--version"}, {"version"}, {"-V"}}) {
    Ran ran = RunMain(argv);
    EXPECT_EQ(ran.code, 0);
    EXPECT_TRUE(ran.out.starts_with("spate ")) << ran.out;
    EXPECT_EQ(ran.err, "");
  }
  for (auto argv : std::vector<std::vector<std::string>>{{"--help"},
                                                         {"help"},
                                                         {"run", "--help"},
                                                         {"help", "run"},
                                                         {"help", "job", "list"},
                                                         {"job", "--help"},
                                                         {"help", "job"},
                                                         {"job", "list", "-h"},
                                                         {"run", "x", "--help-all"}}) {
    Ran ran = RunMain(argv);
    EXPECT_EQ(ran.code, 0) << argv.back();
    EXPECT_FALSE(ran.out.empty()) << argv.back();
    EXPECT_EQ(ran.err, "") << argv.back();
    EXPECT_EQ(ran.handler, "") << argv.back();
  }
}

TEST(MainTest, CallsTheHandlerOfTheNoun) {
  const std::pair<std::vector<std::string>, std::string> kCases[] = {
      {{"run", "x"}, "run"},
      {{"job", "retry", "3"}, "run"},
      {{"job", "list"}, "job"},
      {{"job", "cat", "1"}, "job"},
      {{"task", "info", "1.1"}, "task"}};
  for (const auto& [argv, handler] : kCases) {
    Ran ran = RunMain(argv);
    EXPECT_EQ(ran.handler, handler);
    EXPECT_EQ(ran.code, 7);
  }
  Ran ran = RunMain({"run", "-j2", "--", "echo", "{}"});
  EXPECT_EQ(ran.invocation.argv, (std::vector<std::string>{"-j2", "--", "echo", "{}"}));
  EXPECT_EQ(ran.invocation.words.rest, (std::vector<std::string>{"echo", "{}"}));
}

TEST(MainTest, ErrorsGoToStderrWithTheirCode) {
  Ran ran = RunMain({"rum"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "spate: 'rum' is not a command of spate; did you mean run?\nTo run a list or a "
            "command: spate run. See: spate --help\n");
  EXPECT_EQ(RunMain({"run", "--job", "1"}).code, kExitUsage);
  EXPECT_EQ(RunMain({"help", "nothing"}).code, kExitUsage);
  EXPECT_EQ(RunMain({"state", "check"}).code, kExitCouldNotRun);  // no handler here
}

TEST(MainTest, MakesManPagesAndCompletions) {
  EXPECT_TRUE(RunMain({"__man", "spate-run"}).out.starts_with(".TH SPATE-RUN 1"));
  EXPECT_NE(RunMain({"__completion", "bash"}).out.find("complete -F _spate spate"),
            std::string::npos);
  EXPECT_EQ(RunMain({"__man", "nothing"}).code, kExitUsage);
  EXPECT_EQ(RunMain({"__completion"}).code, kExitUsage);
}

}  // namespace
}  // namespace spate::cli
