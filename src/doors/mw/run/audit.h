// Audit: the audit lines of one process, added to a file or to a standard stream.
//
// Thread: the loop's. Lines leave together, at the end of a turn of the loop.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "doors/mw/formats/audit_file.h"
#include "os/fd.h"
#include "os/loop.h"

namespace spate::mw {

class Audit {
 public:
  // `path` is empty for `otherwise`, a standard stream; then lines of single packets are left out.
  static Result<std::unique_ptr<Audit>> Open(os::Loop& loop, const std::string& path,
                                             int otherwise);
  ~Audit() { Flush(); }

  void Record(const audit::Event& event);
  // Reports an event that happens for each packet.
  void RecordOften(const audit::Event& event) {
    if (fd_) Record(event);
  }
  // True if RecordOften reports anything.
  bool often() const { return static_cast<bool>(fd_); }
  void Flush();

 private:
  Audit(os::Loop& loop, int otherwise) : loop_(loop), otherwise_(otherwise) {}

  os::Loop& loop_;
  const int otherwise_;
  os::Fd fd_;
  std::string path_;
  std::string lines_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::mw
