/* problem.c - */
