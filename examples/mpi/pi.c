/* pi.c - π as the integral of 4/(1+x²) from 0 to 1; every rank sums its share of the strips */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_RANKS = 1024 };

int main(int argc, char **argv)
{
    static char hosts[MAX_RANKS][MPI_MAX_PROCESSOR_NAME];
    static double shares[MAX_RANKS];
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    long strips = argc > 1 ? strtol(argv[1], NULL, 10) : 10000000;
    int rank, size, len;
    double share = 0, pi = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &len);
    if (size > MAX_RANKS || strips < 1) {
        fprintf(stderr, "pi: at most %d ranks, at least 1 strip\n", MAX_RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (long i = rank; i < strips; i += size) {
        double x = ((double)i + 0.5) / (double)strips;

        share += 4 / (1 + x * x) / (double)strips;
    }
    MPI_Gather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Gather(&share, 1, MPI_DOUBLE, shares, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Reduce(&share, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("rank %d of %d on %s: %.12f\n", i, size, hosts[i], shares[i]);
    if (rank == 0)
        printf("pi = %.12f\n", pi);
    MPI_Finalize();
    return 0;
}
