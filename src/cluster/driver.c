/* driver.c - */
