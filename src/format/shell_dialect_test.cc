#include "format/shell_dialect.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "format/bash_scan.h"

namespace spate::format {
namespace {

struct Found {
  const char* text;
  const char* found;  // what is told of it
};

// Texts that bash reads differently from a POSIX shell.
constexpr Found kBash[] = {
    {"./work.sh 1 &> log", "&>"},
    {"./work.sh &>log", "&>"},
    {"./work.sh &>> log", "&>>"},
    {"make 2>&1 && ./run &>/dev/null", "&>"},
    {"./work.sh >& log", ">& log"},
    {"./work.sh >&log; date", ">&log"},
    {"./work.sh >&/tmp/l", ">&/tmp/l"},
    {"a |& tee log", "|&"},
    {"bc <<< 1+2", "<<<"},
    {"tr a b <<<\"$x\"", "<<<"},
    {"printf %s $'a\\tb'", "$'"},
    {"sort -t$'\\t' -k2 f", "$'"},
    {"diff <(sort a) <(sort b)", "<("},
    {"while read x; do echo $x; done < <(ls)", "<("},
    {"tee >(sort > f) < g", ">("},
    {"[[ -f x ]] && rm x", "[["},
    {"if [[ $a == b* ]]; then date; fi", "[["},
    {"! [[ -e x ]]", "[["},
    {"cd d && [[ -e x ]]", "[["},
    {"test -e x || [[ -e y ]]", "[["},
    {"(cd d; [[ -e x ]])", "[["},
    {"x=$([[ -e y ]] && echo 1)", "[["},
    {"echo \"$([[ -e y ]] && echo 1)\"", "[["},
    {"echo `[[ -e y ]] && echo 1`", "[["},
    {"case $x in a) [[ -e y ]] ;; esac", "[["},
    {"case $x in a) : ;; esac; [[ -e y ]]", "[["},
    {"f() { [[ -e x ]]; }; f", "[["},
    {"f () { [[ -e x ]]; }; f", "[["},
    {"A=1 B=2 source env.sh", "source"},
    {"> log source env.sh", "source"},
    {"((i++))", "(("},
    {"(( i = 1 + (2 * 3) ))", "(("},
    {"i=1; ((i++)); echo $i", "(("},
    {"for ((i = 0; i < 3; i++)); do echo $i; done", "(("},
    {"a=(1 2 3)", "a=("},
    {"a=(1 2); echo ${a[0]}", "a=("},
    {"declare -A m=([x]=1)", "declare"},
    {"local a=(1 2)", "a=("},
    {"a+=(3)", "a+=("},
    {"PATH+=:/opt", "PATH+="},
    {"a[1]=x", "a[1]"},
    {"echo ${a[1]}", "${a["},
    {"echo ${#a[@]}", "${#a["},
    {"echo \"${a[@]}\"", "${a["},
    {"echo ${x/a/b}", "${x/"},
    {"echo \"${x//\\//_}\"", "${x/"},
    {"echo ${x:0:3}", "${x:"},
    {"echo ${x^^}", "${x^"},
    {"echo ${x,,}", "${x,"},
    {"echo ${!x}", "${!"},
    {"echo ${x@Q}", "${x@"},
    {"source env.sh && ./run", "source"},
    {"date; source env.sh", "source"},
    {"cd d\nsource env.sh", "source"},
    {"if source env.sh; then ./run; fi", "source"},
    {"function f { date; }; f", "function"},
    {"function f() { date; }; f", "function"},
    {"echo {1..3}", "{1..3}"},
    {"echo x{01..10}.txt", "{01..10}"},
    {"cat part_{a..e}", "{a..e}"},
    {"echo {1..9..2}", "{1..9..2}"},
    {"for i in {1..3}; do echo $i; done", "{1..3}"},
    {"cat <<EOF; echo {1..3}\n$x\nEOF", "{1..3}"},
    {"cat <<EOF\n{1..2}\nEOF\necho {1..3}", "{1..3}"},
    {"sleep $RANDOM", "$RANDOM"},
    {"sleep \"$RANDOM\"", "$RANDOM"},
    {"sleep ${RANDOM}", "${RANDOM}"},
    {"sleep $((RANDOM % 10))", "RANDOM"},
    {"sleep $(($RANDOM % 10))", "RANDOM"},
    {"chown $UID f", "$UID"},
    {"echo $HOSTNAME", "$HOSTNAME"},
    {"echo ${HOSTNAME%%.*}", "${HOSTNAME"},
    {"a | b; echo ${PIPESTATUS[0]}", "${PIPESTATUS["},
    {"echo $SECONDS", "$SECONDS"},
    {"[ $a == b ] && date", "=="},
    {"test $a == b", "=="},
    {"if [ \"$a\" == b ]; then date; fi", "=="},
    {"shopt -s globstar", "shopt"},
    {"pushd d; ls; popd", "pushd"},
    {"let i=1+2", "let"},
    {"mapfile -t a < f", "mapfile"},
    {"typeset -i n", "typeset"},
    {"echo 'it is' \"quoted\" # and [[ a comment\n[[ -e x ]]", "[["},
    {"echo a#b; [[ -e x ]]", "[["},
    {"awk '{print $1}' f &> log", "&>"},
    {"find . -name '*.c' -exec grep x {} \\; |& less", "|&"},
};

// Texts that POSIX shells understand, or that are not the shell's.
const char* const kPosix[] = {
    "",
    "   ",
    "./work.sh 1 > log 2>&1",
    "./work.sh 1 >> log 2>&1 &",
    "./work.sh & wait",
    "./a & ./b & wait",
    "./a &\n> log",
    "./work.sh >&2",
    "./work.sh >& 2",
    "./work.sh 1>&2 2>&-",
    "./work.sh >&-",
    "./work.sh >&$fd",
    "./work.sh >&\"$OUT\"",
    "echo a \\&> log",
    "echo 'a &> log'",
    "echo \"a &> log\"",
    "grep -E 'a|&b' f",
    "a || b && c; d | e",
    "cat <<EOF\n[[ a &> b ]] $RANDOM {1..3}\nEOF",
    "cat <<'EOF'\n${a[1]}\nEOF\ndate",
    "cat <<-EOF\n\t[[ x\n\tEOF\ndate",
    "cat <<A <<B\n[[ a\nA\n[[ b\nB\ndate",
    "x=$(cat <<EOF\n[[ it's\nEOF\n); date",
    "cat <<EOF\n[[ unended",
    "sort <in >out 2>err",
    "exec 3<>f 4<&3 5>|g",
    "echo '$'\"'\"",
    "echo \"cost: $'5'\"",
    "grep 'x$' f",
    "grep ^a$ f",
    "echo [[ x ]]",
    "ls [[:alpha:]]*",
    "expr x : '[[]'",
    "ssh h [[ -f x ]]",
    "echo source function declare let",
    "./source x; ./function y",
    "man function",
    "grep source f",
    "env source=1 ./x",
    "source_it",
    "sources",
    "xargs source",
    "for source in a b; do echo $source; done",
    "for function do echo $function; done",
    "case source in source) date ;; esac",
    "case $x in [[:digit:]]*) date ;; {1..3}) : ;; (a|b) date;; *) :; esac",
    "case $x in\n  a)\n    date\n    ;;\n  b) case $y in c) ls;; esac ;;\nesac",
    "case $x in a) esac",
    "echo $(case a in a) echo x;; esac)",
    "echo $((1+2)) $((a*(b+c)))",
    "echo \"$((1 << 2))\"",
    "echo $((0x1F & 3))",
    "echo $(( (1) + (2) ))",
    "echo $((ls) | wc -l)",
    "((ls); date) | wc -l",
    "( (ls) ; date )",
    "(ls; (date))",
    "((ls) )",
    "f() { date; }; f",
    "f() (date)",
    "f ()\n{ date\n}",
    "{ date; ls; } > log",
    "if true; then ls; elif false; then date; else :; fi",
    "while read -r x; do echo \"$x\"; done < f",
    "until test -e x; do sleep 1; done",
    "! test -e x",
    "a=1 b='x y' ./run",
    "a='(1 2)' ./run",
    "a=$(date) b=`date` ./run",
    "a==b",
    "echo a=b a+=b",
    "[ a = b ] && [ \"$x\" != y ]",
    "[ -n \"$(cmp a == b)\" ]",
    "./check a == b",
    "test -n \"a == b\"",
    "echo ${x} ${x:-a} ${x-b} ${x:=c} ${x:+d} ${x:?e} ${#x} ${x%.*} ${x%%.*} ${x#*/} ${x##*/}",
    "echo \"${x:-it's}\" \"${x%'}'}\"",
    "echo ${x:-${y:-\"a}b\"}}",
    "echo ${1} ${10} ${@} $* $# $? $$ $! ${!} $- ${#}",
    "echo ${RANDOM:-4} ${HOSTNAME:-$(hostname)} ${UID-0}",
    "HOSTNAME=$(hostname); echo $HOSTNAME",
    "UID=3 && echo $UID",
    "read HOSTNAME < /etc/hostname; echo $HOSTNAME",
    "for UID in 1 2; do echo $UID; done",
    "echo '$RANDOM' \\$RANDOM",
    "echo $RANDOMLY $MY_UID $HOSTNAMES",
    "echo {} {.} {1} {a,b} {1...3} {1..} {..3} {x..3} ${1..3}",
    "echo '{1..3}' \"{1..3}\" \\{1..3}",
    "awk '{print $1, $NF}' f | sort",
    "awk 'BEGIN { a[1] = 2; if ((x) > 1) print a[1] }'",
    "awk '$1 == \"x\" {n++} END {print n}' f",
    "awk \"{print \\$1}\" f",
    "sed -e 's/{1..3}/x/' -e \"s/a/$b/\" f",
    "perl -e 'my @a = (1, 2); print $a[0] if [[1]]'",
    "python3 -c 'print([[1, 2]][0][1])'",
    "bash -c '[[ -e x ]] &> log'",
    "bash -c \"[[ -e x ]]\"",
    "find . -name '*.o' -exec rm {} \\;",
    "find . \\( -name a -o -name b \\) -print",
    "curl 'http://h/?a=1&b=2' -o f",
    "git log HEAD@{1}",
    "rsync -a h:d/{a,b} .",
    "echo a # [[ ${a[1]} it's",
    "# [[ -e x ]]",
    "echo 1;# $RANDOM",
    "echo a#b",
    "tr '[:upper:]' '[:lower:]' < f",
    "echo 'unended [[",
    "echo \"unended [[",
    "echo $(unended",
    "echo `unended",
    "echo ${unended",
    "echo )",
    "echo \\",
    "echo $",
    "a=",
    "trap 'rm -f $t' EXIT",
    "set -- a b; shift; echo \"$@\"",
    "kill -TERM $!; wait",
    ". ./env.sh && ./run",
    "printf '%s\\n' \"$x\" | bc",
    "echo \"`echo \\\"a &> b\\\"`\"",
    "echo `echo \\`date\\``",
    "x=`ls | sed 's/[[]/x/'`",
};

TEST(FindBashTextTest, Finds) {
  for (const Found& each : kBash) {
    auto found = FindBashText(each.text, ShellKind::kPosix);
    ASSERT_TRUE(found) << each.text;
    EXPECT_EQ(found->text, each.found) << each.text;
  }
}

TEST(FindBashTextTest, PassesWhatIsPosix) {
  for (const char* text : kPosix) {
    auto found = FindBashText(text, ShellKind::kPosix);
    EXPECT_FALSE(found) << text << " -> " << found->text;
  }
}

TEST(FindBashTextTest, BashReadsItsOwn) {
  for (const Found& each : kBash) {
    EXPECT_FALSE(FindBashText(each.text, ShellKind::kBash)) << each.text;
    EXPECT_FALSE(FindBashText(each.text, ShellKind::kOther)) << each.text;
  }
}

TEST(FindBashTextTest, OtherShellsHaveSomeOfIt) {
  struct Case {
    const char* text;
    bool ksh, zsh;  // they lack it
  };
  for (const Case& each : {Case{"a &> b", true, false},
                           {"a |& b", true, false},
                           {"a >& b", true, false},
                           {"[[ -e x && (a < b) ]]", false, false},
                           {"a=(1 2); ((i++)); [[ -e x ]]; echo $UID", true, false},
                           {"echo {1..3} $'x' ${a[1]} <(ls)", false, false},
                           {"[[ a &> b ]]", false, false},
                           {"echo $HOSTNAME", true, true},
                           {"echo $UID", true, false},
                           {"echo $RANDOM", false, false}}) {
    EXPECT_EQ(FindBashText(each.text, ShellKind::kKsh).has_value(), each.ksh) << each.text;
    EXPECT_EQ(FindBashText(each.text, ShellKind::kZsh).has_value(), each.zsh) << each.text;
  }
}

TEST(FindBashTextTest, KnowsTheTasksVariables) {
  std::vector<std::string> set = {"HOSTNAME"};
  EXPECT_FALSE(FindBashText("echo $HOSTNAME", ShellKind::kPosix, set));
  EXPECT_TRUE(FindBashText("echo $HOSTNAME $UID", ShellKind::kPosix, set));
}

TEST(FindBashTextTest, TellsWhatToWrite) {
  EXPECT_EQ(FindBashText("a &> log", ShellKind::kPosix)->instead, "> FILE 2>&1");
  EXPECT_EQ(FindBashText("source x", ShellKind::kPosix)->instead, ". FILE");
}

// A text that seems to begin arithmetic at every place costs no more than another.
TEST(FindBashTextTest, LongTextsAreCheap) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "((a) ";
  EXPECT_FALSE(FindBashText(text, ShellKind::kPosix));
  text.clear();
  for (int i = 0; i < 30'000; ++i) text += "$((a) ";
  EXPECT_FALSE(FindBashText(text, ShellKind::kPosix));
}

// Whatever the reader finds, in any combination of pieces, the scan reports as well.
TEST(MayHoldBashTest, OverlooksNothing) {
  const std::vector<std::string> pieces = {
      " ",    "\t",    "\n",   ";",   "&",    "|",     "<",      ">",      "(",       ")",
      "[",    "]",     "{",    "}",   "$",    "`",     "+",      "=",      "\\",      "'",
      "\"",   "#",     "!",    "..",  "1",    "a",     "let",    "source", "typeset", "in",
      "for",  "case",  "esac", "do",  "done", "if",    "then",   "test",   "RANDOM",  "UID",
      "$((",  "${",    ">&",   "x",   "/",    "-",     "@",      ":",      "%",       "[[",
      "read", "shopt", "&>",   "<<<", "EOF",  "<<EOF", "pushd ", "$(",     "((",      "+="};
  uint64_t found = 0;
  EXPECT_TRUE(rc::check("any pieces", [&] {
    std::string text;
    for (size_t n = *rc::gen::inRange<size_t>(1, 14); n > 0; --n) {
      text += pieces[*rc::gen::inRange<size_t>(0, pieces.size())];
    }
    for (ShellKind kind : {ShellKind::kPosix, ShellKind::kKsh, ShellKind::kZsh}) {
      if (!ReadBashText(text, kind)) continue;
      ++found;
      RC_ASSERT(MayHoldBash(text));
    }
  }));
  EXPECT_GT(found, 0u);
}

TEST(MayHoldBashTest, PassesOverWhatListsHold) {
  for (const char* text :
       {"./work.sh in.dat out.dat", "cd \"$HOME\" && ./a 2>&1 | sort > 'b c'", "a > b 2>&1; c < d",
        "for i in 1 2; do ./a ${i} $1; done", "awk '{print $1}' f | sort -u >&2", "a || (b && c)",
        "./a --let --source=x \"$(date)\" `pwd` > a.{b,c}", "X=1 ./a $SEED $USER $PATH"}) {
    EXPECT_FALSE(MayHoldBash(text)) << text;
  }
}

TEST(FindBashTextTest, InTheArgvOfAShell) {
  using Argv = std::vector<std::string>;
  EXPECT_TRUE(FindBashTextInArgv(Argv{"sh", "-c", "a &> b"}));
  EXPECT_TRUE(FindBashTextInArgv(Argv{"/bin/dash", "-ec", "a &> b"}));
  EXPECT_TRUE(FindBashTextInArgv(Argv{"sh", "-e", "-c", "a &> b"}));
  EXPECT_FALSE(FindBashTextInArgv(Argv{"bash", "-c", "a &> b"}));
  EXPECT_FALSE(FindBashTextInArgv(Argv{"sh", "job.sh", "a &> b"}));
  EXPECT_FALSE(FindBashTextInArgv(Argv{"./run", "-c", "a &> b"}));
  EXPECT_FALSE(FindBashTextInArgv(Argv{"sh", "-c"}));
}

TEST(KindOfShellTest, ByItsName) {
  struct Case {
    const char* shell;
    ShellKind kind;
  };
  for (const Case& each : {Case{"", ShellKind::kPosix},
                           {"/bin/sh", ShellKind::kPosix},
                           {"dash", ShellKind::kPosix},
                           {"busybox sh", ShellKind::kPosix},
                           {"bash", ShellKind::kBash},
                           {"/usr/local/bin/bash", ShellKind::kBash},
                           {"bash -euo pipefail", ShellKind::kBash},
                           {"/usr/bin/env -i A=1 bash", ShellKind::kOther},
                           {"env bash -e", ShellKind::kBash},
                           {"env LC_ALL=C /bin/sh", ShellKind::kPosix},
                           {"zsh", ShellKind::kZsh},
                           {"/bin/ksh93 -e", ShellKind::kKsh},
                           {"python3", ShellKind::kOther}}) {
    EXPECT_EQ(KindOfShell(each.shell), each.kind) << each.shell;
  }
}

}  // namespace
}  // namespace spate::format
