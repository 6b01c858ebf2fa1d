/* quantity.c - */
