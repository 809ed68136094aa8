// Suggested requests for further tasks of a job, from the measured needs of its earlier ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/asker.h"
#include "core/model/job_facts.h"

namespace spate::cli {

struct Suggestion {
  UseFacts use;
  std::vector<std::string> options;  // "--cpus", "2", "--memory", "120M", "--time", "3m"
  std::string Text() const;          // joined by blanks
};

// `job`: one word that names one job. Of gangs only the time is suggested, as each row of theirs
// tells of a part. kNotFound: none of its tasks has succeeded, so there is nothing to go by.
Result<Suggestion> Suggest(client::Asker& asker, std::string_view job);

}  // namespace spate::cli
