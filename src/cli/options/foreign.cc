// The rest of GNU parallel's options (20221122), by what to write instead. Options that spate has
// under the same name, or accepts as another name of its own, are in the table.
#include "cli/options/foreign.h"

#include <algorithm>

namespace spate::cli {
namespace {

struct Foreign {
  std::string_view names;  // separated by blanks
  std::string_view hint;
};

constexpr Foreign kForeign[] = {
    {"S sshlogin sshloginfile slf sshdelay ssh-delay ssh controlmaster M filter-hosts filter-host "
     "filterhosts onall nonall hgrp hostgrp hostgroup hostgroups Y W",
     "spate run uses this machine only; run spate there, or put ssh into the command"},
    {"transfer transferfile transferfiles transfer-file transfer-files tf return trc cleanup "
     "basefile bf rsync-opts rsyncopts B",
     "spate run uses this machine only, so there is nothing to copy: leave it out; with a hub, use "
     "--put FILE and --get FILE"},
    {"cat fifo", "with --pipe, the task's block is its standard input: /dev/stdin, a file"},
    {"block-timeout blocktimeout bt regexp regex remove-rec-sep removerecsep rrs tee shard bin "
     "group-by groupby",
     "not supported: --pipe cuts at --recstart and --recend texts; bring the input into that form "
     "before"},
    {"eta bar progress", "the bar on the terminal shows it already; leave it out"},
    {"total-jobs totaljobs total", "spate counts the tasks itself; leave it out"},
    {"memfree memsuspend", "use --min-free-memory SIZE"},
    {"load", "use --max-load N"},
    {"noswap", "use --min-free-memory SIZE"},
    {"resume-failed resumefailed",
     "use --resume to go on, and `spate job retry last` to run again what failed"},
    {"retry-failed retryfailed", "use `spate job retry last`"},
    {"no-keep-order nokeeporder nok no-k", "output comes as tasks end; leave it out"},
    {"group g", "output is grouped by task already; leave it out"},
    {"ungroup u latest-line latestline ll", "use --line-buffer"},
    {"files output-as-files outputasfiles",
     "use --results DIR, or --stdout PATTERN, or read it back with `spate job cat`"},
    {"ctag ctagstring ctag-string", "use --tag or --tagstring TEXT"},
    {"color colour color-failed colour-failed cf", "not supported; leave it out"},
    {"link xapply linkinputsource xapplyinputsource",
     "write :::+ instead of ::: for the source to link"},
    {"i", "use -I TEXT"},
    {"U er extensionreplace bnr basenamereplace dnr dirnamereplace bner "
     "basenameextensionreplace seqreplace slotreplace parens rpl plus",
     "the placeholders have fixed names: {} {.} {..} {/} {//} {/.} {%.txt} {#} {%} {1} ..., and "
     "-I TEXT for {}"},
    {"E e eof", "there is no end marker; cut the input before spate"},
    {"L l max-lines maxlines", "use --max-args N"},
    {"s max-chars maxchars", "use --max-args N; -X fills commands up to the system's limit"},
    {"x exit", "not needed; leave it out"},
    {"r no-run-if-empty norunifempty", "without values nothing runs; leave it out"},
    {"m xargs", "use -X"},
    {"skip-first-line", "use --header :"},
    {"arg-sep argsep arg-file-sep argfilesep", "the separators are ::: and ::::"},
    {"p interactive", "not supported; --dry-run prints what would be run"},
    {"t verbose v", "use --dry-run to see the commands; `spate job tasks` shows what ran"},
    {"D debug", "use `spate task explain` and `spate task info`"},
    {"shellquote shell-quote shell_quote",
     "values are quoted where a shell reads them; leave it out"},
    {"quote", "values are quoted where a shell reads them; leave it out"},
    {"semaphore fg bg wait id semaphore-name semaphorename semaphore-timeout semaphoretimeout st",
     "a semaphore is a command of its own: spate sem -j 4 --id NAME -- COMMAND"},
    {"tmux tmux-pane tmuxpane tty T o open-tty", "tasks have no terminal; leave it out"},
    {"compress compress-program use-compress-program decompress-program tmpdir tempdir",
     "stored output is compressed already; leave it out"},
    {"term-seq termseq", "use --kill-grace T (TERM, then KILL)"},
    {"H", "use --halt"},
    {"sql sqlmaster sqlworker sqlandworker sql-master sql-worker sql-and-worker",
     "spate keeps every job in an SQLite file already; see `spate job list`"},
    {"record-env recordenv", "tasks inherit the environment; leave it out"},
    {"silent bug gnu tollef will-cite willcite nn nonotice no-notice citation plain",
     "not needed; leave it out"},
    {"process-slot-var processslotvar", "the variable is SPATE_SLOT; {%} is the placeholder"},
    {"filter", "filter the values before spate"},
    {"template tmpl shebang hashbang embed shell-completion parset", "not supported; leave it out"},
    {"ctrlc ctrl-c no-ctrlc no-ctrl-c noctrlc",
     "Ctrl-C once lets tasks end, twice ends them; leave it out"},
    {"number-of-cpus number-of-cores number-of-sockets number-of-threads show-limits "
     "max-line-length-allowed",
     "not supported; nproc(1) tells the cores"},
    {"use-sockets-instead-of-threads use-cores-instead-of-threads use-cpus-instead-of-cores",
     "use -j 50% for one task on every second thread"},
    {"V version", "write `spate --version`"},
};

}  // namespace

std::optional<std::string_view> ForeignHint(std::string_view name) {
  for (const Foreign& foreign : kForeign) {
    for (size_t at = 0; at < foreign.names.size();) {
      size_t end = std::min(foreign.names.find(' ', at), foreign.names.size());
      if (foreign.names.substr(at, end - at) == name) return foreign.hint;
      at = end + 1;
    }
  }
  return std::nullopt;
}

}  // namespace spate::cli
