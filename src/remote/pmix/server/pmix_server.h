// spate-pmix: the server of PMIx for the processes of one part of a gang, by the library libpmix. A
// program of its own, as that library needs plugins, which a static program cannot have.
#pragma once

namespace spate::remote {

// Serves by messages (remote/pmix/messages.h) on standard input and output, until the input ends.
// Returns the exit code.
int ServePmix();

}  // namespace spate::remote
