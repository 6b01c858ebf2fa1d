/* pointer.c - */
