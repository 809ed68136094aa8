// The limit of the sizes of files (ulimit -f).
#pragma once

namespace spate::os {

// From now on a write beyond the limit fails with EFBIG in this process, so that it can be
// reported, instead of ending it by SIGXFSZ. Programs that this process starts as os/ and shepherd/
// do have the signal as usual.
void FailBeyondFileSize();
// This process has such a limit.
bool HasFileSizeLimit();

}  // namespace spate::os
