// Opens the files, folders and programs that a task names where a hang hurts that task alone.
//
// Any of these paths may block for ever: opening a named pipe waits for its other end, a file
// server may not answer. A call on a path that is known to answer is made at once. For the others
// this process forks a child, the opener: it makes the same calls in the same order and sends each
// answer home, with the descriptor. When the opener is through, the same code runs here again and
// is given these answers.
//
// So the code that opens things is written once, and runs up to three times:
//  1. Here: the first call that may block fails with EAGAIN, and needs_opener() is true.
//  2. In the opener (Start): each call is made, however long it takes.
//  3. Here, when Read() says that the opener is through: each call returns the opener's answer.
// The code must make the same calls in 2 and 3. Calls that follow the last answer are as in 1.
//
// "Known to answer" is a regular file in a folder on a disk of this machine. What lies on which
// file system is what an opener has seen, and is believed for a while. A folder or program on a
// file server that answered within the last second is used at once, too: then the parent of this
// process ends it should it hang (node/process_executor.h).
//
// The opener is a child of this process, so it is killed with the attempt's other processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "os/fd.h"

namespace spate::shepherd {

class UserFiles {
 public:
  UserFiles() = default;
  ~UserFiles();
  UserFiles(const UserFiles&) = delete;
  UserFiles& operator=(const UserFiles&) = delete;

  // ---- Calls on a user's paths. They may fail with EAGAIN, see above.

  // As open(2), close-on-exec and without becoming a terminal's process. `as` says what the file
  // is for ("stdin"). With `make_folders` a file that is created gets the folders it needs.
  os::Fd Open(const char* path, int flags, std::string_view as, bool make_folders = false);
  // As chdir(2), and as unlink(2): 0, or an errno.
  int Enter(const char* folder);
  int Unlink(const char* path);
  // What `ask` returns. It says whether all that it looked at lies on disks of this machine, unless
  // `is_local` is null; then it is called at once for this `key` for a while, unless that is empty.
  // `what` is what it may wait for. Nullopt stands for EAGAIN.
  using Question = std::function<std::string(bool* is_local)>;
  std::optional<std::string> Ask(std::string_view key, std::string_view what, const Question& ask);
  // Looks at a program or a folder, so that its file server has answered before it is used. 0, or
  // EAGAIN; whether it can be used is for others to say.
  int Touch(const std::string& program);
  int TouchFolder(const std::string& folder);
  // Whether stat(2), or open(2) without waiting for a pipe's other end, is known to answer here.
  bool Answers(const char* path) const;
  // This process has entered a folder of the node's, which is on a disk of this machine.
  void Entered(const std::string& folder);
  // Of a fresh attempt: it is in no folder of the user's yet.
  void Begin() { folder_.clear(); }

  // ---- The opener

  bool needs_opener() const { return needs_opener_; }
  // Forks an opener that runs `calls`. 0, or an errno: it is a shortage.
  int Start(const std::function<void()>& calls);
  // It has not sent all its answers.
  bool is_busy() const { return socket_.valid(); }
  // To be polled for reading; -1: there is none.
  int fd() const { return socket_.get(); }
  // Takes what it has sent. True when it is through, or was killed.
  bool Read();
  // Why it is not through although it has ended, once; else an empty text.
  std::string TakeTrouble();
  // What it waits for: "still waiting to open 'f' as stdin: ...". Empty: nothing is known.
  const std::string& waits_for() const { return waits_for_; }
  pid_t pid() const { return pid_; }  // 0: there is none, or it was reaped
  // This child of ours was the opener; it has been reaped.
  bool Ended(pid_t pid);
  // Kills the opener, which somebody reaps later, and forgets its answers.
  void Drop();
  // The same, and waits up to `patience` nanoseconds until it is dead. False: it is not.
  bool End(int64_t patience);
  // The calls are through: forgets answers that nobody asked for.
  void Forget();

 private:
  enum class Call : uint8_t { kBegin = 0, kOpen, kEnter, kUnlink, kAsk, kTouch, kEnd };
  struct Answer {
    Call call;
    int error = 0;
    std::string key;   // path or question
    std::string text;  // of kAsk; of kBegin what it waits for
    os::Fd fd;
  };
  struct Place {
    bool is_local = false;
    int64_t until = 0;
  };

  bool in_opener() const { return home_ >= 0; }
  std::optional<Answer> Next(Call call, std::string_view key);
  void Say(const std::string& waits_for) const;
  void Tell(const Answer& answer, bool is_local, int fd) const;
  [[noreturn]] void BeOpener(const std::function<void()>& calls, int socket, pid_t parent);
  bool ReadSome();
  bool TakeAnswer();
  void Reap();
  void Learn(const std::string& key, bool is_local);
  bool Knows(const std::string& key, bool lately_will_do) const;
  std::string FolderKey(std::string_view folder) const;
  bool MayOpen(const char* path, int flags) const;
  int Refuse();
  int TouchUnless(bool is_known, const std::string& path);

  std::string folder_;  // that this process is in, as far as it is known
  std::unordered_map<std::string, Place> places_;
  bool needs_opener_ = false;
  std::deque<Answer> answers_;
  std::string trouble_;
  std::string waits_for_;

  pid_t pid_ = 0;  // the opener's, until it is reaped
  os::Fd socket_;
  std::string bytes_;  // came from it
  std::deque<os::Fd> fds_;
  int home_ = -1;  // the socket, in the opener
};

}  // namespace spate::shepherd
