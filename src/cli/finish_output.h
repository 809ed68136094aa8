// How a command ends that prints to standard output.
#pragma once

namespace spate::cli {

// Writes what waits for standard output. Returns the exit code that says whether all of it has
// arrived there; why it has not is reported, unless a reader went away. errno is to be of the last
// write, or 0.
int FinishOutput();

}  // namespace spate::cli
