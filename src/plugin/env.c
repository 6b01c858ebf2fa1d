/* env.c - */
