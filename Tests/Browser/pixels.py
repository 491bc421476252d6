"""Reads the test pattern's time codes back from the tiles of a page."""

# Reads the time code of the test pattern (Sources/Devices/TimeCode.swift) out of every tile: nanoseconds, or null.
READER = """
window.look = () => {
    const codes = {};
    window.lookCanvas ??= document.createElement('canvas');
    const context = window.lookCanvas.getContext('2d', { willReadFrequently: true });
    for (const tile of document.querySelectorAll('[data-source]')) {
        const width = tile.videoWidth ?? tile.width, height = tile.videoHeight ?? tile.height;
        codes[tile.dataset.source] = null;
        if (!width || !height) continue;
        const band = Math.floor(height / 8);
        if (window.lookCanvas.width !== width) window.lookCanvas.width = width;
        if (window.lookCanvas.height !== band) window.lookCanvas.height = band;
        context.drawImage(tile, 0, 0, width, band, 0, 0, width, band);
        const pixels = context.getImageData(0, 0, width, band).data;
        const bytes = new Array(10).fill(0);
        for (let bit = 0; bit < 80; bit += 1) {
            const x = Math.floor(((bit % 40) + 0.5) * width / 40), y = Math.floor((Math.floor(bit / 40) + 0.5) * band / 2);
            if (pixels[(y * width + x) * 4 + 1] >= 128) bytes[bit >> 3] |= 0x80 >> (bit % 8);
        }
        let sum = 0, time = 0n;
        for (const byte of bytes.slice(1, 9)) {
            time = time << 8n | BigInt(byte);
            sum ^= byte;
            for (let i = 0; i < 8; i += 1) sum = sum & 0x80 ? (sum << 1 ^ 7) & 255 : sum << 1 & 255;
        }
        if (bytes[0] === 0xaa && sum === bytes[9]) codes[tile.dataset.source] = Number(time) / 1e9;
    }
    return codes;
};
"""


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] if values else float("nan")
