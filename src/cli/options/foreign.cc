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
     "spate run uses only this machine; run spate on the other machine, or use ssh in the command"},
    {"transfer transferfile transferfiles transfer-file transfer-files tf return trc cleanup "
     "basefile bf rsync-opts rsyncopts B",
     "spate run uses only this machine, so there is nothing to copy; leave it out; with a hub, use "
     "--put FILE and --get FILE"},
    {"cat fifo", "with --pipe, the task's block is its standard input: /dev/stdin, a file"},
    {"block-timeout blocktimeout bt regexp regex remove-rec-sep removerecsep rrs tee shard bin "
     "group-by groupby",
     "not supported: --pipe splits at the texts of --recstart and --recend; convert the input "
     "first"},
    {"eta bar progress", "the bar on the terminal shows this already; leave it out"},
    {"total-jobs totaljobs total", "spate counts the tasks itself; leave it out"},
    {"memfree memsuspend", "use --min-free-memory SIZE"},
    {"load", "use --max-load N"},
    {"noswap", "use --min-free-memory SIZE"},
    {"resume-failed resumefailed",
     "use --resume to continue, and `spate job retry last` to retry failed tasks"},
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
    {"E e eof", "there is no end marker; cut the input before it reaches spate"},
    {"L l max-lines maxlines", "use --max-args N"},
    {"s max-chars maxchars", "use --max-args N; -X fills commands up to the system's limit"},
    {"x exit", "not needed; leave it out"},
    {"r no-run-if-empty norunifempty", "nothing runs without values; leave it out"},
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
     "semaphores are a separate command: spate sem -j 4 --id NAME -- COMMAND"},
    {"tmux tmux-pane tmuxpane tty T o open-tty", "tasks have no terminal; leave it out"},
    {"compress compress-program use-compress-program decompress-program tmpdir tempdir",
     "stored output is always compressed; leave it out"},
    {"term-seq termseq", "use --kill-grace T (TERM, then KILL)"},
    {"H", "use --halt"},
    {"sql sqlmaster sqlworker sqlandworker sql-master sql-worker sql-and-worker",
     "spate always stores jobs in an SQLite file; see `spate job list`"},
    {"record-env recordenv", "tasks inherit the environment; leave it out"},
    {"silent bug gnu tollef will-cite willcite nn nonotice no-notice citation plain",
     "not needed; leave it out"},
    {"process-slot-var processslotvar", "the variable is SPATE_SLOT; {%} is the placeholder"},
    {"filter", "filter the values before they reach spate"},
    {"template tmpl shebang hashbang embed shell-completion parset", "not supported; leave it out"},
    {"ctrlc ctrl-c no-ctrlc no-ctrl-c noctrlc",
     "the first Ctrl-C lets tasks end, the second terminates them; leave it out"},
    {"number-of-cpus number-of-cores number-of-sockets number-of-threads show-limits "
     "max-line-length-allowed",
     "not supported; nproc(1) prints the number of cores"},
    {"use-sockets-instead-of-threads use-cores-instead-of-threads use-cpus-instead-of-cores",
     "use -j 50% for one task per two threads"},
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

std::optional<std::string_view> BatchSystemHint(std::string_view typed) {
  if (typed == "-N") return "write --nodes N (values of one task: --max-args N)";
  if (typed == "-n") return "write --procs N (values of one task: --max-args N)";
  return std::nullopt;
}

}  // namespace spate::cli
