/* duration.c - */
