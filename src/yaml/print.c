/* print.c - */
