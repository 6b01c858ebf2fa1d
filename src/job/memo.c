/* memo.c - */
