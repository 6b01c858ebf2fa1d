/* ttl.c - */
