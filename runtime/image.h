/* SPDX-License-Identifier: MIT */
#ifndef SONDE_RUNTIME_IMAGE_H
#define SONDE_RUNTIME_IMAGE_H

/*
 * The runtime, an ELF shared object, as bytes of the launcher: page-aligned, read-only, from
 * sonde_runtime_image up to, not including, sonde_runtime_image_end.
 */
extern const unsigned char sonde_runtime_image[];
extern const unsigned char sonde_runtime_image_end[];

#endif
