// ParaState: what is kept of a batch besides the files that Parasol knows, in a folder below the
// user's state folder (docs/formats/parasol.md#state). Nothing of it lies in the batch's own
// folder: programs open, and remove, all that is there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/file.h"

namespace spate::parasol {

class ParaState {
 public:
  // Finds the state of the batch with these results, an absolute path. `root`: the folder of all of
  // the user's states. Makes and changes nothing.
  static ParaState Find(std::string root, std::string results);

  const std::string& results() const { return results_; }
  // By which the hub knows the batch: where its results were when it was made.
  const std::string& name() const { return name_; }

  // Makes the folder, or moves it here. Before anything is locked or written.
  Status Make();
  // Remembers the file `batch` that was written: it identifies a folder that was moved.
  Status Remember(const os::FileInfo& batch);
  // The batch was made: a folder that was moved away from here does not count as it any more.
  Status Claim();

  // Files; each may be missing.
  std::string Lock() const { return Path("lock"); }     // of who changes the batch
  std::string Marks() const { return Path("hub"); }     // how far `batch` knows the hub
  std::string Place() const { return Path("place"); }   // how far the results are written
  std::string Writer() const { return Path("write"); }  // locked by who writes results
  std::string Follower() const { return Path("follow"); }

 private:
  ParaState(std::string root, std::string results)
      : root_(std::move(root)), results_(std::move(results)), name_(results_) {}
  std::string Path(std::string_view what) const;
  std::string FindMoved() const;

  std::string root_, results_, name_;
  std::string dir_;
  std::string moved_from_;  // the folder of this batch in another place, until Make
};

}  // namespace spate::parasol
