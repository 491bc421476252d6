package import Media

/// A session as its readers see it: a session of an archive, or files of one that have been taken out of it.
///
/// Nothing is kept of what is in the files; they may grow, and be removed, while they are read.
package struct RecordedSession: Sendable {
    /// A session has so few sources that a list of files cannot reasonably have more.
    private static let maximumLooseFiles = 100_000

    package let name: String
    /// The timeline's zero.
    package let zero: UTCTime
    /// Nothing will be added to it any more.
    package let isFinished: Bool
    /// Segments begin at multiples of this; nil: loose files.
    package let segmentNanoseconds: Int64?
    /// Those that have files, by name.
    package let sources: [RecordedSource]

    package func source(_ name: String) -> RecordedSource? { sources.first { $0.name == name } }

    /// A session of an archive.
    package init(_ session: String, in layout: ArchiveLayout) throws(ArchiveError) {
        guard ArchiveLayout.isValidName(session) else { throw .badName(session) }
        try self.init(directory: layout.session(session))
    }

    /// A session's directory, wherever it is.
    package init(directory: String) throws(ArchiveError) {
        let manifest = try SessionManifest.read("\(directory)/\(ArchiveLayout.manifestName)")
        name = manifest.session
        zero = manifest.zeroTime
        isFinished = manifest.state == .finished
        segmentNanoseconds = manifest.segmentNanoseconds
        var sources: [RecordedSource] = []
        for name in try FileSystem.names(in: directory) where ArchiveLayout.isValidName(name) {
            let path = "\(directory)/\(name)"
            guard FileSystem.isDirectory(path) else { continue }
            let source = try RecordedSource(
                name: name, directory: path, zero: manifest.zeroTime,
                segmentNanoseconds: manifest.segmentNanoseconds)
            if !source.files.isEmpty { sources.append(source) }
        }
        self.sources = sources
    }

    /// Files of one session. Files of one directory are one source, which has the directory's name; a file that is not where a
    /// session has it is a source of its own.
    package init(files: [String]) throws(ArchiveError) {
        precondition(!files.isEmpty && files.count <= Self.maximumLooseFiles)
        var zero: UTCTime?
        var found: [String: (directory: String?, files: [RecordedSource.File])] = [:]
        for path in files {
            let file = try RecordedFile(opening: path)
            guard let origin = file.originNanoseconds, let own = file.sessionZero else {
                throw .malformed(path: path, reason: "has no samples yet")
            }
            if let zero, zero != own {
                throw .malformed(
                    path: path, reason: "is of another session than the files before it")
            }
            zero = own
            let (name, directory) = Self.place(of: path)
            found[name, default: (directory, [])].files.append(
                RecordedSource.File(path: path, originNanoseconds: origin))
        }
        let start = zero ?? UTCTime(nanoseconds: 0)
        self.zero = start
        name = start.fileName
        isFinished = true
        segmentNanoseconds = nil
        sources = found.sorted { $0.key < $1.key }.map { name, found in
            RecordedSource(
                name: name, directory: found.directory,
                files: found.files.sorted { $0.originNanoseconds < $1.originNanoseconds },
                zero: start, segmentNanoseconds: nil)
        }
    }

    /// What a file's source is called, and the source's directory if it has one.
    private static func place(of path: String) -> (name: String, directory: String?) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let stem = parts.last.map { name in
            name.hasSuffix(ArchiveLayout.segmentSuffix)
                ? String(name.dropLast(ArchiveLayout.segmentSuffix.count)) : name
        }
        let directory = parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."
        let parent = parts.count > 1 ? parts[parts.count - 2] : ""
        if UTCTime(fileName: stem ?? "") != nil, ArchiveLayout.isValidName(parent),
            FileSystem.exists("\(directory)/../\(ArchiveLayout.manifestName)")
        {
            return (parent, directory)
        }
        return (ArchiveLayout.validName(from: stem ?? ""), nil)
    }
}

/// One source's recording: its files, in order.
package struct RecordedSource: Sendable {
    /// A file, not opened.
    package struct File: Hashable, Sendable {
        package var path: String
        /// Where it begins on the session's timeline, nanoseconds: as its name says, to the millisecond.
        package var originNanoseconds: Int64
    }

    package let name: String
    /// In the order of their origins.
    package let files: [File]
    /// Where its ledger is; nil: it has none.
    private let directory: String?
    private let zero: UTCTime
    /// Nil: files that were picked out.
    private let segmentNanoseconds: Int64?

    init(
        name: String, directory: String?, files: [File], zero: UTCTime, segmentNanoseconds: Int64?
    ) {
        self.name = name
        self.directory = directory
        self.files = files
        self.zero = zero
        self.segmentNanoseconds = segmentNanoseconds
    }

    /// The files of a source's directory.
    init(
        name: String, directory: String, zero: UTCTime, segmentNanoseconds: Int64
    ) throws(ArchiveError) {
        let files = try FileSystem.names(in: directory).compactMap { entry -> File? in
            guard entry.hasSuffix(ArchiveLayout.segmentSuffix),
                let origin = UTCTime(
                    fileName: entry.dropLast(ArchiveLayout.segmentSuffix.count))
            else { return nil }
            return File(
                path: "\(directory)/\(entry)",
                originNanoseconds: origin.nanoseconds - zero.nanoseconds)
        }
        self.init(
            name: name, directory: directory, files: files, zero: zero,
            segmentNanoseconds: segmentNanoseconds)
    }

    /// What is missing, as the ledger tells it, in the order of its lines; then what has been removed.
    package func gaps() throws(ArchiveError) -> [RecordedGap] {
        guard let directory else { return [] }
        let lines = try Ledger.read("\(directory)/\(ArchiveLayout.ledgerName)").entries
        let gaps = lines.compactMap(RecordedGap.init)
        if isWhole { return gaps + removed(lines) }
        // Of files that were picked out, what was before them is nobody's business.
        let first = files.first?.originNanoseconds ?? .min
        return gaps.filter { $0.startNanoseconds.map { $0 >= first } ?? true }
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
            let stem = name.dropLast(ArchiveLayout.segmentSuffix.count)
            guard let origin = UTCTime(fileName: stem).map({ $0.nanoseconds - zero.nanoseconds }),
                !present.contains(origin)
            else { return nil }
            return (origin, lines)
        }.sorted { $0.origin < $1.origin }
        let origins = present.union(found.map(\.origin)).sorted()
        return found.map { origin, lines in
            // Behind the last one nobody knows. An import may have asked for one file, however long.
            let (end, overflow) = origin.addingReportingOverflow(segmentNanoseconds ?? 0)
            let next = origins.first { $0 > origin } ?? (overflow ? .max : end)
            return RecordedGap(removed: lines, from: origin, to: next)
        }
    }

    /// From when to when there are samples, and how they are coded at first; nil: there are none.
    ///
    /// Reads the heads of the first and the last file.
    package func extent() throws(ArchiveError) -> RecordedExtent? {
        var start: Int64?
        var formats: [TrackFormat] = []
        for file in files where start == nil {
            var cursor = try FileCursor(RecordedFile(opening: file.path))
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
            var cursor = try FileCursor(RecordedFile(opening: file.path))
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

/// A line of a ledger about samples that are missing.
package struct RecordedGap: Hashable, Sendable {
    /// Nil: all tracks.
    package var track: TrackKind?
    /// Nanoseconds of session time; nil: not known.
    package var startNanoseconds: Int64?
    package var durationNanoseconds: Int64
    /// 0: nobody knows.
    package var samples: UInt64
    /// As the ledger has it: `driver drop`, `spool full`, …
    package var cause: String
    package var text: String

    /// A file that is not there any more.
    /// - Parameter lines: what the ledger says of its removal; one for each range of records.
    fileprivate init(removed lines: [LedgerEntry], from start: Int64, to end: Int64) {
        track = nil
        startNanoseconds = start
        durationNanoseconds = max(0, end - start)
        samples = lines.reduce(0) { sum, line in
            line.sequences.reduce(sum) {
                $0.clampedAdding(($1.upperBound - $1.lowerBound).clampedAdding(1))
            }
        }
        cause = ""
        text = "removed from the recording: \(lines.first?.cause ?? "nobody says why")"
    }

    init?(_ entry: LedgerEntry) {
        guard entry.kind == .gap else { return nil }
        track = TrackKind.allCases.first { $0.description == entry.track }
        startNanoseconds = entry.startNanoseconds
        durationNanoseconds = Int64(clamping: entry.durationNanoseconds ?? 0)
        samples = entry.samples ?? 0
        cause = entry.cause ?? ""
        text = entry.text ?? ""
    }
}
