// Every limit of the product, in one place. Reaching one is an error with a clear message, never
// a growing queue.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace spate {

struct Limits {
  uint32_t tasks_per_job = 100'000'000;
  uint32_t edges_per_job = 20'000'000;             // among the tasks of a job
  uint32_t requests = 10'000;                      // distinct needs of a job's tasks
  uint32_t additions = 4096;                       // of which a job remembers the keys
  uint32_t slots = 4096;                           // attempts at once on one node
  uint32_t task_processes = 4'000'000;             // --max-processes
  uint32_t gang_procs = 1'000'000;                 // processes of a gang
  Duration room_patience = Duration::Seconds(10);  // in which nodes find room for a gang's parts
  Duration max_frozen = Duration::Seconds(7 * 24 * 3600);  // then a stopped task is ended
  uint32_t retries = 10'000;                               // --retries
  uint64_t shell_text_bytes = 131'071;  // one argument of execve (MAX_ARG_STRLEN - 1)
  uint64_t argv_bytes = 1'500'000;      // all arguments; execve takes 2 MB with the env
  // Half-life of users' past use; zero: only current use counts for their shares.
  Duration share_half_life = Duration::Seconds(4 * 3600);
  uint32_t lease_tasks = 256;  // tasks ahead of a node's slots
  Duration lease_ahead = Duration::Millis(40);
  // Nothing has ended on a node for so long: nothing more waits there, but where another has room.
  Duration lease_patience = Duration::Millis(200);
  // A task for which no node has room is passed by its user's smaller ones for so long; then room
  // is kept for it.
  Duration passed_for = Duration::Seconds(60);
  Duration node_patience = Duration::Seconds(60);  // silence after which a node is lost
  uint32_t node_losses = 5;    // a task present at so many fails with that reason
  uint32_t cut_offs = 3;       // by the ends of its nodes, then a task asks for more time
  uint32_t node_failures = 3;  // of a job in a row set a node aside
  // A task that a node may have failed waits so long for another one.
  Duration elsewhere_patience = Duration::Seconds(30);
  uint64_t output_backlog = 64u << 20;  // bytes waiting for the terminal before starts pause
  uint64_t file_bytes = 16u << 20;      // of one file that goes to or comes from a task
  uint64_t files_bytes = 64u << 20;     // of all files of a job's --put, of a task's --get
  uint32_t put_files = 4096;            // of a job
  uint32_t file_options = 256;          // --put, or --get, of a job
  uint32_t pools = 1000;                // of a hub
  uint32_t pilots = 10'000;             // of a pool, at once
  uint32_t pool_records = 10'000;       // in a hub's journal, until an image stands for them
  uint32_t words_bytes = 2000;          // of what a batch system or a pilot said, kept and shown
  uint64_t text_bytes = 2u << 20;       // of one word, variable or path
  uint64_t name_bytes = 1'024;          // of a node, a resource, a version
  uint64_t size = uint64_t{1} << 62;    // any count of bytes or of memory
  uint32_t list_errors = 20;            // problems of a job list that are printed
};
// The least Limits::share_half_life that is not zero.
inline constexpr Duration kLeastHalfLife = Duration::Seconds(60);
inline constexpr Limits kLimits;

}  // namespace spate
