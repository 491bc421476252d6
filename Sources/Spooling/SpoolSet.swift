/// A directory's spools, oldest first: the one that is being written, and those of earlier boots that have not been sent yet.
///
/// The files are the truth. What this value holds is read from them at every start: each file's header, and the newest file of
/// each spool whole. Records are read, and their checksums checked, when they are needed.
package struct SpoolSet<Storage: SpoolStorage>: Sendable {
    /// A file is closed at this size, or at a sixteenth of what all may have: room comes free in whole files.
    static var largestFileBytes: Int { 4 << 20 }
    static var smallestFileBytes: Int { 64 << 10 }
    /// A file is closed at this age while nothing piles up, so that it is deleted before the kernel writes it to the disk
    /// (`vm.dirty_expire_centisecs`, 30 s).
    static var promptFileNanoseconds: Int64 { 10_000_000_000 }

    /// A record to be written.
    package struct NewRecord {
        package var firstNumber: UInt64
        package var count: UInt32
        package var kind: UInt16
        /// Whether a reader may begin here after a loss.
        package var beginsGroup: Bool

        package init(firstNumber: UInt64, count: UInt32, kind: UInt16, beginsGroup: Bool) {
            self.firstNumber = firstNumber
            self.count = count
            self.kind = kind
            self.beginsGroup = beginsGroup
        }
    }

    package let storage: Storage
    /// What all files together should take, bytes. Whoever writes drops groups until it is so.
    package let limitBytes: Int
    package internal(set) var spools: [Spool] = []
    /// The newest spool of which there was a file at the start, readable or not: whoever ends in order leaves none, but for what
    /// is still to be sent.
    package internal(set) var newestGenerationFound: UInt32?
    /// What was found wrong at the start, in lines for people.
    package internal(set) var complaints: [String] = []
    private var unsynced: Set<String> = []
    /// Spools of which the directory says that they began, and not that they ended.
    var marks: Set<UInt32> = []
    private let fileBytes: Int

    /// Reads what is there.
    package init(storage: Storage, limitBytes: Int) throws(SpoolError) {
        self.storage = storage
        self.limitBytes = limitBytes
        fileBytes = min(Self.largestFileBytes, max(Self.smallestFileBytes, limitBytes / 16))
        try recover()
    }

    /// Bytes of all files.
    package var sizeBytes: Int { spools.reduce(0) { $0 + $1.sizeBytes } }

    /// The spool of a generation.
    package func spool(_ generation: UInt32) -> Spool? {
        spools.first { $0.generation == generation }
    }

    // MARK: Writing

    /// Begins a spool; its first file is made with its first record.
    /// - Parameters:
    ///   - identity: 16 bytes that no other spool has.
    ///   - origin: 16 bytes that say what the records are written under.
    ///   - firstNumber: of its first record: what came before was never here.
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

    /// Writes a record at a spool's end. It survives the process from here on, and a power cut once it is synchronised.
    /// - Parameters:
    ///   - body: the record's bytes, in pieces.
    ///   - preamble: what a reader must know who begins with this record; asked for when a file begins.
    ///   - staysShort: whether nothing piles up, so that files should be short-lived.
    ///   - now: the caller's clock, nanoseconds.
    package mutating func append(
        _ record: NewRecord, body: [UnsafeRawBufferPointer], to generation: UInt32,
        staysShort: Bool, now: Int64, preamble: () -> [UInt8]
    ) throws(SpoolError) {
        guard let index = spools.firstIndex(where: { $0.generation == generation }) else {
            preconditionFailure("records go to a spool that was begun")
        }
        precondition(record.firstNumber == spools[index].nextNumber, "numbers have no holes")
        let size = body.reduce(0) { $0 + $1.count }
        guard size <= SpoolFormat.maximumBodyBytes else {
            throw .recordTooLarge(sizeBytes: size)
        }
        if !marks.contains(generation) { try mark(generation) }
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
            // Nothing is ever written behind a record that may be half there.
            spools[index].activeSince = nil
            throw error
        }
        unsynced.insert(SpoolName.file(generation, file.number))
        if opens { spools[index].files.append(file) }
        let last = spools[index].files.count - 1
        spools[index].files[last].sizeBytes += start.count + size + padding.count
        spools[index].nextNumber = header.lastNumber + 1
        spools[index].files[last].numbers =
            file.numbers.lowerBound..<spools[index].nextNumber
    }

    /// Leaves a name that stays until the spool has ended: by it the next life knows after a power cut that there was this one, though
    /// nothing that it wrote since may have reached the disk.
    private mutating func mark(_ generation: UInt32) throws(SpoolError) {
        let name = SpoolName.mark(generation)
        try storage.delete(name)
        try name.utf8.map(\.self).withBytes { bytes throws(SpoolError) in
            try storage.append([bytes], to: name, at: 0)
        }
        marks.insert(generation)
        unsynced.insert(name)
        // Those of which nothing else is left have said what they had to say: somebody follows them.
        for mark in marks where mark != generation && spool(mark) == nil {
            try delete(SpoolName.mark(mark))
            marks.remove(mark)
        }
    }

    /// A file that begins with a record, and what stands in front of it.
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

    // MARK: Letting go

    /// Deletes the files whose records are all at or below `number`. The newest file stays, for it knows the numbers.
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
        // Where the newest file's place was taken by a substitute, that knows the numbers.
        spools[index].substitutes.removeAll {
            $0.numbers.upperBound <= number
                && !(spool.files.isEmpty && $0.numbers.upperBound + 1 == spool.nextNumber)
        }
        if spools[index].substitutes.isEmpty {
            try delete(SpoolName.substitutes(generation))
            spools[index].substituteBytes = 0
        }
    }

    /// Deletes a spool: everything in it is where it belongs.
    package mutating func remove(_ generation: UInt32) throws(SpoolError) {
        guard let index = spools.firstIndex(where: { $0.generation == generation }) else { return }
        for name in spools[index].fileNames { try delete(name) }
        if spools[index].substituteBytes > 0 { try delete(SpoolName.substitutes(generation)) }
        // A file and a mark may be half there, where the disk did not take them.
        if spools[index].nextFile > 0 {
            try delete(SpoolName.file(generation, spools[index].nextFile - 1))
        }
        try delete(SpoolName.mark(generation))
        marks.remove(generation)
        spools.remove(at: index)
    }

    /// Puts substitutes in the place of a group, durably, and deletes its files.
    /// - Parameters:
    ///   - substitutes: all that the spool has from now on, in their order.
    ///   - preamble: what a reader must know who begins behind them.
    package mutating func replace(
        _ group: Spool.Group, of generation: UInt32, with substitutes: [Spool.Substitute],
        preamble: [UInt8]
    ) throws(SpoolError) {
        guard let index = spools.firstIndex(where: { $0.generation == generation }) else {
            preconditionFailure("a group is of a spool that is there")
        }
        precondition(
            zip(substitutes, substitutes.dropFirst()).allSatisfy {
                $0.numbers.upperBound < $1.numbers.lowerBound
            }, "substitutes follow each other")
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

    /// Finds out whether files can be written, with a small one.
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

    /// Whether a power cut could take anything.
    package var hasUnsynced: Bool { !unsynced.isEmpty }

    /// Files to hand to the storage's `synchronize`, which may block; they count as synchronised from here on, so whoever takes them
    /// must say when it failed.
    package mutating func takeUnsynced() -> [String] {
        defer { unsynced.removeAll() }
        return unsynced.sorted()
    }
}
