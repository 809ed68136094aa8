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
// file system is what an opener has seen, and is believed for a while. Everything else is *served*:
// it may be on a file server, and this process makes no call on it. It does not enter a served
// folder (openers and programs do), and does not execute a served program (Program::folder, aside).
//
// A file server is asked once more when a file is closed, as what was written is sent then. So
// served files are closed by another child, the closer.
//
// Both are children of this process, so they are killed with the attempt's other processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "os/fd.h"

namespace spate::shepherd {

class UserFiles {
 public:
  // `spool_folder` is ours, for the copies of OpenWhole.
  explicit UserFiles(std::string spool_folder = {});
  ~UserFiles();
  UserFiles(const UserFiles&) = delete;
  UserFiles& operator=(const UserFiles&) = delete;

  // ---- Calls on a user's paths. They may fail with EAGAIN, see above.

  // Like open(2), close-on-exec and without becoming a terminal's process. `as` says what the file
  // is for ("stdin"). With `make_folders` a file that is created gets the folders it needs.
  os::Fd Open(const char* path, int flags, std::string_view as, bool make_folders = false);
  // For reading a whole file; does not wait for a pipe's other end. Of a served file it is a copy
  // with the same rights and size, which has no content when that is over `most` bytes (0: never).
  os::Fd OpenWhole(const char* path, uint64_t most);
  // Like chdir(2), but a served folder is entered by openers only. 0, or an errno.
  int Enter(const char* folder);
  // Like unlink(2), one after the other; the last errno, or 0.
  int Unlink(const std::vector<std::string>& paths);
  // Returns the answer of `ask`, which reports whether all of it is on this machine's disks, unless
  // `is_local` is null; then it is called at once for this `key` for a while, unless that is empty.
  // `what` is what it may wait for. Nullopt stands for EAGAIN.
  using Question = std::function<std::string(bool* is_local)>;
  std::optional<std::string> Evaluate(std::string_view key, std::string_view what,
                                      const Question& ask);
  // Looks where a program (with its interpreter) or a folder is. 0, or EAGAIN; whether it can be
  // used is for others to say.
  int TouchProgram(const std::string& program);
  int TouchFolder(const std::string& folder);
  // True if executing this program may block.
  bool IsServedProgram(const std::string& program);
  // The attempt's folder, when this process has not entered it; else null.
  const char* served_folder() const { return is_served_ ? folder_.c_str() : nullptr; }
  // True if stat(2), or open(2) without waiting for a pipe's other end, is known to answer here.
  bool Answers(const char* path) const;
  // This process has entered a folder of the node's, which is on a disk of this machine.
  void Entered(const std::string& folder);
  // Begins a fresh attempt: it is in no folder of the user's yet.
  void Begin();

  // ---- Closing what Open has returned

  // Appends it, but not to a pipe or terminal that takes nothing now. To a served file: before it
  // is closed.
  void Write(int fd, std::string_view text);
  // At once, or, a served file, by the next closer.
  void Close(os::Fd fd);
  // The same file by a number that is not below `lowest`. Not valid: errno says why.
  os::Fd Raise(os::Fd fd, int lowest);
  bool HasToClose() const { return !closing_.empty(); }
  // Forks a closer for these. 0, or an errno: it is a shortage. Ended() says when it is through;
  // one that was killed leaves files open.
  int StartClosing();
  bool is_closing() const { return is_closer_; }
  // Closes all, within `patience` nanoseconds. False: some are open.
  bool CloseAll(int64_t patience);

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
  std::string DrainTrouble();
  // The reason of its wait: "still waiting to open 'f' as stdin: ...". Empty: unknown. Also of
  // a closer.
  const std::string& waits_for() const { return waits_for_; }
  pid_t pid() const { return pid_; }  // 0: there is none, or it was reaped
  // This child of ours was the opener or closer; it has been reaped.
  bool Ended(pid_t pid);
  // Kills the opener or closer, which somebody reaps later, and forgets answers.
  void Drop();
  // The same, and waits up to `patience` nanoseconds until it is dead. False: it is not.
  bool End(int64_t patience);
  // True if there is none, or it is dead within `patience`.
  bool AwaitEnd(int64_t patience);
  // The calls are through: forgets answers that nobody asked for.
  void Forget();

 private:
  enum class Step : uint8_t {
    kBegin = 0,
    kOpen,
    kEnter,
    kUnlink,
    kAsk,
    kProgram,
    kFolder,
    kTrouble,
    kEnd
  };
  struct Answer {
    Step call;
    int error = 0;
    std::string key;   // path or question
    std::string text;  // of kAsk; of kBegin what it waits for; of kProgram its interpreter
    os::Fd fd;
    bool is_local = false;   // the folder of a file, else what `key` names
    bool is_served = false;  // the file of `fd`
  };
  struct Served {
    int fd;
    std::string path;
    std::string last_words;
  };
  struct Wait {
    bool is_local = false;
    int64_t until = 0;
  };

  bool in_opener() const { return home_ >= 0; }
  std::optional<Answer> Next(Step call, std::string_view key);
  void ForgetAnswers();
  // In the opener: what it is about to wait for; then it is in the attempt's folder.
  void ReportWait(const std::string& waits_for);
  void SendAnswer(const Answer& answer) const;
  [[noreturn]] void BeOpener(const std::function<void()>& calls, int socket, pid_t parent);
  [[noreturn]] void BeCloser(pid_t parent);
  bool ReadSome();
  bool AcceptAnswer();
  void Learn(const Answer& answer);
  void Learn(const std::string& key, bool is_local);
  void Reap();
  bool IsKnown(const std::string& key) const;
  bool IsLocal(const std::string& key) const;
  std::string FolderKey(std::string_view folder) const;
  std::string ProgramKey(const std::string& program) const;
  bool MayOpen(const char* path, int flags) const;
  os::Fd OpenBelow(const char* path, int flags) const;
  os::Fd CopyOf(int fd, uint64_t most) const;
  int Refuse();
  os::Fd TakeFd(Answer& answer);

  const std::string spool_folder_;
  std::string folder_;      // of the attempt, as far as it is known
  bool is_served_ = false;  // this process has not entered it
  std::unordered_map<std::string, Wait> places_;
  std::vector<Served> served_;   // files that are open
  std::vector<Served> closing_;  // and those that wait to be closed
  bool needs_opener_ = false;
  std::deque<Answer> answers_;
  std::string trouble_;
  std::string waits_for_;

  pid_t pid_ = 0;  // the opener's or closer's, until it is reaped
  bool is_closer_ = false;
  os::Fd socket_;
  std::string bytes_;  // came from it
  std::deque<os::Fd> fds_;
  int home_ = -1;  // the socket, in the opener
};

}  // namespace spate::shepherd
