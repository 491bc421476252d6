import Media

/// `<source>/checkpoint`: summaries of a source's newest files, so that a restarted collector reads only data written since.
///
/// Written after the `fdatasync` of the described data, and never synchronised itself: it may be missing, old or torn after
/// a power cut. An old one is valid, because the durable part of a file only grows. A torn one is detected by its digest,
/// and one of another file by the digest of a `moof`; then the files are read completely.
///
/// Layout: `TRIBCKP1`, u32 size of the content, the content, SHA-256 of the content; what follows is of an earlier, longer
/// one. The content: u8 files, the oldest first, each: u8 size of the name, the name, ``SegmentSummary``.
package struct SourceCheckpoint: Hashable, Sendable {
    /// Maximum number of files: those that recovery reads, and those that are open.
    static let maximumFiles = 6
    private static let magic = Array("TRIBCKP1".utf8)
    /// A larger one was not written by this program.
    static let maximumBytes = 1 << 20

    private struct File: Hashable {
        var name: String
        var summary: SegmentSummary
    }

    private var files: [File] = []

    package init() {}

    package var isEmpty: Bool { files.isEmpty }

    /// The summary of the file with this name.
    package func summary(of name: String) -> SegmentSummary? {
        files.first { $0.name == name }?.summary
    }

    /// Keeps a summary, instead of an earlier one of the same file.
    package mutating func keep(_ summary: SegmentSummary, of name: String) {
        guard name.utf8.count <= UInt8.max else { return }
        files.removeAll { $0.name == name }
        guard summary.isStorable else { return }
        files.append(File(name: name, summary: summary))
        if files.count > Self.maximumFiles { files.removeFirst() }
    }

    func encoded() -> [UInt8] {
        var content = [UInt8(files.count)]
        for file in files {
            content.append(UInt8(file.name.utf8.count))
            content += Array(file.name.utf8)
            content += file.summary.encoded()
        }
        var bytes = Self.magic
        bytes.appendBigEndian(UInt32(content.count))
        return bytes + content + Digest(of: content).bytes
    }

    /// Nil: damaged, or of another version.
    init?(parsing bytes: [UInt8]) {
        do throws(MalformedRecord) {
            var reader = RecordReader(bytes, what: "a checkpoint")
            guard try reader.bytes(Self.magic.count) == Self.magic else { return nil }
            let size = Int(try reader.integer(UInt32.self))
            let content = try reader.bytes(size)
            guard try reader.digest() == Digest(of: content) else { return nil }
            var inner = RecordReader(content, what: "a checkpoint")
            for _ in 0..<(try inner.integer(UInt8.self)) {
                let count = Int(try inner.integer(UInt8.self))
                let name = String(decoding: try inner.bytes(count), as: UTF8.self)
                keep(try SegmentSummary(reading: &inner), of: name)
            }
            guard inner.isAtEnd else { return nil }
        } catch {
            return nil
        }
    }

    /// The checkpoint of a source; empty without a readable one.
    static func read(_ path: String) -> SourceCheckpoint {
        do throws(ArchiveError) {
            guard FileSystem.exists(path) else { return SourceCheckpoint() }
            let bytes = try FileSystem.read(path, limit: maximumBytes)
            return SourceCheckpoint(parsing: bytes) ?? SourceCheckpoint()
        } catch {
            // The files themselves are read.
            return SourceCheckpoint()
        }
    }

    /// Replaces the checkpoint of a source in place. Errors are ignored: without a checkpoint, the files are read.
    package func write(_ path: String, on disk: any Disk) {
        FileSystem.overwrite(path, with: encoded(), on: disk)
    }
}
