#include "doors/parasol/programs/programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "os/clock.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::parasol {
namespace {

int Entry(std::vector<std::string> args) {
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  auto none = [](std::string_view) -> cli::ProgramRun { return nullptr; };
  cli::Programs door = ParasolPrograms();
  return cli::ProgramEntry(static_cast<int>(argv.size()), argv.data(), {&door, 1}, none)
      .value_or(-1);
}

class Gensub2Test : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    return dir_.Write(name, text);
  }
  std::string Path(const std::string& name) { return dir_.Path(name); }
  std::string Read(const std::string& name) {
    return os::ReadFile(Path(name), 1 << 20).value_or("none");
  }
  std::string Message(std::vector<std::string> args) {
    auto code = RunProgram("gensub2", args);
    return code ? "" : code.error().message;
  }
  static Result<int> RunProgram(std::string_view name, std::vector<std::string> args) {
    return Find(name).run(args);
  }
  static const cli::Program& Find(std::string_view name) {
    cli::Programs door = ParasolPrograms();
    return *cli::FindProgram({&door, 1}, name);
  }

  os::TempDir dir_;
};

TEST_F(Gensub2Test, ByName) {
  std::string one = Write("1", "A\nB\n"), two = Write("2", "a\nb"), out = Path("out");
  std::string made_of = Write("t", "#LOOP\n$(path1)$(path2)\n#ENDLOOP\n");
  EXPECT_EQ(Entry({"/usr/bin/gensub2", one, two, made_of, out}), 0);
  EXPECT_EQ(Read("out"), "Aa\nBa\nAb\nBb\n");
  EXPECT_EQ(Entry({"spate", "gensub2", one, "-group1", two, made_of, out, "-anything=7"}), 0);
  EXPECT_EQ(Read("out"), "Aa\nAb\nBa\nBb\n");
  EXPECT_EQ(Entry({"spate", "gensub2", "group2=", one, two, made_of, out}), 0);
  EXPECT_EQ(Read("out"), "Aa\nBa\nAb\nBb\n");
  EXPECT_EQ(Entry({"spate", "gensub2", one, "SELFpair", made_of, out}), 0);
  EXPECT_EQ(Read("out"), "AB\n");
  EXPECT_EQ(Entry({"spate", "gensub2", one, "Single", made_of, out}), 0);
  EXPECT_EQ(Read("out"), "Asingle\nBsingle\n");
  // A rule of gensub2: with an order, selfPair is `single`.
  EXPECT_EQ(Entry({"spate", "gensub2", "-group2", one, "selfPair", made_of, out}), 0);
  EXPECT_EQ(Read("out"), "Asingle\nBsingle\n");
  EXPECT_EQ(Entry({"gensub2", one, two, made_of}), 255);
  // Lists from other systems, and packed ones.
  std::string other = Write("3", "x\\a.b\ry\\c.d\r"), packed = Write("4", "P\nQ\n");
  std::string parts = Write("t2", "#LOOP\n$(path1) $(dir1) $(root1)\n#ENDLOOP\n");
  EXPECT_EQ(Entry({"gensub2", other, "single", parts, out}), 0);
  EXPECT_EQ(Read("out"), "x/a.b x a\ny/c.d y c\n");
  ASSERT_EQ(std::system(("gzip " + packed).c_str()), 0);
  EXPECT_EQ(Entry({"gensub2", packed + ".gz", two, made_of, out}), 0);
  EXPECT_EQ(Read("out"), "Pa\nQa\nPb\nQb\n");
  EXPECT_EQ(Entry({"gensub2", Write("5.bz2", "no"), two, made_of, out}), 255);
  EXPECT_EQ(Entry({"gensub2", Path("none.gz"), two, made_of, out}), 255);
  EXPECT_EQ(Entry({"spate", "run"}), -1);
  EXPECT_EQ(Entry({"spate"}), -1);
  EXPECT_EQ(Entry({}), -1);
}

TEST_F(Gensub2Test, ErrorsLeaveTheOutputAlone) {
  std::string one = Write("1", "A\n"), empty = Write("empty", "");
  std::string made_of = Write("t", "#LOOP\n#ENDLOOP\n"), bad = Write("bad", "#LOOP\n");
  std::string out = Write("out", "before");
  EXPECT_EQ(Message({}), Find("gensub2").usage);
  EXPECT_EQ(Message({one, one, made_of, out, "more"}), Find("gensub2").usage);
  EXPECT_EQ(Message({empty, one, made_of, out}), empty + " is empty; write one line per item");
  EXPECT_EQ(Message({one, empty, made_of, out}), empty + " is empty; write one line per item");
  EXPECT_EQ(Message({one, one, bad, out}), "No #ENDLOOP statement in " + bad);
  EXPECT_EQ(Message({one, one, one, out}), "No #LOOP statement in " + one);
  EXPECT_EQ(Message({Path("no"), one, made_of, out}),
            "cannot open '" + Path("no") + "': No such file or directory");
  EXPECT_EQ(Message({one, one, made_of, Path("no/out")}),
            "cannot open '" + Path("no/out") + "': No such file or directory");
  EXPECT_EQ(Read("out"), "before");
}

TEST(ParaTestJobTest, WritesAndEndsAsAsked) {
  os::TempDir dir;
  std::string out = dir.Path("out"), in = dir.Write("in", "x");
  testing::internal::CaptureStdout();
  EXPECT_EQ(Entry({"paraTestJob", "2", "-output=" + out, "-heavy=2", "-input=" + in}), 0);
  std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(printed.starts_with("Cumulative error 0.")) << printed;
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1);
  std::string written = os::ReadFile(out, 1000).value_or("none");
  EXPECT_TRUE(written.starts_with("0: 0.")) << written;
  EXPECT_NE(written.find("\n0.0\n0.1\n1: 0."), std::string::npos) << written;
  EXPECT_TRUE(written.ends_with("\n1.0\n1.1\n" + printed)) << written;

  os::Clock clock;
  Instant start = clock.Now();
  EXPECT_EQ(Entry({"paraTestJob", "0", "-sleep=1"}), 0);
  EXPECT_GE(clock.Now() - start, Duration::Seconds(1));

  EXPECT_EQ(Entry({"paraTestJob", "0", "-err"}), 255);
  EXPECT_EXIT(Entry({"spate", "paraTestJob", "0", "-crash"}), testing::KilledBySignal(11), "");
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"paraTestJob"},
           {"paraTestJob", "1", "2"},
           {"paraTestJob", "x"},
           {"paraTestJob", "-sleep=-1", "0"},
           {"paraTestJob", "0", "-heavy=x"},
           {"paraTestJob", "0", "-input=" + dir.Path("no")},
           {"paraTestJob", "0", "-output=" + dir.Path("no/out")}}) {
    EXPECT_EQ(Entry(args), 255) << args.back();
  }
}

}  // namespace
}  // namespace spate::parasol
