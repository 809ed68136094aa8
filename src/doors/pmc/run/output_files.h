// Files of the tasks' output: merged into two files (or our own streams), or into a pair of files
// for each try. Any thread, one at a time; LiveFile at any time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/model/attempt.h"
#include "doors/pmc/formats/options.h"
#include "os/fd.h"

namespace spate::pmc {

class OutputFiles {
 public:
  // Opens the targets. They are emptied, but `goes_on` with an earlier run: what that one's tasks
  // wrote is in them.
  static Result<OutputFiles> Open(const Options& options, bool goes_on);

  // Writes a try's output, and its record after its stdout. A failure may have written a part.
  Status Write(std::string_view task, const TaskOutput& output, std::string_view record) const;
  // To where stdout goes.
  Status WriteLine(std::string_view line) const;
  // With a pair of files for each try: those of the task's try that runs, made when they are asked
  // for first. Write replaces them whole. Empty: they cannot be made.
  std::string LiveFile(std::string_view task, int stream) const;
  // DAG.out.N and DAG.err.N of ranks up to `ranks`, which a crash of the original program has left:
  // appended, and removed.
  Status AdoptLeftovers(const std::string& dag, int ranks) const;

 private:
  struct Target {
    os::Fd file;  // invalid: our own stream
    int stream = 1;
    std::string name;
    int fd() const { return file.valid() ? file.get() : stream; }
  };
  OutputFiles() = default;
  Status PutOwnFiles(std::string_view task, const TaskOutput& output,
                     std::string_view record) const;

  std::string PathOf(std::string_view task, const char* kind, uint32_t number) const;

  std::shared_ptr<Target> out_, err_;  // may be the same
  std::string folder_;                 // for a pair of files each; empty: merged
  // Numbers of the files of tasks that run, for people who look at them.
  struct Numbers {
    std::mutex mutex;
    std::map<std::string, uint32_t, std::less<>> of_task;
  };
  std::shared_ptr<Numbers> live_ = std::make_shared<Numbers>();
};

// Appends a stream to a file.
Status CopyStream(const OutputStream& stream, int fd, std::string_view name);

}  // namespace spate::pmc
