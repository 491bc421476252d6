package import Archive
import Glibc
package import MP4

/// A file of a store, open for reading. Any thread may read.
package protocol StoredFile: Sendable {
    /// The file in messages: its path, or its address.
    var path: String { get }

    /// Whether each read may take the round trip of a network: who looks for something asks the index where it is.
    var isDistant: Bool { get }

    /// To let the kernel copy from it; nil: it is not on a local disk. Valid as long as the file is referred to.
    var localDescriptor: Int32? { get }

    /// Why the last read that failed has failed, where an errno cannot say it; nil: it can.
    var failure: ArchiveError? { get }

    /// How it is placed in a session of several archives.
    var placement: FilePlacement { get }

    /// An address from which everybody who has it can fetch the file, without passing this process, until it expires. Nil: there is none.
    /// - Parameters:
    ///   - validSeconds: 1 to 604,800.
    ///   - contentType: what the answer says that the file is.
    func directAddress(validSeconds: Int, contentType: String) throws(ArchiveError) -> String?

    /// Its size at this moment: a recording grows.
    func sizeBytes() throws(ArchiveError) -> Int64

    /// Fills `buffer` with the bytes from `offset` on.
    /// - Returns: how many there were: fewer than wanted only at the end of the file.
    func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int

    /// Fills `buffer` with the bytes from `offset` on, as far as that can be done without waiting for a disk or a network.
    /// - Returns: how many there were. The rest, and what is wrong, is for ``read(at:into:)``.
    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int
}

extension StoredFile {
    package var isDistant: Bool { false }
    package var localDescriptor: Int32? { nil }
    package var failure: ArchiveError? { nil }
    package var placement: FilePlacement { .asRecorded }

    package func directAddress(
        validSeconds: Int, contentType: String
    ) throws(ArchiveError) -> String? { nil }

    package func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        0
    }

    /// Exactly `count` bytes from `offset` on.
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

/// The bytes of a stored file as they were at one moment, for the parsers of ``MP4``.
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
