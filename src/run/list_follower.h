// ListFollower: takes in a job list while it is still being written (`--follow`). Each line is
// checked when it comes and its task added at once; the first wrong line ends the taking in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/run/task_list.h"
#include "format/joblist/reader.h"
#include "os/fd.h"
#include "os/real_loop.h"

namespace spate::run {

class ListFollower {
 public:
  struct Sink {
    // Tasks that were added, in order: their rows and what they need.
    std::function<void(std::vector<std::string> rows, std::vector<Needs> needs)> add;
    std::function<void()> end;                // no more come
    std::function<void(const Error&)> wrong;  // a line, or a file that cannot be read
    std::function<Status(const std::string& file, std::string_view beginning)> check;
    std::function<bool()> full;                          // wait before taking in more
    std::function<std::string(const Needs&)> why_never;  // it can never run here; empty: it can
  };
  // Reads `files` ("-" is standard input) one after the other. All references outlive it.
  ListFollower(os::RealLoop& loop, std::vector<std::string> files, const Needs& defaults,
               const cli::LoadContext& context, Sink sink);
  ~ListFollower();
  ListFollower(const ListFollower&) = delete;
  ListFollower& operator=(const ListFollower&) = delete;

 private:
  void OpenNext();
  void Read();
  void Take(bool at_end);
  void Stop();
  std::string WhyWrong(const format::ListLine& line) const;

  os::RealLoop& loop_;
  const std::vector<std::string> files_;
  const Needs defaults_;
  const cli::LoadContext context_;
  const Sink sink_;
  size_t next_file_ = 0;
  std::string name_;
  os::Fd file_;
  int fd_ = -1;
  format::JobListReader reader_;
  os::TimerId timer_ = 0;
  bool begins_ = true;  // nothing of the file was read
};

}  // namespace spate::run
