/// A directory of small append-only files, as a spool needs it: real, or simulated with its faults.
///
/// What was appended and not synchronised may be lost, cut or scrambled by a power cut; what was synchronised may not.
/// A storage has no other state than the files, so any thread may call it.
package protocol SpoolStorage: Sendable {
    /// Where it is, for messages.
    var path: String { get }

    /// The files' names, in no order.
    func names() throws(SpoolError) -> [String]

    /// Writes pieces at the end of a file, which is made if it is not there.
    /// - Parameter offset: the size that the file has, bytes.
    func append(
        _ pieces: [UnsafeRawBufferPointer], to name: String, at offset: Int
    ) throws(SpoolError)

    /// Up to `limit` bytes of a file.
    func read(_ name: String, at offset: Int, limit: Int) throws(SpoolError) -> [UInt8]

    func sizeBytes(of name: String) throws(SpoolError) -> Int

    /// Gives a file another name, in the place of a file that has it.
    func rename(_ name: String, to other: String) throws(SpoolError)

    func delete(_ name: String) throws(SpoolError)

    /// Makes files and the directory's names durable. Blocks; files that are gone are none of its business.
    func synchronize(_ names: [String]) throws(SpoolError)
}
