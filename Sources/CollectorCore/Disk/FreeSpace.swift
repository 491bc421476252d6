import Archive
import Media

/// Keeps part of the disk free: media is never written into it.
///
/// The small writes that complete files are permitted: indexes, ledgers, descriptions.
struct FreeSpace: Sendable {
    /// Default minimum free space on a disk of this size: 1 GB, or 5 % of a small disk.
    static func defaultReserve(ofDiskWith sizeBytes: UInt64) -> UInt64 {
        min(1_000_000_000, sizeBytes / 20)
    }

    /// Minimum free space; nil: the default for the disk.
    private let reserveBytes: @Sendable () -> UInt64?
    private let directory: String
    private let measure: @Sendable (String) throws(ArchiveError) -> (free: UInt64, of: UInt64)
    /// Bytes that may be written before the disk is queried again.
    private var creditBytes: UInt64 = 0

    /// - Parameters:
    ///   - reserveBytes: called each time the disk is queried.
    ///   - directory: a directory on the disk.
    ///   - measure: the disk's free bytes, and its size.
    init(
        reserveBytes: @escaping @autoclosure @Sendable () -> UInt64?, directory: String,
        measure: @escaping @Sendable (String) throws(ArchiveError) -> (free: UInt64, of: UInt64) =
            FileSystem.freeBytes
    ) {
        self.reserveBytes = reserveBytes
        self.directory = directory
        self.measure = measure
    }

    /// Other programs may have written or removed files: the disk is queried before the next claim.
    mutating func forget() { creditBytes = 0 }

    /// Why media cannot be written, in a few words; nil: it can, or this is unknown.
    func trouble() -> String? {
        do throws(ArchiveError) {
            let (free, size) = try measure(directory)
            let reserve = reserveBytes() ?? Self.defaultReserve(ofDiskWith: size)
            guard free <= reserve else { return nil }
            return
                "the disk is full: \(byteText(free)) free, \(byteText(reserve)) reserved (--reserve)"
        } catch {
            return error.description
        }
    }

    /// Permits a write of this many bytes to `path`, or throws the reason why not.
    mutating func claim(_ bytes: Int, for path: String) throws(ArchiveError) {
        if creditBytes < UInt64(bytes) {
            let (free, size) = try measure(directory)
            let reserve = reserveBytes() ?? Self.defaultReserve(ofDiskWith: size)
            creditBytes = free > reserve ? free - reserve : 0
            guard creditBytes >= UInt64(bytes) else {
                throw .noRoom(path: path, freeBytes: free, reserveBytes: reserve)
            }
        }
        creditBytes -= UInt64(bytes)
    }
}
