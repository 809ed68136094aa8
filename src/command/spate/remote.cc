// `spate remote`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/report.h"

namespace spate::cli::command {

extern const Command kSpateRemote = {
    .order = 530,
    .group = CommandGroup::kHub,
    .name = "remote",
    .arguments = "NODE COMMAND...",
    .summary = "run a command on another node of the same gang",
    .details =
        "For launchers of MPI libraries, in place of ssh. It works only within a gang and needs no "
        "keys. The command runs in the gang's part on that node, within its limits, and no longer "
        "than the part. Open MPI and MPICH find it without options: `mpirun ./prog` is enough. As "
        "with ssh, the words are text for a shell on that node; ssh's options are accepted and "
        "ignored (-n: no input). The exit code is that of the command; 255 means that spate remote "
        "failed. $SPATE_RSH names a program that does the same, for launchers that accept only a "
        "program's name.",
    .examples = {{{"spate remote n2 hostname", "in a gang that has a node n2"},
                  {"spate remote n2 'cd data && ls'", "shell text"}}},
    .words_min = 2,
    .takes_command = true,
    .run =
        [](const Invocation&) {
          return ReportError({ErrorKind::kInvalid,
                              "'spate remote' does not run through a hub; run it inside a gang"});
        },
};

}  // namespace spate::cli::command
