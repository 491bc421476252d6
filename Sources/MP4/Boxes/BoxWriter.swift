/// Serialises boxes in memory, big-endian (ISO/IEC 14496-12 §4.2).
struct BoxWriter {
    private(set) var bytes: [UInt8] = []
    /// Positions in ``bytes`` at which the caller will insert this many bytes; they count in the sizes of the enclosing
    /// boxes.
    private(set) var insertions: [(position: Int, count: Int)] = []

    init(reserving capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// A box with the content that `body` writes.
    mutating func box(_ type: FourCC, _ body: (inout BoxWriter) -> Void) {
        let start = begin(type)
        body(&self)
        end(start)
    }

    /// A full box: version and flags come first (§4.2.2).
    mutating func fullBox(
        _ type: FourCC, version: UInt8 = 0, flags: UInt32 = 0, _ body: (inout BoxWriter) -> Void
    ) {
        let start = begin(type)
        u32(UInt32(version) << 24 | flags)
        body(&self)
        end(start)
    }

    /// Opens a box; the result is for ``end(_:)``.
    mutating func begin(_ type: FourCC) -> Int {
        let start = bytes.count
        u32(0)
        u32(type.rawValue)
        return start
    }

    /// Closes the box that began at `start`, and sets its size.
    mutating func end(_ start: Int) {
        // Boxes written here are far below 4 GiB; the size of media is written elsewhere.
        let inserted = insertions.reduce(0) { $0 + ($1.position > start ? $1.count : 0) }
        patch(UInt32(bytes.count - start + inserted), at: start)
    }

    /// Reserves space for bytes that are inserted later.
    mutating func insertion(of count: Int) {
        insertions.append((bytes.count, count))
    }

    mutating func u8(_ value: UInt8) {
        bytes.append(value)
    }

    mutating func u16(_ value: UInt16) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func u32(_ value: UInt32) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func u64(_ value: UInt64) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func i32(_ value: Int32) {
        u32(UInt32(bitPattern: value))
    }

    mutating func i64(_ value: Int64) {
        u64(UInt64(bitPattern: value))
    }

    mutating func fourCC(_ value: FourCC) {
        u32(value.rawValue)
    }

    mutating func raw(_ value: [UInt8]) {
        bytes.append(contentsOf: value)
    }

    mutating func zeros(_ count: Int) {
        bytes.append(contentsOf: repeatElement(0, count: count))
    }

    /// Overwrites four earlier bytes.
    mutating func patch(_ value: UInt32, at position: Int) {
        withUnsafeBytes(of: value.bigEndian) {
            bytes.replaceSubrange(position..<position + 4, with: $0)
        }
    }
}
