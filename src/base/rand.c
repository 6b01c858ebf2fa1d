/* rand.c - */
