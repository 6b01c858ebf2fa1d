/* tensorflow.c - */
