/* memory.c - */
