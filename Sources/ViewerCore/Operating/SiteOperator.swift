import Archive
import Catalog
import HTTPTypes
import Library
import Logging
import ObjectStore
import Recordings
import Synchronization
import Terminal
import Threads
import Wire

/// Changes sessions in every archive of a site that has them, as `tributary mark` does: the collectors of this machine are asked
/// directly, those of other machines through their viewers.
final class SiteOperator: Sendable {
    /// Each waits for other machines.
    private static let maximumRunning = 16
    private static let maximumWaiting = 32

    private let settings: SiteSettings
    private let site: ViewerSite
    private let commands: CollectorCommands
    private let collectors: Mutex<[SiteCollector]>
    private let queue = BlockingWorkQueue(
        "site-changes", maximumRunning: maximumRunning, maximumWaiting: maximumWaiting)

    init(_ settings: SiteSettings, site: ViewerSite, commands: CollectorCommands) {
        self.settings = settings
        self.site = site
        self.commands = commands
        collectors = Mutex(settings.known)
    }

    /// The site's collectors, as of the last query of its catalog.
    func note(_ collectors: [SiteCollector]) { self.collectors.withLock { $0 = collectors } }

    /// Sets a mark. Archives that cannot be changed get a line in the log, if another one has the mark.
    /// - Throws: ``Problem`` if no archive has the mark.
    func set(_ mark: SessionMarks.Mark, of session: String) async throws {
        try await run(about: session) { changes throws(Failure) in
            _ = try changes.set(
                ViewerMark(
                    id: mark.id, atNanoseconds: mark.atNanoseconds, text: mark.text,
                    source: mark.source), of: session)
        }
    }

    /// Removes marks, or changes labels or the protection.
    /// - Parameter sessions: the names of the session in all archives.
    /// - Throws: ``Problem`` if an archive that has the session, or may have it, does not have the change.
    func change(_ edit: SessionEdit, of sessions: Set<String>) async throws {
        try await run(about: sessions.min() ?? "") { changes throws(Failure) in
            try changes.change(edit, of: sessions)
        }
    }

    private func run(
        about session: String, _ work: @escaping @Sendable (SiteChanges) throws(Failure) -> Void
    ) async throws {
        let collectors = collectors.withLock { $0 }
        try await commands.limited(.session(session)) { [self] in
            let outcome = await queue.run { self.outcome(of: work, collectors) }
            guard let outcome else {
                throw Problem(
                    .serviceUnavailable, "too many changes wait for other machines: try again later"
                )
            }
            // Also after a failure: other archives may have the change.
            site.forgetListings()
            try outcome.get()
        }
    }

    /// Blocks until all archives have been asked.
    private func outcome(
        of work: (SiteChanges) throws(Failure) -> Void, _ collectors: [SiteCollector]
    ) -> Result<Void, Problem> {
        let (commands, logger) = (commands, site.logger)
        let changes: SiteChanges
        do {
            changes = try settings.changes(
                collectors,
                { edit, session, layout in
                    let change = SessionChange(edit, of: session)
                    if let problem = commands.change(change, in: layout.root) {
                        throw Failure(problem.text)
                    }
                }, { logger.warning("\($0)") })
        } catch {
            // Not part of the answer: the error may name files of the server.
            logger.warning("\(oneLine("\(error)"))")
            return .failure(
                Problem(
                    .serviceUnavailable,
                    "the site's archives cannot be asked now; the viewer's log says why"))
        }
        do throws(Failure) {
            try work(changes)
            return .success(())
        } catch {
            return .failure(Problem(.conflict, oneLine("\(error)")))
        }
    }
}

extension SessionChange {
    /// The change that an edit asks a collector for.
    fileprivate init(_ edit: SessionEdit, of session: String) {
        self.init(of: session)
        name = edit.name
        note = edit.note
        addedTags = edit.addedTags
        removedTags = edit.removedTags
        isProtected = edit.isProtected
        addedMarks = edit.addedMarks.map {
            SessionChange.Mark(
                id: $0.id, atNanoseconds: $0.atNanoseconds, text: $0.text, source: $0.source)
        }
        removedMarks = edit.removedMarks
    }
}
