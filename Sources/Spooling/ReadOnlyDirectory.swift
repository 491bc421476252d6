import Glibc

/// A read-only view of a spool's directory: it takes no lock and changes nothing, whatever errors are found.
///
/// The owner may continue to write; files that it deletes are gone for the reader, too.
package struct ReadOnlyDirectory: SpoolStorage {
    package var path: String { reading.path }
    private let reading: DirectoryReading

    /// - Throws: if the directory does not exist or cannot be read.
    package init(path: String) throws(SpoolError) {
        reading = DirectoryReading(path: path)
        _ = try names()
    }

    /// Whether a directory contains spool files.
    package static func holdsSpool(_ path: String) -> Bool {
        do throws(SpoolError) {
            return try ReadOnlyDirectory(path: path).names().contains { SpoolName($0) != nil }
        } catch {
            return false
        }
    }

    package func names() throws(SpoolError) -> [String] {
        try reading.names { SpoolName($0) != nil }
    }

    package func read(
        _ name: String, at offset: Int, limit: Int
    ) throws(SpoolError) -> [UInt8] {
        try reading.read(name, at: offset, limit: limit)
    }

    /// See ``SpoolSet/readNote(limitBytes:)``.
    package func readNote(limitBytes: Int) throws(SpoolError) -> [UInt8]? {
        let names = try reading.names { $0 == SpoolSet.noteName }
        return names.isEmpty ? nil : try read(SpoolSet.noteName, at: 0, limit: limitBytes)
    }

    package func sizeBytes(of name: String) throws(SpoolError) -> Int {
        try reading.sizeBytes(of: name)
    }

    package func append(
        _ pieces: [UnsafeRawBufferPointer], to name: String, at offset: Int
    ) throws(SpoolError) {
        throw .system(operation: "write", path: "\(path)/\(name)", errno: EROFS)
    }

    package func rename(_ name: String, to other: String) throws(SpoolError) {
        throw .system(operation: "rename", path: "\(path)/\(name)", errno: EROFS)
    }

    /// Ignored: a reader repairs nothing.
    package func delete(_ name: String) throws(SpoolError) {}

    package func synchronize(_ names: [String]) throws(SpoolError) {}
}
