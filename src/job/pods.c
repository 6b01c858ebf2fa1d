/* pods.c - */
