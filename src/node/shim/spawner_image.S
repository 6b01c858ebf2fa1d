/* spawner_image.S - the spawner's program, carried in ours: see spawner_exec.c */
    .section .rodata
    .global spawner_image
    .global spawner_image_end
    .balign 16
spawner_image:
    .incbin "pumice-spawner"
spawner_image_end:
    .section .note.GNU-stack,"",@progbits
