/* meta.c - */
