#include "format/script_line.h"

#include <gtest/gtest.h>

#include <string>

namespace spate::format {
namespace {

TEST(EndsInComment, AsInAShell) {
  for (const char* text :
       {"# a \\", "  # a \\", "sort a # b \\", "a;# b", "a 'b' \"c\" #", "a && b # c",
        "echo \"$(date)\" # now", "echo `date` # now", "x=${a#b} # c", "a \\\\ # b", "a |# b"}) {
    EXPECT_TRUE(EndsInComment(text)) << text;
  }
  for (const char* text :
       {"", "\\", "a \\", "a#b \\", "echo '# no' \\", "echo \"# no\" \\", "echo \\# no", "echo $#",
        "echo ${#a} ${a#b}", "awk '{ # of awk \\", "echo \"$(a # b", "echo $(a # b",
        "echo \"it's\" a#", "echo \"a (\" b#", "echo ${a:-`b # c`}", "echo 'a\\' b#"}) {
    EXPECT_FALSE(EndsInComment(text)) << text;
  }
  EXPECT_FALSE(EndsInComment(std::string("a \0#", 4)));
  EXPECT_FALSE(EndsInComment(std::string(1'000'000, '(') + std::string(1'000'000, '`')));
  std::string deep = "a ";
  for (int i = 0; i < 100'000; ++i) deep += "$(\"${";
  EXPECT_FALSE(EndsInComment(deep + " # b"));
}

TEST(IsScriptLine, LinesThatMeanNothingByThemselves) {
  for (const char* text : {"cd",
                           "cd scratch",
                           "cd \"$HOME/a b\"",
                           "cd $(dirname \"$0\")",
                           "cd a # for b",
                           "cd a;",
                           "cd a || exit 1",
                           "cd a && export B=1",
                           "export A=1",
                           "export A=\"b c\" D",
                           "export A=$(b; c)",
                           "set -e",
                           "set -euo pipefail",
                           "unset A",
                           "umask 022",
                           "ulimit -s unlimited",
                           "module load gcc/12 openmpi",
                           "module purge",
                           "A=1",
                           "A=",
                           "A=1 B='c d'",
                           "A+=b",
                           "A=1; B=2",
                           "set -e; cd a",
                           "do",
                           "do ./work $i",
                           "done",
                           "done < in",
                           "done;",
                           "then",
                           "else",
                           "elif [ a ]",
                           "fi",
                           "fi > log",
                           "esac",
                           "export A='not ended"}) {
    EXPECT_TRUE(IsScriptLine(text)) << text;
  }
}

TEST(IsScriptLine, Tasks) {
  for (const char* text : {"",
                           "./work",
                           "source x",
                           ". x",
                           ". ./env.sh && ./work",
                           "cd a && ./work",
                           "cd a; ./work",
                           "cd a || ./work",
                           "cd a & ./work",
                           "cd a | ./work",
                           "cd a > log",
                           "(cd a)",
                           "A=1 ./work",
                           "A=1 B=2 ./work",
                           "A=$(b) ./work",
                           "A=\"$(ls | wc -l)\"",
                           "A=1; ./work",
                           "export A=1; ./work",
                           "export A && ./work",
                           "export",
                           "set",
                           "umask",
                           "ulimit -n",
                           "module",
                           "cdrecord a",
                           "cd-hit -i a",
                           "cd.sh a",
                           "exit 3",
                           "set_up a",
                           "exporter",
                           "doit",
                           "done.sh",
                           "fi.py",
                           "modules a",
                           "echo cd a",
                           "\"cd\" a",
                           "=a",
                           "1=a",
                           "a-b=c",
                           "./a=b",
                           "if true; then a; fi",
                           "for i in a; do b; done",
                           "{ cd a; }",
                           "X=1 cd a",
                           "cd a\\;b c; ./work",
                           "test a = b"}) {
    EXPECT_FALSE(IsScriptLine(text)) << text;
  }
}

}  // namespace
}  // namespace spate::format
