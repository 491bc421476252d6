package import Archive
import Catalog
import Media
import Recordings

/// A listed segment with its time range.
package struct SegmentListing: Encodable, Sendable {
    package var source: String
    package var segment: String
    package var path: String
    /// Session time; nil: no readable media yet.
    package var startNanoseconds: Int64?
    package var endNanoseconds: Int64?
    /// The same, RFC 3339.
    package var start: String?
    package var end: String?
    package var sizeBytes: UInt64
}

/// A segment whose proof is in an archive without its media.
package struct AbsentMedia: Hashable, Sendable {
    package var segment: SegmentKey
    /// The store that has it, according to the proof: `s3://BUCKET/PREFIX`.
    package var store: String
    /// Session time.
    package var startNanoseconds: Int64
    /// Nil: unknown.
    package var endNanoseconds: Int64?

    /// Whether it may have media in a range of session time.
    package func mayOverlap(from: Int64?, until: Int64?) -> Bool {
        if let until, startNanoseconds >= until { return false }
        if let from, let endNanoseconds, endNanoseconds <= from { return false }
        return true
    }
}

extension SegmentListing {
    /// A segment whose media is in an object store only.
    fileprivate init(moved segment: SegmentKey, _ proof: SegmentProof, _ zero: UTCTime) {
        source = segment.source
        self.segment = segment.fileName
        path = "\(proof.store)/\(segment)"
        sizeBytes = UInt64(proof.sizeBytes)
        guard let length = proof.lengthNanoseconds else { return }
        let begin = segment.origin.nanoseconds - zero.nanoseconds
        startNanoseconds = begin
        endNanoseconds = begin.clampedAdding(length)
        start = zero.text(atSessionNanoseconds: begin)
        end = zero.text(atSessionNanoseconds: begin.clampedAdding(length))
    }
}

extension RecordingLibrary {
    /// Segments of a session, by source and start.
    /// - Parameters:
    ///   - from: nanoseconds since 1970 (UTC): only segments with media after it.
    ///   - until: only segments with media before it.
    ///   - includes: selects sources; files of others are not opened.
    package func segments(
        of session: String, from: Int64? = nil, until: Int64? = nil,
        where includes: (String) -> Bool = { _ in true }
    ) throws(ArchiveError) -> [SegmentListing] {
        let zero = try zero(of: session)
        var listings: [SegmentListing] = []
        for file in try files(of: session, from: from, until: until, where: includes) {
            var listing = SegmentListing(
                source: file.source, segment: file.name, path: store.path(file.path),
                sizeBytes: UInt64(file.sizeBytes))
            if let span = span(file.path) {
                listing.startNanoseconds = span.startNanoseconds
                listing.endNanoseconds = span.endNanoseconds
                listing.start = zero.text(atSessionNanoseconds: span.startNanoseconds)
                listing.end = zero.text(atSessionNanoseconds: span.endNanoseconds)
            }
            if Self.isWanted(listing, zero, from: from, until: until) { listings.append(listing) }
        }
        let moved = try moved(of: session, zero, where: includes).filter {
            Self.isWanted($0, zero, from: from, until: until)
        }
        if moved.isEmpty { return listings }
        return (listings + moved).sorted { ($0.source, $0.segment) < ($1.source, $1.segment) }
    }

    /// Segments whose media is in a store that is not read here, according to their proofs.
    private func moved(
        of session: String, _ zero: UTCTime, where includes: (String) -> Bool
    ) throws(ArchiveError) -> [SegmentListing] {
        var listings: [SegmentListing] = []
        for source in try sourceNames(session) where includes(source) {
            let key = SourceKey(session: session, source: source)
            for (segment, proof) in try movedProofs(of: key) {
                listings.append(SegmentListing(moved: segment, proof, zero))
            }
        }
        return listings
    }

    /// The proofs of a source's segments whose media is not in the archive as it is read here. Damaged ones are left out:
    /// `verify` reports them.
    /// - Parameter entries: of the source's folder; nil: it is listed.
    func movedProofs(
        of source: SourceKey, in entries: [StoredEntry]? = nil
    ) throws(ArchiveError) -> [(segment: SegmentKey, proof: SegmentProof)] {
        var proofs: [(SegmentKey, SegmentProof)] = []
        let entries = if let entries { entries } else { try store.list(.source(source)) }
        for segment in SegmentNames(entries.map(\.name)).moved(of: source) {
            let file =
                StoredPath.source(source) / SegmentCompanion.proof.path(of: segment.fileName)
            do throws(ArchiveError) {
                let proof = try SegmentProof.parse(
                    store.contents(file, limit: SegmentProof.maximumBytes), path: store.path(file))
                proofs.append((segment, proof))
            } catch {
                guard error.isForAbsence || error.code == nil else { throw error }
            }
        }
        return proofs
    }

    /// Media of a session that cannot be read: the archive has its proofs alone. None of several archives, which may have
    /// each other's.
    package func absentMedia(of session: String) throws(ArchiveError) -> [AbsentMedia] {
        guard members.isEmpty else { return [] }
        let zero = try zero(of: session)
        var absent: [AbsentMedia] = []
        for source in try sourceNames(session) {
            for (segment, proof) in try movedProofs(
                of: SourceKey(session: session, source: source))
            {
                let start = segment.origin.nanoseconds.clampedSubtracting(zero.nanoseconds)
                absent.append(
                    AbsentMedia(
                        segment: segment, store: proof.store, startNanoseconds: start,
                        endNanoseconds: proof.lengthNanoseconds.map { start.clampedAdding($0) }))
            }
        }
        return absent
    }

    /// The session's description may be damaged: its name states its zero, to the millisecond.
    private func zero(of session: String) throws(ArchiveError) -> UTCTime {
        do throws(ArchiveError) {
            return try manifest(session).zeroTime
        } catch {
            guard let zero = UTCTime(sessionName: session) else { throw error }
            return zero
        }
    }

    private func span(_ path: StoredPath) -> RecordedSpan? {
        do throws(ArchiveError) {
            return try RecordedSpan(
                of: RecordedFile { [store] () throws(ArchiveError) in try store.open(path) })
        } catch {
            // It is listed nevertheless; `verify` reports the error.
            return nil
        }
    }

    private struct FoundFile {
        var source: String
        var name: String
        var path: StoredPath
        var sizeBytes: Int64
    }

    /// Files in the range if the catalog knows them; otherwise all files.
    private func files(
        of session: String, from: Int64?, until: Int64?, where includes: (String) -> Bool
    ) throws(ArchiveError) -> [FoundFile] {
        var wanted: Set<StoredPath>?
        if from != nil || until != nil {
            wanted = try askCatalog { catalog throws(ArchiveError) in
                try catalog.segments(of: session, from: from, until: until)
            }.map { rows in
                Set(
                    rows.map {
                        .source(SourceKey(session: session, source: $0.source)) / $0.file
                    })
            }
        }
        var files: [FoundFile] = []
        for source in try sourceNames(session) where includes(source) {
            let key = SourceKey(session: session, source: source)
            let entries = try segments(key)
            for (index, entry) in entries.enumerated() {
                let path = StoredPath.source(key) / entry.name
                guard wanted?.contains(path) ?? true else { continue }
                let next = index + 1 < entries.count ? entries[index + 1] : nil
                if hasBucket, !Self.mayHold(entry, before: next, key, from: from, until: until) {
                    continue
                }
                files.append(
                    FoundFile(
                        source: source, name: entry.name, path: path, sizeBytes: entry.sizeBytes))
            }
        }
        return files
    }

    /// Whether a file may have media of a range, by its name and the next one's, because opening it may cost a request.
    private static func mayHold(
        _ entry: StoredEntry, before next: StoredEntry?, _ source: SourceKey, from: Int64?,
        until: Int64?
    ) -> Bool {
        func origin(_ entry: StoredEntry) -> Int64? {
            SegmentName(entry.name)?.origin?.nanoseconds
        }
        let slack = RecordedSession.overlapNanoseconds
        if let until, let begin = origin(entry), begin.clampedSubtracting(slack) >= until {
            return false
        }
        if let from, let end = next.flatMap(origin), end.clampedAdding(slack) <= from {
            return false
        }
        return true
    }

    private static func isWanted(
        _ segment: SegmentListing, _ zero: UTCTime, from: Int64?, until: Int64?
    ) -> Bool {
        guard from != nil || until != nil else { return true }
        guard let start = segment.startNanoseconds, let end = segment.endNanoseconds else {
            return true
        }
        return zero.nanoseconds.clampedAdding(end) > from ?? .min
            && zero.nanoseconds.clampedAdding(start) < until ?? .max
    }
}

extension UTCTime {
    /// An instant of a session with this zero, RFC 3339.
    package func text(atSessionNanoseconds nanoseconds: Int64) -> String {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return overflow ? description : UTCTime(nanoseconds: sum).description
    }
}
