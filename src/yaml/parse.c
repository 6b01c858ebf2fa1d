/* parse.c - */
