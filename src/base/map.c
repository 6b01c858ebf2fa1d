/* map.c - */
