#include "cli/main.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/exit_code.h"
#include "command/all_commands.h"

namespace spate::cli::command {
namespace {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
  std::string command;  // that was called
  Invocation invocation;
};

Ran RunMain(std::vector<std::string> argv) {
  argv.insert(argv.begin(), "spate");
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  Ran ran;
  static Ran* now;
  now = &ran;
  // Commands as they are, with a body that notes them.
  static std::vector<Command> commands;
  static std::vector<const Command*> list;
  commands.clear();
  list.clear();
  for (const Command* command : AllCommands()) {
    commands.push_back(MeantBy(*command));
    commands.back().name = command->name;
    if (command->group == CommandGroup::kGeneral) continue;
    commands.back().run = [](const Invocation& invocation) {
      now->command = invocation.words.command->name;
      now->invocation = invocation;
      return 7;
    };
  }
  for (const Command& command : commands) list.push_back(&command);
  const Wiring wiring{.commands = list};
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
    EXPECT_EQ(ran.command, "") << argv.back();
  }
}

TEST(MainTest, CallsTheCommand) {
  const std::pair<std::vector<std::string>, std::string> kCases[] = {
      {{"run", "x"}, "run"},
      {{"job", "retry", "3"}, "job retry"},
      {{"job", "list"}, "job list"},
      {{"job", "cat", "1"}, "job cat"},
      {{"task", "info", "1.1"}, "task info"}};
  for (const auto& [argv, command] : kCases) {
    Ran ran = RunMain(argv);
    EXPECT_EQ(ran.command, command);
    EXPECT_EQ(ran.code, 7);
  }
  Ran ran = RunMain({"run", "-j2", "--", "echo", "{}"});
  EXPECT_EQ(ran.invocation.argv, (std::vector<std::string>{"-j2", "--", "echo", "{}"}));
  EXPECT_EQ(ran.invocation.words.rest, (std::vector<std::string>{"echo", "{}"}));
}

TEST(MainTest, TwoPlacesForOneOutputAreRefused) {
  for (const std::string option : {"--stdout", "--stderr", "--results", "--joblog"}) {
    Ran ran = RunMain({"run", option, "a", option, "b", "--", "true"});
    EXPECT_EQ(ran.code, kExitUsage) << option;
    EXPECT_EQ(ran.err, "spate: " + option +
                           " is given twice, as 'a' and as 'b', but this output goes to one place; "
                           "leave one out\n");
    EXPECT_EQ(RunMain({"job", "retry", option, "a", option, "b"}).code, kExitUsage) << option;
    EXPECT_EQ(RunMain({"run", option, "a", option, "a", "--", "true"}).code, 7) << option;
    // Typed options go before those of $SPATE_OPTIONS.
    ::setenv("SPATE_OPTIONS", (option + " a").c_str(), 1);
    EXPECT_EQ(RunMain({"run", option, "b", "--", "true"}).code, 7) << option;
    ::unsetenv("SPATE_OPTIONS");
  }
}

TEST(MainTest, ErrorsGoToStderrWithTheirCode) {
  Ran ran = RunMain({"rum"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "spate: 'rum' is not a spate command; did you mean run?\n"
            "To run a list or a command: spate run. See: spate --help\n");
  EXPECT_EQ(RunMain({"run", "--job", "1"}).code, kExitUsage);
  EXPECT_EQ(RunMain({"help", "nothing"}).code, kExitUsage);
}

TEST(MainTest, MakesManPagesAndCompletions) {
  EXPECT_TRUE(RunMain({"__man", "spate-run"}).out.starts_with(".TH SPATE-RUN 1"));
  EXPECT_NE(RunMain({"completion", "bash"}).out.find("complete -F _spate spate"),
            std::string::npos);
  EXPECT_EQ(RunMain({"__man", "nothing"}).code, kExitUsage);
  EXPECT_EQ(RunMain({"completion"}).code, kExitUsage);
}

}  // namespace
}  // namespace spate::cli::command
