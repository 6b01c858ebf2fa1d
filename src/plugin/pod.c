/* pod.c - */
