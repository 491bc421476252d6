import Archive
import Media

/// Keeps a part of the disk free: media is never written into it.
///
/// What little makes files whole still is: indexes, ledgers, descriptions.
struct FreeSpace: Sendable {
    /// What has to stay free unless told otherwise, on a disk of this size: 1 GB, on small disks a twentieth.
    static func defaultReserve(ofDiskWith sizeBytes: UInt64) -> UInt64 {
        min(1_000_000_000, sizeBytes / 20)
    }

    /// What has to stay free; none: the default for the disk.
    private let reserveBytes: @Sendable () -> UInt64?
    private let directory: String
    private let measure: @Sendable (String) throws(ArchiveError) -> (free: UInt64, of: UInt64)
    /// What may be written before the disk is asked again.
    private var creditBytes: UInt64 = 0

    /// - Parameters:
    ///   - reserveBytes: asked again each time that the disk is.
    ///   - directory: on the disk that is meant.
    ///   - measure: what a disk has free, and its size.
    init(
        reserveBytes: @escaping @autoclosure @Sendable () -> UInt64?, directory: String,
        measure: @escaping @Sendable (String) throws(ArchiveError) -> (free: UInt64, of: UInt64) =
            FileSystem.freeBytes
    ) {
        self.reserveBytes = reserveBytes
        self.directory = directory
        self.measure = measure
    }

    /// Somebody else may have written, or removed, meanwhile: the disk is asked before the next claim.
    mutating func forget() { creditBytes = 0 }

    /// What keeps media from being written, in a few words; nil: nothing does, or nobody can say.
    func trouble() -> String? {
        do throws(ArchiveError) {
            let (free, size) = try measure(directory)
            let reserve = reserveBytes() ?? Self.defaultReserve(ofDiskWith: size)
            guard free <= reserve else { return nil }
            return
                "there is no room on the disk: \(byteText(free)) are free, and \(byteText(reserve)) stay so (--reserve)"
        } catch {
            return error.description
        }
    }

    /// Lets bytes be written to `path`, or says why not.
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
