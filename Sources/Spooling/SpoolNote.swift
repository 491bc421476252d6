extension SpoolSet {
    /// The name of the note beside the spools' files, and of the one that is being written.
    static let noteName = "collectors.note"
    private static let newNoteName = noteName + SpoolName.temporarySuffix

    /// The caller's bytes beside the spools; nil without any.
    package func readNote(limitBytes: Int) throws(SpoolError) -> [UInt8]? {
        guard try storage.names().contains(Self.noteName) else { return nil }
        return try storage.read(Self.noteName, at: 0, limit: limitBytes)
    }

    /// Deletes them.
    package func removeNote() throws(SpoolError) { try storage.delete(Self.noteName) }

    /// Replaces them atomically and durably. Blocks.
    package func writeNote(_ bytes: [UInt8]) throws(SpoolError) {
        try storage.delete(Self.newNoteName)
        try bytes.withBytes { bytes throws(SpoolError) in
            try storage.append([bytes], to: Self.newNoteName, at: 0)
        }
        try storage.synchronize([Self.newNoteName])
        try storage.rename(Self.newNoteName, to: Self.noteName)
        try storage.synchronize([])
    }
}
