package import Archive
package import Media

/// One source's recording: its files, in order.
package struct RecordedSource: Sendable {
    /// A file, not opened.
    package struct File: Sendable {
        /// The file in messages: its path, or its address.
        package let path: String
        /// Where it begins on the session's timeline, nanoseconds: as its name says, to the millisecond.
        package let originNanoseconds: Int64
        /// Without its revision, which is in the file; nil: a file that was picked out.
        package let key: SegmentKey?
        /// As the store's listing has it; nil: a file that was picked out.
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

        /// - Parameter segment: where it is, which may be under another name than its key's.
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

        /// Opens it.
        package func opened() throws(ArchiveError) -> RecordedFile { try RecordedFile(open) }
    }

    package let name: String
    /// In the order of their origins.
    package let files: [File]
    private let zero: UTCTime
    /// Nil: files that were picked out.
    private let segmentNanoseconds: Int64?
    private let ledger: @Sendable () throws(ArchiveError) -> Ledger.Contents

    /// Files that were picked out.
    /// - Parameter ledger: the path of their ledger; nil: there is none.
    init(name: String, files: [File], zero: UTCTime, ledger: String?) {
        self.name = name
        self.files = files
        self.zero = zero
        segmentNanoseconds = nil
        self.ledger = { () throws(ArchiveError) in
            try ledger.map { path throws(ArchiveError) in try Ledger.read(path) }
                ?? .empty
        }
    }

    /// A source of a store.
    package init(
        _ source: SourceKey, in store: any SegmentStore, zero: UTCTime, segmentNanoseconds: Int64
    ) throws(ArchiveError) {
        name = source.source
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
    }

    /// The ledger's gaps, in the order of its lines; then removed segments.
    package func gaps() throws(ArchiveError) -> [RecordedGap] {
        let lines = try ledger().entries
        let gaps = lines.compactMap(RecordedGap.init)
        if isWhole { return gaps + removed(lines) }
        // Of files that were picked out, only what is missing after the first of them is of interest.
        let first = files.first?.originNanoseconds ?? .min
        return gaps.filter { $0.startNanoseconds.map { $0 >= first } ?? true }
    }

    /// All lines of its ledger.
    func ledgerEntries() throws(ArchiveError) -> [LedgerEntry] { try ledger().entries }

    /// Whether its ledger says that a file was removed.
    package func hasRemoved(_ segment: SegmentKey) throws(ArchiveError) -> Bool {
        try ledger().entries.contains { $0.kind == .removed && $0.segment == segment.fileName }
    }

    /// All files that its directory has.
    private var isWhole: Bool { segmentNanoseconds != nil }

    /// A gap for each file that was removed, from its origin to that of the next one.
    private func removed(_ lines: [LedgerEntry]) -> [RecordedGap] {
        var segments: [String: [LedgerEntry]] = [:]
        for line in lines where line.kind == .removed {
            if let segment = line.segment { segments[segment, default: []].append(line) }
        }
        let present = Set(files.map(\.originNanoseconds))
        let found = segments.compactMap { name, lines -> (origin: Int64, lines: [LedgerEntry])? in
            guard let instant = SegmentKey.origin(fileName: name) else { return nil }
            let origin = instant.nanoseconds - zero.nanoseconds
            return present.contains(origin) ? nil : (origin, lines)
        }.sorted { $0.origin < $1.origin }
        let origins = present.union(found.map(\.origin)).sorted()
        return found.map { origin, lines in
            // After the last one, the end is unknown. An import may have asked for one file, however long.
            let (end, overflow) = origin.addingReportingOverflow(segmentNanoseconds ?? 0)
            let next = origins.first { $0 > origin } ?? (overflow ? .max : end)
            return RecordedGap(removed: lines, from: origin, to: next)
        }
    }

    /// Files that may hold samples of a range, without those that begin at its end or later.
    /// - Parameters:
    ///   - from: session time, nanoseconds; nil: the beginning.
    ///   - until: nil: the end.
    package func files(from: Int64?, until: Int64?) -> ArraySlice<File> {
        var files = self.files[...]
        if let from, let holding = files.lastIndex(where: { $0.originNanoseconds <= from }) {
            files = files[holding...]
        }
        if let until { files = files.prefix { $0.originNanoseconds < until } }
        return files
    }

    /// How the box's clock was mapped in the files of a range, and what the ledger says of that clock.
    ///
    /// Reads the heads of all fragments in these files: about a second for ten hours. Files that are damaged, or removed meanwhile, count as far
    /// as they can be read.
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

    /// From when to when there are samples, and how they are coded at first; nil: there are none.
    ///
    /// Reads the heads of the first and the last file.
    package func extent() throws(ArchiveError) -> RecordedExtent? {
        var start: Int64?
        var formats: [TrackFormat] = []
        for file in files where start == nil {
            var cursor = try FileCursor(file.opened())
            formats = cursor.file.formats
            // Both tracks begin within the first fragments that are to be seen, if they begin together.
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
            // Its index says when it ends.
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

/// From when to when a source has samples: nanoseconds of session time.
package struct RecordedExtent: Hashable, Sendable {
    /// When the first sample is presented.
    package var startNanoseconds: Int64
    /// When the last one ends.
    package var endNanoseconds: Int64
    /// At the beginning.
    package var formats: [TrackFormat]
}

extension Ledger.Contents {
    /// Bytes of a ledger that are read at a time.
    private static let blockBytes: Int64 = 256 << 10

    /// The ledger of a source of a store; a source without one has an empty ledger.
    package init(of source: SourceKey, in store: any SegmentStore) throws(ArchiveError) {
        do throws(ArchiveError) {
            let file = try store.open(.ledger(source))
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
        // Only one that says whose records are elsewhere can have some of them given up.
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

    /// A line for each range of records that was given up.
    private static let maximumDeclaredBytes = 1 << 20
}
