// An attempt from the columns of its row.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/attempt_entry.h"
#include "store/sqlite/database.h"

namespace spate::store {

// The columns that the functions below expect, in their order. WHERE or ORDER BY may follow.
inline constexpr std::string_view kSelectAttempt =
    "SELECT seq, job, idx, attempt, node, slot, cause, status, verdict, flags, start_us, wall_us, "
    "user_us, system_us, peak_kb, output_pos, stdout_len, stderr_len, output_sums FROM attempt";
inline constexpr std::string_view kSelectRare =
    "SELECT seq, ended_ns, read_bytes, written_bytes, left_behind, stdout_total, stderr_total, "
    "note, processes, files_len FROM attempt_rare";

// Fills all of `entry` as if it had no rare part; returns the checksum that the row claims.
// nullopt: the cause or the verdict is none.
std::optional<uint32_t> AttemptFromColumns(const Statement& s, int64_t base_us,
                                           AttemptEntry& entry);
// Adds the rare part. False: the bytes of `processes` are damaged.
bool RareFromColumns(const Statement& s, AttemptEntry& entry);

}  // namespace spate::store
