// SharedSettings: the settings of a hub's jobs are mostly their environment, and a shell submits
// all its jobs with the same one. The longest field of the settings is kept once for many jobs.
//
// Table `shared` has such fields, `shared_by` the job's. In table `job_text` the settings are then
// a zero byte, which begins no settings, the number of the field and its place in them as varints,
// and the rest. One field serves kMostJobs, as what damages it damages them all.
//
// Thread: the store's.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "store/sqlite/database.h"

namespace spate::store {

// For a query of `job_text`: the fields that belong to its rows. They have the columns shared.id
// and shared.bytes, NULL where there is none.
inline constexpr std::string_view kJoinShared =
    "LEFT JOIN shared_by ON shared_by.job = job_text.job "
    "LEFT JOIN shared ON shared.id = shared_by.shared";
// The condition, of such a query, that the settings of a row of `job_text` are sound, beside the
// row's own checksum.
std::string AreSharedSound();

// The settings, from what `job_text` has, and the field that belongs to it. nullopt: it does not.
std::optional<std::string> JoinSettings(std::string_view kept, int64_t shared,
                                        std::string_view bytes);

// The writer.
class SharedSettings {
 public:
  Status Prepare(Database& db);
  // The settings as `job_text` is to have them, in the same transaction.
  Result<std::string> Share(Database& db, JobId job, std::string_view settings);

 private:
  static constexpr uint32_t kMostJobs = 1'000;
  static constexpr size_t kLeastBytes = 256;
  static constexpr size_t kKnown = 256;
  static constexpr size_t kMostKnownBytes = 1 << 20;
  struct Known {
    int64_t id = 0;
    std::string bytes;
    uint32_t jobs = 0;
  };

  Result<int64_t> IdOf(Database& db, JobId job, std::string_view field);
  Result<std::optional<int64_t>> OwnOf(JobId job, std::string_view field);
  void Remember(Known known);

  std::deque<Known> known_;  // the newest first; perhaps not there any more
  Statement own_, drop_, use_, add_, use_last_;
};

}  // namespace spate::store
