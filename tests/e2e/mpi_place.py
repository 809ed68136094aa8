"""What the tests of MPI programs in gangs share: the libraries that are here, and a small program."""
import os
import shutil
import subprocess

from harness import want

# By library: its compiler, and its launcher as a user calls it.
LIBRARIES = {"openmpi": ("mpicc.openmpi", "mpirun.openmpi"), "mpich": ("mpicc.mpich", "mpiexec.mpich")}

# Hydra gives its processes the environment of the first node; the helper that has started them on
# theirs has that of the part.
SUM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const char* node(void) {
  static char text[1 << 20];
  char name[64];
  snprintf(name, sizeof(name), "/proc/%d/environ", (int)getppid());
  FILE* file = fopen(name, "r");
  size_t size = file == NULL ? 0 : fread(text, 1, sizeof(text) - 1, file);
  for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
    if (strncmp(text + at, "SPATE_NODE=", 11) == 0) return text + at + 11;
  }
  return "?";
}
int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d on %s: sum %d\n", rank, size, node(), sum);
  fflush(stdout);
  if (argc > 1 && strcmp(argv[1], "rounds") == 0) {  /* messages of two sizes, to all others */
    static char out[1 << 16], in[1 << 16];
    for (int round = 1; round < size; ++round) {
      int to = (rank + round) % size, from = (rank + size - round) % size;
      memset(out, rank, sizeof(out));
      for (int bytes = 8; bytes <= (int)sizeof(in); bytes = bytes == 8 ? (int)sizeof(in) : bytes + 1) {
        MPI_Sendrecv(out, bytes, MPI_CHAR, to, 0, in, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in[bytes - 1] != (char)from) return 9;
      }
    }
    MPI_Comm parts;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &parts);
    MPI_Comm_size(parts, &size);
    printf("%d beside each other\n", size);
    MPI_Comm_free(&parts);
  } else if (argc > 1 && strcmp(argv[1], "count") == 0) {  /* collectives until the file `finish` is there */
    int one = 1, all = 0, finish = 0;
    char text[64];
    snprintf(text, sizeof(text), "pid.%d", rank);
    FILE* file = fopen(text, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    for (int round = 1; !finish; ++round) {
      MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (all != size) return 9;
      if (rank == 0) {
        file = fopen("rounds", "w");
        fprintf(file, "%d\n", round);
        fclose(file);
        finish = access("finish", F_OK) == 0;
      }
      MPI_Bcast(&finish, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    printf("rank %d has finished\n", rank);
  } else if (argc > 1 && strcmp(argv[1], "abort") == 0) {
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    for (;;) pause();
  } else if (argc > 1 && strcmp(argv[1], "leave") == 0) {
    if (rank == 1) _exit(0);
  } else if (argc > 1) {  /* waits for its end, under a name that can be found */
    char name[4096];
    snprintf(name, sizeof(name), "%s.%s.%d", argv[1], node(), (int)getpid());
    fclose(fopen(name, "w"));
    for (;;) pause();
  }
  MPI_Finalize();
  return 0;
}
"""


def libraries():
    """Those that are installed here."""
    return [name for name, tools in LIBRARIES.items() if all(shutil.which(tool) for tool in tools)]


def build(place, library):
    """The path of the program, for this library."""
    source = os.path.join(place.dir, "sum.c")
    with open(source, "w") as out:
        out.write(SUM)
    program = os.path.join(place.dir, "sum." + library)
    done = subprocess.run([LIBRARIES[library][0], source, "-o", program], capture_output=True)
    want(done.returncode == 0, done.stderr.decode(errors="replace"))
    return program


def environment(env):
    """Tests may run as root, which Open MPI does not like, and on fewer cores than it wants."""
    return dict(env, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_hwloc_base_binding_policy="none")


def lines_of(nodes, procs):
    """What the program prints, sorted."""
    size = len(nodes) * procs
    total = size * (size - 1) // 2
    return sorted(f"rank {rank} of {size} on {nodes[rank // procs]}: sum {total}" for rank in range(size))
