// The batch system's own options of a pool, as typed behind `--`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace spate::pool {

struct OwnOptions {
  // The typed words, except that a time limit in our form ("1h") is written in theirs.
  std::vector<std::string> words;
  std::optional<Duration> limit;  // that they set, where it can be told; the last one counts
  std::string limit_word;         // what says so: "-t 1:00:00"
};
// Reads Slurm's -t and --time, Grid Engine's -l h_rt, PBS's -l walltime; of others nothing.
OwnOptions ReadOwnOptions(std::string_view system, std::span<const std::string> words);

}  // namespace spate::pool
