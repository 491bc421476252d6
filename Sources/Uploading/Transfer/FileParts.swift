import Archive
import Files
import Hashing
import Glibc
import ObjectStore

/// A file that is read part by part: no more than a part is in memory at a time, whatever the file's size.
struct FileParts: ~Copyable {
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws(ArchiveError) {
        self.path = path
        descriptor = try FileSystem.open(path)
        // These reads do not keep pages in the page cache (since Linux 6.3); pages used by viewers stay.
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_NOREUSE)
    }

    deinit {
        close(descriptor)
    }

    /// Reads a range.
    /// - Parameter spare: bytes whose memory can be reused.
    /// - Throws: also when the file ends before the range does.
    func read(
        _ range: Range<Int64>, in spare: consuming ObjectBytes? = nil
    ) throws(ArchiveError) -> ObjectBytes {
        var failure: Int32?
        let bytes = ObjectBytes(count: range.count, in: spare) { memory in
            let count = Descriptor.read(
                descriptor, at: range.lowerBound,
                into: UnsafeMutableRawBufferPointer(rebasing: memory[..<range.count]))
            if count < 0 { failure = errno }
            return max(0, count)
        }
        if let failure { throw .system(operation: "read", path: path, errno: failure) }
        guard bytes.count == range.count else {
            throw .malformed(path: path, reason: "is shorter than it was")
        }
        return bytes
    }
}

extension FileParts {
    /// Reads a range of the file that had this size and time.
    static func read(
        _ range: Range<Int64>, of path: String, _ stamp: FileStamp,
        in spare: consuming ObjectBytes? = nil
    ) throws(UploadError) -> ObjectBytes {
        do throws(ArchiveError) {
            return try FileParts(path).read(range, in: spare)
        } catch {
            // Removed, or shortened, since its size was read.
            if FileStamp(path) != stamp { throw .changedMeanwhile }
            throw .archive(error)
        }
    }
}

extension UploadedPart {
    /// Whether the store has these bytes as this part: by its digest, or by an entity tag that is their MD5, as stores that
    /// tell no digests make it.
    func holds(_ bytes: ObjectBytes, digest: Digest) -> Bool {
        guard sizeBytes == Int64(bytes.count) else { return false }
        if let own = self.digest { return own.sha256 == digest.bytes }
        let md5 = ByteText.hexadecimal(bytes.hash(with: .md5))
        return tag.lowercased() == "\"\(md5)\""
    }
}

extension Digest {
    init(of bytes: ObjectBytes) { self = bytes.withUnsafeBytes { Digest(of: $0) } }
}

extension ObjectDigest {
    init(_ digest: Digest) { self.init(sha256: digest.bytes) }
}
