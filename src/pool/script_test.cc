// Runs the scripts by the shell of this machine: what they mean is what a shell makes of them.
#include "pool/script.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "os/temp_dir.h"

namespace spate::pool {
namespace {

struct Ran {
  std::string out;
  int code = 0;
};

class ScriptTest : public testing::Test {
 protected:
  // `around` is a shell command with %s for the script's path.
  Ran Run(const PilotSpec& spec, std::string around = "sh %s") {
    std::string path = dir_.path() + "/script";
    std::ofstream(path) << PilotScript(spec, {"slurm", spec.time_limit, "LINE=1\n"});
    around.replace(around.find("%s"), 2, path);
    Ran ran;
    FILE* pipe = popen(("exec 2>&1; " + around).c_str(), "r");
    char piece[4096];
    for (size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) ran.out.append(piece, got);
    int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ran;
  }
  // The line of a pilot that has failed.
  static std::string End(int code) {
    char name[256] = "";
    EXPECT_EQ(gethostname(name, sizeof name - 1), 0);
    return "spate: the pilot ended with exit status " + std::to_string(code) + " on host " + name +
           "\n";
  }
  static PilotSpec Spec(std::vector<std::string> command) {
    PilotSpec spec;
    spec.tag = "p-1";
    spec.output_file = "/dev/null";
    spec.command = std::move(command);
    return spec;
  }

  os::TempDir dir_;
};

TEST_F(ScriptTest, WordsArriveAsTheyAre) {
  std::vector<std::string> words = {"printf", "<%s>",    "",     "a b",    "it's", "\"x\"",
                                    "$HOME",  "`ls`",    "a\nb", "a\r\nb", "\\",   "*",
                                    "-n",     "#SBATCH", "~",    "!!",     "\xff", "a\r"};
  std::string want;
  for (size_t k = 2; k < words.size(); ++k) want += "<" + words[k] + ">";
  Ran ran = Run(Spec(words));
  EXPECT_EQ(ran.out, want);
  EXPECT_EQ(ran.code, 0);
}

TEST_F(ScriptTest, StartsWithItsShellAndHasNoDosLines) {
  PilotSpec spec = Spec({"echo", "a\r\nb"});
  spec.prologue = "true\r\n# x\r\n";
  spec.epilogue = "true\r";
  spec.folder = "/a\r";
  std::string text = PilotScript(spec, {"slurm", std::nullopt, ""});
  EXPECT_TRUE(text.starts_with("#!/bin/sh\n"));
  EXPECT_FALSE(text.contains("\r\n"));
}

TEST_F(ScriptTest, NotesTheEnvironmentBeforePrologueAndWrapper) {
  const std::vector<std::string> shows = {
      "sh", "-c", "tr '\\0' '\\n' <\"$SPATE_PILOT_BEFORE\" | grep -c ^NEW=; echo \"$NEW\""};
  PilotSpec spec = Spec(shows);
  spec.wrapper = "env NEW=wrapped";
  EXPECT_EQ(Run(spec).out, "0\nwrapped\n");
  spec.wrapper.clear();
  spec.prologue = "export NEW=loaded";
  EXPECT_EQ(Run(spec).out, "0\nloaded\n");
  // If the prologue fails, nothing of the environment is left.
  spec.prologue = "TMPDIR=; echo \"$SPATE_PILOT_BEFORE\"; false";
  const Ran failed = Run(spec);
  const std::string file = failed.out.substr(0, failed.out.find('\n'));
  EXPECT_FALSE(std::ifstream(file)) << failed.out;
}

TEST_F(ScriptTest, TellsThePilotWhatItIs) {
  PilotSpec spec = Spec({"sh", "-c",
                         "echo $SPATE_PILOT $SPATE_PILOT_SYSTEM $SPATE_PILOT_SECONDS; "
                         "test $SPATE_PILOT_STARTED -gt 1700000000"});
  spec.time_limit = Duration::Millis(1500);
  EXPECT_EQ(Run(spec).out, "p-1 slurm 2\n");
  EXPECT_EQ(Run(spec).code, 0);
  spec.time_limit.reset();
  EXPECT_EQ(Run(spec, "SPATE_PILOT_SECONDS=9 sh %s").out, "p-1 slurm\n");
}

TEST_F(ScriptTest, PrologueAndEpilogue) {
  PilotSpec spec = Spec({"sh", "-c", "echo $X; exit 7"});
  spec.prologue = "X=it\\'s; export X\ncat <<E\nhere\nE";
  spec.epilogue = "echo bye $X";
  Ran ran = Run(spec);
  EXPECT_EQ(ran.out, "here\nit's\nbye it's\n" + End(7));
  EXPECT_EQ(ran.code, 7);
  // Its options do not reach further.
  spec.prologue = "set -eu; X=1; export X";
  EXPECT_EQ(Run(spec).out, "1\nbye 1\n" + End(7));
}

TEST_F(ScriptTest, AFailedPrologueEndsThePilot) {
  PilotSpec spec = Spec({"echo", "started"});
  struct Case {
    std::string prologue;
    int code;
    std::string says;
  };
  for (const Case& c : std::vector<Case>{{"echo no; exit 4", 4, "no"},
                                         {"false", 1, "the prologue ended with exit status 1"},
                                         {"no-such-command", 127, "exit status 127"},
                                         {"set -e; echo no; (exit 6); echo go", 6, "no"},
                                         {"echo 'x", 2, "rror"}}) {
    spec.prologue = c.prologue;
    Ran ran = Run(spec);
    EXPECT_EQ(ran.code, c.code) << c.prologue;
    EXPECT_TRUE(ran.out.contains(c.says)) << ran.out;
    EXPECT_FALSE(ran.out.contains("started")) << ran.out;
    EXPECT_TRUE(ran.out.ends_with(End(c.code))) << ran.out;
  }
}

// The hub asks for other hosts by the name that the batch system knows.
TEST_F(ScriptTest, AFailedPilotNamesItsHost) {
  PilotSpec spec = Spec({"sh", "-c", "exit 3"});
  EXPECT_EQ(Run(spec).out, End(3));
  spec.command = {"no-such-command"};
  Ran ran = Run(spec);
  EXPECT_EQ(ran.code, 127);
  EXPECT_TRUE(ran.out.ends_with(End(127))) << ran.out;
  spec.command = {"true"};
  EXPECT_EQ(Run(spec).out, "");
  // A prologue may have a trap of its own.
  spec.prologue = "trap 'echo mine' EXIT; exit 2";
  EXPECT_EQ(Run(spec).out, "mine\n");
  spec.prologue.clear();
  spec.command = {"false"};
  const std::string text = PilotScript(spec, {"slurm", std::nullopt, "spate_host=n7\n"});
  EXPECT_LT(text.find("trap"), text.find("spate_host=n7\n"));
}

TEST_F(ScriptTest, Folder) {
  PilotSpec spec = Spec({"pwd"});
  spec.folder = "/";
  EXPECT_EQ(Run(spec).out, "/\n");
  spec.folder = dir_.path() + "/none";
  EXPECT_EQ(Run(spec).code, 1);
}

TEST_F(ScriptTest, BroughtFilesLieWhereItStarts) {
  PilotSpec spec = Spec({"cat", "/far/it's", "/dev/null"});
  spec.files = {"/far/it's"};
  spec.shared_files = false;
  spec.prologue = "cd /";
  Ran ran = Run(spec, "cd " + dir_.path() + " && echo here >\"it's\" && sh %s");
  EXPECT_EQ(ran.out, "here\n");
}

TEST_F(ScriptTest, SignalsReachThePilotOnce) {
  // The pilot says when it is ready; the shell that started the script sends the signals then.
  PilotSpec spec = Spec({"sh", "-c",
                         "n=0; trap 'n=$((n+1)); echo told $n' TERM; echo ready; "
                         "while [ $n = 0 ]; do sleep 0.05; done; sleep 0.2; exit 5"});
  spec.epilogue = "echo epilogue";
  for (const char* signal : {"TERM", "USR1", "USR2", "HUP"}) {
    // The second one comes while the pilot still runs.
    std::string around =
        "mkfifo f && { sh %s >f 2>&1 & } ; exec 3<f; read word <&3; kill -SIG $!; "
        "read word <&3; echo $word; kill -SIG $!; cat <&3; wait $!";
    for (size_t at = around.find("SIG"); at != std::string::npos; at = around.find("SIG")) {
      around.replace(at, 3, signal);
    }
    Ran ran = Run(spec, "cd " + dir_.path() + " && rm -f f && " + around);
    EXPECT_EQ(ran.out, "told 1\nepilogue\n" + End(5)) << signal;
    EXPECT_EQ(ran.code, 5) << signal;
  }
}

TEST_F(ScriptTest, SignalsToTheWholeGroupDoNotKillThePilot) {
  PilotSpec spec = Spec({"sh", "-c",
                         "trap 'echo told; exit 5' TERM; echo ready; "
                         "while :; do sleep 0.05 2>/dev/null; done"});
  std::string around =
      "mkfifo f && { setsid sh %s >f 2>&1 & } ; exec 3<f; read word <&3; "
      "kill -USR2 -$!; cat <&3; wait $!";
  Ran ran = Run(spec, "cd " + dir_.path() + " && " + around);
  EXPECT_EQ(ran.out, "told\n" + End(5));
  EXPECT_EQ(ran.code, 5);
}

}  // namespace
}  // namespace spate::pool
