// Bodies of several commands through real shepherds: steps, links of each kind, vectors of ends,
// and what the system is to hold them to.
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "node/testing_executor.h"
#include "os/affinity.h"
#include "os/environment.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

Command Sh(std::string text) { return {{"/bin/sh", "-c", std::move(text)}}; }

struct TaskBodyTest : ProcessExecutorTest {
  static std::string Status(const AttemptEnd& end) {
    std::string text = WordOf(end.cause);
    for (const ProcessEnd& one : end.processes) {
      text += fmt::format(" {}.{}={}", one.step, one.command, one.status);
    }
    return text + (end.note.empty() ? "" : " " + end.note);
  }
};

TEST_F(TaskBodyTest, PipesJoinTheCommandsOfAStepAndEachEndIsTold) {
  TaskBody body;
  body.steps = {{{{{"seq", "10"}}, {{"tail", "-n", "3"}}, {{"wc", "-l"}}}}};
  PipeCommands(body);
  body.steps.push_back({{Sh("exit 3"), Sh("cat; kill -9 $$")}});
  PipeCommands(body);
  body.steps.push_back({{Sh("echo never")}});
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.output->out.bytes, "3\n");
  EXPECT_EQ(ended.end.status, SIGKILL);
  EXPECT_EQ(Status(ended.end), "signal 0.0=0 0.1=0 0.2=0 1.0=3 1.1=137");
  body = {};
  body.steps = {{{{{"true"}}, {{"frobnicate"}}}}};
  EXPECT_EQ(Status(Run(body).end), "start 0.0=0 0.1=127 frobnicate: command not found");
  body.steps = {{{Sh("true")}}, {{Sh("echo second")}}};
  const Ended& both = Run(body);
  EXPECT_EQ(Status(both.end), "success 0.0=0 1.0=0");
  EXPECT_EQ(both.output->out.bytes, "second\n");
}

// The descriptors are where those of the shepherd are, the wrong way round, and a writer has two.
TEST_F(TaskBodyTest, LinksAreOfAnyDescriptors) {
  TaskBody body;
  body.steps = {{{Sh("echo a >&3; echo b > /proc/self/fd/63; echo c >&2"), Sh("cat <&4; cat <&3"),
                  Sh("cat <&5 | sort")}}};
  body.links = {{LinkKind::kPipe, {{0, 0, 3}}, {{0, 1, 4}}, ""},
                {LinkKind::kPipe, {{0, 0, 63}, {0, 0, 2}}, {{0, 1, 3}}, ""},
                {LinkKind::kPipe, {{0, 1, 1}}, {{0, 2, 5}}, ""}};
  for (int i = 0; i < 3; ++i) {
    const Ended& ended = Run(body);
    EXPECT_EQ(ended.output->out.bytes, "a\nb\nc\n");
    EXPECT_EQ(Status(ended.end), "success 0.0=0 0.1=0 0.2=0") << ended.output->err.bytes;
  }
  // Nobody but its ends has a pipe: its reader would wait for ever.
  body.steps = {{{Sh("exec 1>&-; until test -e go; do sleep 0.01; done"), Sh("cat; touch go"),
                  Sh("until test -e go; do sleep 0.01; done")}}};
  body.links = {{LinkKind::kPipe, {{0, 0, 1}}, {{0, 1, 0}}, ""}};
  EXPECT_EQ(Status(Run(body).end), "success 0.0=0 0.1=0 0.2=0");
  EXPECT_EQ(Run("echo /proc/self/fd/*").output->out.bytes.find("/4"), std::string::npos);
}

TEST_F(TaskBodyTest, WhatHasNoLinkGoesWhereTheTaskSays) {
  dir_.Write("in.txt", "first\n");
  TaskBody body;
  body.steps = {{{Sh("cat; echo x >&3; echo err >&2"), Sh("cat; cat <&3")}}};
  body.links = {{LinkKind::kPipe, {{0, 0, 3}}, {{0, 1, 3}}, ""}};
  body.stdin_file = "in.txt";
  body.stdout_file = "out.txt";
  EXPECT_EQ(Run(body).output->err.bytes, "err\n");
  auto out = os::ReadFile(dir_.Path("out.txt"), 100).value_or("");
  EXPECT_TRUE(out == "first\nx\n" || out == "x\nfirst\n") << out;
}

TEST_F(TaskBodyTest, BuffersCarryFromStepsToLaterSteps) {
  TaskBody body;
  body.steps = {{{Sh("seq 3; echo out >&2"), Sh("seq 100000 >&4")}},
                {{Sh("echo last >&1")}},
                {{Sh("cat <&5"), Sh("wc -l")}},
                {{Sh("cmp /proc/self/fd/3 /proc/self/fd/4; tail -n 1 <&3")}}};
  body.links = {{LinkKind::kBuffer, {{0, 0, 1}, {1, 0, 1}}, {{2, 0, 5}}, ""},
                {LinkKind::kBuffer, {{0, 1, 4}}, {{2, 1, 0}, {3, 0, 3}, {3, 0, 4}}, ""}};
  const Ended& ended = Run(body);
  EXPECT_EQ(Status(ended.end), "success 0.0=0 0.1=0 1.0=0 2.0=0 2.1=0 3.0=0")
      << ended.output->err.bytes;
  std::string out = ended.output->out.bytes;
  EXPECT_TRUE(out.ends_with("100000\n")) << out;
  EXPECT_NE(out.find("1\n2\n3\nlast\n"), out.npos) << out;
  EXPECT_EQ(ended.output->err.bytes, "out\n");
}

TEST_F(TaskBodyTest, ABufferCountsAsMemoryOfTheTask) {
  StartOrder order;
  order.body.steps = {{{Sh("head -c 300000000 /dev/zero; sleep 9999." + mark_)}}, {{Sh("wc -c")}}};
  order.body.links = {{LinkKind::kBuffer, {{0, 0, 1}}, {{1, 0, 0}}, ""}};
  order.needs.memory = 100'000'000;
  const Ended& ended = Await(StartOf(order));
  EXPECT_EQ(ended.end.cause, Cause::kMemory) << ended.end.note;
}

TEST_F(TaskBodyTest, FilesLinkCommandsAndStay) {
  dir_.Write("given", "given\n");
  dir_.Write("made", "of another attempt\n");
  TaskBody body;
  body.steps = {{{Sh("cat <&7; echo one >&3"), Sh("until grep -q one <&4; do sleep 0.01; done")}},
                {{Sh("echo two; cat <&8 >&2")}}};
  body.links = {{LinkKind::kFile, {}, {{0, 0, 7}}, "given"},
                {LinkKind::kFile, {{0, 0, 3}, {1, 0, 1}}, {{0, 1, 4}, {1, 0, 8}}, "made"}};
  const Ended& ended = Run(body);
  EXPECT_EQ(Status(ended.end), "success 0.0=0 0.1=0 1.0=0") << ended.output->err.bytes;
  EXPECT_EQ(ended.output->out.bytes, "given\n");
  EXPECT_EQ(ended.output->err.bytes, "one\ntwo\n");
  EXPECT_TRUE(FileHas("made", "one\ntwo\n"));
  body.links[0].path = "none";
  EXPECT_EQ(Status(Run(body).end),
            "start cannot open 'none', which links commands: No such file or directory");
}

TEST_F(TaskBodyTest, ANamedPipeLiesInTheTasksOwnFolder) {
  TaskBody body;
  body.steps = {{{Sh("echo through > fifo"), Sh("cat fifo")}}};
  body.links = {{LinkKind::kNamedPipe, {}, {}, "fifo"}};
  EXPECT_EQ(Status(Run(body).end), "start the named pipe 'fifo' needs a folder of the task's own");
  EXPECT_FALSE(os::Exists(dir_.Path("fifo")));
  executor_.reset();
  options_.task_folders = dir_.Path("folders");
  settings_.get_patterns = {"out"};
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.output->out.bytes, "through\n");
  EXPECT_EQ(Status(ended.end), "success 0.0=0 0.1=0");
  EXPECT_TRUE(os::ListDir(dir_.Path("folders"))->size() <= 1);  // but for the node's mark
  body.links.push_back({LinkKind::kNamedPipe, {}, {}, "fifo"});
  EXPECT_EQ(Status(Run(body).end), "start cannot make 'fifo', which links commands: File exists");
}

TEST_F(TaskBodyTest, LinksThatCannotBeMadeAreRefused) {
  TaskBody body = Shell("true");
  body.links = {{LinkKind::kPipe, {{0, 0, 1}}, {{0, 1, 0}}, ""}};
  EXPECT_EQ(Status(Run(body).end),
            "start link 1 (pipe) of the task names command 2 of step 1, which does not exist");
  EXPECT_EQ(Run("echo well").output->out.bytes, "well\n");
}

TEST_F(TaskBodyTest, ProcessesAreBoundToLimits) {
  TaskBody body = Shell("ulimit -n; ulimit -c; ulimit -H -n; (ulimit -n 40) 2>&1 | wc -l");
  body.limits = {{LimitKind::kOpenFiles, 33}, {LimitKind::kCoreBytes, 0}};
  const Ended& ended = Run(body);
  EXPECT_EQ(Status(ended.end), "success");
  EXPECT_TRUE(ended.output->out.bytes.starts_with("33\n0\n33\n")) << ended.output->out.bytes;
  body = Shell("head -c 10000 /dev/zero > big");
  body.limits = {{LimitKind::kFileBytes, 5000}};
  EXPECT_NE(Run(body).end.cause, Cause::kSuccess);
  EXPECT_EQ(os::Stat(dir_.Path("big")).value().size, 5000u);
  // The next attempt has its own.
  EXPECT_EQ(Run("head -c 10000 /dev/zero > big").end.cause, Cause::kSuccess);
  // More than the system has: told, and not tried for ever.
  body = Shell("true");
  body.limits = {{LimitKind::kOpenFiles, UINT64_MAX - 1}};
  const std::string told = Status(Run(body).end);
  EXPECT_TRUE(told.starts_with(
      "start cannot be bound to 18446744073709551614 open files: Operation not permitted (the hard "
      "limit here is "))
      << told;
}

TEST_F(TaskBodyTest, TooFewAddressesForAnyProgramEndATask) {
  TaskBody body = Shell("true");
  body.limits = {{LimitKind::kAddressBytes, 4096}};
  EXPECT_NE(Run(body).end.cause, Cause::kSuccess);
}

TEST_F(TaskBodyTest, ProcessesRunWhereTheyAreBoundTo) {
  std::vector<int> cpus = os::AllowedCpus().Cpus();
  TaskBody body = Shell("sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status");
  for (int cpu : {cpus.front(), cpus.back()}) {
    body.cpus = {static_cast<uint16_t>(cpu)};
    EXPECT_EQ(Run(body).output->out.bytes, fmt::format("{}\n", cpu));
  }
  body.cpus = {65000, 65001};
  EXPECT_EQ(Status(Run(body).end), "start cannot run on processors 65000,65001: Invalid argument");
  body.cpus = {};
  std::string ours =
      Run(fmt::format("sed -n 's/^Cpus_allowed_list:\\t//p' /proc/{}/status", getpid()))
          .output->out.bytes;
  EXPECT_EQ(Run(body).output->out.bytes, ours);
}

TEST_F(TaskBodyTest, ANodeDropsVariablesOfTheSubmittersBatchJob) {
  const std::string show =
      "echo ${SLURM_JOB_ID-none} ${SLURM_NNODES-none} ${SLURM_ARRAY_TASK_ID-none} $MINE";
  settings_.environment = {"SLURM_JOB_ID=999", "SLURM_NNODES=64", "SLURM_ARRAY_TASK_ID=3",
                           "MINE=here"};
  os::SetOfProcess("SLURM_JOB_ID", "1");
  EXPECT_EQ(Run(show).output->out.bytes, "999 64 3 here\n");
  executor_.reset();
  options_.drops_foreign = true;
  EXPECT_EQ(Run(show).output->out.bytes, "1 none none here\n");
  executor_.reset();
  unsetenv("SLURM_JOB_ID");
  options_.variables = {"SLURM_NNODES=5"};
  EXPECT_EQ(Run(show).output->out.bytes, "none 5 none here\n");
}

// How many run below the executor's shepherds, if all are bound to these; else -1.
int BoundTo(const ProcessExecutor& executor, int cpu) {
  int count = 0;
  for (pid_t shepherd : executor.ShepherdPids()) {
    shepherd::ProcessTree(shepherd).Each([&](pid_t pid) {
      cpu_set_t set;
      bool read = sched_getaffinity(pid, sizeof set, &set) == 0;
      bool only = read && CPU_COUNT(&set) == 1 && CPU_ISSET(static_cast<size_t>(cpu), &set);
      count = only && count >= 0 ? count + 1 : -1;
    });
  }
  return count;
}

TEST_F(TaskBodyTest, WhatRunsIsBoundAnewWithAllItsProcesses) {
  std::vector<int> cpus = os::AllowedCpus().Cpus();
  TaskBody body =
      Shell(WithMark("setsid sh -c 'sleep 9999.MARK & touch here; wait' & sleep 9999.MARK", mark_));
  AttemptRef ref = Start(body);
  AttemptRef behind = Start(Plain({"true"}));
  RunUntil([&] { return os::Exists(dir_.Path("here")) && Marked("9999." + mark_).size() >= 3; });
  for (int cpu : {cpus.front(), cpus.back()}) {
    EXPECT_TRUE(executor_->BindTo(ref, {cpu}));
    EXPECT_GE(BoundTo(*executor_, cpu), 3);
    EXPECT_FALSE(executor_->BindTo(behind, {cpus.front()}));
    EXPECT_GE(BoundTo(*executor_, cpu), 3);
  }
  executor_->End(ref, EndHow::kKill, Cause::kStopped);
  Await(behind);
  EXPECT_FALSE(executor_->BindTo(ref, cpus));
  EXPECT_FALSE(executor_->BindTo(behind, cpus));
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
