import Archive
import CZlib
import Glibc
import Media

/// Writes a ZIP archive sequentially with stored files (PKWARE APPNOTE 6.3.10; method 0).
///
/// The checksum follows a file, because it is known after reading it (§4.3.9). Sizes are known before, and so is the archive's size
/// (``sizeBytes(of:)``). Sizes and offsets of 4 GiB and more are written as ZIP64 (§4.5.3).
struct ZipArchive {
    /// A file before it is written.
    struct Entry: Hashable, Sendable {
        /// ASCII, without folders.
        var name: String
        var sizeBytes: Int64
        /// UTC, because the format's own times have no zone.
        var modified: UTCTime
    }

    private struct Written {
        let entry: Entry
        let offset: Int64
        let checksum: UInt32
    }

    /// ISO/IEC 21320-1 and APPNOTE: the value that refers to the ZIP64 field.
    private static let large: Int64 = 0xFFFF_FFFF
    private static let largeCount = 0xFFFF
    private static let localHeaderBytes: Int64 = 30
    private static let centralHeaderBytes: Int64 = 46
    private static let endBytes: Int64 = 22
    /// The ZIP64 end record and its locator.
    private static let largeEndBytes: Int64 = 56 + 20

    private var written: [Written] = []
    private var open: (entry: Entry, offset: Int64)?
    private var position: Int64 = 0

    init() {}

    /// The size of an archive of these files.
    static func sizeBytes(of entries: [Entry]) -> Int64 {
        var (position, directory): (Int64, Int64) = (0, 0)
        for entry in entries {
            directory +=
                centralHeaderBytes + Int64(entry.name.utf8.count)
                + Int64(centralField(entry, offset: position).count)
            position +=
                localHeaderBytes + Int64(entry.name.utf8.count) + Int64(localField(entry).count)
                + entry.sizeBytes + Int64(descriptor(entry, checksum: 0).count)
        }
        let isLarge = isLarge(count: entries.count, directory: directory, at: position)
        return position + directory + (isLarge ? largeEndBytes : 0) + endBytes
    }

    /// Starts a file. The returned header is followed by the file's bytes and by ``end(checksum:)``.
    mutating func begin(_ entry: Entry) -> [UInt8] {
        precondition(open == nil, "a file is being written")
        open = (entry, position)
        let field = Self.localField(entry)
        var bytes = Bytes()
        bytes.add(0x0403_4B50 as UInt32)
        bytes.add(Self.version(isLarge: !field.isEmpty))
        Self.addCommon(entry, to: &bytes)
        // Checksum and sizes follow the file (§4.4.4, bit 3).
        bytes.add(0 as UInt32)
        let size: UInt32 = field.isEmpty ? 0 : 0xFFFF_FFFF
        bytes.add(size)
        bytes.add(size)
        bytes.add(UInt16(entry.name.utf8.count))
        bytes.add(UInt16(field.count))
        bytes.content += Array(entry.name.utf8) + field
        position += Int64(bytes.content.count) + entry.sizeBytes
        return bytes.content
    }

    /// Ends the file that was begun.
    /// - Parameter checksum: CRC-32 of its bytes (``Checksum``).
    mutating func end(checksum: UInt32) -> [UInt8] {
        guard let (entry, offset) = open else { preconditionFailure("no file was begun") }
        open = nil
        written.append(Written(entry: entry, offset: offset, checksum: checksum))
        let bytes = Self.descriptor(entry, checksum: checksum)
        position += Int64(bytes.count)
        return bytes
    }

    /// The directory, with which the archive ends.
    func directory() -> [UInt8] {
        precondition(open == nil, "a file is being written")
        var bytes = Bytes()
        for file in written {
            let (entry, field) = (file.entry, Self.centralField(file.entry, offset: file.offset))
            bytes.add(0x0201_4B50 as UInt32)
            // Made on Unix: the upper half of the external attributes is the mode.
            bytes.add(UInt16(3 << 8 | 45))
            bytes.add(Self.version(isLarge: !field.isEmpty))
            Self.addCommon(entry, to: &bytes)
            bytes.add(file.checksum)
            let size = UInt32(min(entry.sizeBytes, Self.large))
            bytes.add(size)
            bytes.add(size)
            bytes.add(UInt16(entry.name.utf8.count))
            bytes.add(UInt16(field.count))
            // No comment, the first disk, no text.
            for _ in 0..<3 { bytes.add(0 as UInt16) }
            bytes.add(UInt32(S_IFREG | 0o644) << 16)
            bytes.add(UInt32(min(file.offset, Self.large)))
            bytes.content += Array(entry.name.utf8) + field
        }
        let size = Int64(bytes.content.count)
        if Self.isLarge(count: written.count, directory: size, at: position) {
            addLargeEnd(size, to: &bytes)
        }
        bytes.add(0x0605_4B50 as UInt32)
        bytes.add(0 as UInt32)
        let count = UInt16(min(written.count, Self.largeCount))
        bytes.add(count)
        bytes.add(count)
        bytes.add(UInt32(min(size, Self.large)))
        bytes.add(UInt32(min(position, Self.large)))
        bytes.add(0 as UInt16)
        return bytes.content
    }

    /// Appends the ZIP64 end of central directory record and its locator (§4.3.14, §4.3.15).
    private func addLargeEnd(_ size: Int64, to bytes: inout Bytes) {
        bytes.add(0x0606_4B50 as UInt32)
        bytes.add(44 as UInt64)
        bytes.add(UInt16(3 << 8 | 45))
        bytes.add(45 as UInt16)
        bytes.add(0 as UInt64)
        bytes.add(UInt64(written.count))
        bytes.add(UInt64(written.count))
        bytes.add(UInt64(size))
        bytes.add(UInt64(position))
        bytes.add(0x0706_4B50 as UInt32)
        bytes.add(0 as UInt32)
        bytes.add(UInt64(position + size))
        bytes.add(1 as UInt32)
    }

    // MARK: Parts

    private static func isLarge(count: Int, directory: Int64, at position: Int64) -> Bool {
        count >= largeCount || directory >= large || position >= large
    }

    /// Version needed to extract: 4.5 for ZIP64, otherwise 2.0.
    private static func version(isLarge: Bool) -> UInt16 { isLarge ? 45 : 20 }

    /// Flags, method and time.
    private static func addCommon(_ entry: Entry, to bytes: inout Bytes) {
        bytes.add(0x0008 as UInt16)
        bytes.add(0 as UInt16)
        let (date, time) = dosTime(entry.modified)
        bytes.add(time)
        bytes.add(date)
    }

    /// A ZIP64 field without the sizes, which follow the file: it means that they have eight bytes there (§4.3.9.2).
    private static func localField(_ entry: Entry) -> [UInt8] {
        guard entry.sizeBytes >= large else { return [] }
        var bytes = Bytes()
        bytes.add(1 as UInt16)
        bytes.add(16 as UInt16)
        bytes.add(0 as UInt64)
        bytes.add(0 as UInt64)
        return bytes.content
    }

    /// The sizes and the offset that do not fit in the header, in this order.
    private static func centralField(_ entry: Entry, offset: Int64) -> [UInt8] {
        var values: [Int64] = []
        if entry.sizeBytes >= large { values += [entry.sizeBytes, entry.sizeBytes] }
        if offset >= large { values.append(offset) }
        guard !values.isEmpty else { return [] }
        var bytes = Bytes()
        bytes.add(1 as UInt16)
        bytes.add(UInt16(8 * values.count))
        for value in values { bytes.add(UInt64(value)) }
        return bytes.content
    }

    private static func descriptor(_ entry: Entry, checksum: UInt32) -> [UInt8] {
        var bytes = Bytes()
        bytes.add(0x0807_4B50 as UInt32)
        bytes.add(checksum)
        for _ in 0..<2 {
            if entry.sizeBytes >= large {
                bytes.add(UInt64(entry.sizeBytes))
            } else {
                bytes.add(UInt32(entry.sizeBytes))
            }
        }
        return bytes.content
    }

    /// Its resolution is two seconds, its range the years from 1980 to 2107.
    private static func dosTime(_ instant: UTCTime) -> (date: UInt16, time: UInt16) {
        let time = CivilTime(nanosecondsSince1970: instant.nanoseconds)
        let year = min(127, max(0, time.year - 1980))
        return (
            UInt16(year << 9 | time.month << 5 | time.day),
            UInt16(time.hour << 11 | time.minute << 5 | time.second / 2)
        )
    }

    /// Little-endian numbers.
    private struct Bytes {
        var content: [UInt8] = []

        mutating func add(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { content += $0 }
        }
    }
}

extension ZipArchive {
    /// Incremental CRC-32 (ISO/IEC 8802-3).
    struct Checksum: Sendable {
        private(set) var value: UInt32 = 0

        mutating func add(_ bytes: UnsafeRawBufferPointer) {
            guard let start = bytes.baseAddress else { return }
            value = UInt32(
                truncatingIfNeeded: crc32_z(
                    UInt(value), start.assumingMemoryBound(to: UInt8.self), bytes.count))
        }
    }
}
