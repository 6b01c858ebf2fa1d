/* strategic.c - */
