/* decide.c - */
