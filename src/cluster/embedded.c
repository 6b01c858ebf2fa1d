/* embedded.c - */
