package import Archive
import Glibc
package import MP4

/// An open file of a store. Any thread may read it.
package protocol StoredFile: Sendable {
    /// Path or address, for messages.
    var path: String { get }

    /// Each read may need a network round trip: readers should seek by the index.
    var isDistant: Bool { get }

    /// Descriptor for sendfile(2); nil if the file is not on a local disk. Valid while the file is referenced.
    var localDescriptor: Int32? { get }

    /// Reason for the last failed read, if it has no errno.
    var failure: ArchiveError? { get }

    /// Whether a read has found that the file was replaced: another opening reads the new one.
    var isOutdated: Bool { get }

    /// Position in a merged session.
    var placement: FilePlacement { get }

    /// A presigned URL, valid without credentials until it expires; nil if the store has none.
    /// - Parameters:
    ///   - validSeconds: 1 to 604,800.
    ///   - contentType: of the response.
    func directAddress(validSeconds: Int, contentType: String) throws(ArchiveError) -> String?

    /// The current size; a recording grows.
    func sizeBytes() throws(ArchiveError) -> Int64

    /// Fills `buffer` with the bytes from `offset`. Blocks.
    /// - Returns: the number of bytes, which is less than wanted only at the end of the file.
    func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int

    /// Fills `buffer` with cached bytes from `offset`. Does not block.
    /// - Returns: the number of bytes. ``read(at:into:)`` reads the rest, and reports errors.
    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int
}

extension StoredFile {
    package var isDistant: Bool { false }
    package var localDescriptor: Int32? { nil }
    package var failure: ArchiveError? { nil }
    package var isOutdated: Bool { false }
    package var placement: FilePlacement { .asRecorded }

    package func directAddress(
        validSeconds: Int, contentType: String
    ) throws(ArchiveError) -> String? { nil }

    package func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        0
    }

    /// Reads exactly `count` bytes from `offset`.
    package func read(at offset: Int64, count: Int) throws(ArchiveError) -> [UInt8] {
        precondition(offset >= 0 && count >= 0)
        var failure: ArchiveError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(ArchiveError) {
                filled = try read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        guard bytes.count == count else {
            throw .malformed(path: path, reason: "ends at byte \(offset + Int64(bytes.count))")
        }
        return bytes
    }
}

/// A stored file with its size at one moment, for the parsers of ``MP4``.
package struct StoredBytes: ByteSource, Sendable {
    private let file: any StoredFile
    package let sizeBytes: Int64

    package init(_ file: any StoredFile) throws(ArchiveError) {
        self.file = file
        sizeBytes = try file.sizeBytes()
    }

    package func read(at offset: Int64, count: Int) throws(MP4Error) -> [UInt8] {
        precondition(offset >= 0 && count >= 0)
        var failure: ArchiveError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(ArchiveError) {
                filled = try file.read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                failure = error
            }
        }
        if let failure { throw .unreadable(offset: offset, errno: failure.code ?? EIO) }
        guard bytes.count == count else {
            throw .shortRead(offset: offset, wanted: count, got: bytes.count)
        }
        return bytes
    }
}
