package import Archive
package import Media

/// One source's recording: its files in order.
package struct RecordedSource: Sendable {
    /// A file that is not open.
    package struct File: Sendable {
        /// Path or address, for messages.
        package let path: String
        /// Start on the session's timeline, nanoseconds: from its name, to the millisecond.
        package let originNanoseconds: Int64
        /// Without the revision, which is in the file; nil for a loose file.
        package let key: SegmentKey?
        /// From the store's listing; nil for a loose file.
        package let entry: StoredEntry?
        private let open: @Sendable () throws(ArchiveError) -> any StoredFile

        /// A file on a local disk.
        package init(path: String, originNanoseconds: Int64) {
            self.path = path
            self.originNanoseconds = originNanoseconds
            key = nil
            entry = nil
            open = { () throws(ArchiveError) in try LocalFile(opening: path) }
        }

        /// - Parameter segment: its location, whose name may differ from its key's.
        init(
            _ key: SegmentKey, _ segment: StoredPath, entry: StoredEntry,
            in store: any SegmentStore, originNanoseconds: Int64
        ) {
            path = store.path(segment)
            self.key = key
            self.entry = entry
            self.originNanoseconds = originNanoseconds
            open = { () throws(ArchiveError) in try store.open(segment) }
        }

        /// Opens the file.
        package func opened() throws(ArchiveError) -> RecordedFile { try RecordedFile(open) }
    }

    package let name: String
    /// In the order of their origins.
    package let files: [File]
    private let zero: UTCTime
    /// Nil for loose files.
    private let segmentNanoseconds: Int64?
    /// What the session's description counts of its spools; nil: the session continues, or the files are loose.
    private let ends: [SessionManifest.SpoolEnd]?
    private let ledger: @Sendable () throws(ArchiveError) -> Ledger.Contents
    private let boxes:
        @Sendable (_ from: Int64?, _ until: Int64?) throws(ArchiveError) -> SimultaneousBoxes?

    /// Loose files.
    /// - Parameter ledger: path of their ledger; nil if there is none.
    init(name: String, files: [File], zero: UTCTime, ledger: String?) {
        self.name = name
        self.files = files
        self.zero = zero
        segmentNanoseconds = nil
        ends = nil
        self.ledger = { () throws(ArchiveError) in
            try ledger.map { path throws(ArchiveError) in try Ledger.read(path) }
                ?? .empty
        }
        boxes = { _, _ in nil }
    }

    /// A source of a store.
    /// - Parameter ends: what the description of a finished session counts of its spools; nil: the session continues.
    package init(
        _ source: SourceKey, in store: any SegmentStore, zero: UTCTime, segmentNanoseconds: Int64,
        ends: [SessionManifest.SpoolEnd]? = nil
    ) throws(ArchiveError) {
        name = source.source
        self.ends = ends
        files = try store.files(of: source).compactMap { entry in
            SegmentKey(source, fileName: entry.name).map { key in
                File(
                    key, .source(source) / entry.name, entry: entry, in: store,
                    originNanoseconds: key.origin.nanoseconds - zero.nanoseconds)
            }
        }
        self.zero = zero
        self.segmentNanoseconds = segmentNanoseconds
        ledger = { () throws(ArchiveError) in try store.ledger(of: source) }
        boxes = { from, until throws(ArchiveError) in
            guard let merged = store as? MergedStore else { return nil }
            return try merged.simultaneousBoxes(of: source, from: from, until: until)
        }
    }

    /// The first time in a range at which two of several archives have different boxes of the source's name; nil: never.
    /// - Parameters:
    ///   - from: session time, nanoseconds; nil: the beginning.
    ///   - until: exclusive; nil: the end.
    package func simultaneousBoxes(
        from: Int64?, until: Int64?
    ) throws(ArchiveError) -> SimultaneousBoxes? {
        try boxes(from, until)
    }

    /// The ledger's gaps in the order of its lines, then removed segments.
    package func gaps() throws(ArchiveError) -> [RecordedGap] {
        let lines = try ledger().entries
        let gaps = lines.compactMap(RecordedGap.init)
        if isWhole { return gaps + removed(lines) }
        // Gaps before the first of several loose files are left out.
        let first = files.first?.originNanoseconds ?? .min
        return gaps.filter { $0.startNanoseconds.map { $0 >= first } ?? true }
    }

    /// The ledger's lines about the times that a network camera states: of its pictures, or of its sound if it has no others.
    package func stated() throws(ArchiveError) -> [LedgerEntry] {
        let lines = try ledger().entries.filter { $0.kind == .stated }
        let pictures = lines.filter { $0.track == TrackKind.video.description }
        return pictures.isEmpty ? lines : pictures
    }

    /// The numbers of its records, as the session's description and the ledger state them.
    package struct ExpectedRecords: Sendable {
        /// The records that the session has of each spool; `first` is nil if it is unknown.
        package var ranges: [SpoolID: (first: UInt64?, last: UInt64)] = [:]
        /// Records that the ledger accounts for.
        package var explained: [SpoolID: SequenceSet] = [:]
    }

    /// - Returns: nil while the session continues, because records of a hole are still to come; and for loose files.
    package func expectedRecords() throws(ArchiveError) -> ExpectedRecords? {
        guard let ends else { return nil }
        var expected = ExpectedRecords()
        for line in try ledger().entries {
            guard let spool = line.spool.flatMap(SpoolID.init(hexadecimal:)) else { continue }
            for range in line.sequences where range.lowerBound > 0 {
                expected.explained[spool, default: SequenceSet()].insert(range)
            }
        }
        for end in ends {
            guard let spool = SpoolID(hexadecimal: end.spool) else { continue }
            let first = end.first.flatMap { $0 > 0 ? $0 : nil }
            expected.ranges[spool] = (first, end.sequences.watermark)
        }
        return expected
    }

    /// All ledger lines.
    func ledgerEntries() throws(ArchiveError) -> [LedgerEntry] { try ledger().entries }

    /// Whether the ledger has the removal of a file.
    package func hasRemoved(_ segment: SegmentKey) throws(ArchiveError) -> Bool {
        try ledger().entries.contains { $0.kind == .removed && $0.segment == segment.fileName }
    }

    /// Its directory's files, not loose ones.
    private var isWhole: Bool { segmentNanoseconds != nil }

    /// A gap for each removed file, from its start to the start of the next one.
    private func removed(_ lines: [LedgerEntry]) -> [RecordedGap] {
        var segments: [String: [LedgerEntry]] = [:]
        for line in lines where line.kind == .removed {
            if let segment = line.segment { segments[segment, default: []].append(line) }
        }
        let present = Set(files.map(\.originNanoseconds))
        let found = segments.compactMap { name, lines -> (origin: Int64, lines: [LedgerEntry])? in
            guard let instant = SegmentName(name)?.origin else { return nil }
            let origin = instant.nanoseconds - zero.nanoseconds
            return present.contains(origin) ? nil : (origin, lines)
        }.sorted { $0.origin < $1.origin }
        let origins = present.union(found.map(\.origin)).sorted()
        return found.map { origin, lines in
            // The end of the last one is unknown. An import may have one file of any length.
            let (end, overflow) = origin.addingReportingOverflow(segmentNanoseconds ?? 0)
            let next = origins.first { $0 > origin } ?? (overflow ? .max : end)
            return RecordedGap(removed: lines, from: origin, to: next)
        }
    }

    /// Files that may have samples in a range.
    /// - Parameters:
    ///   - from: session time, nanoseconds; nil: the beginning.
    ///   - until: exclusive; nil: the end.
    package func files(from: Int64?, until: Int64?) -> ArraySlice<File> {
        var files = self.files[...]
        if let from, let holding = files.lastIndex(where: { $0.originNanoseconds <= from }) {
            files = files[holding...]
        }
        if let until { files = files.prefix { $0.originNanoseconds < until } }
        return files
    }

    /// The clock mapping in the files of a range, and the ledger's clock lines.
    ///
    /// Reads all `moof` boxes of these files: about a second for ten hours. Damaged or removed files are used as far as they
    /// can be read.
    package func clock(in files: ArraySlice<File>) throws(ArchiveError) -> ClockSummary {
        var readings: [ClockSummary.Reading] = []
        for file in files {
            do throws(ArchiveError) {
                var cursor = try FileCursor(file.opened())
                while let fragment = try cursor.next() {
                    if let record = fragment.record {
                        readings.append(ClockSummary.Reading(record))
                    }
                }
            } catch {
                if case .malformed = error { continue }
                guard error.isForAbsence else { throw error }
            }
        }
        return ClockSummary(readings, try ledger().entries)
    }

    /// Start, end and first formats of the recording; nil without samples.
    ///
    /// Reads the first and the last file's `moof` boxes.
    package func extent() throws(ArchiveError) -> RecordedExtent? {
        var start: Int64?
        var formats: [TrackFormat] = []
        for file in files where start == nil {
            var cursor = try FileCursor(file.opened())
            formats = cursor.file.formats
            // Tracks that start together do so within the first shown fragments.
            var fragments = 0
            while fragments < 2, let fragment = try cursor.next() {
                let presented = fragment.samples.filter { !$0.isHidden }
                guard let first = presented.map(\.ptsNanoseconds).min() else { continue }
                fragments += 1
                start = min(start ?? first, first)
            }
        }
        guard let start else { return nil }
        var end = start
        for file in files.reversed() {
            var cursor = try FileCursor(file.opened())
            // The index has the end.
            if cursor.file.isDistant, cursor.file.isFinished,
                let span = try RecordedSpan(of: cursor.file)
            {
                end = max(end, span.endNanoseconds)
                break
            }
            var isEmpty = true
            while let fragment = try cursor.next() {
                isEmpty = false
                end = fragment.samples.reduce(end) { max($0, $1.endNanoseconds) }
            }
            if !isEmpty { break }
        }
        return RecordedExtent(startNanoseconds: start, endNanoseconds: end, formats: formats)
    }
}

/// Time range of a source's samples, session time in nanoseconds.
package struct RecordedExtent: Hashable, Sendable {
    /// Presentation time of the first sample.
    package var startNanoseconds: Int64
    /// End of the last sample.
    package var endNanoseconds: Int64
    /// Formats at the start.
    package var formats: [TrackFormat]
}

extension Ledger.Contents {
    /// Block size for reading a ledger.
    private static let blockBytes: Int64 = 256 << 10

    /// A ledger of a store; one that does not exist is empty.
    fileprivate init(at path: StoredPath, in store: any SegmentStore) throws(ArchiveError) {
        do throws(ArchiveError) {
            let file = try store.open(path)
            let size = try file.sizeBytes()
            guard size <= Ledger.maximumBytes else {
                throw .malformed(
                    path: file.path, reason: "larger than \(Ledger.maximumBytes) bytes")
            }
            var offset: Int64 = 0
            self = try Ledger.read(file.path) { () throws(ArchiveError) in
                let count = Int(min(Self.blockBytes, size - offset))
                defer { offset += Int64(count) }
                return try file.read(at: offset, count: count)
            }
        } catch {
            guard error.isForAbsence else { throw error }
            self = .empty
        }
    }

    /// The ledger of a source of a store; a source without one has an empty ledger.
    package init(of source: SourceKey, in store: any SegmentStore) throws(ArchiveError) {
        try self.init(at: .ledger(source), in: store)
        // Only a ledger with held records can have declared losses.
        guard entries.contains(where: { $0.kind == .held }) else { return }
        let declared = StoredPath.source(source) / ArchiveLayout.declaredLossesName
        do throws(ArchiveError) {
            add(
                try Ledger.read(
                    bytes: store.contents(declared, limit: Self.maximumDeclaredBytes),
                    path: store.path(declared)))
        } catch {
            guard error.isForAbsence else { throw error }
        }
    }

    /// Size limit of the file, which has a line for each range of declared losses.
    private static let maximumDeclaredBytes = 1 << 20
}

extension SegmentStore {
    /// The session's lines about clock exchanges with other collectors; empty if there are none.
    package func clocks(of session: String) throws(ArchiveError) -> Ledger.Contents {
        try Ledger.Contents(at: .session(session) / ArchiveLayout.clocksName, in: self)
    }

    /// The size of these lines.
    func clocksBytes(of session: String) throws(ArchiveError) -> Int64 {
        do throws(ArchiveError) {
            return try open(.session(session) / ArchiveLayout.clocksName).sizeBytes()
        } catch {
            guard error.isForAbsence else { throw error }
            return 0
        }
    }
}
