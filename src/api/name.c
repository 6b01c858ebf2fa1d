/* name.c - */
