/* jax.c - */
