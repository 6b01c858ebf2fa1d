/* wait.c - */
