/* patch.c - */
