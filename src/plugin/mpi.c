/* mpi.c - */
