/* types.c - */
