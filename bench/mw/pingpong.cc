// What MPI itself does with tasks of 40 bytes: `mpirun -n 3 mpi_pingpong TASKS GROUP AHEAD`. Rank 0
// sends messages of GROUP tasks, AHEAD of them at once to each other rank, which sends as many
// bytes back; each answer is checked. It is the limit of every master and its workers on this
// machine.
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kTaskBytes = 40;
constexpr int kTag = 1;
constexpr long kWarmUpPart = 10;  // a tenth, before the clock starts

// Answers leave while the next task is read: rank 0 never has more than `ahead` of them to take.
void Work(int bytes, int ahead) {
  const auto slots = static_cast<size_t>(ahead);
  std::vector<std::vector<char>> answers(slots, std::vector<char>(static_cast<size_t>(bytes)));
  std::vector<MPI_Request> requests(slots, MPI_REQUEST_NULL);
  for (size_t at = 0;; at = (at + 1) % slots) {
    MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    MPI_Status status;
    MPI_Recv(answers[at].data(), bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &status);
    int got = 0;
    MPI_Get_count(&status, MPI_BYTE, &got);
    if (got == 0) break;
    MPI_Isend(answers[at].data(), bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &requests[at]);
  }
  MPI_Waitall(ahead, requests.data(), MPI_STATUSES_IGNORE);
}

// Tasks in a second; negative: an answer was wrong.
double Give(long messages, int group, int bytes, int ahead, int workers) {
  std::vector<char> message(static_cast<size_t>(bytes), 'x');
  std::vector<std::vector<std::int64_t>> under_way(static_cast<size_t>(workers) + 1);
  std::int64_t sent = 0;
  auto send = [&](int worker) {
    std::memcpy(message.data(), &sent, sizeof sent);
    under_way[static_cast<size_t>(worker)].push_back(sent++);
    MPI_Send(message.data(), bytes, MPI_BYTE, worker, kTag, MPI_COMM_WORLD);
  };
  for (int i = 0; i < ahead; ++i) {
    for (int worker = 1; worker <= workers && sent < messages; ++worker) send(worker);
  }
  const long warm_up = messages / kWarmUpPart;
  std::chrono::steady_clock::time_point began;
  for (long back = 0; back < messages; ++back) {
    if (back == warm_up) began = std::chrono::steady_clock::now();
    MPI_Status status;
    MPI_Recv(message.data(), bytes, MPI_BYTE, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &status);
    std::int64_t id = -1;
    std::memcpy(&id, message.data(), sizeof id);
    auto& first = under_way[static_cast<size_t>(status.MPI_SOURCE)];
    if (first.empty() || first.front() != id) return -1;
    first.erase(first.begin());
    if (sent < messages) send(status.MPI_SOURCE);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  for (int worker = 1; worker <= workers; ++worker) {
    MPI_Send(nullptr, 0, MPI_BYTE, worker, kTag, MPI_COMM_WORLD);
  }
  return static_cast<double>((messages - warm_up) * group) / took.count();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || ranks < 2) {
    std::fprintf(stderr, "usage: mpirun -n 3 mpi_pingpong TASKS GROUP AHEAD\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const long tasks = std::atol(argv[1]);
  const int group = std::atoi(argv[2]), ahead = std::atoi(argv[3]);
  const int bytes = group * kTaskBytes;
  if (rank != 0) {
    Work(bytes, ahead);
  } else {
    const double rate = Give(tasks / group, group, bytes, ahead, ranks - 1);
    if (rate < 0) {
      std::fprintf(stderr, "an answer was wrong\n");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    std::printf("%ld tasks, %.0f tasks/s\n", tasks, rate);
  }
  MPI_Finalize();
  return 0;
}
