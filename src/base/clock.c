/* clock.c - */
