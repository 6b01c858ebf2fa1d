/* cache.c - */
