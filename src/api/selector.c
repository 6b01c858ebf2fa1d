/* selector.c - */
