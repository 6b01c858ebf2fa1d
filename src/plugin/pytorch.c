/* pytorch.c - */
