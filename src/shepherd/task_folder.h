// The folder of its own that an attempt has when files go to or come from it (--put, --get): made
// afresh, filled, removed again. It lies in a folder where nobody but the node makes or replaces
// anything. What is a user's is touched with their rights (as_user.h), what is the node's with
// ours; each function says whose it wants.
//
// Functions return why they failed, or an empty text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/attempt.h"
#include "os/fd.h"
#include "shepherd/pack.h"
#include "shepherd/protocol.h"
#include "shepherd/pulse.h"
#include "shepherd/user_files.h"

namespace spate::shepherd {

// Its name below the node's folder of such folders.
std::string TaskFolderName(const AttemptRef& ref);

class TaskFolder {
 public:
  explicit TaskFolder(Pulse pulse = Pulse()) : pulse_(pulse) {}

  // Before an attempt. `folders` is empty when it needs none.
  void Begin(const std::string& folders, const AttemptRef& ref);
  bool is_wanted() const { return !path_.empty(); }
  bool exists() const { return exists_; }
  // Make failed because the node's folder is lost, which is not the task's fault.
  bool is_lost() const { return lost_; }
  const std::string& path() const { return path_; }

  // Ours. Opens what is to come, and makes the folder, which is `owner`'s where there is one. When
  // it was made before, nothing is done.
  std::string Make(const std::optional<TaskUser>& owner,
                   const std::vector<StartView::PutView>& puts);
  // The user's. Enters the folder, and lays into it what Make has opened. When it was entered
  // before, nothing is done.
  std::string Enter(const std::vector<StartView::PutView>& puts);

  // The user's, in the folder, by way of `files`. The others are opened all the same.
  std::string OpenGets(const std::vector<const char*>& gets, UserFiles& files);
  // Ours: puts what was opened into the pack.
  std::string PutInto(Pack& pack);

  // Ours. Leaves and removes the folder, as far as that can be done.
  void Remove();

 private:
  std::string CopyTo(int from, const StartView::PutView& put) const;
  struct Get {
    os::Fd fd;
    std::string name;
    uint32_t mode = 0;
    uint64_t size = 0;
  };
  const Pulse pulse_;
  std::string folders_;
  std::string path_;
  AttemptRef ref_;
  bool exists_ = false;
  bool lost_ = false;
  bool entered_ = false;
  std::vector<os::Fd> puts_;
  std::vector<Get> gets_;
};

}  // namespace spate::shepherd
