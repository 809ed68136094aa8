// ListFollower: takes in a job list while it is still being written (`--follow`). Each line is
// checked when it comes and its task added at once; the first wrong line ends the taking in.
//
// A pipe ends with its writers. A regular file ends at the line of `--follow-until`: until then it
// is polled, because a network file system reports no change. It must only grow: a file that was
// truncated, removed or replaced is an error. That last line may lack its newline, and then counts
// once the file has not grown for a second.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "format/joblist/reader.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "plan/task_list.h"

namespace spate::run {

class ListFollower {
 public:
  struct Sink {
    // Tasks that were added, in order: their rows and what they need.
    std::function<void(std::vector<std::string> rows, std::vector<Needs> needs)> add;
    std::function<void()> end;                // no more come
    std::function<void(const Error&)> wrong;  // a line, or a file that cannot be followed
    std::function<Status(const std::string& file, std::string_view beginning)> check;
    std::function<std::string(const std::string& file, std::string_view command)> why_script;
    std::function<bool()> full;                          // wait before taking in more
    std::function<std::string(const Needs&)> why_never;  // it can never run here; empty: it can
  };
  // Reads `files` ("-" is standard input) one after the other, each up to the line `until` (empty:
  // to its end). All references outlive it.
  ListFollower(os::RealLoop& loop, std::vector<std::string> files, std::string until,
               const Needs& defaults, const cli::LoadContext& context, Sink sink);
  ~ListFollower();
  ListFollower(const ListFollower&) = delete;
  ListFollower& operator=(const ListFollower&) = delete;

 private:
  void OpenNext();
  void Read();
  void AddRows(bool at_end);
  void Stop();
  void AwaitGrowth();
  // How the file was changed other than by growing; empty: it was not.
  std::string WhatHappened();
  std::string WhyWrong(const format::ListLine& line) const;

  os::RealLoop& loop_;
  const std::vector<std::string> files_;
  const std::string until_;
  const Needs defaults_;
  const cli::LoadContext context_;
  const Sink sink_;
  size_t next_file_ = 0;
  std::string name_;
  os::Fd file_;
  int fd_ = -1;
  format::JobListReader reader_;
  bool grows_ = false;  // it is a regular file, last seen as known_
  os::FileInfo known_;
  Instant grown_;  // when something was read last
  os::TimerId timer_ = 0;
  bool begins_ = true;  // nothing of the file was read
};

}  // namespace spate::run
