// Shims for the CRC-32C instructions of the processor (SSE4.2, ARMv8 CRC), which Swift cannot use. The implementation with a table
// is in Swift (`CRC32C.swift`).
#ifndef TRIBUTARY_CCHECKSUM_SHIM_H
#define TRIBUTARY_CCHECKSUM_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

static inline int CChecksum_has_crc32c(void) {
    return __builtin_cpu_supports("sse4.2") != 0;
}

// Continues a CRC-32C register (not inverted) over `count` bytes.
__attribute__((target("sse4.2"))) static inline uint32_t CChecksum_crc32c(
    uint32_t state, const void *bytes, size_t count) {
    const unsigned char *next = (const unsigned char *)bytes;
    uint64_t wide = state;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    state = (uint32_t)wide;
    for (; count > 0; count -= 1, next += 1) state = __builtin_ia32_crc32qi(state, *next);
    return state;
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

static inline int CChecksum_has_crc32c(void) {
    return (getauxval(AT_HWCAP) & (1UL << 7)) != 0;  // HWCAP_CRC32
}

__attribute__((target("crc"))) static inline uint32_t CChecksum_crc32c(
    uint32_t state, const void *bytes, size_t count) {
    const unsigned char *next = (const unsigned char *)bytes;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        state = __builtin_arm_crc32cd(state, word);
    }
    for (; count > 0; count -= 1, next += 1) state = __builtin_arm_crc32cb(state, *next);
    return state;
}

#else

static inline int CChecksum_has_crc32c(void) { return 0; }

static inline uint32_t CChecksum_crc32c(uint32_t state, const void *bytes, size_t count) {
    (void)bytes;
    (void)count;
    return state;
}

#endif
#endif
