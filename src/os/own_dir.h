// Where others may write, too: folders that a daemon relies on, sockets that may be believed, and
// the way to a file through a folder that is shared.
//
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace spate::os {

// Whether others may look into the folder.
enum class Others : uint8_t { kMayRead, kMayPass };

// Makes the folder, with its parents, when it is not there (0700). kPermission, with what to do: it
// is another user's, others may write to it (kMayPass: or read it), or it lies where another user
// could put something else in its place. Of folders above, root asks more: they are its own or
// nobody else may write to them; anybody else has to trust the owners of theirs. `option` is how
// people name another folder.
inline constexpr std::string_view kStateOption = "--state DIR";
Status MakeOwnDir(const std::string& path, Others others = Others::kMayRead,
                  std::string_view option = kStateOption);

// Of a folder that is there: who may not write to it cannot put something else in the place of what
// this process makes in it. kPermission, with what to do, by `option`. As above: root asks more.
Status CheckWay(const std::string& path, std::string_view option);

// Makes and opens the folder `relative` (no `..`; empty: `top` itself) below `top`. On the way a
// link is followed only if root or the caller's own user made it: kPermission.
Result<Fd> OpenDirBelow(const std::string& top, std::string_view relative);

// Opens the regular file `relative` below `top` to append to it; it and its folders are made when
// they are missing. On the way, and at its end, a link is followed as above.
enum class Devices : uint8_t { kRefuse, kAllow };
Result<Fd> OpenFileBelow(const std::string& top, std::string_view relative,
                         Devices devices = Devices::kRefuse);

// Of the connected end of the UNIX socket at `path`: whether it is the right one that listens
// there. Root and the caller's own user are; another user is when the way there says so: a folder
// of theirs to which nobody else may write, in folders of root, the caller or theirs. kPermission
// otherwise.
Status CheckListener(int fd, const std::string& path);

}  // namespace spate::os
