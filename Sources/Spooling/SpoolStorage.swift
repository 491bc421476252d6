/// A directory of small append-only files for a spool: on a disk, in memory, or simulated with faults.
///
/// A power cut may lose, truncate or corrupt data that was appended and not synchronised, but not synchronised data. A storage
/// has no state other than the files and their ownership, so any thread may call it.
package protocol SpoolStorage: Sendable {
    /// Its path, for messages.
    var path: String { get }
    /// Whether the files are lost with the process. Nothing has to be synchronised then, and small files cost nothing.
    var isVolatile: Bool { get }

    /// The files' names, in any order.
    func names() throws(SpoolError) -> [String]

    /// Appends pieces to a file, which is created if it does not exist.
    /// - Parameter offset: the file's present size, bytes.
    func append(
        _ pieces: [UnsafeRawBufferPointer], to name: String, at offset: Int
    ) throws(SpoolError)

    /// Up to `limit` bytes of a file.
    func read(_ name: String, at offset: Int, limit: Int) throws(SpoolError) -> [UInt8]

    func sizeBytes(of name: String) throws(SpoolError) -> Int

    /// Renames a file; an existing file with that name is replaced.
    func rename(_ name: String, to other: String) throws(SpoolError)

    func delete(_ name: String) throws(SpoolError)

    /// Makes files and the directory's names durable. Blocks; deleted files are ignored.
    func synchronize(_ names: [String]) throws(SpoolError)

    /// Ends ownership of the files: another storage can open them. Nothing is written afterwards. Any number of calls.
    func close()
}

extension SpoolStorage {
    package var isVolatile: Bool { false }

    /// For files without an owner.
    package func close() {}
}
