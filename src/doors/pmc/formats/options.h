// The command line of pegasus-mpi-cluster, and the four variables that stand for options of it.
//
// Options and the DAG file come in any order; there are no -abc, --name=value and `--`. Numbers are
// read as scanf does: "5x" is 5.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"

namespace spate::pmc {

struct Options {
  std::string dag;     // as given; never empty
  std::string rescue;  // the DAG file with ".rescue" behind it, if nothing else is said
  bool skip_rescue = false;
  bool lock = true;
  int verbosity = 3;  // the last LogLevel that is shown (messages.h); may be outside of them

  // Files for the tasks' output; nullopt: the stream of the program itself.
  std::optional<std::string> out, err;
  bool per_task_stdio = false;  // also with monitord_hack; `out` and `err` then do not count

  uint32_t max_failures = 0;  // 0: no limit
  uint32_t tries = 1;         // at least 1
  Duration max_wall_time;     // 0: no limit

  std::string host_script;      // empty: none
  uint64_t host_memory_mb = 0;  // 0: what the host has
  uint32_t host_cpus = 0;       // 0: what the host has
  bool strict_limits = false;
  bool keep_affinity = false;
  bool set_affinity = false;  // never with host_cpus

  bool jobstate_log = false;
  bool monitord_hack = false;
  bool resource_log = true;

  bool sleep_on_recv = true;
  uint32_t max_fds = 0;  // 0: as the system allows
};

// Instead of a run: a text for standard error, with its newline, and the exit code.
struct Ending {
  std::string text;
  int exit_code = 1;
  friend bool operator==(const Ending&, const Ending&) = default;
};

using Variables = std::function<std::optional<std::string>(std::string_view name)>;

// `args` are without the program's name; `version` is the text of --version. A variable counts
// where the command line says nothing.
std::expected<Options, Ending> ReadOptions(std::span<const std::string> args,
                                           const Variables& variables, std::string_view version);

// One line for each option.
std::string HelpText();

}  // namespace spate::pmc
