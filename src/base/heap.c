/* heap.c - */
