// Files of a node's attempts: a folder of its own for each, below one of
// the node (shepherd/task_folder.h), and the files that show a part of a gang where its gang is.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/model/attempt.h"
#include "core/model/body.h"
#include "core/model/gang.h"
#include "node/folder_remover.h"

namespace spate::node {

class TaskFolders {
 public:
  // Makes a folder with another name, and returns its path; null: there is no other.
  using Another = std::function<Result<std::string>()>;
  // `folder` is made when it is missing; empty: there are no folders, and files about gangs go to
  // `spool_folder`. `of_users`: tasks run as others, who must reach what is theirs.
  TaskFolders(os::Loop& loop, std::string folder, std::string spool_folder, bool of_users,
              Another another);

  // To be called before each attempt that uses the folder: it may be lost, and its name taken.
  // Everybody whose tasks run here reaches theirs in it; only shepherds make and remove any.
  Status Make();
  const std::string& folder() const { return folder_; }
  // Removes what an attempt may have left.
  void Remove(const AttemptRef& ref);
  // Removes what all attempts but these have left.
  void RemoveOthers(const std::set<AttemptRef>& used);

  // Writes down for a part where its gang is, and names the files in its environment: SPATE_HOSTS,
  // which Open MPI takes as a hostfile, and SPATE_MACHINES, which Hydra does. Where members start
  // commands for each other, also what they need for that (remote/ticket.h, remote/launchers.h);
  // only `user` can read the secret. `own` are the job's variables.
  Status TellHosts(const AttemptRef& ref, const GangPart& part, uint32_t user,
                   const std::vector<std::string>& own, TaskBody& body);
  void RemoveHosts(const AttemptRef& ref);

 private:
  Status TellRemotes(const AttemptRef& ref, const GangPart& part, uint32_t user,
                     const std::vector<std::string>& own, TaskBody& body);
  // The file with what `word` says about the gang of this attempt.
  std::string PathOf(const AttemptRef& ref, std::string_view word) const;

  FolderRemover remover_;
  std::string folder_;
  const std::string spool_folder_;
  const bool of_users_;
  const Another another_;
};

}  // namespace spate::node
