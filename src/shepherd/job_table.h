// A shepherd's table of jobs: the common settings of their attempts, and the environment that those
// start with.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "shepherd/protocol.h"

namespace spate::shepherd {

// Path on which programs are looked for when nobody names one.
inline constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// The environment of a task: what the shepherd has, with the job's variables over it, with the
// task's over that. Strings are not copied; they must live as long.
class EnvironmentBlock {
 public:
  // Forgets everything, then takes `variables` (NAME=value, ending with a null pointer).
  void Assign(char** variables);
  // In place of one of the same name, else at the end. For what stays from task to task.
  void Set(const char* variable);

  // True if one of the variables set so far has the name of this one.
  bool Has(const char* variable) const;

  // The variables with those of a task in place of, or behind, the ones set so far; for exec, good
  // until the next call. Costs little for each variable of the task, however many others there are.
  const char* const* With(const std::vector<const char*>& variables);
  // The PATH of the last With(); null when it has none.
  const char* path() const { return path_; }

 private:
  static uint32_t HashOfName(const char* variable, uint32_t* length);
  static constexpr size_t kNone = SIZE_MAX;
  size_t Find(const char* variable) const;  // its place in fixed_, or kNone

  std::vector<const char*> fixed_;
  std::vector<uint32_t> hashes_;  // of the names in fixed_, side by side for the cache
  std::vector<const char*> block_;
  const char* fixed_path_ = nullptr;
  const char* path_ = nullptr;
};

class JobTable {
 public:
  struct Job {
    JobOpening opening;
    std::vector<std::string> login;  // of another user
    EnvironmentBlock environment;
    bool cuts_noted = false;  // StartResult::cut_limits were
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
