#include "plan/plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/options/job_words.h"

namespace spate::run {
namespace {

using Argv = std::vector<std::string>;
using For = Plan::For;

// A plan of what was typed, with what it refers to.
struct Typed {
  explicit Typed(Argv typed, For whom = For::kHere)
      : argv(std::move(typed)),
        here(client::Surroundings::Find().value()),
        words(cli::ParseWords(whom == For::kOnNodes ? cli::kSubmitWords : cli::kRunWords, argv)
                  .value()),
        options(cli::MakeRunOptions(words).value()),
        plan{.whom = whom, .here = here, .words = words, .argv = argv, .options = options} {
    plan.dry_run = options.dry_run;
  }
  // The first line of the refusal; empty: there is none.
  std::string Refused() {
    auto made = MakePlan(plan);
    return made ? "" : made.error().message.substr(0, made.error().message.find('\n'));
  }

  const Argv argv;
  const client::Surroundings here;
  const cli::Words words;
  cli::RunOptions options;
  Plan plan;
};

std::string Refused(Argv argv, For whom = For::kHere) {
  return Typed(std::move(argv), whom).Refused();
}

TEST(PlanTest, HasTheTasksAndSettings) {
  Typed typed({"--cwd", "/", "--", "echo", "{}", ":::", "a", "b"});
  EXPECT_EQ(typed.Refused(), "");
  EXPECT_EQ(typed.plan.tasks.count, 2u);
  EXPECT_EQ(typed.plan.settings.cwd, "/");
  EXPECT_EQ(typed.plan.settings.command, (Argv{"echo", "{}"}));
  EXPECT_FALSE(typed.plan.comes_later());
}

TEST(PlanTest, HasTheNumbersOfAnArray) {
  for (For whom : {For::kHere, For::kOnNodes}) {
    Typed typed({"--array", "1-5:2,9", "--", "echo", "{}"}, whom);
    EXPECT_EQ(typed.Refused(), "");
    Argv rows;
    typed.plan.tasks.rows([&](std::string_view row) { rows.emplace_back(row); });
    EXPECT_EQ(rows, (Argv{"1", "3", "5", "9"}));
  }
}

TEST(PlanTest, ChecksWhatIsOfThisMachineHereAlone) {
  EXPECT_EQ(Refused({"--cpus", "9999", "--", "true"}).substr(0, 13), "the command: ");
  EXPECT_EQ(Refused({"--cpus", "9999", "--dry-run", "--", "true"}), "");
  EXPECT_EQ(Refused({"--cpus", "9999", "--", "true"}, For::kOnNodes), "");
  EXPECT_EQ(Refused({"--cwd", "/dev/null", "--", "true"}), "--cwd: '/dev/null' is not a folder");
  EXPECT_EQ(Refused({"--cwd", "/dev/null", "--", "true"}, For::kOnNodes), "");
}

TEST(PlanTest, ChecksFilesThatAllTasksNeedBeforeAStart) {
  const Argv argv = {"--stdin", "/no/such", "--", "cat"};
  for (For whom : {For::kHere, For::kOnNodes}) {
    EXPECT_EQ(Refused(argv, whom).substr(0, 9), "--stdin: ");
  }
  EXPECT_EQ(Refused({"--stdin", "/no/such", "--dry-run", "--", "cat"}), "");
  Typed waits(argv, For::kOnNodes);
  waits.plan.waits = true;  // the job before may make the file
  EXPECT_EQ(waits.Refused(), "");
}

TEST(PlanTest, ChecksShellsAlsoOfAJobThatWaits) {
  Typed waits({"--shell", "/no/such", "--", "true;"}, For::kOnNodes);
  waits.plan.waits = true;
  EXPECT_EQ(waits.Refused().substr(0, 9), "--shell: ");
}

TEST(PlanTest, RefusesTasksThatWriteToOneFile) {
  const Argv argv = {"--stdout", "out", "--", "true", ":::", "a", "b"};
  for (For whom : {For::kHere, For::kOnNodes}) {
    EXPECT_EQ(Refused(argv, whom).substr(0, 16), "--stdout: task 1") << static_cast<int>(whom);
  }
}

// On nodes the files that all need come first, as they always did.
TEST(PlanTest, NamesTheSameOfTwoProblemsEachTime) {
  const Argv argv = {"--stdin", "/no/such", "--stdout", "out", "--", "true", ":::", "a", "b"};
  EXPECT_EQ(Refused(argv).substr(0, 9), "--stdout:");
  EXPECT_EQ(Refused(argv, For::kOnNodes).substr(0, 9), "--stdin: ");
}

TEST(PlanTest, ReadsNoListThatIsFollowed) {
  Typed typed({"--follow", "--stdout", "out.{#}", "/dev/null"});
  EXPECT_EQ(typed.Refused(), "");
  EXPECT_TRUE(typed.plan.comes_later());
  EXPECT_EQ(typed.plan.tasks.count, 0u);
  EXPECT_EQ(typed.plan.tasks.requests.size(), 1u);
  EXPECT_EQ(typed.plan.settings.row_kind, RowKind::kListLine);
  EXPECT_EQ(Refused({"--follow", "--stdout", "out", "/dev/null"}).substr(0, 14), "--stdout 'out'");
  EXPECT_EQ(Refused({"--follow", "--stdin", "/no/such", "/dev/null"}).substr(0, 9), "--stdin: ");
}

TEST(PlanTest, ChecksFilesOfNodes) {
  EXPECT_EQ(Refused({"--get", "out", "--", "true", ":::", "a", "b"}, For::kOnNodes).substr(0, 11),
            "--get 'out'");
  EXPECT_EQ(Refused({"--put", "in.{%}", "--", "true", ":::", "a"}, For::kOnNodes).substr(0, 14),
            "--put 'in.{%}'");
}

TEST(PlanTest, ARunThatGoesOnHasItsOwnSettings) {
  for (For whom : {For::kResumed, For::kRetried}) {
    Typed typed({"--resume", "--stdin", "/no/such"}, For::kHere);
    typed.plan.whom = whom;
    typed.plan.settings.cwd = "/";
    typed.plan.check_failures = [] { return Status(); };
    typed.plan.writes = [](const cli::TaskRowVisitor&) {};
    EXPECT_EQ(typed.Refused(), "");
    EXPECT_EQ(typed.plan.settings.stdin_pattern, "");
    typed.plan.check_failures = [] { return Status(Fail(ErrorKind::kInvalid, "no more")); };
    EXPECT_EQ(typed.Refused(), "no more");
  }
}

std::vector<std::string> RowsOf(const client::Submission& job) {
  std::vector<std::string> rows;
  job.rows([&](std::string_view row) { rows.emplace_back(row); });
  return rows;
}

TEST(SubmissionOfTest, IsTheSameForThisMachineAndForNodes) {
  for (For whom : {For::kHere, For::kOnNodes}) {
    Typed typed({"--name", "some", "--cpus", "2", "--keep-output", "500", "--retries", "3", "--",
                 "echo", "{}", ":::", "a", "b", "c"},
                whom);
    ASSERT_EQ(typed.Refused(), "");
    auto job = SubmissionOf(std::move(typed.plan), typed.argv).value();
    EXPECT_EQ(job.head.name, "some");
    EXPECT_EQ(job.head.argv, typed.argv);
    EXPECT_EQ(job.head.keep_output, 500u);
    EXPECT_EQ(job.head.policy.retry.retries, 3u);
    EXPECT_EQ(job.head.host, typed.here.machine.facts().host_name);
    EXPECT_FALSE(job.head.open);
    EXPECT_EQ(job.head.settings->command, (Argv{"echo", "{}"}));
    EXPECT_EQ(job.end.count, 3u);
    EXPECT_EQ(RowsOf(job), (Argv{"a", "b", "c"}));
    ASSERT_EQ(job.end.requests.size(), 1u);
    EXPECT_EQ(job.end.requests[0].needs.milli_cpus, 2000u);
    EXPECT_TRUE(job.end.order.empty());
    EXPECT_FALSE(job.forwards);
  }
}

TEST(SubmissionOfTest, NamesListsByTheirWholePaths) {
  Typed typed({"--follow", "--stdout", "out.{#}", "/dev/../dev/null"});
  ASSERT_EQ(typed.Refused(), "");
  auto job = SubmissionOf(std::move(typed.plan), typed.argv).value();
  EXPECT_EQ(job.head.files, Argv{"/dev/null"});
  EXPECT_TRUE(job.head.open);  // tasks come while it runs
}

TEST(SubmissionOfTest, ShufflesEachTaskIntoTheOrder) {
  Typed typed({"--order", "shuffle", "--", "echo", "{}", ":::", "a", "b", "c", "d"}, For::kOnNodes);
  ASSERT_EQ(typed.Refused(), "");
  auto job = SubmissionOf(std::move(typed.plan), typed.argv).value();
  std::vector<TaskIndex> order = job.end.order;
  std::ranges::sort(order);
  EXPECT_EQ(order, (std::vector<TaskIndex>{0, 1, 2, 3}));
}

TEST(SubmissionOfTest, AHubDoesNotTakeAnyOrder) {
  for (For whom : {For::kHere, For::kOnNodes}) {
    Typed typed({"--order", "shuffle", "--", "true"}, whom);
    ASSERT_EQ(typed.Refused(), "");
    typed.plan.tasks.count = 3'000'001;
    auto job = SubmissionOf(std::move(typed.plan), typed.argv);
    EXPECT_EQ(job.has_value(), whom == For::kHere);
    const std::string why = job ? "" : job.error().message.substr(0, 16);
    EXPECT_EQ(why, whom == For::kHere ? "" : "--order shuffle:");
  }
}

TEST(SubmissionOfTest, KnowsWhatItsTasksForward) {
  Typed typed({"--forward", "VAR=all", "--", "true", ":::", "a"}, For::kOnNodes);
  ASSERT_EQ(typed.Refused(), "");
  EXPECT_TRUE(SubmissionOf(std::move(typed.plan), typed.argv).value().forwards);
}

}  // namespace
}  // namespace spate::run
