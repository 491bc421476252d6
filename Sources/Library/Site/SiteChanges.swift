package import Archive
import Media
package import ObjectStore
import Recordings
package import Terminal
package import Threads

/// Changes marks, labels and the protection of a session in every archive of a site that has it.
///
/// The caller changes directories of this machine. For a remote archive, the collector's viewer forwards the change to the
/// collector. Each change can be repeated: marks have identities, and labels are set to values.
package struct SiteChanges {
    /// Applies an edit to a session in a directory of this machine. Errors are lines for the user.
    package typealias Application = (SessionEdit, String, ArchiveLayout) throws -> Void

    private enum Location {
        case directory(ArchiveLayout)
        case viewer(ViewerBucket)
    }

    private static let unreached =
        "no archive that has it can be changed from here: its collector needs --viewer-url and a viewer there that answers, and this program --site-token-file"

    private let places: [Location]
    private let apply: Application
    /// Receives a line for each archive that a change does not reach.
    private let complain: @Sendable (String) -> Void

    /// - Parameters:
    ///   - archives: for changes.
    ///   - site: access to viewers; nil: none.
    ///   - namesAddresses: whether lines name the addresses of viewers, besides their collectors.
    ///   - shutdown: ends every wait for a viewer.
    ///   - apply: changes a directory of this machine.
    ///   - complain: receives a line for each archive that a change does not reach.
    package init(
        _ archives: SiteArchives, site: ViewerAccess?, namesAddresses: Bool = true,
        shutdown: Shutdown,
        apply: @escaping Application,
        complain: @escaping @Sendable (String) -> Void
    ) throws(Failure) {
        var places: [Location] = []
        for place in archives.places {
            switch place {
            case .directory(let path, _): places.append(.directory(ArchiveLayout(root: path)))
            case .viewer(let address, let archive, let collector):
                guard let site else { continue }
                do throws(ObjectStoreError) {
                    places.append(
                        .viewer(
                            try site.bucket(
                                address, archive: archive, collector: collector,
                                name: namesAddresses ? nil : collector, shutdown)))
                } catch {
                    throw Failure(error.message)
                }
            case .bucket: continue
            }
        }
        self.places = places
        self.apply = apply
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
    /// - Throws: if no archive has the mark then. Otherwise there is a line for each archive that has the session without it, or
    ///   does not answer.
    package func set(_ mark: ViewerMark, of session: String) throws(Failure) -> ViewerMark {
        var mark = mark
        var refusals: [String] = []
        var later: [Location] = []
        var count = 0
        for isSecond in [false, true] {
            for place in isSecond ? later : places {
                do throws(Refusal) {
                    if !isSecond {
                        guard try has(session, at: place) else { continue }
                    }
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
                    ?? "cannot mark \(session): \(Self.unreached)")
        }
        refusals.forEach(complain)
        return mark
    }

    /// Removes marks, or changes labels or the protection. Marks are added by ``set(_:of:)``.
    /// - Parameter sessions: the names of the session in all archives.
    /// - Throws: if an archive does not have the change, or does not answer; the others have it. Or if none can be changed.
    package func change(_ edit: SessionEdit, of sessions: Set<String>) throws(Failure) {
        precondition(edit.addedMarks.isEmpty)
        var refusals: [String] = []
        var count = 0
        for place in places {
            for session in sessions.sorted() {
                do throws(Refusal) {
                    guard try has(session, at: place) else { continue }
                    count += 1
                    try change(edit, of: session, at: place)
                } catch {
                    refusals.append(error.text)
                }
            }
        }
        refusals.dropFirst().forEach(complain)
        if let refusal = refusals.first { throw Failure(refusal) }
        guard count > 0 else {
            throw Failure(
                "cannot change \(sessions.min() ?? ""): \(Self.unreached)")
        }
    }

    // MARK: - One archive

    /// Whether an archive has a session.
    /// - Throws: if its viewer does not answer.
    private func has(_ session: String, at place: Location) throws(Refusal) -> Bool {
        switch place {
        case .directory(let layout): return FileSystem.isDirectory(layout.session(session))
        case .viewer(let bucket):
            do throws(ObjectStoreError) {
                return try bucket.properties(of: "\(session)/\(ArchiveLayout.manifestName)") != nil
            } catch {
                throw Refusal(error.message)
            }
        }
    }

    private func set(
        _ mark: ViewerMark, of session: String, at place: Location
    ) throws(Refusal) -> ViewerMark {
        switch place {
        case .directory(let layout):
            return try onDisk { () throws in
                let library = try RecordingLibrary(readingOnly: layout.root, complain: complain)
                var made = mark
                made.atNanoseconds = try mark.atNanoseconds ?? library.presentInstant(of: session)
                guard let moment = made.atNanoseconds else { throw Refusal(untimed: session) }
                let edit = try SessionEdit(addedMarks: [
                    SessionMarks.Mark(
                        id: mark.id, atNanoseconds: moment, text: mark.text, source: mark.source)
                ])
                try apply(edit, session, layout)
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

    private func change(
        _ edit: SessionEdit, of session: String, at place: Location
    ) throws(Refusal) {
        switch place {
        case .directory(let layout):
            try onDisk { () throws in try apply(edit, session, layout) }
        case .viewer(let bucket):
            for id in edit.removedMarks {
                try asked { () throws(ObjectStoreError) in
                    try bucket.removeMark(id, of: session)
                }
            }
            let labels = ViewerEdit(edit)
            guard labels != ViewerEdit() else { return }
            try asked { () throws(ObjectStoreError) in try bucket.edit(labels, of: session) }
        }
    }

    private func onDisk<Answer>(_ change: () throws -> Answer) throws(Refusal) -> Answer {
        do {
            return try change()
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as ArchiveError {
            // Pages show the refusal, so the server's paths are only in its log.
            complain(oneLine("\(error)"))
            throw Refusal(error.reason)
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

extension ViewerEdit {
    /// The labels and the protection of an edit.
    fileprivate init(_ edit: SessionEdit) {
        self.init(
            name: edit.name, note: edit.note,
            addTags: edit.addedTags.isEmpty ? nil : edit.addedTags,
            removeTags: edit.removedTags.isEmpty ? nil : edit.removedTags,
            isProtected: edit.isProtected)
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
