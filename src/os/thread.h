// Threads of a program that is not ours.
#pragma once

#include <functional>
#include <thread>

namespace spate::os {

// A thread that takes no signals: they go to those of the program. `work` must not throw. Throws
// std::system_error when none can be started.
std::thread ThreadWithoutSignals(std::function<void()> work);

}  // namespace spate::os
