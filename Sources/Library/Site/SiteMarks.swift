package import Archive
import Media
package import ObjectStore
import Recordings
package import Terminal
package import Threads

/// Sets and removes marks in every archive of a site that has the session.
///
/// A directory of this machine is changed as by `tributary mark`. For a remote archive, the collector's viewer forwards the change
/// to the collector. Marks have identities, so each change is idempotent.
package struct SiteMarks {
    private enum Place {
        case directory(ArchiveLayout)
        case viewer(ViewerBucket)
    }

    private let places: [Place]
    /// Called for each session of a directory that was changed.
    private let hasChanged: (String, ArchiveLayout) -> Void
    /// Receives a line for each archive that a change does not reach.
    private let complain: @Sendable (String) -> Void

    /// - Parameters:
    ///   - archives: for changes.
    ///   - site: how viewers are asked; nil: they are not.
    ///   - shutdown: ends every wait for a viewer.
    package init(
        _ archives: SiteArchives, site: ViewerAccess?, shutdown: Shutdown,
        hasChanged: @escaping (String, ArchiveLayout) -> Void,
        complain: @escaping @Sendable (String) -> Void
    ) throws(ObjectStoreError) {
        var places: [Place] = []
        for place in archives.places {
            switch place {
            case .directory(let path, _): places.append(.directory(ArchiveLayout(root: path)))
            case .viewer(let address, let archive, let collector):
                guard let site else { continue }
                places.append(
                    .viewer(
                        try site.bucket(
                            address, archive: archive, collector: collector, shutdown)))
            case .bucket: continue
            }
        }
        self.places = places
        self.hasChanged = hasChanged
        self.complain = complain
    }

    /// Why an archive does not have a change.
    private struct Refusal: Error {
        var text: String
        /// Whether the session is not being recorded there, so that a mark needs a time.
        var needsTime = false

        init(_ text: String) { self.text = text }

        init(untimed session: String) {
            text = "\(session) is not being recorded: say when, with --at 1:23.5"
            needsTime = true
        }
    }

    /// Sets a mark. Without a time, it gets the present instant of the first collector that records the session.
    /// - Parameter session: its name.
    /// - Returns: the mark with its time.
    /// - Throws: if no archive has the mark then. Otherwise there is a line for each archive that has the session without it.
    package func set(_ mark: ViewerMark, of session: String) throws(Failure) -> ViewerMark {
        var mark = mark
        var refusals: [String] = []
        var later: [Place] = []
        var count = 0
        for isSecond in [false, true] {
            for place in isSecond ? later : places.filter({ has(session, at: $0) }) {
                do throws(Refusal) {
                    mark = try set(mark, of: session, at: place)
                    count += 1
                } catch {
                    // Another collector may tell the time.
                    if error.needsTime, !isSecond {
                        later.append(place)
                    } else {
                        refusals.append(error.text)
                    }
                }
            }
        }
        guard count > 0 else {
            // If the mark has no time, report that.
            throw Failure(
                (mark.atNanoseconds == nil ? refusals.last : refusals.first)
                    ?? "cannot mark \(session): no archive that has it can be changed from here")
        }
        refusals.forEach(complain)
        return mark
    }

    /// Removes marks.
    /// - Parameter sessions: the names of the session in all archives.
    /// - Throws: if one of the archives may still have them; the others do not.
    package func remove(_ ids: [String], of sessions: Set<String>) throws(Failure) {
        var refusals: [String] = []
        for place in places {
            for session in sessions.sorted() where has(session, at: place) {
                do throws(Refusal) {
                    try remove(ids, of: session, at: place)
                } catch {
                    refusals.append(error.text)
                }
            }
        }
        refusals.dropFirst().forEach(complain)
        if let refusal = refusals.first { throw Failure(refusal) }
    }

    // MARK: - One archive

    /// Whether an archive has a session. One that does not answer was complained about when the session was looked up.
    private func has(_ session: String, at place: Place) -> Bool {
        switch place {
        case .directory(let layout): return FileSystem.isDirectory(layout.session(session))
        case .viewer(let bucket):
            do throws(ObjectStoreError) {
                return try bucket.properties(of: "\(session)/\(ArchiveLayout.manifestName)") != nil
            } catch {
                return false
            }
        }
    }

    private func set(
        _ mark: ViewerMark, of session: String, at place: Place
    ) throws(Refusal) -> ViewerMark {
        switch place {
        case .directory(let layout):
            return try onDisk { () throws in
                let library = try RecordingLibrary(layout.root, complain: complain)
                var made = mark
                made.atNanoseconds = try mark.atNanoseconds ?? library.presentInstant(of: session)
                guard let moment = made.atNanoseconds else { throw Refusal(untimed: session) }
                let edit = try SessionEdit(addedMarks: [
                    SessionMarks.Mark(
                        id: mark.id, atNanoseconds: moment, text: mark.text, source: mark.source)
                ])
                if try library.apply(edit, to: session).hasChanged { hasChanged(session, layout) }
                return made
            }
        case .viewer(let bucket):
            let made = try asked { () throws(ObjectStoreError) in
                try bucket.setMark(mark, of: session)
            }
            guard let made else { throw Refusal(untimed: session) }
            return made
        }
    }

    private func remove(
        _ ids: [String], of session: String, at place: Place
    ) throws(Refusal) {
        switch place {
        case .directory(let layout):
            try onDisk { () throws in
                let library = try RecordingLibrary(layout.root, complain: complain)
                let edit = try SessionEdit(removedMarks: ids)
                if try library.apply(edit, to: session).hasChanged { hasChanged(session, layout) }
            }
        case .viewer(let bucket):
            for id in ids {
                try asked { () throws(ObjectStoreError) in
                    try bucket.removeMark(id, of: session)
                }
            }
        }
    }

    private func onDisk<Answer>(_ change: () throws -> Answer) throws(Refusal) -> Answer {
        do {
            return try change()
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw Refusal(oneLine("\(error)"))
        }
    }

    /// Asks a viewer; once more if its answer may have been lost.
    private func asked<Answer>(
        _ request: () throws(ObjectStoreError) -> Answer
    ) throws(Refusal) -> Answer {
        for isRepeated in [false, true] {
            do throws(ObjectStoreError) {
                return try request()
            } catch {
                if error.kind == .unreachable, !isRepeated { continue }
                throw Refusal(error.message)
            }
        }
        preconditionFailure("the second request has an outcome")
    }
}

extension RecordingLibrary {
    /// The present instant on the timeline of a session that a collector records; nil: none does.
    package func presentInstant(of session: String) throws(ArchiveError) -> Int64? {
        let manifest = try manifest(session)
        guard manifest.state == .recording, try isCollectorRunning() else { return nil }
        return SystemClock.utc.nowNanoseconds.clampedSubtracting(manifest.zeroTime.nanoseconds)
    }
}
