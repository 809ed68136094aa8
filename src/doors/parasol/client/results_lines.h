// ResultsLines: ends of a batch's attempts as lines of para.results
// (doors/parasol/formats/results.h).
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "client/asker.h"
#include "core/model/job_facts.h"

namespace spate::parasol {

class ResultsLines {
 public:
  // Asks where nodes keep what jobs write to stderr.
  static Result<ResultsLines> Of(client::Asker& hub);
  // kCorrupt: a row is not one of Parasol's.
  Result<std::string> TextOf(JobId job, const wire::EndsListed& listed) const;

 private:
  Result<std::string> LineOf(JobId job, const std::string& user, const EndFacts& ended) const;
  std::map<std::string, std::string> temp_dirs_;  // by node
};

}  // namespace spate::parasol
