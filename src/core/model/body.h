// Body of a task: the steps that an attempt executes one after the other, the commands that run
// together in a step, and links among commands. A plain command is one step of one command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_list.h"
#include "base/result.h"
#include "core/model/fields.h"

namespace spate {

// Checks of files, as Parasol has them.
SPATE_ENUM(CheckKind, kExists, "exists", kExistsPlus, "exists+", kLine, "line", kLinePlus, "line+");
SPATE_ENUM(CheckWhen, kIn, "in", kOut, "out");
struct Check {
  CheckWhen when = CheckWhen::kIn;
  CheckKind kind = CheckKind::kExists;
  std::string file;  // relative to the job's folder
  SPATE_FIELDS(1, when, 2, kind, 3, file);
  friend bool operator==(const Check&, const Check&) = default;
};
// Why a file fails a check: "F does not exist", "F is empty", "F has an incomplete last line".

struct Command {
  // argv[0] is looked up in the task's PATH when it has no slash. Shell text is
  // {shell, "-c", text}.
  std::vector<std::string> argv;
  std::vector<std::string> environment = {};  // "NAME=value", on top of the body's
  friend bool operator==(const Command&, const Command&) = default;
};

struct Step {
  std::vector<Command> commands;  // run together
  friend bool operator==(const Step&, const Step&) = default;
};

// How bytes get from those who write to a link to those who read from it.
SPATE_ENUM(LinkKind,
    kPipe, "pipe",             // among commands of one step
    // a FIFO in the task's own folder, which commands of one step open by its name
    kNamedPipe, "named-pipe",
    // in memory: what commands wrote, commands of later steps read from its beginning
    kBuffer, "buffer",
    kFile, "file");  // on disk; who has one end only has a file of its own

// A descriptor of one of the body's commands, all counted from 0.
struct LinkEnd {
  uint16_t step = 0;
  uint16_t command = 0;
  uint16_t descriptor = 0;  // up to kMostDescriptor
  SPATE_FIELDS(1, step, 2, command, 3, descriptor);
  friend auto operator<=>(const LinkEnd&, const LinkEnd&) = default;
};
inline constexpr uint16_t kMostDescriptor = 63;
inline constexpr size_t kMostLinks = 1024;  // of a body

struct Link {
  LinkKind kind = LinkKind::kPipe;
  std::vector<LinkEnd> writers;  // of a named pipe none: its commands know its name
  std::vector<LinkEnd> readers;
  std::string path;  // of named pipes and files; relative to the folder that the task runs in
  SPATE_FIELDS(1, kind, 2, writers, 3, readers, 4, path);
  friend bool operator==(const Link&, const Link&) = default;
};

// Limits for each process of an attempt, as the system counts them (setrlimit).
SPATE_ENUM(LimitKind,
    kCpuSeconds, "seconds of processor time",
    kFileBytes, "bytes of a file",
    kAddressBytes, "bytes of addresses",
    kStackBytes, "bytes of stack",
    kCoreBytes, "bytes of a core file",
    kOpenFiles, "open files",
    kProcesses, "processes of the user",       // of the user, not of the attempt alone
    kLockedBytes, "bytes of locked memory",
    kDataBytes, "bytes of data");
struct ProcessLimit {
  LimitKind kind = LimitKind::kCpuSeconds;
  uint64_t most = 0;  // UINT64_MAX: none
  SPATE_FIELDS(1, kind, 2, most);
  friend bool operator==(const ProcessLimit&, const ProcessLimit&) = default;
};

// A file to be laid into the task's own folder before it starts.
struct TaskPut {
  std::string name;
  uint32_t mode = 0;
  std::string from;  // where the node has its content
  friend bool operator==(const TaskPut&, const TaskPut&) = default;
};

// Data of a task that is appended to a file which many tasks share, once the task has succeeded:
// what its commands wrote to a descriptor, or what is in a file then. It comes home in the task's
// pack (task_files.h).
struct TaskForward {
  uint16_t descriptor = 0;  // of all commands; 0: a file
  std::string file;         // relative to the folder that the task runs in; removed afterwards
  std::string to;           // a name for whoever appends; never empty
  uint64_t most = 0;        // bytes of the file; one that has more fails the task. 0: no bound
  SPATE_FIELDS(1, descriptor, 2, file, 3, to, 4, most);
  friend bool operator==(const TaskForward&, const TaskForward&) = default;
};

struct TaskBody {
  std::string cwd;  // absolute, or empty: the job's folder
  std::vector<Step> steps;
  std::vector<Link> links;
  std::vector<ProcessLimit> limits;
  std::vector<uint16_t> cpus;  // processors that it may run on; empty: all that the node may
  std::vector<Check> output_checks;
  // Redirections of what no link has: of the first command (in) and of all (out, err). Empty means
  // the null device (in) or collected by the shepherd (out, err). Relative to the job's folder.
  // When out and err are the same path, both go to one file.
  std::string stdin_file;
  std::string stdout_file;
  std::string stderr_file;
  bool late_stderr = false;  // stderr_file is made when something is written to it, not before
  std::vector<std::string> environment;  // "NAME=value", on top of the job's
  std::vector<TaskPut> puts;
  std::vector<std::string> gets;  // files of its folder that come home with its end
  std::vector<TaskForward> forwards;
  // A process of the one command stays when the attempt has ended, for those of the job that would
  // have started the very same; each is given its input (docs/formats/resident.md).
  bool resident = false;
  std::string input;  // what a process is given that takes task after task
  // In a gang's part, its commands, all of one step and without links, are the ranks from this one
  // on. The output of each is collected apart, and when one fails the others are ended.
  std::optional<uint32_t> first_rank = std::nullopt;
  // stdout_file and stderr_file are appended to as they are: other attempts write there, too.
  bool shares_files = false;
  friend bool operator==(const TaskBody&, const TaskBody&) = default;
};

// Descriptors from which a resident process reads tasks, and to which it writes answers.
inline constexpr uint16_t kResidentIn = 3;
inline constexpr uint16_t kResidentOut = 4;
// An error when it may be no resident process's: it has more than one command, links, files of its
// own, or streams that go elsewhere.
Status CheckResident(const TaskBody& body);
// An error when it may be no part's of a gang: its ranks are not commands of one step, or have
// links.
Status CheckRanks(const TaskBody& body);

// Pipes from the output of each command of the last step to the input of the next.
void PipeCommands(TaskBody& body);
// Forwards the bytes written to the descriptor in `variable`, which is the first free one from 3.
void ForwardPipe(TaskBody& body, std::string_view variable, std::string to);
// Forwards the contents of `file`; `most` as above.
void ForwardFile(TaskBody& body, std::string file, std::string to, uint64_t most = 0);
// Checks that links can be made among commands, `commands[i]` in step i; an error says which
// cannot, and why.
Status CheckLinks(const std::vector<Link>& links, const std::vector<uint16_t>& commands);

}  // namespace spate
