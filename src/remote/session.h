// Session: one command that somebody has started from elsewhere, from its connection to its end.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "remote/frames.h"
#include "remote/ports.h"
#include "transport/tcp/stream.h"
#include "transport/tcp/tls.h"

namespace spate::remote {

struct SessionLimits {
  Duration start = Duration::Seconds(20);  // from the connection to the command
  Duration grace = Duration::Seconds(2);   // from SIGTERM to SIGKILL, when nobody uses it any more
  Duration silence;  // longest pause between signs of life of the other end; 0: any
};

class Session {
 public:
  struct Setting {
    // Takes the text of kStart as one more word; empty: there is only kStartWords.
    std::vector<std::string> shell;
    std::vector<std::string> environment;  // all of it
    // Called when the other end has proved who it is; false: it may not go on. May be null.
    std::function<bool()> admit = nullptr;
  };
  // `fd` is connected and does not block. `over` is called once, by the loop, when neither the
  // connection nor the command is there any more; it may destroy this. All outlive it.
  Session(os::RealLoop& loop, os::Fd fd, transport::Tls& tls, const Setting& setting,
          std::function<void()> over, const SessionLimits& limits = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The other end has proved that it is of the gang.
  bool is_proven() const { return proven_; }
  // Ends the session as if the connection had broken.
  void Abandon();
  // Ends it, and tells the other end why.
  void Dismiss(std::string_view why);

 private:
  void OnBytes(std::string_view bytes);
  bool OnFrame(const Frame& frame);  // false: not a frame that may come now
  bool StartText(std::string_view text);
  bool StartWordsAt(std::string_view body);
  void StartCommand(os::Child::Options options);
  void Beat();
  void Send(FrameType type, std::string_view body);
  bool OnPort(const Frame& frame);
  void OnOutput(int stream, std::string_view bytes);
  void OnEnded(int wait_status);
  void EndIfDone();

  os::RealLoop& loop_;
  const Setting& setting_;
  const SessionLimits limits_;
  std::function<void()> over_;
  std::unique_ptr<transport::Stream> stream_;  // null: it ended
  std::unique_ptr<os::Child> process_;         // null: not yet, or it ended
  std::unique_ptr<Ports> ports_;               // null: none was opened
  FrameReader reader_;
  size_t input_ = 0;  // bytes that the command has not yet taken
  bool proven_ = false;
  bool started_ = false;
  bool input_ended_ = false;
  os::TimerId timer_ = 0;
  os::TimerId beat_ = 0;
  Instant heard_;  // the last word of the other end
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::remote
