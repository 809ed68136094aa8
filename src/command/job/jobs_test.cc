
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/exit_code.h"
#include "command/testing_history.h"
#include "present/table/text_width.h"

namespace spate::cli::command {
namespace {

using Ran = HistoryWorld::Ran;
using Argv = std::vector<std::string>;

class JobCommands : public testing::Test {
 protected:
  Ran Run(std::string_view command, Argv argv) { return world_.Run(command, std::move(argv)); }
  std::string Out(std::string_view command, Argv argv) {
    Ran ran = Run(command, std::move(argv));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  }
  HistoryWorld world_;
};

std::vector<nlohmann::json> Lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    lines.push_back(nlohmann::json::parse(text.substr(at, end - at), nullptr, false));
    EXPECT_TRUE(lines.back().is_object()) << text.substr(at, end - at);
    at = end + 1;
  }
  return lines;
}

// The keys in the order of the line.
std::string KeysOf(const std::string& line) {
  std::string keys;
  auto json = nlohmann::ordered_json::parse(line.substr(0, line.find('\n')), nullptr, false);
  for (const auto& [key, value] : json.items()) keys += (keys.empty() ? "" : " ") + key;
  return keys;
}

constexpr const char* kJobKeys =
    "type v job name state total queued running succeeded failed cancelled unknown argv cwd files "
    "user host pid runs created started ended took path problem cut not_kept "
    "why_cancelled";
constexpr const char* kTaskKeys =
    "type v job task state attempts tries command attempt verdict counts cause status slot start "
    "wall user system peak_memory memory_source read_bytes written_bytes left_behind note "
    "stdout_bytes stderr_bytes not_kept stdout_kept stderr_kept";

void ExpectNarrow(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    EXPECT_LE(present::DisplayWidth(line), 80u) << line;
    for (char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20u) << line;
    at = end + 1;
  }
}

// The clock was set back since, by a hand that told nobody.
TEST_F(JobCommands, AStartInTheFutureHasTakenNothing) {
  auto running = world_.AddJob({.rows = {"true"}});
  auto ended = world_.AddJob({.rows = {"true"}});
  ended->End(store::JobState::kStopped, {}, -600);
  ended.reset();
  world_.now = kThen - Duration::Seconds(600);
  for (const char* command : {"job list", "job info"}) {
    const Ran ran = Run(command, {"--output", "json", "1", "2"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto jobs = Lines(ran.out);
    EXPECT_EQ(jobs.size(), 2u) << command;
    for (const auto& job : jobs) EXPECT_EQ(job["took"], 0) << command;
  }
}

TEST_F(JobCommands, NothingThere) {
  Ran ran = Run("job list", {});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "spate: no jobs in '" + world_.state() + "' yet; `spate run` makes one\n");
  EXPECT_EQ(Out("job list", {"-q"}), "");
  EXPECT_EQ(Out("job list", {"--output", "json"}), "");
  EXPECT_EQ(Run("job info", {}).code, kExitUsage);
  EXPECT_EQ(Run("job forget", {"all"}).code, 0);
}

TEST_F(JobCommands, ListShowsEveryStateTheNewestLast) {
  WriteSix(*world_.AddJob(SixTasks()));
  {
    JobText text;
    text.name = "stopped";
    text.rows = {"a", "b"};
    auto job = world_.AddJob(text);
    job->End(store::JobState::kStopped, {.total = 2, .succeeded = 1}, 3661);
  }
  {
    JobText text;
    text.name = "dead";
    text.rows = {"a", "b", "c"};
    auto job = world_.AddJob(text);
    job->RunTask(AttemptOf(3, 1, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded));
  }
  world_.temp().Write("state/jobs/4/job.db", "no database, but it is long enough to be seen");
  JobText text;
  text.name = "now";
  text.rows = {"a", "b", "c", "d"};
  auto running = world_.AddJob(text);
  running->RunTask(AttemptOf(5, 0, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded));
  EXPECT_EQ(Out("job list", {}),
            "JOB  NAME     STATE        DONE  FAILED  STARTED             TOOK\n"
            "  1  align    failed        2/5       3  2020-09-13 12:26  8.00 s\n"
            "  2  stopped  stopped       1/2       0  2020-09-13 12:26   1h01m\n"
            "  3  dead     interrupted   1/3       0  2020-09-13 12:26       -\n"
            "  4  ?        damaged\n"
            "  5  now      running       1/4       0  2020-09-13 12:26  10m00s\n");
  world_.environment().terminal = true;
  EXPECT_NE(Out("job list", {}).find("  10m ago "), std::string::npos);
  EXPECT_EQ(Out("job list", {"-q"}), "1\n2\n3\n4\n5\n");
  EXPECT_EQ(Out("job list", {"-q", "--filter", "failed"}), "1\n");
  EXPECT_EQ(Out("job list", {"-q", "--filter", "stopped,running"}), "2\n5\n");
  EXPECT_EQ(Out("job list", {"-q", "-n2"}), "4\n5\n");
  EXPECT_EQ(Out("job list", {"-q", "1-10:2", "last"}), "1\n3\n5\n");
  Ran ran = Run("job list", {"--filter", "finish"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_NE(ran.err.find("did you mean finished?"), std::string::npos) << ran.err;
  ran = Run("job list", {"7"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.err,
            "spate: no job 7 in '" + world_.state() + "'; there are 1-5 (see: spate job list)\n");
}

TEST_F(JobCommands, AJobWithoutANameIsCalledByItsWork) {
  JobText text;
  text.name = "";
  text.rows = {"true"};
  world_.AddJob(text);
  text.files = {};
  text.argv = {"-j2", "--", "gzip", "-9", "{}"};
  world_.AddJob(text);
  std::string out = Out("job list", {});
  EXPECT_NE(out.find("  1  list.txt  "), std::string::npos) << out;
  EXPECT_NE(out.find("  2  gzip -9 {}  "), std::string::npos) << out;
}

TEST_F(JobCommands, ListIsBounded) {
  for (int i = 0; i < 22; ++i) {
    JobText text;
    text.rows = {"true"};
    world_.AddJob(text)->End(store::JobState::kFinished, {.total = 1, .succeeded = 1}, 1);
  }
  EXPECT_EQ(Lines(Out("job list", {"--output", "json"})).size(), 20u);
  EXPECT_EQ(Lines(Out("job list", {"--output", "json", "--all"})).size(), 22u);
  Ran ran = Run("job list", {});
  EXPECT_EQ(ran.err, "spate: the newest 20 of 22 jobs; --all lists all\n");
  EXPECT_NE(ran.out.find("\n  3  "), std::string::npos);
  EXPECT_EQ(ran.out.find("\n  2  "), std::string::npos);
}

TEST_F(JobCommands, TablesFitWhateverTheNames) {
  JobText text = SixTasks();
  text.name = "日本語の名前 \x1b[31mred\n\xff " + std::string(200, 'x');
  text.cwd = "/data/" + std::string(150, 'y');
  text.argv = {std::string(300, 'z'), "a\tb"};
  for (std::string& row : text.rows) row += " " + text.name;
  WriteSix(*world_.AddJob(text));
  WriteSix(*world_.AddJob(text));
  ExpectNarrow(Out("job list", {}));
  ExpectNarrow(Out("job tasks", {"all"}));
  std::string info = Out("job info", {});
  // Lines that a user may copy are never broken.
  info.erase(info.find("  to retry"));
  ExpectNarrow(info);
  Ran ran = Run("job forget", {"1", "--dry-run"});
  ExpectNarrow(ran.out);
}

TEST_F(JobCommands, InfoTellsAll) {
  WriteSix(*world_.AddJob(SixTasks()));
  std::string out = Out("job info", {});
  size_t kept = out.find("  kept in");
  EXPECT_EQ(out.substr(0, kept),
            "job 1  align\n"
            "  state      failed\n"
            "  command    spate run -j 2 list.txt\n"
            "  folder     /data/work\n"
            "  lists      /data/work/list.txt\n"
            "  run by     me on here, process 4711\n"
            "  created    2020-09-13 12:26:40\n"
            "  ended      2020-09-13 12:26:48\n"
            "  took       8.00 s\n"
            "  tasks      5: 2 succeeded, 2 failed, 1 unknown\n"
            "  withdrawn  1 task no longer in the list; not counted\n"
            "  attempts   6\n"
            "  failures   1: exit code 3 (task 3)\n"
            "             1: signal 9 (KILL) (task 4)\n"
            "             1: lost with its node (task 6)\n"
            "  retries    1\n"
            "  wall time  median 1.50 s, 9.00 s in all\n"
            "  rate       18/min\n"
            "  CPU time   6.00 s user, 1.50 s system\n"
            "  memory     peak 3.0 MB (task 1)\n"
            "  output     29 B kept\n");
  EXPECT_NE(out.find("state/jobs/1 ("), std::string::npos);
  EXPECT_EQ(out.substr(out.find("  to retry")),
            "  to retry   spate job retry 1\n"
            "  to see     spate job tasks 1 --filter failed,unknown\n"
            "  to read    spate job cat 1\n");
}

TEST_F(JobCommands, InfoOfATaskThatOutlivesEveryPilot) {
  JobText text;
  text.rows = {"a"};
  {
    auto job = world_.AddJob(text);
    auto last = AttemptOf(1, 0, 1, Cause::kStopped, kCutOff, Verdict::kFailed, 1);
    last.counts = false;
    last.end.note = "it was cut off 3 times because its nodes ended, and more";
    job->RunTask(std::move(last));
    job->End(store::JobState::kFinished, {.total = 1, .failed = 1}, 5);
  }
  const std::string out = Out("job info", {"1"});
  EXPECT_NE(out.find("failures   1: it was cut off 3 times because its nodes ended"),
            std::string::npos)
      << out;
}

TEST_F(JobCommands, InfoOfAnUnfinishedJobSaysHowToGoOn) {
  JobText text;
  text.rows = {"a", "b"};
  {
    auto job = world_.AddJob(text);
    job->Record(engine::JobHeld{JobId(1), engine::HoldReason::kMaxFailures});
    job->End(store::JobState::kStopped, {.total = 2}, 5);
  }
  std::string out = Out("job info", {"1"});
  EXPECT_NE(out.find("stopped by --max-failures"), std::string::npos) << out;
  EXPECT_NE(out.find("  to resume  spate run --resume list.txt\n"), std::string::npos) << out;
  world_.environment().cwd = "/else where";
  out = Out("job info", {"--state", world_.state()});
  EXPECT_NE(
      out.find("cd /data/work && spate run --resume --state " + world_.state() + " list.txt\n"),
      std::string::npos)
      << out;
  world_.temp().Write("state/jobs/2/job.db", "no database, but it is long enough to be seen");
  out = Out("job info", {});
  EXPECT_NE(out.find("job 2"), std::string::npos);
  EXPECT_NE(out.find("  problem    "), std::string::npos);
  EXPECT_NE(out.find("  to remove  spate job forget 2\n"), std::string::npos) << out;
}

TEST_F(JobCommands, Tasks) {
  WriteSix(*world_.AddJob(SixTasks()));
  EXPECT_EQ(Out("job tasks", {}),
            "TASK  STATE      TRIES  END                   WALL  MEMORY  COMMAND\n"
            "   1  succeeded      1                      1.50 s  3.0 MB  true\n"
            "   2  succeeded      1                      1.50 s  3.0 MB  gzip 'a b.txt'\n"
            "   3  failed         2  exit code 3         1.50 s  3.0 MB  sh bad.sh\n"
            "   4  failed         1  signal 9 (KILL)     1.50 s  3.0 MB  crash\n"
            "   5  cancelled                                             old line\n"
            "   6  unknown        0  lost with its node  1.50 s  3.0 MB  sleep 100\n");
  EXPECT_EQ(Out("job tasks", {"-q", "--filter", "failed,unknown"}), "1.3\n1.4\n1.6\n");
  EXPECT_EQ(Out("job tasks", {"-q", "last.2-6:2,1"}), "1.1\n1.2\n1.4\n1.6\n");
  EXPECT_EQ(Out("job tasks", {"-q", "-n", "2", "1"}), "1.1\n1.2\n");
  EXPECT_EQ(Run("job tasks", {"--filter", "running"}).err, "spate: no such task\n");
  Ran ran = Run("job tasks", {"1.7"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.err, "spate: job 1 has no task 7; its tasks are 1 to 6\n");
  EXPECT_EQ(Run("job tasks", {"--filter", "broken"}).code, kExitUsage);
  WriteSix(*world_.AddJob(SixTasks()));
  std::string both = Out("job tasks", {"all", "--filter", "cancelled"});
  EXPECT_EQ(both,
            "job 1  align\n"
            "TASK  STATE      TRIES  END  WALL  MEMORY  COMMAND\n"
            "   5  cancelled                            old line\n"
            "\n"
            "job 2  align\n"
            "TASK  STATE      TRIES  END  WALL  MEMORY  COMMAND\n"
            "   5  cancelled                            old line\n");
}

TEST_F(JobCommands, TasksThatAreGivenButNotStartedAreNext) {
  JobText text;
  text.rows = {"a", "b", "c"};
  auto job = world_.AddJob(text);
  job->Record(engine::Leased{NodeId(1), JobId(1), Attempt(1), {{0, 2}}});
  const char* kUnseen =
      "TASK  STATE    TRIES  END  WALL  MEMORY  COMMAND\n"
      "   1  running                            a\n"
      "   2  running                            b\n"
      "   3  queued                             c\n";
  EXPECT_EQ(Out("job tasks", {}), kUnseen);
  world_.AddRunningTask(2);
  EXPECT_EQ(Out("job tasks", {}),
            "TASK  STATE    TRIES  END  WALL  MEMORY  COMMAND\n"
            "   1  next                               a\n"
            "   2  running                            b\n"
            "   3  queued                             c\n");
  job.reset();
  EXPECT_NE(Out("job tasks", {}).find("   2  queued  "), std::string::npos);
}

TEST_F(JobCommands, CatIsByteExact) {
  JobText text;
  text.rows = {"a", "b", "c"};
  std::string bytes("\0\xff\x1b[31m\n no newline at the end", 30);
  text.keep_output = 150'000;
  std::string longer = std::string(100'000, 'a') + std::string(100'000, 'z');
  {
    auto job = world_.AddJob(text);
    job->RunTask(AttemptOf(1, 0, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded), bytes,
                 "e1\n");
    job->RunTask(AttemptOf(1, 1, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded), "two",
                 longer);
  }
  Ran ran = Run("job cat", {"1.1"});
  EXPECT_EQ(ran.code, kExitSuccess);
  EXPECT_EQ(ran.out, bytes);
  EXPECT_EQ(ran.err, "e1\n");
  ran = Run("job cat", {"--stream", "stdout"});
  EXPECT_EQ(ran.out, bytes + "two");
  EXPECT_EQ(ran.err, "spate: 1 task of job 1 has no output yet\n");
  ran = Run("job cat", {"--stream", "stderr", "last.2"});
  EXPECT_EQ(ran.out, std::string(65536, 'a') + std::string(65536, 'z'));
  EXPECT_EQ(
      ran.err,
      "spate: 1.2: 68,928 bytes of its standard error were not kept, because of --keep-output\n");
  EXPECT_EQ(ran.code, kExitTasksFailed);
  EXPECT_EQ(Run("job cat", {"1.3"}).err, "spate: 1.3: it is queued and has no output yet\n");
  EXPECT_EQ(Run("job cat", {"--filter", "failed"}).out, "");
  EXPECT_EQ(Run("job cat", {"--stream", "both "}).code, kExitUsage);
}

TEST_F(JobCommands, OutputThatWasNotKeptIsNamed) {
  JobText text;
  text.rows = {"a", "b"};
  text.keep_output = 10;
  {
    auto job = world_.AddJob(text);
    job->RunTask(AttemptOf(1, 0, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded),
                 "longer than 10");
    job->RunTask(AttemptOf(1, 1, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded),
                 "silent, too");
    job->Record(engine::JobFinished{JobId(1), {.total = 2, .succeeded = 2}});
    job->End(store::JobState::kFinished, {.total = 2, .succeeded = 2}, 8);
  }
  const std::string why = "output of 2 tasks was not kept, because of --keep-output";
  Ran ran = Run("job tail", {"1"});
  EXPECT_EQ(ran.err, "spate: job 1: " + why + "\n");
  EXPECT_EQ(ran.code, kExitSuccess) << "the bound was typed";
  EXPECT_NE(Out("job info", {"1"}).find("job 1: " + why), std::string::npos);
  ran = Run("job list", {});
  EXPECT_NE(ran.out.find("succeeded*"), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find("spate job info"), std::string::npos) << ran.err;
  auto json = nlohmann::json::parse(Out("job list", {"--json"}), nullptr, false);
  EXPECT_EQ(json["not_kept"][0]["why"], "keep-output");
  EXPECT_EQ(json["not_kept"][0]["tasks"], 2);
  EXPECT_NE(Out("task info", {"1.1"}).find("(not kept), because of --keep-output"),
            std::string::npos);
}

TEST_F(JobCommands, CatShowsARankOfAGang) {
  JobText text;
  text.rows = {"a", "b", "c"};
  text.keep_output = 150'000;
  {
    auto job = world_.AddJob(text);
    auto end = AttemptOf(1, 0, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded);
    end.end.processes = {{0, 0, 0, 0, 3, 0}, {0, 1, 1, 0, 0, 4}, {0, 2, 2, 0, 6, 2}};
    job->RunTask(std::move(end), "oneTHREE.", "two.3.last words");
    // Output that does not fit loses its middle.
    end = AttemptOf(1, 1, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded);
    end.end.processes = {{0, 0, 0, 0, 70'000, 0}, {0, 1, 1, 0, 60'000, 0}, {0, 2, 2, 0, 70'000, 0}};
    job->RunTask(std::move(end),
                 std::string(70'000, 'a') + std::string(60'000, 'b') + std::string(70'000, 'c'));
    end = AttemptOf(1, 2, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded);
    job->RunTask(std::move(end), "no gang");
  }
  auto of_rank = [&](std::string rank, std::string task) {
    return Run("job cat", {"--rank", std::move(rank), std::move(task)});
  };
  EXPECT_EQ(of_rank("0", "1.1").out, "one");
  EXPECT_EQ(of_rank("0", "1.1").err, "");
  EXPECT_EQ(of_rank("1", "1.1").out, "");
  EXPECT_EQ(of_rank("1", "1.1").err, "two.");
  EXPECT_EQ(of_rank("2", "1.1").out, "THREE.");
  EXPECT_EQ(of_rank("2", "1.1").err, "3.");
  EXPECT_EQ(Run("job cat", {"1.1"}).err, "two.3.last words");
  EXPECT_EQ(of_rank("0", "1.2").out, std::string(65'536, 'a'));
  EXPECT_EQ(
      of_rank("0", "1.2").err,
      "spate: 1.2: 4,464 bytes of its standard output were not kept, because of --keep-output\n");
  EXPECT_EQ(of_rank("1", "1.2").out, "");
  EXPECT_EQ(of_rank("1", "1.2").err,
            "spate: 1.2: none of the 60,000 bytes of its standard output were kept, because "
            "of --keep-output\n");
  EXPECT_EQ(of_rank("2", "1.2").out, std::string(65'536, 'c'));
  EXPECT_EQ(of_rank("2", "1.2").code, kExitTasksFailed);
  for (const char* task : {"1.1", "1.3"}) {
    Ran ran = of_rank("3", task);
    EXPECT_EQ(ran.code, kExitUsage);
    EXPECT_NE(ran.err.find("no output of rank 3 of task "), std::string::npos) << ran.err;
  }
  EXPECT_EQ(of_rank("0", "1.3").code, kExitUsage);
  EXPECT_EQ(of_rank("x", "1.1").code, kExitUsage);
  EXPECT_EQ(of_rank("5000000000", "1.1").code, kExitUsage);
  EXPECT_EQ(Run("job cat", {"--rank", "0", "--follow"}).code, kExitUsage);
}

TEST_F(JobCommands, CatTellsWhatIsMissing) {
  JobText text;
  text.rows = {"a"};
  std::string path;
  {
    auto job = world_.AddJob(text);
    path = job->path();
    job->RunTask(AttemptOf(1, 0, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded), "some text");
  }
  world_.temp().Write("state/jobs/1/output", "some");
  Ran ran = Run("job cat", {});
  EXPECT_EQ(ran.code, kExitCouldNotRun);
  EXPECT_NE(ran.err.find("is shorter than the journal states"), std::string::npos) << ran.err;
  world_.settings.stdout_pattern = "{#}.log";
  {
    auto job = world_.AddJob(text);
    job->RunTask(AttemptOf(2, 0, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded));
  }
  EXPECT_EQ(Run("job cat", {"2.1"}).err, "spate: 2.1: its standard output went to '1.log'\n");
}

TEST_F(JobCommands, ForgetRemovesFolders) {
  for (int i = 0; i < 4; ++i) {
    JobText text;
    text.rows = {"true"};
    auto job = world_.AddJob(text);
    if (i != 1) job->End(store::JobState::kFinished, {.total = 1, .succeeded = 1}, i * 100);
  }
  JobText text;
  text.rows = {"true"};
  auto running = world_.AddJob(text);
  EXPECT_EQ(Run("job forget", {}).code, kExitUsage);
  Ran ran = Run("job forget", {"1,5"});
  EXPECT_EQ(ran.code, kExitCouldNotRun);
  EXPECT_NE(ran.err.find("job 5 is being run by process"), std::string::npos) << ran.err;
  EXPECT_EQ(Out("job forget", {"1", "--dry-run", "-q"}), "1\n");
  EXPECT_EQ(Out("job list", {"-q"}), "1\n2\n3\n4\n5\n");
  // 1 ended at 0 s, 3 at 200 s, 4 at 300 s; 2 is not finished; now is 600 s.
  ran = Run("job forget", {"--older-than", "350s", "-q"});
  EXPECT_EQ(ran.out, "1\n3\n");
  ran = Run("job forget", {"4"});
  EXPECT_TRUE(ran.out.starts_with("removed job 4 (")) << ran.out;
  ran = Run("job forget", {"all", "--output", "json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.err.find("keeping job 5"), std::string::npos);
  EXPECT_EQ(KeysOf(ran.out), "type v job name bytes dry_run");
  EXPECT_EQ(Lines(ran.out).at(0)["job"], 2);
  EXPECT_EQ(Out("job list", {"-q"}), "5\n");
  EXPECT_FALSE(os::Exists(world_.temp().Path("state/jobs/1")));
  EXPECT_EQ(Run("job forget", {"--older-than", "x"}).code, kExitUsage);
}

TEST_F(JobCommands, JsonHasExactlyTheseKeys) {
  WriteSix(*world_.AddJob(SixTasks()));
  world_.temp().Write("state/jobs/2/job.db", "no database, but it is long enough to be seen");
  std::string list = Out("job list", {"--output", "json"});
  EXPECT_EQ(KeysOf(list), kJobKeys);
  auto jobs = Lines(list);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0]["v"], 2);
  EXPECT_EQ(jobs[0]["argv"], (Argv{"-j", "2", "list.txt"}));
  EXPECT_EQ(jobs[0]["succeeded"], 2);
  EXPECT_EQ(jobs[0]["started"], 1600000000);
  EXPECT_EQ(jobs[0]["took"], 8);
  EXPECT_EQ(jobs[1]["state"], "damaged");
  EXPECT_TRUE(jobs[1]["created"].is_null());
  std::string info = Out("job info", {"1", "--output", "json"});
  EXPECT_EQ(
      KeysOf(info),
      std::string(kJobKeys) +
          " held held_since stop stopped_tasks parted release_command set_aside waits reasons "
          "left_running "
          "start_news start_news_task running_tasks withdrawn not_passed comment retries "
          "retry_on retry_elsewhere retry_memory max_memory priority time_limit limits "
          "excesses changed changed_tasks changed_time_limit gang "
          "deadline bound attempts failures blamed median_wall total_wall total_user "
          "total_system peak_memory peak_task first_start last_end "
          "tasks_per_second output_kept bytes resume_command retry_command "
          "retry_elsewhere_command");
  auto job = Lines(info).at(0);
  EXPECT_EQ(job["failures"][0],
            nlohmann::json::parse(R"({"cause":"exit","status":3,"count":1,"tasks":[3]})"));
  EXPECT_EQ(job["retries"], 1);
  EXPECT_TRUE(job["resume_command"].is_null());
  EXPECT_EQ(job["retry_command"], "spate job retry 1");
  std::string tasks = Out("job tasks", {"1", "--output", "json"});
  EXPECT_EQ(KeysOf(tasks), kTaskKeys);
  auto task = Lines(tasks).at(2);
  EXPECT_EQ(task["state"], "failed");
  EXPECT_EQ(task["tries"], 2);
  EXPECT_EQ(task["wall"], 1.5);
  EXPECT_EQ(task["stdout_kept"], 6);
  EXPECT_EQ(KeysOf(tasks.substr(tasks.find("{\"type\":\"task\",\"v\":2,\"job\":1,\"task\":5"))),
            kTaskKeys);
}

TEST_F(JobCommands, TailPrintsTheLastLinesInTheOrderOfTheEnds) {
  auto job = world_.AddJob(SixTasks());
  WriteSix(*job);
  // one, talk | two | first | (nothing) | three, bad
  struct {
    std::vector<std::string> argv;
    std::string out, err;
  } const kTable[] = {
      {{"1"}, "one\ntwo\nthree\n", "talk\nfirst\nbad\n"},
      {{"-n", "1"}, "", "bad\n"},
      {{"-n", "2"}, "three\n", "bad\n"},
      {{"--lines", "4"}, "two\nthree\n", "first\nbad\n"},
      {{"-n", "2", "--stream", "stdout"}, "two\nthree\n", ""},
      {{"-n", "2", "--stderr"}, "first\nbad\n", ""},
      {{"-n", "0"}, "", ""},
  };
  for (const auto& row : kTable) {
    Ran ran = Run("job tail", row.argv);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.out, row.out) << row.argv[0];
    EXPECT_EQ(ran.err, row.err) << row.argv[0];
  }
  EXPECT_EQ(Run("job tail", {"-n", "x"}).code, kExitUsage);
  EXPECT_NE(Run("job tail", {"--follow"}).err.find("only a hub's job is followed"),
            std::string::npos);
}

TEST_F(JobCommands, TailCutsWithinAnOutput) {
  auto job = world_.AddJob(SixTasks());
  job->RunTask(AttemptOf(1, 0, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded), "1\n2\n\n4");
  EXPECT_EQ(Run("job tail", {"-n", "1"}).out, "4");
  EXPECT_EQ(Run("job tail", {"-n", "2"}).out, "\n4");
  EXPECT_EQ(Run("job tail", {"-n", "3"}).out, "2\n\n4");
  EXPECT_EQ(Run("job tail", {"-n", "9"}).out, "1\n2\n\n4");
}

TEST_F(JobCommands, TailSaysThatThereIsNothing) {
  auto job = world_.AddJob(SixTasks());
  Ran ran = Run("job tail", {});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "spate: no task of job 1 has printed anything yet\n");
}

TEST_F(JobCommands, EveryKeyIsDocumented) {
  const char* source = std::getenv("SPATE_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "SPATE_SOURCE does not say where docs/ is";
  std::string page = *os::ReadFile(std::string(source) + "/docs/formats/json.md", 1 << 20);
  WriteSix(*world_.AddJob(SixTasks()));
  for (const char* command : {"job info", "job tasks"}) {
    std::istringstream keys(KeysOf(Out(command, {"--output", "json"})));
    for (std::string key; keys >> key;) {
      EXPECT_NE(page.find('`' + key + '`'), std::string::npos) << key;
    }
  }
}

TEST_F(JobCommands, JsonOfBytesThatAreNoText) {
  JobText text = SixTasks();
  text.name = "\xff";
  text.argv = {"a", "\xfe"};
  text.rows[0] = "echo \xff";
  WriteSix(*world_.AddJob(text));
  auto job = Lines(Out("job list", {"--output", "json"})).at(0);
  EXPECT_EQ(job["name_base64"], "/w==");
  EXPECT_EQ(job["argv_base64"], (Argv{"YQ==", "/g=="}));
  auto task = Lines(Out("job tasks", {"--output", "json"})).at(0);
  EXPECT_EQ(task["command_base64"], "ZWNobyD/");
}

TEST_F(JobCommands, AFailedWriteIsReported) {
  WriteSix(*world_.AddJob(SixTasks()));
  world_.environment().write_out = [](std::string_view) {
    return Fail(ErrorKind::kExhausted, "cannot write to standard output: No space left");
  };
  Ran ran = Run("job tasks", {});
  EXPECT_EQ(ran.code, kExitCouldNotRun);
  EXPECT_EQ(ran.err, "spate: cannot write to standard output: No space left\n");
}

TEST_F(JobCommands, ReportAddsUpRuns) {
  EXPECT_EQ(Run("report", {}).err.find("spate: there is no usage to report in '"), 0u);
  auto six = world_.AddJob(SixTasks());
  WriteSix(*six);
  JobText text;
  text.rows = {"true"};
  auto one = world_.AddJob(text);
  one->RunTask(AttemptOf(2, 0, 1, Cause::kSuccess, 0, engine::Verdict::kSucceeded));
  EXPECT_EQ(Out("report", {}),
            "USER  JOB  NAME   TASKS  ENDS     FAILED  CPU-H  WALL-H    PEAK  SUGGEST\n"
            "me      1  align      5     6  3 (60.0%)   0.00    0.00  3.0 MB       4M\n"
            "me      2  align      1     1          0   0.00    0.00  3.0 MB       4M\n"
            "me    all             6     7  3 (50.0%)   0.00    0.00  3.0 MB       4M\n");
  std::string json = Out("report", {"--output=json"});
  EXPECT_EQ(KeysOf(json),
            "type v user job name tasks ends failed failed_share cpu wall peak_memory "
            "suggested_memory suggested_cpus suggested_time");
  auto sum = Lines(json).back();
  EXPECT_EQ(sum["cpu"], 8.75);
  EXPECT_EQ(sum["wall"], 10.5);
  EXPECT_EQ(sum["suggested_memory"], 4 << 20);
}

}  // namespace
}  // namespace spate::cli::command
