/* podgroup.c - */
