// RunEntrance: where other terminals reach a run of this machine, to watch it, to hold it, to let
// it go on and to end it (run/run_orders.h). A socket in the job's folder, which only its user
// enters.
//
// Lines of text, each ended by a newline. A peer is told how the job stands, at once and at each
// change (at most every 0.1 s); what it orders is answered once it is durable:
//
//   to the run     hold | release | cancel | cancel TASKS     TASKS as 12.3-9 (format/selector)
//   to who asks    news TOTAL QUEUED LEASED SUCCEEDED FAILED UNKNOWN CANCELLED RUNNING OPEN HELD
//                  done TEXT | no TEXT                        of the oldest order without an answer
//                  end CODE                                   the run's exit code, when it ends
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/model/job.h"
#include "os/fd.h"
#include "os/real_loop.h"

namespace spate::run {

// How a run stands.
struct RunNews {
  JobCounts counts;
  uint32_t running = 0;
  bool open = false;  // more tasks may come
  bool held = false;
  friend bool operator==(const RunNews&, const RunNews&) = default;
};
std::string FormatRunNews(const RunNews& news);  // a line, without its newline
std::optional<RunNews> ParseRunNews(std::string_view line);

class RunEntrance {
 public:
  struct Answer {
    bool done = false;
    std::string text;  // "job 12 is held"
  };
  struct Events {
    // Carries out an order (a line), and calls back once that is durable.
    std::function<void(std::string order, std::function<void(Answer)> answer)> on_order;
    std::function<RunNews()> news;
  };
  // kUnavailable and others: nobody can reach the run, which is no reason not to run.
  static Result<std::unique_ptr<RunEntrance>> Open(os::RealLoop& loop,
                                                   const std::string& job_folder, Events events);
  ~RunEntrance();  // tells the end, with the last exit code
  RunEntrance(const RunEntrance&) = delete;
  RunEntrance& operator=(const RunEntrance&) = delete;

  void SetExitCode(int code) { exit_code_ = code; }

 private:
  struct Guest {
    os::Fd fd;
    std::string in;
    std::string out;
    bool watches_write = false;
  };
  using Guests = std::list<std::shared_ptr<Guest>>;
  RunEntrance(os::RealLoop& loop, os::Fd listener, std::string path, Events events);
  void LetIn();
  // Tells news to those who are there.
  void Tell();
  void TellNowAndThen();
  void Hear(const std::shared_ptr<Guest>& guest);
  void Say(const std::shared_ptr<Guest>& guest, std::string_view line);
  void Flush(const std::shared_ptr<Guest>& guest);
  void Leave(const std::shared_ptr<Guest>& guest);

  os::RealLoop& loop_;
  os::Fd listener_;
  const std::string path_;
  const Events events_;
  Guests guests_;
  std::optional<RunNews> told_;
  os::TimerId timer_ = 0;  // while somebody is there
  int exit_code_ = 0;
};

// Where the run of a job listens. `folder` must be open as long as the address is used: a path may
// be longer than a socket's address.
struct RunAddress {
  os::Fd folder;
  std::string path;
};
Result<RunAddress> RunAddressOf(const std::string& job_folder);

}  // namespace spate::run
