/* schema.c - */
