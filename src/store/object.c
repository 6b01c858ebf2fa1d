/* object.c - */
