/// The spools of a directory, oldest first: the one that is being written, and those of earlier boots that have not been sent
/// completely.
///
/// The files are authoritative. This value's state is read from them at every start: each file's header, and the complete newest
/// file of each spool. Records are read, and their checksums checked, when they are needed.
package struct SpoolSet: Sendable {
    /// A file is closed at this size, or at a sixteenth of the total limit: space is freed in whole files.
    static var largestFileBytes: Int { 4 << 20 }
    static var smallestFileBytes: Int { 64 << 10 }
    /// A file is closed at this age while there is no backlog, so that it is deleted before the kernel writes it to the disk
    /// (`vm.dirty_expire_centisecs`, 30 s).
    static var promptFileNanoseconds: Int64 { 10_000_000_000 }

    /// A record to write.
    package struct NewRecord {
        package var firstNumber: UInt64
        package var count: UInt32
        package var kind: UInt16
        /// Whether a reader may resume here after a loss.
        package var beginsGroup: Bool

        package init(firstNumber: UInt64, count: UInt32, kind: UInt16, beginsGroup: Bool) {
            self.firstNumber = firstNumber
            self.count = count
            self.kind = kind
            self.beginsGroup = beginsGroup
        }
    }

    package let storage: any SpoolStorage
    /// Maximum total size of the files, bytes. The writer drops groups until it is met.
    package let limitBytes: Int
    package internal(set) var spools: [Spool] = []
    /// The newest spool of which there was a file at the start, readable or not. After an orderly end there is none, unless
    /// records are still to be sent.
    package internal(set) var newestGenerationFound: UInt32?
    /// Errors found at the start, as log lines.
    package internal(set) var complaints: [String] = []
    private var unsynced: Set<String> = []
    /// Spools that have a mark of their beginning, and have not ended.
    var marks: Set<UInt32> = []
    private let fileBytes: Int

    /// Reads the directory.
    package init(storage: any SpoolStorage, limitBytes: Int) throws(SpoolError) {
        self.storage = storage
        self.limitBytes = limitBytes
        fileBytes = min(Self.largestFileBytes, max(Self.smallestFileBytes, limitBytes / 16))
        try recover()
    }

    /// An empty set in memory. Its files are the smallest, so that records that are released take no memory for long.
    package init(memoryLimitBytes: Int) {
        storage = MemoryStorage()
        limitBytes = memoryLimitBytes
        fileBytes = Self.smallestFileBytes
    }

    /// Total size of all files.
    package var sizeBytes: Int { spools.reduce(0) { $0 + $1.sizeBytes } }

    /// The spool with this generation.
    package func spool(_ generation: UInt32) -> Spool? {
        spools.first { $0.generation == generation }
    }

    /// Whether the spools' files are still there: another program may have removed them. Reads the directory.
    package var hasFiles: Bool {
        do throws(SpoolError) {
            let present = Set(try storage.names())
            return spools.allSatisfy { $0.fileNames.allSatisfy(present.contains) }
        } catch {
            return false
        }
    }

    // MARK: Writing

    /// Begins a spool; its first file is created with its first record.
    /// - Parameters:
    ///   - identity: 16 bytes that no other spool has.
    ///   - origin: 16 bytes that identify the context in which the records are written.
    ///   - firstNumber: the number of its first record: earlier numbers were never in it.
    /// - Returns: its generation.
    package mutating func begin(
        identity: [UInt8], origin: [UInt8], firstNumber: UInt64 = 1
    ) -> UInt32 {
        let generation = max(spools.last?.generation ?? 0, newestGenerationFound ?? 0) + 1
        var spool = Spool(generation: generation, identity: identity, origin: origin)
        spool.nextNumber = firstNumber
        spools.append(spool)
        return generation
    }

    /// Appends a record to a spool. From here on it survives the end of the process; once it is synchronised, also a power cut.
    /// - Parameters:
    ///   - body: the record's bytes, in pieces.
    ///   - preamble: the caller's data for readers that begin with this record; called when a file begins.
    ///   - staysShort: whether there is no backlog, so that files should be short-lived.
    ///   - now: the caller's clock, nanoseconds.
    package mutating func append(
        _ record: NewRecord, body: [UnsafeRawBufferPointer], to generation: UInt32,
        staysShort: Bool, now: Int64, preamble: () -> [UInt8]
    ) throws(SpoolError) {
        guard let index = spools.firstIndex(where: { $0.generation == generation }) else {
            preconditionFailure("records are appended to an existing spool")
        }
        precondition(record.firstNumber == spools[index].nextNumber, "numbers are consecutive")
        let size = body.reduce(0) { $0 + $1.count }
        guard size <= SpoolFormat.maximumBodyBytes else {
            throw .recordTooLarge(sizeBytes: size)
        }
        if !storage.isVolatile, !marks.contains(generation) { try mark(generation) }
        let opens = beginsFile(spools[index], record, staysShort: staysShort, now: now)
        let (file, beginning) =
            opens
            ? newFile(for: record, of: spools[index], preamble: preamble())
            : (spools[index].files[spools[index].files.count - 1], [])
        var checksum = CRC32C()
        for piece in body { checksum.update(piece) }
        let header = SpoolRecordHeader(
            bodyBytes: size, firstNumber: record.firstNumber, count: record.count,
            kind: record.kind, beginsGroup: record.beginsGroup, bodyChecksum: checksum.value)
        let start = beginning + header.encoded(salt: file.salt)
        let padding = [UInt8](
            repeating: 0, count: header.recordBytes - SpoolFormat.recordHeaderBytes - size)
        if opens {
            spools[index].nextFile += 1
            spools[index].activeSince = now
        }
        do throws(SpoolError) {
            try start.withBytes { start throws(SpoolError) in
                try padding.withBytes { padding throws(SpoolError) in
                    try storage.append(
                        [start] + body + [padding],
                        to: SpoolName.file(generation, file.number), at: file.sizeBytes)
                }
            }
        } catch {
            // No record is written after one that may be incomplete.
            spools[index].activeSince = nil
            throw error
        }
        if !storage.isVolatile { unsynced.insert(SpoolName.file(generation, file.number)) }
        if opens { spools[index].files.append(file) }
        let last = spools[index].files.count - 1
        spools[index].files[last].sizeBytes += start.count + size + padding.count
        spools[index].nextNumber = header.lastNumber + 1
        spools[index].files[last].numbers =
            file.numbers.lowerBound..<spools[index].nextNumber
    }

    /// Creates a mark file that exists until the spool has ended. After a power cut, the next run recognises by it that this
    /// spool existed, even if none of its records reached the disk.
    private mutating func mark(_ generation: UInt32) throws(SpoolError) {
        let name = SpoolName.mark(generation)
        try storage.delete(name)
        try name.utf8.map(\.self).withBytes { bytes throws(SpoolError) in
            try storage.append([bytes], to: name, at: 0)
        }
        marks.insert(generation)
        unsynced.insert(name)
        // Marks without any other file of their spool are no longer needed: later spools have replaced them.
        for mark in marks where mark != generation && spool(mark) == nil {
            try delete(SpoolName.mark(mark))
            marks.remove(mark)
        }
    }

    /// A file that begins with a record, and its header.
    private func newFile(
        for record: NewRecord, of spool: Spool, preamble: [UInt8]
    ) -> (Spool.File, beginning: [UInt8]) {
        let header = SpoolFileHeader(
            generation: spool.generation, file: spool.nextFile, identity: spool.identity,
            origin: spool.origin, firstNumber: record.firstNumber,
            beginsGroup: record.beginsGroup, preamble: preamble)
        let file = Spool.File(
            number: spool.nextFile, numbers: record.firstNumber..<record.firstNumber,
            sizeBytes: 0, beginsGroup: record.beginsGroup, salt: header.salt)
        return (file, header.encoded())
    }

    private func beginsFile(
        _ spool: Spool, _ record: NewRecord, staysShort: Bool, now: Int64
    ) -> Bool {
        guard let since = spool.activeSince, let file = spool.files.last else { return true }
        if file.sizeBytes >= 2 * fileBytes { return true }
        guard record.beginsGroup else { return false }
        return file.sizeBytes >= fileBytes
            || (staysShort && now - since >= Self.promptFileNanoseconds)
    }

    // MARK: Releasing

    /// Deletes the files whose records are all at or below `number`. The newest file is kept, because it contains the next
    /// number.
    package mutating func release(
        _ generation: UInt32, through number: UInt64
    ) throws(SpoolError) {
        guard let index = spools.firstIndex(where: { $0.generation == generation }) else { return }
        while let file = spools[index].files.first, spools[index].files.count > 1,
            file.numbers.upperBound <= number + 1
        {
            try delete(SpoolName.file(generation, file.number))
            spools[index].files.removeFirst()
        }
        let spool = spools[index]
        guard !spool.substitutes.isEmpty else { return }
        // Keeps the substitute with the newest number if no file follows it: numbering continues from it.
        spools[index].substitutes.removeAll {
            $0.numbers.upperBound <= number
                && !(spool.files.isEmpty && $0.numbers.upperBound + 1 == spool.nextNumber)
        }
        if spools[index].substitutes.isEmpty {
            try delete(SpoolName.substitutes(generation))
            spools[index].substituteBytes = 0
        }
    }

    /// Deletes a spool: all its records are at their destination.
    package mutating func remove(_ generation: UInt32) throws(SpoolError) {
        guard let index = spools.firstIndex(where: { $0.generation == generation }) else { return }
        for name in spools[index].fileNames { try delete(name) }
        if spools[index].substituteBytes > 0 { try delete(SpoolName.substitutes(generation)) }
        // Also deletes a file or mark whose writing failed.
        if spools[index].nextFile > 0 {
            try delete(SpoolName.file(generation, spools[index].nextFile - 1))
        }
        try delete(SpoolName.mark(generation))
        marks.remove(generation)
        spools.remove(at: index)
    }

    /// Replaces a group with substitutes, durably, and deletes its files.
    /// - Parameters:
    ///   - substitutes: all substitutes of the spool from now on, in order.
    ///   - preamble: the caller's data for readers that begin after them.
    package mutating func replace(
        _ group: Spool.Group, of generation: UInt32, with substitutes: [Spool.Substitute],
        preamble: [UInt8]
    ) throws(SpoolError) {
        guard let index = spools.firstIndex(where: { $0.generation == generation }) else {
            preconditionFailure("a group belongs to an existing spool")
        }
        precondition(
            zip(substitutes, substitutes.dropFirst()).allSatisfy {
                $0.numbers.upperBound < $1.numbers.lowerBound
            }, "substitutes are consecutive")
        try writeSubstitutes(substitutes, of: index, preamble: preamble)
        for file in spools[index].files[group.files] {
            try delete(SpoolName.file(generation, file.number))
        }
        if group.isNewest { spools[index].activeSince = nil }
        spools[index].files.removeSubrange(group.files)
    }

    private mutating func writeSubstitutes(
        _ substitutes: [Spool.Substitute], of index: Int, preamble: [UInt8]
    ) throws(SpoolError) {
        let spool = spools[index]
        let fileHeader = SpoolFileHeader(
            generation: spool.generation, file: .max, identity: spool.identity,
            origin: spool.origin, firstNumber: substitutes.first?.numbers.lowerBound ?? 0,
            beginsGroup: false, preamble: preamble)
        var bytes = fileHeader.encoded()
        let salt = fileHeader.salt
        for substitute in substitutes {
            let header = SpoolRecordHeader(
                bodyBytes: substitute.body.count, firstNumber: substitute.numbers.lowerBound,
                count: UInt32(clamping: substitute.numbers.count), kind: substitute.kind,
                beginsGroup: false,
                bodyChecksum: substitute.body.withUnsafeBytes { CRC32C.of($0) })
            bytes += header.encoded(salt: salt) + substitute.body
            bytes += [UInt8](repeating: 0, count: SpoolFormat.aligned(bytes.count) - bytes.count)
        }
        let name = SpoolName.substitutes(spool.generation)
        let temporary = name + SpoolName.temporarySuffix
        try storage.delete(temporary)
        try bytes.withBytes { bytes throws(SpoolError) in
            try storage.append([bytes], to: temporary, at: 0)
        }
        try storage.synchronize([temporary])
        try storage.rename(temporary, to: name)
        try storage.synchronize([])
        spools[index].substitutes = substitutes
        spools[index].substituteBytes = bytes.count
    }

    private mutating func delete(_ name: String) throws(SpoolError) {
        try storage.delete(name)
        unsynced.remove(name)
    }

    /// Checks whether files can be written, with a small file.
    package func checkWritable() throws(SpoolError) {
        let name = "check" + SpoolName.suffix + SpoolName.temporarySuffix
        try storage.delete(name)
        let bytes = [UInt8](repeating: 0, count: Self.smallestFileBytes)
        do throws(SpoolError) {
            try bytes.withBytes { bytes throws(SpoolError) in
                try storage.append([bytes], to: name, at: 0)
            }
        } catch {
            try storage.delete(name)
            throw error
        }
        try storage.delete(name)
    }

    // MARK: Synchronising

    /// Whether a power cut could lose anything.
    mutating func noteUnsynced(_ name: String) { unsynced.insert(name) }

    package var hasUnsynced: Bool { !unsynced.isEmpty }

    /// Returns the files to pass to the storage's `synchronize`, which may block. They count as synchronised from here on, so the
    /// caller must report a failure.
    package mutating func takeUnsynced() -> [String] {
        defer { unsynced.removeAll() }
        return unsynced.sorted()
    }
}
