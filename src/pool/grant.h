// Grant of a batch system to a pilot: read inside the allocation, from the environment and the
// files that it names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "os/environment.h"

namespace spate::pool {

// How a node is started on a host of an allocation: `argv`, and the node's command behind it.
struct Launch {
  std::string host;  // "" when one command starts the nodes of all hosts
  std::vector<std::string> argv;
  bool quoted = false;  // the words go through a shell on the way: quote each of the command's
};

struct Grant {
  std::string system;  // the driver's name
  std::string id;      // the batch job's
  std::string tag;     // "" when no pool started it
  std::string host;    // as the system calls this host; "": by its own name
  Instant ends = Instant::Never();
  // Only this host's; values that the system does not tell are missing, and are then the machine's.
  std::optional<int> cpus;
  std::optional<uint64_t> memory;                // bytes
  std::optional<std::vector<std::string>> gpus;  // as CUDA_VISIBLE_DEVICES or its like names them
  // Empty with one host, and in a node that was itself started so. Else the pilot runs all of
  // them at once, and is no node itself: its own host is among them.
  std::vector<Launch> launches;
};

struct GrantFile {
  std::string path, text;
};

// Files that the environment names and GrantOf wants; one that cannot be read is left out.
std::vector<std::string> GrantFiles(const os::Environment& environment);

// True if this process is a node of a Launch.
bool IsPart(const os::Environment& environment);

// Common input of the GrantOf of each system.
struct GrantInput {
  const os::Environment& environment;
  std::span<const GrantFile> files;

  std::optional<int64_t> Number(std::string_view name) const;  // at least 0
  std::string_view File(std::string_view variable) const;      // "" without one
  // Id, tag, system, GPUs, and the end by what the script exports; "" as `id_variable`: none.
  Grant Begin(std::string_view system, std::string_view id_variable) const;
  bool IsPart() const { return pool::IsPart(environment); }
  // "env", and what a node needs to know of its pilot where the environment is left behind.
  std::vector<std::string> PartWords(std::optional<int> cpus) const;
};

}  // namespace spate::pool
