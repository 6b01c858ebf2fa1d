/* hosts.c - */
