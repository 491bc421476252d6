import Files
import Glibc
import MP4

/// Applies the steps of an ``IndexReplacement`` to a file.
struct IndexEditor: ~Copyable {
    private let path: String
    private let descriptor: Int32

    init(path: String) throws(ArchiveError) {
        self.path = path
        try RecordingFile(reopening: path).separate()
        descriptor = try FileSystem.open(path, flags: O_RDWR)
    }

    deinit {
        close(descriptor)
    }

    func perform(_ steps: [FileStep]) throws(ArchiveError) {
        for step in steps {
            switch step {
            case .write(let bytes, let offset):
                try write(bytes, at: offset)
            case .resize(let size):
                guard ftruncate(descriptor, off_t(size)) == 0 else {
                    throw .system(operation: "resize", path: path, errno: errno)
                }
            case .synchronize:
                guard fdatasync(descriptor) == 0 else {
                    throw .system(operation: "synchronise", path: path, errno: errno)
                }
            case .check(let bytes, let offset):
                try check(bytes, at: offset)
            }
        }
    }

    private func write(_ bytes: [UInt8], at offset: Int64) throws(ArchiveError) {
        guard Descriptor.write(descriptor, bytes, at: offset) else {
            throw .system(operation: "write", path: path, errno: errno)
        }
    }

    private func check(_ bytes: [UInt8], at offset: Int64) throws(ArchiveError) {
        do throws(MP4Error) {
            let source = try DescriptorSource(descriptor: descriptor)
            guard try source.read(at: offset, count: bytes.count) == bytes else {
                throw .invalid(box: "moov", offset: offset, reason: "differs from what was written")
            }
        } catch {
            throw .malformed(path: path, reason: "the index does not read back: \(error)")
        }
    }
}
