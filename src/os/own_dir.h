// Safety where others may write, too: folders that a daemon relies on, sockets that may be
// believed, and the way to a file through a folder that is shared.
//
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"
#include "os/file.h"

namespace spate::os {

// Rights of other users: they may look into the folder, pass through it, or neither.
enum class Others : uint8_t { kMayRead, kMayPass, kStayOut };

// Makes the folder, with its parents, if it is missing (0700). kPermission, with what to do: it is
// another user's, others may write to it (kMayPass: or read it, kStayOut: or enter it), or another
// user could put something else in its place. For folders above, root is stricter: they are its own
// or nobody else may write to them. Other users have to trust the owners of theirs. `option` is the
// option that names another folder.
inline constexpr std::string_view kStateOption = "--state DIR";
Status MakeOwnDir(const std::string& path, Others others = Others::kMayRead,
                  std::string_view option = kStateOption);
// Opens an existing folder (O_PATH) after the same checks: the descriptor leads to the folder that
// was checked.
Result<Fd> OpenOwnDir(const std::string& path, Others others = Others::kMayRead,
                      std::string_view option = kStateOption);

// Checks an existing folder: users who may not write to it cannot replace what this process makes
// in it. kPermission, with what to do, by `option`. As above: root asks more.
Status CheckWay(const std::string& path, std::string_view option);

// Makes and opens the folder `relative` (no `..`; empty: `top` itself) below `top`. On the way a
// link is followed only if root or the caller's own user made it: kPermission.
enum class Missing : uint8_t { kFails, kMake };  // for a missing folder on the way
Result<Fd> OpenDirBelow(const std::string& top, std::string_view relative,
                        Missing missing = Missing::kMake);

// Opens a path that a user gave, with these flags of open(2) or for writing, as OpenWrite does.
// Links on the way and at its end are followed as above. After an error, errno has the reason.
Result<Fd> OpenNamed(const std::string& path, int flags, Missing missing = Missing::kFails);
Result<Fd> OpenNamed(const std::string& path, OpenHow how, Missing missing = Missing::kFails);

// Checks who listens at the UNIX socket `path`, by its connected end. Root and the caller's own
// user are right; another user is when the way there says so: a folder of theirs to which nobody
// else may write, in folders of root, the caller or theirs. kPermission otherwise.
Status CheckListener(int fd, const std::string& path);

}  // namespace spate::os
