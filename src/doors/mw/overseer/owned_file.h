// A resource file as it lies on disk, and whether the user who reads it may obey it.
#pragma once

#include <string>

#include "base/result.h"
#include "doors/mw/formats/resource_file.h"

namespace spate::mw {

// The file says which program runs as this user, so only this user's own files and root's are
// obeyed, and none that everybody may write: kPermission. kNotFound: it is not there (yet).
// kInvalid: it is no whole resource file of a master; "FILE:LINE: what is wrong and what to do".
Result<ResourceFile> ReadOwnedResourceFile(const std::string& path);

}  // namespace spate::mw
