package import Archive
import CLinux
import Files
import Glibc
package import Threads

/// A local directory of sessions, of an archive or any other.
package struct DirectoryStore: SegmentStore {
    /// The directory's path.
    package let name: String
    private let shutdown: Shutdown?

    /// - Parameter shutdown: reads fail once it has begun; nil: never.
    package init(_ directory: String, shutdown: Shutdown? = nil) {
        self.shutdown = shutdown
        name = NamedPath.resolved(
            directory.count > 1 && directory.hasSuffix("/")
                ? String(directory.dropLast()) : directory)
    }

    package init(_ layout: ArchiveLayout, shutdown: Shutdown? = nil) {
        self.init(layout.sessions, shutdown: shutdown)
    }

    package func path(_ file: StoredPath) -> String {
        file.text.isEmpty ? name : "\(name == "/" ? "" : name)/\(file)"
    }

    package func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry] {
        if folder == .sessions {
            // Sessions are only listed by name: accessing one may hang, because it may be on another file system.
            return try FileSystem.directoryNames(in: name).map {
                StoredEntry(name: $0, isFolder: true, sizeBytes: 0)
            }
        }
        var entries: [StoredEntry] = []
        try FileSystem.forEachEntry(in: path(folder)) { entry in
            // Names in archives are valid UTF-8.
            guard let name = String(validatingCString: entry.name) else { return }
            entries.append(
                StoredEntry(
                    name: name, isFolder: entry.isFolder,
                    sizeBytes: entry.sizeBytes, modifiedNanoseconds: entry.modifiedNanoseconds))
        }
        return entries.sorted { $0.name < $1.name }
    }

    package func state(of folder: StoredPath) throws(ArchiveError) -> UInt64? {
        // A sum is independent of the order of directory entries.
        var sum: UInt64 = 0
        try FileSystem.forEachEntry(in: path(folder)) { entry in
            var hasher = Hasher()
            hasher.combine(
                bytes: UnsafeRawBufferPointer(start: entry.name, count: strlen(entry.name)))
            hasher.combine(entry.inode)
            hasher.combine(entry.sizeBytes)
            hasher.combine(entry.modifiedNanoseconds)
            sum &+= UInt64(bitPattern: Int64(hasher.finalize()))
        }
        return sum
    }

    package func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile {
        try LocalFile(opening: path(file), shutdown: shutdown)
    }

    package func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError) {
        let path = path(file)
        try FileSystem.makeDirectories(Path.directory(of: path))
        try FileSystem.replace(path, with: bytes)
    }

    package func delete(_ file: StoredPath) throws(ArchiveError) {
        let path = path(file)
        guard FileSystem.exists(path) else { return }
        try FileSystem.remove(path, on: SystemDisk())
        let directory = Path.directory(of: path)
        try FileSystem.synchronizeDirectory(directory)
    }
}

/// A file on a local disk. The descriptor is closed with the last reference, so that a removed file can be read to its end.
package final class LocalFile: StoredFile {
    package let path: String
    private let descriptor: Int32
    private let shutdown: Shutdown?

    /// - Parameter shutdown: reads fail once it has begun; nil: never.
    package init(opening path: String, shutdown: Shutdown? = nil) throws(ArchiveError) {
        self.path = path
        self.shutdown = shutdown
        descriptor = try FileSystem.open(path)
    }

    deinit {
        close(descriptor)
    }

    package var localDescriptor: Int32? { descriptor }

    package func sizeBytes() throws(ArchiveError) -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .system(operation: "look at", path: path, errno: errno)
        }
        return Int64(status.st_size)
    }

    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int {
        if shutdown?.hasBegun == true {
            throw .system(operation: "read", path: path, errno: ECANCELED)
        }
        let count = Descriptor.read(descriptor, at: offset, into: buffer)
        guard count >= 0 else { throw .system(operation: "read", path: path, errno: errno) }
        return count
    }

    package func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let base = buffer.baseAddress, offset >= 0 else { return 0 }
        // A single attempt: the blocking read does the rest.
        return max(0, CLinux_read_cached(descriptor, base, buffer.count, off_t(offset)))
    }
}
