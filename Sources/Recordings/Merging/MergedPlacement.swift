import Archive
import Media

/// Where the archives' files lie on the merged session's timeline.
extension MergedStore {
    /// Growth after which files of clock exchanges are read again, bytes: some minutes of exchanges.
    private static var clocksStep: Int64 { 1_024 }

    /// Identifies a session, its archives, and the size of their clock exchanges, in steps.
    func shiftsKey(
        _ copies: [MergedSession.Copy], of name: String
    ) throws(ArchiveError) -> String {
        var key = ([name] + copies.map { "\(members[$0.member].name)/\($0.manifest.session)" })
            .joined(separator: "\n")
        // The files of exchanges grow; new exchanges do not matter for the times of earlier media.
        for copy in copies {
            let size =
                try asked(copy.member) { store throws(ArchiveError) in
                    try store.clocksBytes(of: copy.manifest.session)
                } ?? 0
            key += "\n\(size / Self.clocksStep)"
        }
        return key
    }

    /// The shift from each copy's timeline to the first one's; nil for another session.
    func measuredShifts(
        _ copies: [MergedSession.Copy], of name: String
    ) throws(ArchiveError) -> [SessionShift?] {
        var clocks: [SessionClocks] = []
        var sites: [SiteClocks] = []
        for copy in copies {
            let lines = try asked(copy.member) { store throws(ArchiveError) in
                try store.clocks(of: copy.manifest.session)
            }
            sites.append(SiteClocks(lines?.entries ?? []))
            var own = SessionClocks()
            let sources =
                try asked(copy.member) { store throws(ArchiveError) in
                    try store.list(.session(copy.manifest.session))
                } ?? []
            for entry in sources where entry.isFolder && ArchiveLayout.isValidName(entry.name) {
                let source = SourceKey(session: copy.manifest.session, source: entry.name)
                let lines = try asked(copy.member) { store throws(ArchiveError) in
                    try store.ledger(of: source)
                }
                own.add(lines?.entries ?? [])
            }
            clocks.append(own)
        }
        return SessionShift.all(
            copies.map(\.manifest), clocks, sites,
            stated: copies.map { $0.manifest.session == name ? nil : $0.shift })
    }

    /// A file of one archive on the merged timeline.
    func placed(
        _ file: CopiedFile, in session: MergedSession
    ) throws(ArchiveError) -> any StoredFile {
        let copy = session.copies[file.copy]
        let base = try members[copy.member].store.open(file.path)
        guard copy.shift.isByCollectors else {
            let isPlaced =
                copy.shift.nanoseconds == 0
                && copy.manifest.zeroUTCNanoseconds == session.manifest.zeroUTCNanoseconds
            guard !isPlaced else { return base }
            return PlacedFile(
                base: base,
                placement: FilePlacement(
                    shiftNanoseconds: copy.shift.nanoseconds, sessionZero: session.zero))
        }
        let length = max(1, copy.manifest.segmentNanoseconds)
        guard !base.isDistant else {
            // Media in a store is sent unchanged, so the whole file has one shift.
            let middle = file.ownNanoseconds.clampedAdding(length / 2)
            return PlacedFile(
                base: base,
                placement: FilePlacement(
                    shiftNanoseconds: copy.shift.at(middle).nanoseconds,
                    sessionZero: session.zero))
        }
        let correction = memory.correction(
            base.path, isOver: session.manifest.state == .finished
        ) {
            TimeCorrection(copy.shift, from: file.ownNanoseconds, length: length)
        }
        return PlacedFile(
            base: base,
            placement: FilePlacement(
                shiftNanoseconds: correction.shiftNanoseconds, sessionZero: session.zero,
                correction: correction))
    }
}
