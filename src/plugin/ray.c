/* ray.c - */
