/* watch.c - */
