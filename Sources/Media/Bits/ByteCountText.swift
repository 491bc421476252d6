/// Formats a byte count in the decimal units of disks and networks: `110 kB`, `1.5 GB`, `999 TB`.
package func byteText(_ bytes: some BinaryInteger) -> String {
    let bytes = Int64(clamping: bytes)
    let units: [(name: String, size: Int64)] = [
        ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000),
    ]
    guard let unit = units.first(where: { bytes >= $0.size }) else { return "\(bytes) B" }
    // Rounded to tenths; a value that rounds to a thousand keeps its unit.
    let tenths = bytes / (unit.size / 10) + (bytes % (unit.size / 10) >= unit.size / 20 ? 1 : 0)
    return tenths % 10 == 0
        ? "\(tenths / 10) \(unit.name)" : "\(tenths / 10).\(tenths % 10) \(unit.name)"
}
