// A shepherd's table of jobs: the common settings of their attempts, and the environment that those
// start with.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "shepherd/environment.h"
#include "shepherd/protocol.h"

namespace spate::shepherd {

// Path on which programs are looked for when nobody names one.
inline constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

class JobTable {
 public:
  struct Job {
    JobOpening opening;
    std::vector<std::string> login;  // of another user
    EnvironmentBlock environment;
  };
  explicit JobTable(const Setup& setup);

  // A further opening of the same job changes nothing.
  void Open(JobOpening opening);
  void Close(JobId job) { jobs_.erase(job.value); }
  // Good until it is closed; null when it was not opened.
  Job* Find(JobId job);

 private:
  std::string folder_variable_;
  std::unordered_map<uint32_t, Job> jobs_;
};

}  // namespace spate::shepherd
