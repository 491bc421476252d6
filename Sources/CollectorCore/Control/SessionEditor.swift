import Archive
import Catalog
import Control
import Dispatch
import Library
import Logging
import Recordings
import Wire

/// Changes sessions for programs without write access to the archive: the viewer, for its operators.
///
/// It makes one change at a time, on its own queue, which may wait for a disk: neither the receiving thread nor the
/// control sockets do.
final class SessionEditor: Sendable {
    private let layout: ArchiveLayout
    private let catalog: CatalogReference
    private let spine: Spine
    private let logger: Logger
    private let queue = DispatchQueue(label: "sessions")

    init(layout: ArchiveLayout, catalog: CatalogReference, spine: Spine, logger: Logger) {
        self.layout = layout
        self.catalog = catalog
        self.spine = spine
        self.logger = logger
    }

    /// Makes a change; the request is answered when it is on disk.
    func make(_ change: SessionChange, for question: ControlServer.Question) {
        queue.async { [self] in question.answer(reply(to: change)) }
    }

    /// Waits for the requested changes.
    func finish() { queue.sync {} }

    private func reply(to change: SessionChange) -> ControlReply.Reply {
        do {
            try apply(change)
            return .changeTold
        } catch let error as LibraryError {
            if case .noSession = error {
                return .failure(.noSession, "no session \(change.session)")
            }
            return .failure(.refused, "\(error)")
        } catch let error as SessionEdit.Flaw {
            return .failure(.refused, "\(error)")
        } catch {
            logger.warning("session \(change.session) cannot be changed: \(error)")
            return .failure(
                .other, "\(change.session) cannot be changed: see the collector's log")
        }
    }

    private func apply(_ change: SessionChange) throws {
        let edit = try SessionEdit(
            name: change.name, note: change.note, addedTags: change.addedTags,
            removedTags: change.removedTags, isProtected: change.isProtected,
            addedMarks: change.addedMarks.map {
                SessionMarks.Mark(
                    id: $0.id, atNanoseconds: $0.atNanoseconds, text: $0.text, source: $0.source)
            }, removedMarks: change.removedMarks)
        let library = try RecordingLibrary(layout.root, catalog: catalog) { [logger] in
            logger.warning("\($0)")
        }
        do throws(ArchiveError) {
            _ = try library.manifest(change.session)
        } catch {
            guard error.isForAbsence else { throw error }
            throw LibraryError.noSession(change.session, archive: layout.root)
        }
        if change.isRemoval {
            try library.remove(change.session)
            logger.notice("session \(change.session) was removed, as asked")
        } else {
            guard try library.apply(edit, to: change.session).hasChanged else { return }
            logger.info("session \(change.session) was changed, as asked")
        }
        spine.publish([.sessionChanged(change.session)])
    }
}
