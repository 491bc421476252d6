package import Archive
import Catalog
import Media
import Recordings

/// A session in a list.
package struct SessionListing: Encodable, Sendable {
    /// The state of a session whose description cannot be read.
    package static let unreadable = "unreadable"

    package let session: String
    /// ``SessionManifest/State``, or ``unreadable``.
    package var state = unreadable
    /// Whether a collector runs in the archive: without one, nothing is recorded.
    package let isCollectorRunning: Bool
    package var isProtected = false
    package private(set) var sources: [String] = []
    /// Members of ``sources`` that are previews of others.
    package private(set) var previews: [String] = []
    package var segments = 0
    package var sizeBytes: UInt64 = 0
    /// The labels.
    package var name: String?
    package var tags: [String] = []
    package var note: String?

    /// A session that is unreadable at present.
    init(unreadable session: String, isCollectorRunning: Bool) {
        self.session = session
        self.isCollectorRunning = isCollectorRunning
    }

    fileprivate mutating func setSources(_ names: [String]) {
        sources = names
        previews = names.filter(SourcePreviews(names).isPreview)
    }

    fileprivate mutating func setTotals(_ totals: SegmentTotals) {
        segments = totals.segments
        sizeBytes = totals.sizeBytes
    }
}

// Each value comes from the catalog, and without one from the files.
extension SessionListing {
    /// - Parameter growingBytes: size of the files that grow; the row has that of the others.
    init(row: CatalogListing, growingBytes: UInt64, isCollectorRunning: Bool) {
        self.init(unreadable: row.session, isCollectorRunning: isCollectorRunning)
        state = row.state
        isProtected = row.isProtected
        setSources(row.sources)
        setTotals(SegmentTotals(row, growingBytes: growingBytes))
        name = row.notes.name
        tags = row.notes.tags
        note = row.notes.note
    }

    init(
        filesOf session: String, in library: RecordingLibrary, isCollectorRunning: Bool
    ) throws(ArchiveError) {
        self.init(unreadable: session, isCollectorRunning: isCollectorRunning)
        var totals = SegmentTotals()
        do throws(ArchiveError) {
            setSources(try library.sourceNames(session))
            for source in sources {
                try totals.add(SourceKey(session: session, source: source), in: library)
            }
        } catch {
            // An unreadable session does not prevent listing the others.
            guard error.isForEntry else { throw error }
            library.complain("\(error)")
        }
        setTotals(totals)
        do throws(ArchiveError) {
            state = try library.manifest(session).state.rawValue
        } catch {
            // `show` reports the error.
        }
        let labels = library.labels(session)
        name = labels.name
        tags = labels.tags
        note = labels.note
        isProtected = library.isProtected(session)
    }
}

extension RecordingLibrary {
    /// Sessions, oldest first.
    /// - Parameters:
    ///   - from: nanoseconds since 1970 (UTC): only sessions with media after it. Totals are of whole sessions, because
    ///     sessions are removed and protected as a whole.
    ///   - until: only sessions with media before it.
    ///   - tags: only sessions that have all of these.
    /// - Throws: ``LibraryError/noCatalog`` for a range if a catalog could be built and does not exist.
    package func sessions(
        from: Int64? = nil, until: Int64? = nil, tags: [String] = []
    ) throws -> [SessionListing] {
        if !members.isEmpty { return try sessionsOfMembers(from: from, until: until, tags: tags) }
        let isCollectorRunning = try isCollectorRunning()
        let found = try askCatalog { catalog throws(ArchiveError) in
            var rows = try catalog.sessions()
            if from != nil || until != nil {
                let found = Set(try catalog.sessions(from: from, until: until).map(\.session))
                rows.removeAll { !found.contains($0.session) }
            }
            return try listings(rows, catalog, isCollectorRunning)
        }
        var sessions: [SessionListing]
        if let found {
            // Sessions that have moved as a whole are in no local catalog.
            sessions = (found + (try moved(besides: found, from: from, until: until)))
                .sorted { $0.session < $1.session }
        } else {
            let isWhole = from == nil && until == nil
            // Users with write access can build a catalog. Others, and those with a catalog on a server, read all files instead.
            let canMake = !isReadOnly && catalog.server == nil && FileSystem.isWritable(layout.root)
            guard isWhole || !canMake else { throw LibraryError.noCatalog }
            sessions = try listings(
                sessionNames(), isCollectorRunning, from: from, until: until)
        }
        if !tags.isEmpty { sessions = sessions.filter { Set(tags).isSubset(of: $0.tags) } }
        return sessions
    }

    /// Sessions of several archives: each is queried separately, and sessions that more than one has are merged, as are
    /// parts with what they are parts of.
    private func sessionsOfMembers(
        from: Int64?, until: Int64?, tags: [String]
    ) throws -> [SessionListing] {
        var found: [String: [SessionListing]] = [:]
        var failure: (any Error)?
        for member in members {
            do {
                for listing in try member.sessions(from: from, until: until) {
                    found[try whole(of: listing.session), default: []].append(listing)
                }
            } catch let error as ArchiveError {
                // The other archives can be listed. A line reports that a store does not answer.
                if !error.isForStore || merged?.isDue(member.name) ?? true {
                    complain("\(error); what is in \(member.name) alone is left out")
                }
                failure = failure ?? error
            }
        }
        if found.isEmpty, let failure { throw failure }
        let several = found.filter { session, listings in
            listings.count > 1 || listings[0].session != session
        }
        let merged = try listings(
            several.keys.sorted(), isCollectorRunning(), from: nil, until: nil)
        let single = found.filter { several[$0.key] == nil }.values.flatMap(\.self)
        let sessions = (single + merged).sorted { $0.session < $1.session }
        guard !tags.isEmpty else { return sessions }
        return sessions.filter { Set(tags).isSubset(of: $0.tags) }
    }

    /// Sessions of the bucket that have no directory.
    private func moved(
        besides known: [SessionListing], from: Int64?, until: Int64?
    ) throws(ArchiveError) -> [SessionListing] {
        guard hasBucket else { return [] }
        let names = Set(known.map(\.session)).union(try layout.sessionNames())
        return try listings(
            sessionNames().filter { !names.contains($0) }, false, from: from, until: until)
    }

    /// Listings of sessions from their files; those without media in the range are left out.
    private func listings(
        _ names: [String], _ isCollectorRunning: Bool, from: Int64?, until: Int64?
    ) throws(ArchiveError) -> [SessionListing] {
        let answers = try patience.each(names, in: layout, nanoseconds: patienceNanoseconds) {
            name throws(ArchiveError) in
            try listing(name, isCollectorRunning, from: from, until: until)
        }
        return zip(names, answers).compactMap { name, answer in
            switch answer {
            case .value(let listing): return listing
            case .silence(let error):
                complain("\(error)")
                return SessionListing(unreadable: name, isCollectorRunning: isCollectorRunning)
            }
        }
    }

    /// The listing of a session from its files; nil: no media in the range, or no session.
    private func listing(
        _ name: String, _ isCollectorRunning: Bool, from: Int64?, until: Int64?
    ) throws(ArchiveError) -> SessionListing? {
        do throws(ArchiveError) {
            guard try isSession(name) else { return nil }
        } catch {
            // The listing has its own errors.
            guard error.isForEntry else { throw error }
        }
        let listing = try SessionListing(
            filesOf: name, in: self, isCollectorRunning: isCollectorRunning)
        if from == nil, until == nil { return listing }
        let found: [SegmentListing]
        do throws(ArchiveError) {
            found = try segments(of: name, from: from, until: until)
        } catch {
            // Without its description, its time is unknown.
            guard listing.state == SessionListing.unreadable else { throw error }
            return nil
        }
        return found.isEmpty ? nil : listing
    }

    /// A listing without the sources that an account may not see; its totals do not include them.
    /// - Parameters:
    ///   - listing: from ``sessions(from:until:tags:)``.
    ///   - from: as passed to that call.
    ///   - until: as passed to that call.
    /// - Returns: nil if the account may see none of its sources, or none has media in the range.
    package func narrowed(
        _ listing: SessionListing, from: Int64? = nil, until: Int64? = nil,
        where mayRead: (String) -> Bool
    ) throws(ArchiveError) -> SessionListing? {
        let sources = listing.sources.filter(mayRead)
        guard !sources.isEmpty, sources != listing.sources else {
            return sources.isEmpty ? nil : listing
        }
        var listing = listing
        listing.setSources(sources)
        var totals = SegmentTotals()
        do throws(ArchiveError) {
            if from != nil || until != nil {
                let found = try segments(
                    of: listing.session, from: from, until: until, where: mayRead)
                if found.isEmpty { return nil }
            }
            for source in sources {
                try totals.add(SourceKey(session: listing.session, source: source), in: self)
            }
        } catch {
            // It is being removed, or has no description, so that its time is unknown.
            guard error.isForAbsence || listing.state == SessionListing.unreadable else {
                throw error
            }
            return nil
        }
        listing.setTotals(totals)
        return listing
    }

    /// Listings of sessions from catalog rows; the sizes of growing files are read from the disk.
    private func listings(
        _ rows: [CatalogListing], _ catalog: any CatalogStore, _ isCollectorRunning: Bool
    ) throws(ArchiveError) -> [SessionListing] {
        let finished = SessionManifest.State.finished.rawValue
        var growing: [String: [CatalogSegment]] = [:]
        for row in rows where row.state != finished {
            growing[row.session] = try catalog.growingSegments(of: row.session)
        }
        let names = growing.keys.sorted()
        let answers = try patience.each(names, in: layout) {
            [growing] name throws(ArchiveError) in
            var size: UInt64 = 0
            for segment in growing[name] ?? [] {
                let path = "\(layout.source(name, segment.source))/\(segment.file)"
                if FileSystem.exists(path) { size.addClamped(try FileSystem.size(path)) }
            }
            return size
        }
        var sizes: [String: UInt64] = [:]
        for (name, answer) in zip(names, answers) {
            switch answer {
            case .value(let size): sizes[name] = size
            case .silence(let error): complain("\(error)")
            }
        }
        return rows.map { row in
            SessionListing(
                row: row, growingBytes: sizes[row.session] ?? 0,
                isCollectorRunning: isCollectorRunning)
        }
    }
}
