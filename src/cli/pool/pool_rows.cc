// The options of `spate pool add` and `spate pool set`.
#include "cli/options/shared.h"
#include "cli/pool/pool_options.h"

namespace spate::cli::opt {

const Option kMaxPilots = {.names = "max-pilots",
                           .argument = "N",
                           .heading = Heading::kPilots,
                           .help = "maximum of pilots, queued or running (default: 10)",
                           .more =
                               "The hub requests pilots when tasks wait for them, and only as many "
                               "as would be busy. For ssh and local, the default is 1."};

const Option kMinPilots = {.names = "min-pilots",
                           .argument = "N",
                           .heading = Heading::kPilots,
                           .help = "pilots to keep even without work (default: 0)",
                           .more = "For ssh and local, the default is 1: a permanent node."};

const Option kPilotBacklog = {.names = "backlog",
                              .argument = "N",
                              .heading = Heading::kPilots,
                              .help = "maximum of pilots in the queue (default: 4)"};

const Option kPilotNodes = {.names = "nodes-per-pilot",
                            .argument = "N",
                            .heading = Heading::kPilots,
                            .help = "nodes of one pilot (default: 1)"};

const Option kPilotTimeLimit = {
    .names = "time-limit",
    .argument = "T",
    .heading = Heading::kPilots,
    .help = "time after which the batch system ends a pilot",
    .more =
        "Tasks with --time start only where they end before that. Not needed if the batch system's "
        "own options contain a plain time limit (-t, --time, -l h_rt=, -l walltime=)."};

const Option kPilotLifetime = {.names = "lifetime",
                               .argument = "T",
                               .heading = Heading::kPilots,
                               .help = "stop nodes after T, if that is sooner"};

const Option kPilotIdleExit = {.names = "idle-exit",
                               .argument = "T|never",
                               .heading = Heading::kPilots,
                               .help = "stop pilots after T without work (default: 5m)",
                               .more = "For ssh and local, the default is never."};

const Option kChain = {.names = "chain",
                       .heading = Heading::kPilots,
                       .help = "queue a successor for each running pilot",
                       .more =
                           "Requires a time limit. Each pilot has one successor, which does not "
                           "count towards --max-pilots."};

const Option kSpread = {
    .names = "spread",
    .heading = Heading::kPilots,
    .help = "request as many pilots as waiting tasks can use",
    .more =
        "Otherwise the hub requests only as many as would be busy for about as long as a pilot "
        "waits in the queue. --max-pilots and --backlog still apply. Until the first pilot has "
        "joined, one slot per node is assumed."};

const Option kSubmitRate = {.names = "submit-rate",
                            .argument = "N[/s|/m|/h]",
                            .heading = Heading::kPilots,
                            .help = "rate of pilot requests, as 30/m (default: 10/s)"};

const Option kPoolUser = {.names = "user",
                          .argument = "NAME",
                          .heading = Heading::kPilots,
                          .help = "user whose tasks the pool serves (default: you)",
                          .more = "'*' means all users. Only administrators may name other users."};

const Option kWatchUnknown = {.names = "watch-unknown",
                              .argument = "T|never",
                              .heading = Heading::kPilots,
                              .help = "declare a pilot failed after T in unknown state",
                              .more =
                                  "Default: never. The state is unknown if the pilot was submitted "
                                  "and the batch system has reported nothing about it."};

const Option kWatchError = {.names = "watch-error",
                            .argument = "T|never",
                            .heading = Heading::kPilots,
                            .help = "declare a pilot failed after T in error (default: 5m)"};

const Option kWatchSuspended = {.names = "watch-suspended",
                                .argument = "FROM-TO",
                                .heading = Heading::kPilots,
                                .help = "suspension that excuses silence (default: 0s-never)",
                                .more =
                                    "FROM and TO are times since the suspension began; between "
                                    "them, --watch-silent does not apply."};

const Option kWatchSilent = {.names = "watch-silent",
                             .argument = "T|never",
                             .heading = Heading::kPilots,
                             .help = "declare a silent pilot failed after T (default: 5m)"};

const Option kWatchJoining = {
    .names = "watch-joining",
    .argument = "T|never",
    .heading = Heading::kPilots,
    .help = "limit from start to the first node (default: 20m)",
    .more = "A running pilot has failed if none of its nodes has joined by then."};

const Option kPoolSlots = {
    .names = "slots",
    .argument = "N",
    .heading = Heading::kPoolNodes,
    .help = "tasks at once on one node",
    .more =
        "A node with more slots than cores offers a cpu for each slot, unless --cpus says "
        "otherwise. Values that are not given come from the first pilot. Until then there is only "
        "one pilot, except with --slots, --cpus or --spread: these say how many tasks fit."};

const Option kPoolCpus = {.names = "cpus,cores",
                          .argument = "N",
                          .heading = Heading::kPoolNodes,
                          .help = "cores of one node"};

const Option kPoolMemory = {.names = "memory,mem",
                            .argument = "SIZE",
                            .heading = Heading::kPoolNodes,
                            .help = "memory of one node"};

const Option kPoolGpus = {
    .names = "gpus", .argument = "N", .heading = Heading::kPoolNodes, .help = "GPUs of one node"};

const Option kPoolResource = {.names = "resource,offer",
                              .argument = "NAME=N",
                              .heading = Heading::kPoolNodes,
                              .help = "pieces of another resource on one node",
                              .repeat = true};

const Option kPoolLabel = {
    .names = "label",
    .argument = "LABEL",
    .heading = Heading::kPoolNodes,
    .help = "label of the pool's nodes, for submit --label",
    .more = "All nodes have the label pool:NAME, and the label of their group.",
    .repeat = true};

const Option kPoolNodeOption = {.names = "node-option",
                                .argument = "WORD",
                                .heading = Heading::kPoolNodes,
                                .help = "additional word for the pilots' spate node start",
                                .more = "For example: --node-option=--tmp --node-option=/scratch.",
                                .repeat = true};

const Option kHosts = {
    .names = "hosts",
    .argument = "FILE|HOST,...",
    .heading = Heading::kSystem,
    .help = "ssh only: list of hosts, each HOST or HOST:SLOTS",
    .more =
        "HOST may be user@host, or [ADDRESS] for an address with colons. FILE (an existing file, "
        "or a name with a /) has one host per line; # begins a comment. Each host becomes a pool "
        "NAME-HOST; NAME means all of them in further commands and in submit --pool."};

const Option kPrologue = {.names = "prologue",
                          .argument = "CMD",
                          .heading = Heading::kSystem,
                          .help = "shell text that a pilot runs before its node",
                          .more =
                              "Variables that it sets, changes or unsets, as `module load` "
                              "does, are so for tasks, too: they replace those of submit."};

const Option kEpilogue = {.names = "epilogue",
                          .argument = "CMD",
                          .heading = Heading::kSystem,
                          .help = "shell text that a pilot runs after its node"};

const Option kWrapper = {.names = "wrapper",
                         .argument = "CMD",
                         .heading = Heading::kSystem,
                         .help = "shell words before a pilot's node command",
                         .more =
                             "They run it in a container: --wrapper 'apptainer exec "
                             "/apps/lab.sif'. The container must see the "
                             "program and the pool's folder. For pilots of one node."};

const Option kSubmitCommand = {.names = "submit-command",
                               .argument = "PATH",
                               .heading = Heading::kSystem,
                               .help = "path of sbatch, qsub, condor_submit or ssh",
                               .complete = Complete::kFile};

const Option kQueryCommand = {.names = "query-command",
                              .argument = "PATH",
                              .heading = Heading::kSystem,
                              .help = "path of squeue, qstat or condor_q",
                              .complete = Complete::kFile};

const Option kCancelCommand = {.names = "cancel-command",
                               .argument = "PATH",
                               .heading = Heading::kSystem,
                               .help = "path of scancel, qdel or condor_rm",
                               .complete = Complete::kFile};

const Option kSelectCommand = {.names = "select-command",
                               .argument = "PATH",
                               .heading = Heading::kSystem,
                               .help = "path of qselect",
                               .complete = Complete::kFile};

const Option kCommandWord = {
    .names = "command-word",
    .argument = "WORD",
    .heading = Heading::kSystem,
    .help = "additional word for each of these commands",
    .more =
        "For example, --command-word=-M --command-word=big for another Slurm cluster. For ssh, "
        "these are its options, as in --command-word=-p --command-word=2222.",
    .repeat = true};

const Option kPoolAddress = {.names = "address",
                             .argument = "HOST[:PORT]",
                             .heading = Heading::kSystem,
                             .help = "address of the hub for the nodes (default: all)",
                             .repeat = true};

const Option kPoolFolder = {.names = "folder",
                            .argument = "DIR",
                            .heading = Heading::kSystem,
                            .help = "folder shared with nodes, for scripts and outputs",
                            .complete = Complete::kFolder};

const Option kPoolProgram = {.names = "program",
                             .argument = "PATH",
                             .heading = Heading::kSystem,
                             .help = "path of spate on the nodes (default: as on the hub)",
                             .complete = Complete::kFile};

const Option kNoSharedFiles = {.names = "no-shared-files",
                               .heading = Heading::kSystem,
                               .help = "do not expect nodes to see this machine's files"};

const Option kNoTest = {.names = "no-test",
                        .heading = Heading::kSystem,
                        .help = "add the pool without a test by the batch system"};

const Option kPoolDryRun = {
    .names = "dry-run", .heading = Heading::kSystem, .help = "only show what would be submitted"};

constexpr OptionRef kPoolWishesRefs[] = {
    kMaxPilots,     kMinPilots,      kPilotBacklog,  kPilotNodes,   kPilotTimeLimit, kPilotLifetime,
    kPilotIdleExit, kChain,          kSpread,        kSubmitRate,   kPoolUser,       kWatchUnknown,
    kWatchError,    kWatchSuspended, kWatchSilent,   kWatchJoining, kPoolSlots,      kPoolCpus,
    kPoolMemory,    kPoolGpus,       kPoolResource,  kPoolLabel,    kPoolNodeOption, kPrologue,
    kEpilogue,      kWrapper,        kSubmitCommand, kQueryCommand, kCancelCommand,  kSelectCommand,
    kCommandWord,   kPoolAddress,    kPoolFolder,    kPoolProgram,  kNoSharedFiles};
const OptionGroup kPoolWishes = {kPoolWishesRefs};

}  // namespace spate::cli::opt
