/* mpi_hello_world.c - one line per rank: who it is, and where; for run_frameworks.py */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int rank, size, len;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &len);
    printf("Hello world from processor %s, rank %d out of %d processors\n", host, rank, size);
    MPI_Finalize();
    return 0;
}
