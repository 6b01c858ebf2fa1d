/* status.c - */
